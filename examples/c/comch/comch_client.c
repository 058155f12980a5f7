// The host's half of a conversation: a client that sends messages, and waits for an answer to each. Either half may
// start first: a client waits for its server.
//   comch_client [NAME]

#include "common.h"
#include "messages.h"

#include <doca_log.h>
#include <stdio.h>

#ifndef DOCA_ARCH_HOST
#error "This program is for the host; build it with the host's SDK"
#endif

DOCA_LOG_REGISTER(COMCH_CLIENT);

struct session {
  struct doca_dev* dev;
  struct doca_pe* pe;
  struct doca_comch_client* client;
  bool is_connected;
  bool is_over;  // all answers are there, or the server is gone
  unsigned num_answers;
  doca_error_t result;  // the failure that a callback saw
};

static void received(struct doca_comch_event_msg_recv* event, uint8_t* recv_buffer, uint32_t msg_len,
                     struct doca_comch_connection* connection) {
  struct session* session = doca_comch_connection_get_user_data(connection).ptr;
  (void)event;
  DOCA_LOG_INFO("The server says: %.*s", (int)msg_len, (const char*)recv_buffer);
  session->num_answers++;
  session->is_over = session->num_answers == num_messages;
}

static void state_changed(const union doca_data user_data, struct doca_ctx* ctx, enum doca_ctx_states prev_state,
                          enum doca_ctx_states next_state) {
  struct session* session = user_data.ptr;
  (void)ctx;
  (void)prev_state;
  if (next_state == DOCA_CTX_STATE_RUNNING) session->is_connected = true;
  if (next_state == DOCA_CTX_STATE_STOPPING && !session->is_over) {
    session->result = DOCA_ERROR_CONNECTION_ABORTED;
    session->is_connected = session->is_over = true;
  }
}

static doca_error_t configure(struct session* session) {
  struct doca_comch_client* client = session->client;
  struct doca_ctx* ctx = doca_comch_client_as_ctx(client);
  doca_error_t result = doca_comch_client_task_send_set_conf(client, message_sent, message_failed, num_send_tasks);
  if (result != DOCA_SUCCESS) return result;
  result = doca_comch_client_event_msg_recv_register(client, received);
  if (result != DOCA_SUCCESS) return result;
  result = doca_ctx_set_user_data(ctx, (union doca_data){.ptr = session});
  if (result != DOCA_SUCCESS) return result;
  return doca_ctx_set_state_changed_cb(ctx, state_changed);
}

static doca_error_t create(const char* name, struct session* session) {
  doca_error_t result = open_device(NULL, doca_comch_cap_client_is_supported, &session->dev);
  if (result != DOCA_SUCCESS) return result;
  result = doca_pe_create(&session->pe);
  if (result != DOCA_SUCCESS) return result;
  result = doca_comch_client_create(session->dev, name, &session->client);
  if (result != DOCA_SUCCESS) return result;
  result = configure(session);
  if (result != DOCA_SUCCESS) return result;
  return doca_pe_connect_ctx(session->pe, doca_comch_client_as_ctx(session->client));
}

static doca_error_t destroy(struct session* session) {
  doca_error_t result = DOCA_SUCCESS;
  if (session->client != NULL) {
    result = stop_context(session->pe, doca_comch_client_as_ctx(session->client));
    const doca_error_t destroyed = doca_comch_client_destroy(session->client);
    DOCA_ERROR_PROPAGATE(result, destroyed);
  }
  if (session->pe != NULL) {
    const doca_error_t destroyed = doca_pe_destroy(session->pe);
    DOCA_ERROR_PROPAGATE(result, destroyed);
  }
  if (session->dev != NULL) {
    const doca_error_t closed = doca_dev_close(session->dev);
    DOCA_ERROR_PROPAGATE(result, closed);
  }
  return result;
}

static doca_error_t connect_to_server(struct session* session, struct doca_comch_connection** connection) {
  doca_error_t result = doca_ctx_start(doca_comch_client_as_ctx(session->client));
  if (result != DOCA_ERROR_IN_PROGRESS) return result;
  result = progress_until(session->pe, &session->is_connected);
  if (result != DOCA_SUCCESS) return result;
  result = doca_comch_client_get_connection(session->client, connection);
  if (result != DOCA_SUCCESS) return result;
  return doca_comch_connection_set_user_data(*connection, (union doca_data){.ptr = session});
}

// One buffer serves for all messages: each was copied when its submission has returned.
static doca_error_t talk(struct session* session, struct doca_comch_connection* connection) {
  char text[64];
  for (int i = 1; i <= num_messages; i++) {
    struct doca_comch_task_send* task = NULL;
    const int length = snprintf(text, sizeof text, "message %d", i);
    doca_error_t result =
        doca_comch_client_task_send_alloc_init(session->client, connection, text, (uint32_t)length, &task);
    if (result == DOCA_SUCCESS) result = submit(task);
    if (result != DOCA_SUCCESS) return result;
  }
  return progress_until(session->pe, &session->is_over);
}

int main(int argc, char** argv) {
  struct session session = {0};
  struct doca_comch_connection* connection = NULL;
  doca_error_t result = start_logging();
  if (result == DOCA_SUCCESS) result = create(argc > 1 ? argv[1] : DEFAULT_NAME, &session);
  if (result == DOCA_SUCCESS) result = connect_to_server(&session, &connection);
  if (result == DOCA_SUCCESS) result = talk(&session, connection);
  DOCA_ERROR_PROPAGATE(result, session.result);
  if (result == DOCA_SUCCESS) printf("%u answers were received\n", session.num_answers);
  const doca_error_t destroyed = destroy(&session);
  DOCA_ERROR_PROPAGATE(result, destroyed);
  return exit_status("comch_client", result);
}
