#include "rdma/end.h"
#include "rig/case.h"
#include "rig/device.h"

#include <doca_log.h>
#include <stdio.h>
#include <string.h>

static struct doca_rdma_addr* address_of(struct end* end) {
  uint8_t bytes[4];
  char text[16];
  CHECK_OK(doca_devinfo_get_ipv4_addr(doca_dev_as_devinfo(end->stage.dev), bytes, sizeof bytes));
  (void)snprintf(text, sizeof text, "%d.%d.%d.%d", bytes[0], bytes[1], bytes[2], bytes[3]);
  struct doca_rdma_addr* address = NULL;
  CHECK_OK(doca_rdma_addr_create(DOCA_RDMA_ADDR_TYPE_IPv4, text, end_port(), &address));
  return address;
}

/// a has asked b, which listens.
static void request(struct end* a, struct end* b, uint64_t data) {
  struct doca_rdma_addr* address = address_of(b);
  const int requests = b->seen.requests;
  CHECK_OK(doca_rdma_connect_to_addr(a->rdma, address, (union doca_data){.u64 = data}));
  CHECK_OK(doca_rdma_addr_destroy(address));
  ends_progress_until(a, b, &b->seen.requests, requests + 1);
}

static void open_listening(struct end* a, struct end* b, uint16_t connections) {
  end_open(a, connections);
  end_open(b, connections);
  CHECK_OK(doca_rdma_start_listen_to_port(b->rdma, end_port()));
}

CASE(rdma_connection, details_stay_and_can_be_written) {
  struct end end;
  uint8_t copy[512];
  end_open(&end, 2);
  const void* first = NULL;
  const void* second = NULL;
  size_t size = 0;
  struct doca_rdma_connection* connection = NULL;
  CHECK_OK(doca_rdma_export(end.rdma, &first, &size, &connection));
  memcpy(copy, first, size);
  CHECK_OK(doca_rdma_connection_disconnect(connection));
  CHECK_OK(doca_rdma_export(end.rdma, &second, &size, &connection));
  CHECK(first != second && memcmp(copy, first, size) == 0);
  memset((void*)(uintptr_t)first, 0, size);
  CHECK(memcmp(copy, second, size) != 0);
  stage_stop(&end.stage, doca_rdma_as_ctx(end.rdma));
  CHECK(((const uint8_t*)first)[size - 1] == 0);
  end_close(&end);
}

CASE(rdma_connection, exports_above_the_limit_are_full) {
  struct end end;
  uint8_t details[512];
  end_create(&end, 2);
  const void* data = NULL;
  size_t size = 0;
  struct doca_rdma_connection* connection = NULL;
  CHECK_STATUS(doca_rdma_export(end.rdma, &data, &size, &connection), DOCA_ERROR_BAD_STATE);
  stage_start(&end.stage, doca_rdma_as_ctx(end.rdma));
  (void)end_export(&end, details);
  (void)end_export(&end, details);
  CHECK_STATUS(doca_rdma_export(end.rdma, &data, &size, &connection), DOCA_ERROR_FULL);
  CHECK_OK(doca_rdma_connection_disconnect(end.connection));
  CHECK_STATUS(doca_rdma_connection_disconnect(end.connection), DOCA_ERROR_BAD_STATE);
  (void)end_export(&end, details);
  end_close(&end);
}

CASE(rdma_connection, takes_tasks_before_the_peer_has_connected) {
  struct end a, b;
  uint8_t of_a[512];
  uint8_t of_b[512];
  end_open(&a, 1);
  end_open(&b, 1);
  const size_t size_a = end_export(&a, of_a);
  const size_t size_b = end_export(&b, of_b);
  end_connect(&a, of_b, size_b);
  struct doca_rdma_task_send* task = NULL;
  CHECK_OK(doca_rdma_task_send_allocate_init(a.rdma, a.connection, NULL, (union doca_data){.u64 = 0}, &task));
  end_submit(doca_rdma_task_send_as_task(task));
  end_receive(&b, NULL);
  end_connect(&b, of_a, size_a);
  ends_progress_until(&a, &b, &b.seen.successes, 1);
  ends_progress_until(&a, &b, &a.seen.successes, 1);
  ends_close(&a, &b);
}

CASE(rdma_connection, connects_once_and_by_whole_details) {
  struct end a, b;
  uint8_t details[512];
  ends_open(&a, &b);
  memset(details, 0xee, sizeof details);
  CHECK_STATUS(doca_rdma_connect(a.rdma, details, sizeof details, a.connection), DOCA_ERROR_BAD_STATE);
  CHECK_INVALID(doca_rdma_connect(a.rdma, details, sizeof details, b.connection));
  CHECK_INVALID(doca_rdma_connect(a.rdma, NULL, sizeof details, a.connection));
  CHECK_INVALID(doca_rdma_connect(a.rdma, details, sizeof details, NULL));
  ends_close(&a, &b);
  end_open(&a, 1);
  const size_t size = end_export(&a, details);
  CHECK_INVALID(doca_rdma_connect(a.rdma, details, size - 1, a.connection));
  CHECK_INVALID(doca_rdma_connect(a.rdma, details, 0, a.connection));
  end_close(&a);
}

static int num_lines;

static void count_line(char* buffer) {
  (void)buffer;
  ++num_lines;
}

/// Connecting by these details fails, and the log says why in one line.
static void expect_refusal(const uint8_t* details, size_t size, doca_error_t expected) {
  struct doca_log_backend* backend = NULL;
  char text[500] = "";
  uint8_t own[512];
  struct end end;
  end_open(&end, 1);
  (void)end_export(&end, own);
  CHECK_OK(doca_log_backend_create_with_buf_sdk(text, sizeof text, count_line, &backend));
  CHECK_STATUS(doca_rdma_connect(end.rdma, details, size, end.connection), expected);
  CHECK_EQUAL(num_lines, 1);
  CHECK(strstr(text, "doca_rdma_connect: ") != NULL);
  CHECK_OK(doca_log_backend_set_sdk_level(backend, DOCA_LOG_LEVEL_DISABLE));
  end_close(&end);
}

CASE(rdma_connection, details_of_another_version_are_unsupported) {
  struct end peer;
  uint8_t details[512];
  end_open(&peer, 1);
  const size_t size = end_export(&peer, details);
  details[8] ^= 1;  // The version stands behind eight letters.
  expect_refusal(details, size, DOCA_ERROR_UNSUPPORTED_VERSION);
  end_close(&peer);
}

CASE(rdma_connection, the_details_of_a_peer_that_has_ended_are_refused) {
  struct end peer;
  uint8_t details[512];
  end_open(&peer, 1);
  const size_t size = end_export(&peer, details);
  end_close(&peer);
  expect_refusal(details, size, DOCA_ERROR_CONNECTION_ABORTED);
}

CASE(rdma_connection, several_of_a_context_have_numbers_and_user_data) {
  struct end server, one, two;
  open_listening(&one, &server, 2);
  end_open(&two, 1);
  struct doca_rdma_connection* connections[2];
  struct end* clients[2] = {&one, &two};
  uint32_t ids[2];
  for (uint64_t i = 0; i < 2; ++i) {
    request(clients[i], &server, 100 + i);
    connections[i] = server.connection;
    CHECK_OK(doca_rdma_connection_set_user_data(connections[i], (union doca_data){.u64 = 200 + i}));
    CHECK_OK(doca_rdma_connection_accept(connections[i], NULL, 0));
    ends_progress_until(&server, clients[i], &server.seen.established, (int)i + 1);
    ends_progress_until(&server, clients[i], &clients[i]->seen.established, 1);
    CHECK(server.connection == connections[i] && server.seen.connection_data == 200 + i);
    CHECK(clients[i]->seen.connection_data == 100 + i);
    CHECK_OK(doca_rdma_connection_get_id(connections[i], &ids[i]));
  }
  CHECK(connections[0] != connections[1] && ids[0] != ids[1]);
  CHECK_OK(doca_rdma_connection_disconnect(two.connection));
  ends_progress_until(&server, &two, &server.seen.disconnected, 1);
  ends_progress_until(&server, &two, &two.seen.disconnected, 1);
  CHECK(server.connection == connections[1] && two.seen.connection_data == 101);
  CHECK(one.seen.disconnected == 0);
  end_close(&one);
  end_close(&two);
  ends_progress_until(&server, NULL, &server.seen.disconnected, 2);
  CHECK(server.connection == connections[0]);
  CHECK_OK(doca_rdma_stop_listen_to_port(server.rdma, end_port()));
  end_close(&server);
}

CASE(rdma_connection, messages_over_an_address_know_their_connection) {
  struct end a, b;
  open_listening(&a, &b, 1);
  request(&a, &b, 0);
  uint8_t greeting[] = "hello";
  CHECK_INVALID(doca_rdma_connection_accept(b.connection, NULL, 1));
  CHECK_OK(doca_rdma_connection_accept(b.connection, greeting, sizeof greeting));
  CHECK_STATUS(doca_rdma_connection_accept(b.connection, NULL, 0), DOCA_ERROR_BAD_STATE);
  ends_progress_until(&a, &b, &a.seen.established, 1);
  end_receive(&b, NULL);
  struct doca_rdma_task_send* task = NULL;
  CHECK_OK(doca_rdma_task_send_allocate_init(a.rdma, a.connection, NULL, (union doca_data){.u64 = 0}, &task));
  end_submit(doca_rdma_task_send_as_task(task));
  ends_progress_until(&a, &b, &b.seen.successes, 1);
  CHECK(b.seen.established == 1 && b.seen.over == b.connection);
  ends_progress_until(&a, &b, &a.seen.successes, 1);
  ends_close(&a, &b);
}

CASE(rdma_connection, a_rejected_request_fails_at_the_peer) {
  struct end a, b;
  open_listening(&a, &b, 1);
  request(&a, &b, 9);
  CHECK_OK(doca_rdma_connection_reject(b.connection));
  CHECK_STATUS(doca_rdma_connection_reject(b.connection), DOCA_ERROR_BAD_STATE);
  ends_progress_until(&a, &b, &a.seen.failed, 1);
  CHECK(a.seen.connection_data == 9 && a.seen.established == 0);
  request(&a, &b, 10);
  CHECK_OK(doca_rdma_connection_accept(b.connection, NULL, 0));
  ends_progress_until(&a, &b, &a.seen.established, 1);
  ends_progress_until(&a, &b, &b.seen.established, 1);
  CHECK(b.seen.failed == 0);
  ends_close(&a, &b);
}

CASE(rdma_connection, nobody_listens) {
  struct end a;
  end_open(&a, 1);
  struct doca_rdma_addr* address = address_of(&a);
  CHECK_OK(doca_rdma_connect_to_addr(a.rdma, address, (union doca_data){.u64 = 3}));
  CHECK_STATUS(doca_rdma_connect_to_addr(a.rdma, address, (union doca_data){.u64 = 4}), DOCA_ERROR_CONNECTION_ABORTED);
  ends_progress_until(&a, NULL, &a.seen.failed, 1);
  CHECK(a.seen.connection_data == 3);
  CHECK_OK(doca_rdma_addr_destroy(address));
  end_close(&a);
}

CASE(rdma_connection, an_old_one_makes_room_for_the_next) {
  struct end a, b;
  open_listening(&a, &b, 1);
  request(&a, &b, 0);
  CHECK_OK(doca_rdma_connection_accept(b.connection, NULL, 0));
  ends_progress_until(&a, &b, &a.seen.established, 1);
  struct doca_rdma_connection* old = a.connection;
  union doca_data data;
  CHECK_OK(doca_rdma_connection_disconnect(old));
  ends_progress_until(&a, &b, &a.seen.disconnected, 1);
  ends_progress_until(&a, &b, &b.seen.disconnected, 1);
  CHECK_OK(doca_rdma_connection_get_user_data(old, &data));
  struct doca_rdma_task_send* task = NULL;
  CHECK_STATUS(doca_rdma_task_send_allocate_init(a.rdma, old, NULL, data, &task), DOCA_ERROR_NOT_CONNECTED);
  request(&a, &b, 0);
  CHECK_INVALID(doca_rdma_connection_get_user_data(old, &data));
  CHECK_INVALID(doca_rdma_task_send_allocate_init(a.rdma, old, NULL, data, &task));
  ends_close(&a, &b);
}

CASE(rdma_connection, listening_is_refused_as_documented) {
  struct end a, b;
  end_create(&a, 1);
  CHECK_STATUS(doca_rdma_start_listen_to_port(a.rdma, end_port()), DOCA_ERROR_BAD_STATE);
  stage_start(&a.stage, doca_rdma_as_ctx(a.rdma));
  CHECK_INVALID(doca_rdma_start_listen_to_port(a.rdma, 0));
  CHECK_OK(doca_rdma_start_listen_to_port(a.rdma, end_port()));
  CHECK_STATUS(doca_rdma_start_listen_to_port(a.rdma, end_port()), DOCA_ERROR_BAD_STATE);
  end_create(&b, 1);
  CHECK_OK(doca_rdma_set_connection_state_callbacks(b.rdma, NULL, NULL, NULL, NULL));
  stage_start(&b.stage, doca_rdma_as_ctx(b.rdma));
  CHECK_INVALID(doca_rdma_start_listen_to_port(b.rdma, (uint16_t)(end_port() + 1)));
  CHECK_INVALID(doca_rdma_stop_listen_to_port(b.rdma, end_port()));
  CHECK_STATUS(doca_rdma_set_connection_state_callbacks(b.rdma, NULL, NULL, NULL, NULL), DOCA_ERROR_BAD_STATE);
  CHECK_OK(doca_rdma_stop_listen_to_port(a.rdma, end_port()));
  CHECK_INVALID(doca_rdma_stop_listen_to_port(a.rdma, end_port()));
  ends_close(&a, &b);
}

CASE(rdma_connection, addresses_are_read_and_told) {
  struct doca_rdma_addr* address = NULL;
  enum doca_rdma_addr_type type = DOCA_RDMA_ADDR_TYPE_IPv4;
  const char* text = NULL;
  uint16_t number = 0;
  CHECK_INVALID(doca_rdma_addr_create(DOCA_RDMA_ADDR_TYPE_IPv4, "10.0.0", end_port(), &address));
  CHECK_INVALID(doca_rdma_addr_create(DOCA_RDMA_ADDR_TYPE_IPv4, "10.0.0.1", 0, &address));
  CHECK_INVALID(doca_rdma_addr_create((enum doca_rdma_addr_type)256, "10.0.0.1", end_port(), &address));
  CHECK_INVALID(doca_rdma_addr_create(DOCA_RDMA_ADDR_TYPE_IPv4, NULL, end_port(), &address));
  CHECK_OK(doca_rdma_addr_create(DOCA_RDMA_ADDR_TYPE_GID, "fe80::1", end_port(), &address));
  CHECK_OK(doca_rdma_addr_get_params(address, &type, &text, &number));
  CHECK(type == DOCA_RDMA_ADDR_TYPE_GID && strcmp(text, "fe80::1") == 0 && number == end_port());
  CHECK_INVALID(doca_rdma_addr_get_params(address, &type, NULL, &number));
  CHECK_OK(doca_rdma_addr_destroy(address));
  CHECK_INVALID(doca_rdma_addr_destroy(address));
}

CASE(rdma_connection, has_its_peers_address) {
  struct end a, b;
  open_listening(&a, &b, 1);
  request(&a, &b, 0);
  struct doca_rdma_addr* address = NULL;
  struct doca_rdma_addr* again = NULL;
  CHECK_OK(doca_rdma_connection_get_addr(b.connection, &address));
  CHECK_OK(doca_rdma_connection_get_addr(b.connection, &again));
  CHECK(address == again);
  CHECK_STATUS(doca_rdma_addr_destroy(address), DOCA_ERROR_BAD_STATE);
  ends_close(&a, &b);
  CHECK_INVALID(doca_rdma_addr_destroy(address));
  uint8_t details[512];
  end_open(&a, 1);
  (void)end_export(&a, details);
  CHECK_INVALID(doca_rdma_connection_get_addr(a.connection, &address));
  end_close(&a);
}

CASE(rdma_connection, ends_with_its_context) {
  struct end a;
  uint8_t details[512];
  uint32_t id = 0;
  end_open(&a, 1);
  (void)end_export(&a, details);
  CHECK_STATUS(doca_rdma_destroy(a.rdma), DOCA_ERROR_BAD_STATE);
  struct doca_rdma_connection* connection = a.connection;
  stage_stop(&a.stage, doca_rdma_as_ctx(a.rdma));
  CHECK_OK(doca_rdma_connection_get_id(connection, &id));
  end_close(&a);
  CHECK_INVALID(doca_rdma_connection_get_id(connection, &id));
  CHECK_INVALID(doca_rdma_connection_disconnect(connection));
  CHECK_INVALID(doca_rdma_connection_accept(NULL, NULL, 0));
}

CASE(rdma_connection, librdmacms_are_refused) {
  struct end a;
  uint8_t details[512];
  int id = 0;
  struct doca_rdma_connection* connection = NULL;
  end_open(&a, 1);
  (void)end_export(&a, details);
  CHECK_STATUS(doca_rdma_bridge_prepare_connection(a.rdma, &id, &connection), DOCA_ERROR_NOT_SUPPORTED);
  CHECK_STATUS(doca_rdma_bridge_accept(a.rdma, NULL, 0, a.connection), DOCA_ERROR_NOT_SUPPORTED);
  CHECK_STATUS(doca_rdma_bridge_established(a.rdma, a.connection), DOCA_ERROR_NOT_SUPPORTED);
  CHECK_INVALID(doca_rdma_bridge_established(a.rdma, NULL));
  end_close(&a);
}
