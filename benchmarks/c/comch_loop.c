#include "loops.h"
#include "stage.h"

#include <doca_comch.h>
#include <stdlib.h>

struct c_comch_loop {
  struct stage stage;
  struct doca_comch_client* client;
  struct doca_comch_connection* connection;
  void (*serve)(void* server);
  void* server;
  uint64_t completed;
};

static void sent(struct doca_comch_task_send* task, union doca_data task_data, union doca_data ctx_data) {
  struct c_comch_loop* loop = ctx_data.ptr;
  (void)task_data;
  doca_task_free(doca_comch_task_send_as_task(task));
  ++loop->completed;
}

static void failed(struct doca_comch_task_send* task, union doca_data task_data, union doca_data ctx_data) {
  (void)task_data;
  (void)ctx_data;
  refuse(doca_task_get_status(doca_comch_task_send_as_task(task)));
}

static void received(struct doca_comch_event_msg_recv* event, uint8_t* message, uint32_t size,
                     struct doca_comch_connection* connection) {
  (void)event;
  (void)message;
  (void)size;
  (void)connection;
}

struct c_comch_loop* c_comch_open(const char* name, void (*serve)(void* server), void* server) {
  struct c_comch_loop* loop = calloc(1, sizeof *loop);
  if (loop == NULL) refuse(DOCA_ERROR_NO_MEMORY);
  loop->serve = serve;
  loop->server = server;
  stage_open(&loop->stage, DOCA_ACCESS_FLAG_LOCAL_READ_WRITE);
  require(doca_comch_client_create(loop->stage.dev, name, &loop->client));
  require(doca_comch_client_task_send_set_conf(loop->client, sent, failed, depth));
  require(doca_comch_client_event_msg_recv_register(loop->client, received));
  stage_start(&loop->stage, doca_comch_client_as_ctx(loop->client), loop);
  while (doca_comch_client_get_connection(loop->client, &loop->connection) != DOCA_SUCCESS) {
    (void)doca_pe_progress(loop->stage.pe);
    serve(server);
  }
  return loop;
}

void c_comch_run(struct c_comch_loop* loop, uint64_t count) {
  const uint64_t end = loop->completed + count;
  while (loop->completed < end) {
    const uint64_t next = loop->completed + 1;
    struct doca_comch_task_send* task = NULL;
    require(
        doca_comch_client_task_send_alloc_init(loop->client, loop->connection, loop->stage.memory, task_size, &task));
    require(doca_task_submit(doca_comch_task_send_as_task(task)));
    while (loop->completed < next) (void)doca_pe_progress(loop->stage.pe);
    loop->serve(loop->server);
  }
}

void c_comch_close(struct c_comch_loop* loop) {
  stage_stop(&loop->stage, doca_comch_client_as_ctx(loop->client));
  require(doca_comch_client_destroy(loop->client));
  stage_close(&loop->stage);
  free(loop);
}
