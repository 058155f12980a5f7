#include "rig/case.h"
#include "rig/device.h"
#include "rig/stage.h"

#include <doca_comch.h>
#include <string.h>

static void sent(struct doca_comch_task_send* task, union doca_data task_data, union doca_data ctx_data) {
  (void)task_data;
  (void)ctx_data;
  doca_task_free(doca_comch_task_send_as_task(task));
}

static void received(struct doca_comch_event_msg_recv* event, uint8_t* buffer, uint32_t length,
                     struct doca_comch_connection* connection) {
  (void)event;
  (void)buffer;
  (void)length;
  (void)connection;
}

static void consumer_changed(struct doca_comch_event_consumer* event, struct doca_comch_connection* connection,
                             uint32_t id) {
  (void)event;
  (void)connection;
  (void)id;
  CHECK(false);
}

struct rig {
  struct doca_dev* dev;
  struct doca_pe* pe;
  struct doca_comch_client* client;
  struct doca_ctx* ctx;
};

/// Everything but the events and the task is configured.
static void begin(struct rig* rig) {
  rig->dev = open_device("0b:00.0");
  CHECK_OK(doca_pe_create(&rig->pe));
  CHECK_OK(doca_comch_client_create(rig->dev, "nobody", &rig->client));
  rig->ctx = doca_comch_client_as_ctx(rig->client);
  CHECK(rig->ctx != NULL);
  CHECK_STATUS(doca_ctx_start(rig->ctx), DOCA_ERROR_NOT_CONNECTED);
  CHECK_OK(doca_pe_connect_ctx(rig->pe, rig->ctx));
}

static void configure(struct rig* rig) {
  CHECK_OK(doca_comch_client_task_send_set_conf(rig->client, sent, sent, 8));
  CHECK_OK(doca_comch_client_event_msg_recv_register(rig->client, received));
}

static void end(struct rig* rig) {
  CHECK_OK(doca_comch_client_destroy(rig->client));
  CHECK_INVALID(doca_comch_client_destroy(rig->client));
  CHECK(doca_comch_client_as_ctx(rig->client) == NULL);
  CHECK_OK(doca_pe_destroy(rig->pe));
  CHECK_OK(doca_dev_close(rig->dev));
}

CASE(comch_client, without_a_server_stays_starting) {
  struct rig rig;
  begin(&rig);
  configure(&rig);
  for (int run = 0; run < 2; ++run) {
    CHECK_STATUS(doca_ctx_start(rig.ctx), DOCA_ERROR_IN_PROGRESS);
    for (int i = 0; i < 1000; ++i) {
      (void)doca_pe_progress(rig.pe);
    }
    CHECK(state_of(rig.ctx) == DOCA_CTX_STATE_STARTING);
    struct doca_comch_connection* connection = NULL;
    CHECK_STATUS(doca_comch_client_get_connection(rig.client, &connection), DOCA_ERROR_BAD_STATE);
    CHECK_STATUS(doca_ctx_start(rig.ctx), DOCA_ERROR_BAD_STATE);
    CHECK_STATUS(doca_comch_client_destroy(rig.client), DOCA_ERROR_IN_USE);
    CHECK_OK(doca_ctx_stop(rig.ctx));
    CHECK(state_of(rig.ctx) == DOCA_CTX_STATE_IDLE);
  }
  end(&rig);
}

CASE(comch_client, starts_when_it_is_configured) {
  struct rig rig;
  begin(&rig);
  CHECK_INVALID(doca_ctx_start(rig.ctx));
  CHECK_OK(doca_comch_client_task_send_set_conf(rig.client, sent, sent, 1));
  CHECK_INVALID(doca_ctx_start(rig.ctx));
  CHECK_OK(doca_comch_client_event_msg_recv_register(rig.client, received));
  CHECK_STATUS(doca_ctx_start(rig.ctx), DOCA_ERROR_IN_PROGRESS);
  CHECK_OK(doca_ctx_stop(rig.ctx));
  end(&rig);
}

CASE(comch_client, is_configured_while_idle) {
  struct rig rig;
  begin(&rig);
  configure(&rig);
  CHECK_STATUS(doca_ctx_start(rig.ctx), DOCA_ERROR_IN_PROGRESS);
  CHECK_STATUS(doca_comch_client_set_max_msg_size(rig.client, 100), DOCA_ERROR_BAD_STATE);
  CHECK_STATUS(doca_comch_client_set_recv_queue_size(rig.client, 8), DOCA_ERROR_BAD_STATE);
  CHECK_STATUS(doca_comch_client_task_send_set_conf(rig.client, sent, sent, 8), DOCA_ERROR_BAD_STATE);
  CHECK_STATUS(doca_comch_client_event_msg_recv_register(rig.client, received), DOCA_ERROR_BAD_STATE);
  CHECK_STATUS(doca_comch_client_event_consumer_register(rig.client, consumer_changed, consumer_changed),
               DOCA_ERROR_BAD_STATE);
  CHECK_OK(doca_ctx_stop(rig.ctx));
  CHECK_OK(doca_comch_client_event_consumer_register(rig.client, consumer_changed, consumer_changed));
  end(&rig);
}

CASE(comch_client, has_the_sizes_that_are_set) {
  struct rig rig;
  begin(&rig);
  const struct doca_devinfo* info = doca_dev_as_devinfo(rig.dev);
  uint32_t size = 0;
  uint32_t limit = 0;
  CHECK_OK(doca_comch_cap_get_max_msg_size(info, &limit));
  CHECK(limit == 4080);
  CHECK_OK(doca_comch_client_get_max_msg_size(rig.client, &size));
  CHECK(size == limit);
  CHECK_OK(doca_comch_client_set_max_msg_size(rig.client, 100));
  CHECK_INVALID(doca_comch_client_set_max_msg_size(rig.client, 0));
  CHECK_INVALID(doca_comch_client_set_max_msg_size(rig.client, limit + 1));
  CHECK_OK(doca_comch_client_get_max_msg_size(rig.client, &size));
  CHECK(size == 100);
  CHECK_OK(doca_comch_cap_get_max_recv_queue_size(info, &limit));
  CHECK_OK(doca_comch_client_set_recv_queue_size(rig.client, limit));
  CHECK_INVALID(doca_comch_client_set_recv_queue_size(rig.client, 0));
  CHECK_INVALID(doca_comch_client_set_recv_queue_size(rig.client, limit + 1));
  CHECK_OK(doca_comch_client_get_recv_queue_size(rig.client, &size));
  CHECK(size == limit);
  CHECK_OK(doca_comch_cap_get_max_send_tasks(info, &limit));
  CHECK(limit >= 1024);
  CHECK_OK(doca_comch_client_task_send_set_conf(rig.client, sent, sent, limit));
  CHECK_INVALID(doca_comch_client_task_send_set_conf(rig.client, sent, sent, 0));
  CHECK_INVALID(doca_comch_client_task_send_set_conf(rig.client, sent, sent, limit + 1));
  struct doca_dev* dev = NULL;
  CHECK_OK(doca_comch_client_get_device(rig.client, &dev));
  CHECK(dev == rig.dev);
  end(&rig);
}

CASE(comch_client, names_have_a_limit) {
  struct rig rig;
  begin(&rig);
  char name[200];
  uint32_t limit = 0;
  struct doca_comch_client* client = NULL;
  CHECK_OK(doca_comch_cap_get_max_name_len(doca_dev_as_devinfo(rig.dev), &limit));
  CHECK(limit == 120);
  memset(name, 'x', sizeof name);
  name[limit] = '\0';
  CHECK_INVALID(doca_comch_client_create(rig.dev, name, &client));
  CHECK_INVALID(doca_comch_client_create(rig.dev, "", &client));
  name[limit - 1] = '\0';
  CHECK_OK(doca_comch_client_create(rig.dev, name, &client));
  CHECK_OK(doca_comch_client_destroy(client));
  end(&rig);
}

CASE(comch_client, is_what_a_function_of_the_host_can_be) {
  struct doca_dev* dev = open_device("0b:00.0");
  const struct doca_devinfo* info = doca_dev_as_devinfo(dev);
  uint32_t limit = 0;
  CHECK_OK(doca_comch_cap_client_is_supported(info));
  CHECK_STATUS(doca_comch_cap_server_is_supported(info), DOCA_ERROR_NOT_SUPPORTED);
  CHECK_OK(doca_comch_cap_get_max_clients(info, &limit));
  CHECK(limit >= 512);
  CHECK_INVALID(doca_comch_cap_client_is_supported(NULL));
  CHECK_INVALID(doca_comch_cap_server_is_supported(NULL));
  CHECK_INVALID(doca_comch_cap_get_max_clients(info, NULL));
  CHECK_INVALID(doca_comch_cap_get_max_name_len(NULL, &limit));
  CHECK_OK(doca_dev_close(dev));
}

CASE(comch_client, null_and_objects_of_another_kind_are_invalid) {
  struct rig rig;
  begin(&rig);
  struct doca_comch_client* client = NULL;
  struct doca_comch_connection* connection = NULL;
  struct doca_comch_task_send* task = NULL;
  uint32_t size = 0;
  uint64_t count = 0;
  CHECK_INVALID(doca_comch_client_create(NULL, "name", &client));
  CHECK_INVALID(doca_comch_client_create(rig.dev, NULL, &client));
  CHECK_INVALID(doca_comch_client_create(rig.dev, "name", NULL));
  CHECK_INVALID(doca_comch_client_destroy(NULL));
  CHECK_INVALID(doca_comch_server_destroy((struct doca_comch_server*)rig.client));
  CHECK(doca_comch_server_as_ctx((struct doca_comch_server*)rig.client) == NULL);
  CHECK_INVALID(doca_comch_client_set_max_msg_size(NULL, 1));
  CHECK_INVALID(doca_comch_client_get_max_msg_size(rig.client, NULL));
  CHECK_INVALID(doca_comch_client_get_recv_queue_size(NULL, &size));
  CHECK_INVALID(doca_comch_client_get_device(rig.client, NULL));
  CHECK_INVALID(doca_comch_client_event_msg_recv_register(rig.client, NULL));
  CHECK_INVALID(doca_comch_client_event_consumer_register(rig.client, consumer_changed, NULL));
  CHECK_INVALID(doca_comch_client_task_send_set_conf(rig.client, sent, NULL, 1));
  CHECK_INVALID(doca_comch_client_get_connection(rig.client, NULL));
  CHECK_INVALID(doca_comch_client_task_send_alloc_init(rig.client, NULL, "", 0, &task));
  CHECK(doca_comch_task_send_as_task(NULL) == NULL);
  CHECK_INVALID(doca_comch_connection_set_user_data(NULL, (union doca_data){.u64 = 0}));
  CHECK(doca_comch_connection_get_user_data(NULL).u64 == 0);
  CHECK_INVALID(doca_comch_connection_update_info(connection));
  CHECK_INVALID(doca_comch_connection_get_counter(connection, DOCA_COMCH_COUNTER_SENT_BYTES, &count));
  CHECK(doca_comch_client_get_client_ctx(NULL) == NULL && doca_comch_server_get_server_ctx(NULL) == NULL);
  CHECK_STATUS(doca_dev_close(rig.dev), DOCA_ERROR_IN_USE);
  end(&rig);
}
