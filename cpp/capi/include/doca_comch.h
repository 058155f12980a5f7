/// Comch: messages between a server on the DPU and clients on the host, reliable and in order per connection.
///
/// A server stands on the function that a representor stands for, under a name. A client of that function connects to
/// it by the name; either may start first. Objects belong to the thread of their progress engine. Besides what is said
/// at each function: INVALID_VALUE for NULL, for an object that was destroyed, and for one of another kind.
///
/// The fast path (consumers, producers and message queues) is not there.
#ifndef DOCA_COMCH_H_
#define DOCA_COMCH_H_

#include <doca_build_config.h>
#include <doca_compat.h>
#include <doca_ctx.h>
#include <doca_dev.h>
#include <doca_error.h>
#include <doca_pe.h>
#include <doca_types.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct doca_comch_server;
struct doca_comch_client;
/// The link between a server and one client, on its side. A server's exists until the callback of its disconnection has
/// returned, a client's until the client is destroyed or connects again.
struct doca_comch_connection;
/// The task that sends one message, a slot of its context's pool.
struct doca_comch_task_send;
// What was registered; programs only pass them on.
struct doca_comch_event_msg_recv;
struct doca_comch_event_connection_status_changed;
struct doca_comch_event_consumer;

/// What a connection counts: messages, and their bytes.
enum doca_comch_counter {
  DOCA_COMCH_COUNTER_SENT_MESSAGES = 1,
  DOCA_COMCH_COUNTER_SENT_BYTES = 2,
  DOCA_COMCH_COUNTER_RECV_MESSAGES = 3,
  DOCA_COMCH_COUNTER_RECV_BYTES = 4
};

// Callbacks, which doca_pe_progress() calls. They may send, free tasks, disconnect a client and stop the context.
/// A task has completed: its message is on its way, or the connection has ended (CONNECTION_RESET by the peer, SHUTDOWN
/// by this side). Only a removed device stops the context.
typedef void (*doca_comch_task_send_completion_cb_t)(struct doca_comch_task_send* task, union doca_data task_user_data,
                                                     union doca_data ctx_user_data);
/// A message of msg_len bytes, which are valid during the call. They may be written to, with the byte behind them,
/// which is 0.
typedef void (*doca_comch_event_msg_recv_cb_t)(struct doca_comch_event_msg_recv* event, uint8_t* recv_buffer,
                                               uint32_t msg_len, struct doca_comch_connection* comch_connection);
/// A client has connected or disconnected. change_successful: 0 for a client that was refused, whose connection ends
/// with the call.
typedef void (*doca_comch_event_connection_status_changed_cb_t)(
    struct doca_comch_event_connection_status_changed* event, struct doca_comch_connection* comch_connection,
    uint8_t change_successful);
typedef void (*doca_comch_event_consumer_cb_t)(struct doca_comch_event_consumer* event,
                                               struct doca_comch_connection* comch_connection, uint32_t id);

// Capabilities of a device. The limits are NOT_SUPPORTED without comch.
/// SUCCESS for a physical function of the DPU, else NOT_SUPPORTED.
DOCA_STABLE doca_error_t doca_comch_cap_server_is_supported(const struct doca_devinfo* devinfo);
/// SUCCESS for a function of the host, else NOT_SUPPORTED.
DOCA_STABLE doca_error_t doca_comch_cap_client_is_supported(const struct doca_devinfo* devinfo);
/// Bytes of a server's name, with its NUL.
DOCA_STABLE doca_error_t doca_comch_cap_get_max_name_len(const struct doca_devinfo* devinfo, uint32_t* max_name_len);
/// Bytes of a message.
DOCA_STABLE doca_error_t doca_comch_cap_get_max_msg_size(const struct doca_devinfo* devinfo, uint32_t* max_msg_size);
/// Messages that may wait to be received.
DOCA_STABLE doca_error_t doca_comch_cap_get_max_recv_queue_size(const struct doca_devinfo* devinfo,
                                                                uint32_t* max_recv_queue_size);
/// The limit of one server.
DOCA_STABLE doca_error_t doca_comch_cap_get_max_clients(const struct doca_devinfo* devinfo, uint32_t* max_clients);
/// The limit of one context.
DOCA_STABLE doca_error_t doca_comch_cap_get_max_send_tasks(const struct doca_devinfo* devinfo,
                                                           uint32_t* max_send_tasks);

/// An idle server for clients on the function that repr stands for. name has a length of 1 to max_name_len - 1 and is
/// copied. NOT_SUPPORTED when dev cannot be a server, INVALID_VALUE for another name or a representor of another
/// device.
DOCA_STABLE doca_error_t doca_comch_server_create(struct doca_dev* dev, struct doca_dev_rep* repr, const char* name,
                                                  struct doca_comch_server** comch_server);
/// IN_USE unless the server is idle.
DOCA_STABLE doca_error_t doca_comch_server_destroy(struct doca_comch_server* comch_server);
/// The context for the functions of doca_ctx.h: the same object. NULL for an invalid one. Its start is ALREADY_EXIST
/// when the function has a server of this name, INVALID_VALUE unless the send task is configured and both events of a
/// server, messages and connections, are registered. A stop disconnects the clients; the server is idle when the
/// callbacks of all disconnections have been called.
DOCA_STABLE struct doca_ctx* doca_comch_server_as_ctx(struct doca_comch_server* comch_server);
/// An idle client of dev's function, for the server of that name. NOT_SUPPORTED when dev cannot be a client,
/// INVALID_VALUE for another name.
DOCA_STABLE doca_error_t doca_comch_client_create(struct doca_dev* dev, const char* name,
                                                  struct doca_comch_client** comch_client);
/// IN_USE unless the client is idle.
DOCA_STABLE doca_error_t doca_comch_client_destroy(struct doca_comch_client* comch_client);
/// The context for the functions of doca_ctx.h: the same object. NULL for an invalid one. Its start is IN_PROGRESS: it
/// is starting until a server of the name accepts it, for as long as that takes, and can be stopped. A server that
/// refuses it, disconnects it, stops or dies takes it to stopping, and to idle when its tasks are freed. It can be
/// started again.
DOCA_STABLE struct doca_ctx* doca_comch_client_as_ctx(struct doca_comch_client* comch_client);

// Settings. Setters: BAD_STATE unless the context is idle, INVALID_VALUE for 0 and above the device's limit.
/// Bytes of a message; a connection takes the smaller limit of both sides. The device's limit unless it is set.
DOCA_STABLE doca_error_t doca_comch_server_set_max_msg_size(struct doca_comch_server* comch_server, uint32_t size);
DOCA_STABLE doca_error_t doca_comch_server_get_max_msg_size(const struct doca_comch_server* comch_server,
                                                            uint32_t* size);
DOCA_STABLE doca_error_t doca_comch_client_set_max_msg_size(struct doca_comch_client* comch_client, uint32_t size);
DOCA_STABLE doca_error_t doca_comch_client_get_max_msg_size(const struct doca_comch_client* comch_client,
                                                            uint32_t* size);
/// Messages of the largest size that may wait here, per connection; then the sender's tasks wait. 64 unless it is set.
DOCA_STABLE doca_error_t doca_comch_server_set_recv_queue_size(struct doca_comch_server* comch_server, uint32_t size);
DOCA_STABLE doca_error_t doca_comch_server_get_recv_queue_size(const struct doca_comch_server* comch_server,
                                                               uint32_t* size);
DOCA_STABLE doca_error_t doca_comch_client_set_recv_queue_size(struct doca_comch_client* comch_client, uint32_t size);
DOCA_STABLE doca_error_t doca_comch_client_get_recv_queue_size(const struct doca_comch_client* comch_client,
                                                               uint32_t* size);
/// What the object was created with.
DOCA_STABLE doca_error_t doca_comch_server_get_device(const struct doca_comch_server* comch_server,
                                                      struct doca_dev** dev);
DOCA_STABLE doca_error_t doca_comch_server_get_device_rep(const struct doca_comch_server* comch_server,
                                                          struct doca_dev_rep** rep);
DOCA_STABLE doca_error_t doca_comch_client_get_device(const struct doca_comch_client* comch_client,
                                                      struct doca_dev** dev);

// Events. The last call counts. BAD_STATE unless the context is idle, INVALID_VALUE without a callback.
DOCA_STABLE doca_error_t doca_comch_server_event_msg_recv_register(struct doca_comch_server* comch_server,
                                                                   doca_comch_event_msg_recv_cb_t recv_event_cb);
DOCA_STABLE doca_error_t doca_comch_client_event_msg_recv_register(struct doca_comch_client* comch_client,
                                                                   doca_comch_event_msg_recv_cb_t recv_event_cb);
DOCA_STABLE doca_error_t doca_comch_server_event_connection_status_changed_register(
    struct doca_comch_server* comch_server, doca_comch_event_connection_status_changed_cb_t connect_event_cb,
    doca_comch_event_connection_status_changed_cb_t disconnect_event_cb);
/// The callbacks are never called: a peer has no consumers here.
DOCA_STABLE doca_error_t doca_comch_server_event_consumer_register(
    struct doca_comch_server* comch_server, doca_comch_event_consumer_cb_t new_consumer_event_cb,
    doca_comch_event_consumer_cb_t expired_consumer_event_cb);
DOCA_STABLE doca_error_t doca_comch_client_event_consumer_register(
    struct doca_comch_client* comch_client, doca_comch_event_consumer_cb_t new_consumer_event_cb,
    doca_comch_event_consumer_cb_t expired_consumer_event_cb);

/// Sets the callbacks of success and failure, which may be the same function, and the number of tasks. The last call
/// counts. BAD_STATE unless the context is idle, INVALID_VALUE without a callback and above the device's limit.
DOCA_STABLE doca_error_t doca_comch_server_task_send_set_conf(struct doca_comch_server* comch_server,
                                                              doca_comch_task_send_completion_cb_t task_completion_cb,
                                                              doca_comch_task_send_completion_cb_t task_error_cb,
                                                              uint32_t num_send_tasks);
DOCA_STABLE doca_error_t doca_comch_client_task_send_set_conf(struct doca_comch_client* comch_client,
                                                              doca_comch_task_send_completion_cb_t task_completion_cb,
                                                              doca_comch_task_send_completion_cb_t task_error_cb,
                                                              uint32_t num_send_tasks);
/// Takes a task, which is not submitted yet. The submission copies the message, and msg may be used again or freed as
/// soon as it has returned. BAD_STATE unless the context is running, NOT_CONNECTED when the connection has ended,
/// INVALID_VALUE above its largest message and for a connection of another context, NO_MEMORY when all tasks are taken.
DOCA_STABLE doca_error_t doca_comch_server_task_send_alloc_init(struct doca_comch_server* comch_server,
                                                                struct doca_comch_connection* connection,
                                                                const void* msg, uint32_t len,
                                                                struct doca_comch_task_send** task);
DOCA_STABLE doca_error_t doca_comch_client_task_send_alloc_init(struct doca_comch_client* comch_client,
                                                                struct doca_comch_connection* connection,
                                                                const void* msg, uint32_t len,
                                                                struct doca_comch_task_send** task);
/// The task for the functions of doca_pe.h: the same object.
DOCA_STABLE struct doca_task* doca_comch_task_send_as_task(struct doca_comch_task_send* task);

/// Ends a client's connection: its tasks come back, then the callback of disconnections is called. BAD_STATE unless the
/// server is running, NOT_CONNECTED when the connection has ended, INVALID_VALUE for another server's.
DOCA_STABLE doca_error_t doca_comch_server_disconnect(struct doca_comch_server* comch_server,
                                                      struct doca_comch_connection* connection);
/// The client's connection. BAD_STATE before the client runs.
DOCA_STABLE doca_error_t doca_comch_client_get_connection(const struct doca_comch_client* comch_client,
                                                          struct doca_comch_connection** connection);

/// Any value; 0 at first.
DOCA_STABLE doca_error_t doca_comch_connection_set_user_data(struct doca_comch_connection* connection,
                                                             union doca_data user_data);
DOCA_STABLE union doca_data doca_comch_connection_get_user_data(const struct doca_comch_connection* connection);
/// NULL for a client's connection.
DOCA_STABLE struct doca_comch_server* doca_comch_server_get_server_ctx(const struct doca_comch_connection* connection);
/// NULL for a server's connection.
DOCA_STABLE struct doca_comch_client* doca_comch_client_get_client_ctx(const struct doca_comch_connection* connection);
/// Takes a snapshot of the counters. CONNECTION_ABORTED for a client that was refused.
DOCA_STABLE doca_error_t doca_comch_connection_update_info(struct doca_comch_connection* connection);
/// A number of the last snapshot; 0 before the first.
DOCA_STABLE doca_error_t doca_comch_connection_get_counter(const struct doca_comch_connection* connection,
                                                           enum doca_comch_counter counter, uint64_t* value);

#ifdef __cplusplus
}
#endif

#endif  // DOCA_COMCH_H_
