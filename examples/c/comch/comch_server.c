// The DPU's half of a conversation: a server that answers each message of a client, until the client leaves. Either
// half may start first.
//   comch_server [NAME]

#include "common.h"
#include "messages.h"

#include <doca_log.h>
#include <stdio.h>
#include <string.h>

#ifndef DOCA_ARCH_DPU
#error "This program is for the DPU; build it with the DPU's SDK"
#endif

DOCA_LOG_REGISTER(COMCH_SERVER);

struct session {
  struct doca_dev* dev;
  struct doca_dev_rep* rep;
  struct doca_pe* pe;
  struct doca_comch_server* server;
  unsigned num_answered;
  bool has_left;        // the client
  doca_error_t result;  // the failure that a callback saw
};

// The session of a connection: the user data of its server.
static struct session* session_of(struct doca_comch_connection* connection) {
  union doca_data data = {0};
  doca_ctx_get_user_data(doca_comch_server_as_ctx(doca_comch_server_get_server_ctx(connection)), &data);
  return data.ptr;
}

static void connected(struct doca_comch_event_connection_status_changed* event,
                      struct doca_comch_connection* connection, uint8_t change_successful) {
  (void)event;
  (void)connection;
  DOCA_LOG_INFO(change_successful ? "A client has connected" : "A client was refused");
}

static void disconnected(struct doca_comch_event_connection_status_changed* event,
                         struct doca_comch_connection* connection, uint8_t change_successful) {
  (void)event;
  (void)change_successful;
  session_of(connection)->has_left = true;
}

// recv_buffer has room for one more byte, so that a text can be ended there.
static void received(struct doca_comch_event_msg_recv* event, uint8_t* recv_buffer, uint32_t msg_len,
                     struct doca_comch_connection* connection) {
  struct session* session = session_of(connection);
  struct doca_comch_task_send* task = NULL;
  char answer[64];
  (void)event;
  recv_buffer[msg_len] = '\0';
  DOCA_LOG_INFO("The client says: %s", (const char*)recv_buffer);
  const int length = snprintf(answer, sizeof answer, "answer %u", session->num_answered + 1);
  doca_error_t result =
      doca_comch_server_task_send_alloc_init(session->server, connection, answer, (uint32_t)length, &task);
  if (result == DOCA_SUCCESS) result = submit(task);
  if (result == DOCA_SUCCESS) session->num_answered++;
  DOCA_ERROR_PROPAGATE(session->result, result);
}

// The representor of the function that clients use.
static doca_error_t open_representor(struct session* session) {
  struct doca_devinfo_rep** list = NULL;
  uint32_t count = 0;
  doca_error_t result = doca_devinfo_rep_create_list(session->dev, DOCA_DEVINFO_REP_FILTER_NET, &list, &count);
  if (result != DOCA_SUCCESS) return result;
  result = count > 0 ? doca_dev_rep_open(list[0], &session->rep) : DOCA_ERROR_NOT_FOUND;
  doca_devinfo_rep_destroy_list(list);
  return result;
}

static doca_error_t configure(struct session* session) {
  struct doca_comch_server* server = session->server;
  doca_error_t result = doca_comch_server_task_send_set_conf(server, message_sent, message_failed, num_send_tasks);
  if (result != DOCA_SUCCESS) return result;
  result = doca_comch_server_event_msg_recv_register(server, received);
  if (result != DOCA_SUCCESS) return result;
  result = doca_comch_server_event_connection_status_changed_register(server, connected, disconnected);
  if (result != DOCA_SUCCESS) return result;
  return doca_ctx_set_user_data(doca_comch_server_as_ctx(server), (union doca_data){.ptr = session});
}

static doca_error_t create(const char* name, struct session* session) {
  doca_error_t result = open_device(NULL, doca_comch_cap_server_is_supported, &session->dev);
  if (result != DOCA_SUCCESS) return result;
  result = open_representor(session);
  if (result != DOCA_SUCCESS) return result;
  result = doca_pe_create(&session->pe);
  if (result != DOCA_SUCCESS) return result;
  result = doca_comch_server_create(session->dev, session->rep, name, &session->server);
  if (result != DOCA_SUCCESS) return result;
  result = configure(session);
  if (result != DOCA_SUCCESS) return result;
  return doca_pe_connect_ctx(session->pe, doca_comch_server_as_ctx(session->server));
}

static doca_error_t destroy(struct session* session) {
  doca_error_t result = DOCA_SUCCESS;
  if (session->server != NULL) {
    result = stop_context(session->pe, doca_comch_server_as_ctx(session->server));
    const doca_error_t destroyed = doca_comch_server_destroy(session->server);
    DOCA_ERROR_PROPAGATE(result, destroyed);
  }
  if (session->pe != NULL) {
    const doca_error_t destroyed = doca_pe_destroy(session->pe);
    DOCA_ERROR_PROPAGATE(result, destroyed);
  }
  if (session->rep != NULL) {
    const doca_error_t closed = doca_dev_rep_close(session->rep);
    DOCA_ERROR_PROPAGATE(result, closed);
  }
  if (session->dev != NULL) {
    const doca_error_t closed = doca_dev_close(session->dev);
    DOCA_ERROR_PROPAGATE(result, closed);
  }
  return result;
}

int main(int argc, char** argv) {
  struct session session = {0};
  doca_error_t result = start_logging();
  if (result == DOCA_SUCCESS) result = create(argc > 1 ? argv[1] : DEFAULT_NAME, &session);
  if (result == DOCA_SUCCESS) result = doca_ctx_start(doca_comch_server_as_ctx(session.server));
  if (result == DOCA_SUCCESS) result = progress_until(session.pe, &session.has_left);
  DOCA_ERROR_PROPAGATE(result, session.result);
  if (result == DOCA_SUCCESS) printf("%u messages were answered\n", session.num_answered);
  const doca_error_t destroyed = destroy(&session);
  DOCA_ERROR_PROPAGATE(result, destroyed);
  return exit_status("comch_server", result);
}
