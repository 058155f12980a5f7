// Commands of comch: the DPU's actor is a server, the host's a client.

#include "programs/actor.h"

#include <doca_comch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { num_tasks = 32, largest = 4080, patience = 25 };

/// What the callbacks have seen.
struct seen {
  unsigned long connected;
  unsigned long refused;
  unsigned long disconnected;
  unsigned long received;
  unsigned long wrong;  ///< messages, and answers to calls inside callbacks, that are not as they should be
  unsigned long sent;
  unsigned long failed;
  unsigned long echoed;
};

/// The only one of a process.
static struct link {
  struct doca_comch_server* server;
  struct doca_comch_client* client;
  struct doca_dev_rep* rep;
  struct doca_ctx* ctx;
  struct doca_comch_connection* last;  ///< the client that connected last
  struct seen seen;
  doca_error_t status;  ///< the status of the last failed task
  bool echoes;
  unsigned long num_made;  ///< messages
} link;

// Never 0, so no message has an end that a text would have.
static unsigned char byte_of(unsigned long number, size_t place) {
  return (unsigned char)(1 + (number * 7 + place) % 255);
}

static bool is_expected(const uint8_t* bytes, size_t length, unsigned long number) {
  for (size_t i = 0; i < length; i++) {
    if (bytes[i] != byte_of(number, i)) return false;
  }
  return true;
}

static void expect(bool condition) { link.seen.wrong += condition ? 0 : 1; }

// The functions that a program calls inside callbacks; a server's connection has its address as its user data.
static void expect_known(struct doca_comch_connection* connection) {
  union doca_data data = {.u64 = 0};
  expect(doca_comch_server_get_server_ctx(connection) == link.server);
  expect(doca_comch_client_get_client_ctx(connection) == link.client);
  expect(doca_ctx_get_user_data(link.ctx, &data) == DOCA_SUCCESS && data.ptr == &link);
  expect(link.client != NULL || doca_comch_connection_get_user_data(connection).ptr == connection);
}

static struct doca_task* as_task(struct doca_comch_task_send* task) { return doca_comch_task_send_as_task(task); }

static void sent(struct doca_comch_task_send* task, union doca_data task_user_data, union doca_data ctx_user_data) {
  expect(ctx_user_data.ptr == &link && task_user_data.u64 == 5 && doca_task_get_ctx(as_task(task)) == link.ctx);
  expect(doca_task_get_status(as_task(task)) == DOCA_SUCCESS);
  link.seen.sent++;
  doca_task_free(as_task(task));
}

static void failed(struct doca_comch_task_send* task, union doca_data task_user_data, union doca_data ctx_user_data) {
  expect(ctx_user_data.ptr == &link && task_user_data.u64 == 5);
  link.status = doca_task_get_status(as_task(task));
  link.seen.failed++;
  doca_task_free(as_task(task));
}

static doca_error_t take(struct doca_comch_connection* connection, const void* message, uint32_t length,
                         struct doca_comch_task_send** task) {
  return link.server != NULL ? doca_comch_server_task_send_alloc_init(link.server, connection, message, length, task)
                             : doca_comch_client_task_send_alloc_init(link.client, connection, message, length, task);
}

// The bytes are overwritten and freed as soon as the submission has returned.
static doca_error_t send_copy(struct doca_comch_connection* connection, const uint8_t* bytes, uint32_t length) {
  struct doca_comch_task_send* task = NULL;
  uint8_t* buffer = malloc(length + 1);
  if (buffer == NULL) return DOCA_ERROR_NO_MEMORY;
  memcpy(buffer, bytes, length);
  doca_error_t result = take(connection, buffer, length, &task);
  if (result == DOCA_SUCCESS) {
    doca_task_set_user_data(as_task(task), (union doca_data){.u64 = 5});
    result = doca_task_submit(as_task(task));
    if (result != DOCA_SUCCESS) doca_task_free(as_task(task));
  }
  memset(buffer, 0xff, length);
  free(buffer);
  return result;
}

static void received(struct doca_comch_event_msg_recv* event, uint8_t* buffer, uint32_t length,
                     struct doca_comch_connection* connection) {
  expect(event != NULL);
  expect_known(connection);
  expect(buffer[length] == 0 && is_expected(buffer, length, link.seen.received));
  link.seen.received++;
  if (link.echoes && send_copy(connection, buffer, length) == DOCA_SUCCESS) link.seen.echoed++;
  memset(buffer, 0xee, length + 1);
}

static void connected(struct doca_comch_event_connection_status_changed* event,
                      struct doca_comch_connection* connection, uint8_t is_successful) {
  expect(event != NULL && doca_comch_connection_get_user_data(connection).u64 == 0);
  expect(doca_comch_connection_set_user_data(connection, (union doca_data){.ptr = connection}) == DOCA_SUCCESS);
  expect_known(connection);
  if (is_successful) {
    link.seen.connected++;
    link.last = connection;
  } else {
    link.seen.refused++;
  }
}

static void disconnected(struct doca_comch_event_connection_status_changed* event,
                         struct doca_comch_connection* connection, uint8_t is_successful) {
  expect(event != NULL && is_successful);
  expect_known(connection);
  expect(doca_comch_connection_update_info(connection) == DOCA_SUCCESS);
  if (link.last == connection) link.last = NULL;
  link.seen.disconnected++;
}

static void state_changed(const union doca_data user_data, struct doca_ctx* ctx, enum doca_ctx_states previous,
                          enum doca_ctx_states next) {
  struct doca_comch_connection* connection = NULL;
  (void)previous;
  expect(user_data.ptr == &link && ctx == link.ctx);
  if (link.client == NULL || (next != DOCA_CTX_STATE_RUNNING && next != DOCA_CTX_STATE_STOPPING)) return;
  const doca_error_t result = doca_comch_client_get_connection(link.client, &connection);
  if (result == DOCA_SUCCESS) expect_known(connection);
  expect(result == DOCA_SUCCESS || next == DOCA_CTX_STATE_STOPPING);
}

static doca_error_t open_representor(struct actor* actor, const char* pci_addr) {
  struct doca_devinfo_rep** list = NULL;
  uint32_t count = 0;
  doca_error_t result = doca_devinfo_rep_create_list(actor->dev, DOCA_DEVINFO_REP_FILTER_NET, &list, &count);
  if (result != DOCA_SUCCESS) return result;
  for (uint32_t i = 0; i < count && result == DOCA_SUCCESS && link.rep == NULL; i++) {
    uint8_t is_equal = 0;
    result = doca_devinfo_rep_is_equal_pci_addr(list[i], pci_addr, &is_equal);
    if (result == DOCA_SUCCESS && is_equal) result = doca_dev_rep_open(list[i], &link.rep);
  }
  doca_devinfo_rep_destroy_list(list);
  return result == DOCA_SUCCESS && link.rep == NULL ? DOCA_ERROR_NOT_FOUND : result;
}

static doca_error_t create_server(struct actor* actor, uint32_t size, uint32_t queue) {
  doca_error_t result = open_representor(actor, "0b:00.0");
  if (result == DOCA_SUCCESS) result = doca_comch_server_create(actor->dev, link.rep, "pair", &link.server);
  if (result != DOCA_SUCCESS) return result;
  link.ctx = doca_comch_server_as_ctx(link.server);
  result = doca_comch_server_set_max_msg_size(link.server, size);
  if (result == DOCA_SUCCESS) result = doca_comch_server_set_recv_queue_size(link.server, queue);
  if (result == DOCA_SUCCESS) result = doca_comch_server_task_send_set_conf(link.server, sent, failed, num_tasks);
  if (result == DOCA_SUCCESS) result = doca_comch_server_event_msg_recv_register(link.server, received);
  if (result != DOCA_SUCCESS) return result;
  return doca_comch_server_event_connection_status_changed_register(link.server, connected, disconnected);
}

static doca_error_t create_client(struct actor* actor, uint32_t size, uint32_t queue) {
  doca_error_t result = doca_comch_client_create(actor->dev, "pair", &link.client);
  if (result != DOCA_SUCCESS) return result;
  link.ctx = doca_comch_client_as_ctx(link.client);
  result = doca_comch_client_set_max_msg_size(link.client, size);
  if (result == DOCA_SUCCESS) result = doca_comch_client_set_recv_queue_size(link.client, queue);
  if (result == DOCA_SUCCESS) result = doca_comch_client_task_send_set_conf(link.client, sent, failed, num_tasks);
  if (result == DOCA_SUCCESS) result = doca_comch_client_event_msg_recv_register(link.client, received);
  return result;
}

static unsigned long number_of(int num_words, char** words, int place, unsigned long otherwise) {
  return num_words > place ? strtoul(words[place], NULL, 0) : otherwise;
}

// comch_link [MAX_MSG_SIZE [RECV_QUEUE_SIZE]]: creates and starts this side's end
static doca_error_t make_link(struct actor* actor, int num_words, char** words) {
  const uint32_t size = (uint32_t)number_of(num_words, words, 1, largest);
  const uint32_t queue = (uint32_t)number_of(num_words, words, 2, 16);
#ifdef DOCA_ARCH_DPU
  doca_error_t result = create_server(actor, size, queue);
  (void)create_client;
#else
  doca_error_t result = create_client(actor, size, queue);
  (void)create_server;
#endif
  if (result == DOCA_SUCCESS) result = doca_ctx_set_user_data(link.ctx, (union doca_data){.ptr = &link});
  if (result == DOCA_SUCCESS) result = doca_ctx_set_state_changed_cb(link.ctx, state_changed);
  if (result == DOCA_SUCCESS) result = doca_pe_connect_ctx(actor->pe, link.ctx);
  return result == DOCA_SUCCESS ? doca_ctx_start(link.ctx) : result;
}

// comch_start: once more
static doca_error_t start_link(struct actor* actor, int num_words, char** words) {
  (void)actor;
  (void)num_words;
  (void)words;
  link.seen.received = link.num_made = 0;
  return doca_ctx_start(link.ctx);
}

static unsigned long value_of(const char* name) {
  enum doca_ctx_states state = DOCA_CTX_STATE_IDLE;
  const struct {
    const char* name;
    unsigned long value;
  } values[] = {{"connected", link.seen.connected},
                {"refused", link.seen.refused},
                {"disconnected", link.seen.disconnected},
                {"received", link.seen.received},
                {"wrong", link.seen.wrong},
                {"sent", link.seen.sent},
                {"failed", link.seen.failed},
                {"echoed", link.seen.echoed},
                {"completed", link.seen.sent + link.seen.failed},
                {"status", (unsigned long)link.status}};
  for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
    if (strcmp(name, values[i].name) == 0) return values[i].value;
  }
  doca_ctx_get_state(link.ctx, &state);
  return (unsigned long)state;
}

// comch NAME: a number of struct seen, "state", "status" or "completed"
static doca_error_t tell(struct actor* actor, int num_words, char** words) {
  if (num_words != 2) return DOCA_ERROR_BAD_CONFIG;
  snprintf(actor->detail, sizeof actor->detail, " %lu", value_of(words[1]));
  return DOCA_SUCCESS;
}

// comch_until NAME NUMBER: progresses until that number is at least this one, and a state is this one
static doca_error_t progress_until(struct actor* actor, int num_words, char** words) {
  const time_t end = time(NULL) + patience;
  const unsigned long wanted = number_of(num_words, words, 2, 1);
  if (num_words < 2) return DOCA_ERROR_BAD_CONFIG;
  const bool is_state = strcmp(words[1], "state") == 0;
  while (is_state ? value_of(words[1]) != wanted : value_of(words[1]) < wanted) {
    if (time(NULL) >= end) return DOCA_ERROR_TIME_OUT;
    doca_pe_progress(actor->pe);
  }
  return DOCA_SUCCESS;
}

static doca_error_t connection_of(struct doca_comch_connection** connection) {
  if (link.client != NULL) return doca_comch_client_get_connection(link.client, connection);
  *connection = link.last;
  return link.last != NULL ? DOCA_SUCCESS : DOCA_ERROR_NOT_FOUND;
}

// comch_send COUNT LENGTH: from one buffer, which changes at once; progresses only while all tasks are taken
static doca_error_t send_messages(struct actor* actor, int num_words, char** words) {
  const time_t end = time(NULL) + patience;
  const unsigned long count = number_of(num_words, words, 1, 1);
  const uint32_t length = (uint32_t)number_of(num_words, words, 2, largest);
  struct doca_comch_connection* connection = NULL;
  uint8_t bytes[largest + 1];
  doca_error_t result = length <= sizeof bytes ? connection_of(&connection) : DOCA_ERROR_BAD_CONFIG;
  for (unsigned long i = 0; i < count && result == DOCA_SUCCESS;) {
    for (size_t place = 0; place < length; place++) bytes[place] = byte_of(link.num_made, place);
    result = send_copy(connection, bytes, length);
    if (result == DOCA_SUCCESS) {
      link.num_made++;
      i++;
    } else if (result == DOCA_ERROR_NO_MEMORY && time(NULL) < end) {
      doca_pe_progress(actor->pe);
      result = DOCA_SUCCESS;
    }
  }
  return result;
}

// comch_echo: from now on each message is sent back in its callback
static doca_error_t echo(struct actor* actor, int num_words, char** words) {
  (void)actor;
  (void)num_words;
  (void)words;
  link.echoes = true;
  return DOCA_SUCCESS;
}

// comch_disconnect: the client that connected last
static doca_error_t disconnect(struct actor* actor, int num_words, char** words) {
  struct doca_comch_connection* connection = NULL;
  (void)actor;
  (void)num_words;
  (void)words;
  const doca_error_t result = connection_of(&connection);
  return result == DOCA_SUCCESS ? doca_comch_server_disconnect(link.server, connection) : result;
}

// comch_counters: messages and bytes that were sent, and received
static doca_error_t count(struct actor* actor, int num_words, char** words) {
  struct doca_comch_connection* connection = NULL;
  uint64_t values[4] = {0};
  (void)num_words;
  (void)words;
  doca_error_t result = connection_of(&connection);
  if (result == DOCA_SUCCESS) result = doca_comch_connection_update_info(connection);
  for (int i = 0; i < 4 && result == DOCA_SUCCESS; i++) {
    result = doca_comch_connection_get_counter(connection, (enum doca_comch_counter)(i + 1), &values[i]);
  }
  snprintf(actor->detail, sizeof actor->detail, " %lu %lu %lu %lu", (unsigned long)values[0], (unsigned long)values[1],
           (unsigned long)values[2], (unsigned long)values[3]);
  return result;
}

// comch_stop: without progress
static doca_error_t stop_link(struct actor* actor, int num_words, char** words) {
  (void)actor;
  (void)num_words;
  (void)words;
  return doca_ctx_stop(link.ctx);
}

void end_comch(struct actor* actor) {
  if (link.ctx != NULL) stop_until_idle(actor->pe, link.ctx);
  if (link.server != NULL) doca_comch_server_destroy(link.server);
  if (link.client != NULL) doca_comch_client_destroy(link.client);
  if (link.rep != NULL) doca_dev_rep_close(link.rep);
}

const struct command comch_commands[] = {{"comch_link", make_link},
                                         {"comch_start", start_link},
                                         {"comch", tell},
                                         {"comch_until", progress_until},
                                         {"comch_send", send_messages},
                                         {"comch_echo", echo},
                                         {"comch_disconnect", disconnect},
                                         {"comch_counters", count},
                                         {"comch_stop", stop_link},
                                         {NULL, NULL}};
