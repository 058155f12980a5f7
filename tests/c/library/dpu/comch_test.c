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

static void changed(struct doca_comch_event_connection_status_changed* event, struct doca_comch_connection* connection,
                    uint8_t is_successful) {
  (void)event;
  (void)connection;
  (void)is_successful;
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
  struct doca_dev_rep* rep;
  struct doca_pe* pe;
};

static void begin(struct rig* rig) {
  struct doca_devinfo_rep** list = NULL;
  uint32_t count = 0;
  rig->dev = open_device("03:00.0");
  CHECK_OK(doca_devinfo_rep_create_list(rig->dev, DOCA_DEVINFO_REP_FILTER_NET, &list, &count));
  CHECK(count > 0);
  CHECK_OK(doca_dev_rep_open(list[0], &rig->rep));
  CHECK_OK(doca_devinfo_rep_destroy_list(list));
  CHECK_OK(doca_pe_create(&rig->pe));
}

static void end(struct rig* rig) {
  CHECK_OK(doca_pe_destroy(rig->pe));
  CHECK_OK(doca_dev_rep_close(rig->rep));
  CHECK_OK(doca_dev_close(rig->dev));
}

static struct doca_comch_server* make_server(struct rig* rig, const char* name) {
  struct doca_comch_server* server = NULL;
  CHECK_OK(doca_comch_server_create(rig->dev, rig->rep, name, &server));
  CHECK_OK(doca_pe_connect_ctx(rig->pe, doca_comch_server_as_ctx(server)));
  return server;
}

static void configure(struct doca_comch_server* server) {
  CHECK_OK(doca_comch_server_task_send_set_conf(server, sent, sent, 8));
  CHECK_OK(doca_comch_server_event_msg_recv_register(server, received));
  CHECK_OK(doca_comch_server_event_connection_status_changed_register(server, changed, changed));
}

CASE(comch_server, starts_at_once_when_it_is_configured) {
  struct rig rig;
  begin(&rig);
  struct doca_comch_server* server = make_server(&rig, "one");
  struct doca_ctx* ctx = doca_comch_server_as_ctx(server);
  CHECK_INVALID(doca_ctx_start(ctx));
  CHECK_OK(doca_comch_server_task_send_set_conf(server, sent, sent, 8));
  CHECK_INVALID(doca_ctx_start(ctx));
  CHECK_OK(doca_comch_server_event_msg_recv_register(server, received));
  CHECK_INVALID(doca_ctx_start(ctx));
  CHECK_OK(doca_comch_server_event_connection_status_changed_register(server, changed, changed));
  CHECK_OK(doca_ctx_start(ctx));
  CHECK(state_of(ctx) == DOCA_CTX_STATE_RUNNING);
  CHECK_STATUS(doca_comch_server_destroy(server), DOCA_ERROR_IN_USE);
  CHECK_OK(doca_ctx_stop(ctx));
  CHECK_OK(doca_comch_server_destroy(server));
  CHECK_INVALID(doca_comch_server_destroy(server));
  CHECK_INVALID(doca_ctx_start(ctx));
  end(&rig);
}

CASE(comch_server, a_function_has_one_of_a_name) {
  struct rig rig;
  begin(&rig);
  struct doca_comch_server* one = make_server(&rig, "same");
  struct doca_comch_server* other = make_server(&rig, "same");
  configure(one);
  configure(other);
  CHECK_OK(doca_ctx_start(doca_comch_server_as_ctx(one)));
  CHECK_STATUS(doca_ctx_start(doca_comch_server_as_ctx(other)), DOCA_ERROR_ALREADY_EXIST);
  CHECK_OK(doca_ctx_stop(doca_comch_server_as_ctx(one)));
  CHECK_OK(doca_ctx_start(doca_comch_server_as_ctx(other)));
  CHECK_OK(doca_ctx_stop(doca_comch_server_as_ctx(other)));
  CHECK_OK(doca_comch_server_destroy(one));
  CHECK_OK(doca_comch_server_destroy(other));
  end(&rig);
}

CASE(comch_server, is_configured_while_idle) {
  struct rig rig;
  begin(&rig);
  struct doca_comch_server* server = make_server(&rig, "one");
  configure(server);
  CHECK_OK(doca_comch_server_event_consumer_register(server, consumer_changed, consumer_changed));
  CHECK_OK(doca_ctx_start(doca_comch_server_as_ctx(server)));
  CHECK_STATUS(doca_comch_server_set_max_msg_size(server, 100), DOCA_ERROR_BAD_STATE);
  CHECK_STATUS(doca_comch_server_set_recv_queue_size(server, 8), DOCA_ERROR_BAD_STATE);
  CHECK_STATUS(doca_comch_server_task_send_set_conf(server, sent, sent, 8), DOCA_ERROR_BAD_STATE);
  CHECK_STATUS(doca_comch_server_event_msg_recv_register(server, received), DOCA_ERROR_BAD_STATE);
  CHECK_STATUS(doca_comch_server_event_connection_status_changed_register(server, changed, changed),
               DOCA_ERROR_BAD_STATE);
  CHECK_STATUS(doca_comch_server_event_consumer_register(server, consumer_changed, consumer_changed),
               DOCA_ERROR_BAD_STATE);
  CHECK_OK(doca_ctx_stop(doca_comch_server_as_ctx(server)));
  CHECK_OK(doca_comch_server_destroy(server));
  end(&rig);
}

CASE(comch_server, has_what_it_was_made_with) {
  struct rig rig;
  begin(&rig);
  struct doca_comch_server* server = make_server(&rig, "one");
  struct doca_dev* dev = NULL;
  struct doca_dev_rep* rep = NULL;
  uint32_t size = 0;
  CHECK_OK(doca_comch_server_get_device(server, &dev));
  CHECK_OK(doca_comch_server_get_device_rep(server, &rep));
  CHECK(dev == rig.dev && rep == rig.rep);
  CHECK_OK(doca_comch_server_set_max_msg_size(server, 7));
  CHECK_OK(doca_comch_server_get_max_msg_size(server, &size));
  CHECK(size == 7);
  CHECK_OK(doca_comch_server_set_recv_queue_size(server, 9));
  CHECK_OK(doca_comch_server_get_recv_queue_size(server, &size));
  CHECK(size == 9);
  CHECK_INVALID(doca_comch_server_set_max_msg_size(server, 4081));
  CHECK_INVALID(doca_comch_server_set_recv_queue_size(server, 0));
  CHECK_STATUS(doca_dev_rep_close(rig.rep), DOCA_ERROR_IN_USE);
  CHECK_OK(doca_comch_server_destroy(server));
  end(&rig);
}

CASE(comch_server, null_and_another_name_are_invalid) {
  struct rig rig;
  begin(&rig);
  struct doca_comch_server* server = NULL;
  char name[200];
  memset(name, 'x', sizeof name);
  name[120] = '\0';
  CHECK_INVALID(doca_comch_server_create(NULL, rig.rep, "one", &server));
  CHECK_INVALID(doca_comch_server_create(rig.dev, NULL, "one", &server));
  CHECK_INVALID(doca_comch_server_create(rig.dev, rig.rep, NULL, &server));
  CHECK_INVALID(doca_comch_server_create(rig.dev, rig.rep, "one", NULL));
  CHECK_INVALID(doca_comch_server_create(rig.dev, rig.rep, name, &server));
  server = make_server(&rig, "one");
  CHECK_INVALID(doca_comch_server_event_msg_recv_register(server, NULL));
  CHECK_INVALID(doca_comch_server_event_connection_status_changed_register(server, changed, NULL));
  CHECK_INVALID(doca_comch_server_event_connection_status_changed_register(NULL, changed, changed));
  CHECK_INVALID(doca_comch_server_event_consumer_register(server, NULL, consumer_changed));
  CHECK_INVALID(doca_comch_server_disconnect(server, NULL));
  CHECK_INVALID(doca_comch_server_get_device_rep(server, NULL));
  CHECK_INVALID(doca_comch_client_destroy((struct doca_comch_client*)server));
  struct doca_comch_client* client = NULL;
  CHECK_STATUS(doca_comch_client_create(rig.dev, "one", &client), DOCA_ERROR_NOT_SUPPORTED);
  CHECK_OK(doca_comch_cap_server_is_supported(doca_dev_as_devinfo(rig.dev)));
  CHECK_STATUS(doca_comch_cap_client_is_supported(doca_dev_as_devinfo(rig.dev)), DOCA_ERROR_NOT_SUPPORTED);
  CHECK_OK(doca_comch_server_destroy(server));
  end(&rig);
}
