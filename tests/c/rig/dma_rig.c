#include "rig/stand.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static doca_error_t is_any(const struct doca_devinfo* info) {
  (void)info;
  return DOCA_SUCCESS;
}

static bool has_address(const struct doca_devinfo* info, const char* pci_addr) {
  uint8_t is_equal = 0;
  CHECK_OK(doca_devinfo_is_equal_pci_addr(info, pci_addr, &is_equal));
  return is_equal != 0;
}

static struct doca_dev* open_where(const char* pci_addr, doca_error_t (*check)(const struct doca_devinfo* info)) {
  struct doca_devinfo** list = NULL;
  uint32_t count = 0;
  struct doca_dev* dev = NULL;
  CHECK_OK(doca_devinfo_create_list(&list, &count));
  for (uint32_t i = 0; i < count && dev == NULL; i++) {
    if (pci_addr != NULL && !has_address(list[i], pci_addr)) continue;
    if (check(list[i]) == DOCA_SUCCESS) CHECK_OK(doca_dev_open(list[i], &dev));
  }
  CHECK_OK(doca_devinfo_destroy_list(list));
  CHECK(dev != NULL);
  return dev;
}

struct doca_dev* open_first(doca_error_t (*check)(const struct doca_devinfo* info)) { return open_where(NULL, check); }

struct doca_dev* open_pci(const char* pci_addr) { return open_where(pci_addr, is_any); }

struct doca_mmap* map_memory(struct doca_dev* dev, void* memory, size_t size, uint32_t permissions) {
  struct doca_mmap* mmap = NULL;
  CHECK_OK(doca_mmap_create(&mmap));
  CHECK_OK(doca_mmap_add_dev(mmap, dev));
  CHECK_OK(doca_mmap_set_memrange(mmap, memory, size));
  CHECK_OK(doca_mmap_set_permissions(mmap, permissions));
  CHECK_OK(doca_mmap_start(mmap));
  return mmap;
}

void stand_set_up_with(struct stand* stand, struct doca_dev* dev, size_t size) {
  *stand = (struct stand){.dev = dev, .size = size};
  CHECK_OK(doca_pe_create(&stand->pe));
  CHECK_OK(doca_buf_inventory_create(64, &stand->inventory));
  CHECK_OK(doca_buf_inventory_start(stand->inventory));
  stand->memory = calloc(1, size);
  CHECK(stand->memory != NULL);
  stand->mmap = map_memory(dev, stand->memory, size, DOCA_ACCESS_FLAG_LOCAL_READ_WRITE);
}

void stand_set_up(struct stand* stand, size_t size) {
  stand_set_up_with(stand, open_first(doca_dma_cap_task_memcpy_is_supported), size);
}

void stand_tear_down(struct stand* stand) {
  CHECK_OK(doca_pe_destroy(stand->pe));
  CHECK_OK(doca_buf_inventory_destroy(stand->inventory));
  CHECK_OK(doca_mmap_destroy(stand->mmap));
  CHECK_OK(doca_dev_close(stand->dev));
  free(stand->memory);
}

struct doca_buf* data_buf(struct stand* stand, size_t offset, size_t len) {
  struct doca_buf* buf = NULL;
  CHECK_OK(doca_buf_inventory_buf_get_by_data(stand->inventory, stand->mmap, stand->memory + offset, len, &buf));
  return buf;
}

struct doca_buf* room_buf(struct stand* stand, size_t offset, size_t len) {
  struct doca_buf* buf = NULL;
  CHECK_OK(doca_buf_inventory_buf_get_by_addr(stand->inventory, stand->mmap, stand->memory + offset, len, &buf));
  return buf;
}

void count_success(struct doca_dma_task_memcpy* task, union doca_data task_user_data, union doca_data ctx_user_data) {
  struct dma_rig* rig = ctx_user_data.ptr;
  (void)task_user_data;
  rig->num_succeeded++;
  doca_task_free(as_task(task));
}

void count_failure(struct doca_dma_task_memcpy* task, union doca_data task_user_data, union doca_data ctx_user_data) {
  struct dma_rig* rig = ctx_user_data.ptr;
  (void)task_user_data;
  if (rig->num_failed++ == 0) rig->first_failure = doca_task_get_status(as_task(task));
  doca_task_free(as_task(task));
}

static void note_state(const union doca_data user_data, struct doca_ctx* ctx, enum doca_ctx_states previous,
                       enum doca_ctx_states next) {
  struct dma_rig* rig = user_data.ptr;
  (void)previous;
  CHECK(ctx == rig->ctx);
  CHECK_EQUAL(state_of(ctx), next);
  if (rig->num_states < 16) rig->states[rig->num_states++] = next;
}

void dma_rig_configure(struct dma_rig* rig, size_t size, doca_dma_task_memcpy_completion_cb_t on_success,
                       doca_dma_task_memcpy_completion_cb_t on_error, uint32_t num_tasks) {
  memset(rig, 0, sizeof *rig);
  stand_set_up(&rig->stand, size);
  CHECK_OK(doca_dma_create(rig->stand.dev, &rig->dma));
  rig->ctx = doca_dma_as_ctx(rig->dma);
  CHECK_OK(doca_dma_task_memcpy_set_conf(rig->dma, on_success, on_error, num_tasks));
  CHECK_OK(doca_ctx_set_user_data(rig->ctx, (union doca_data){.ptr = rig}));
  CHECK_OK(doca_ctx_set_state_changed_cb(rig->ctx, note_state));
  CHECK_OK(doca_pe_connect_ctx(rig->stand.pe, rig->ctx));
  rig->src = data_buf(&rig->stand, 0, size / 2);
  rig->dst = room_buf(&rig->stand, size / 2, size / 2);
}

void dma_rig_set_up(struct dma_rig* rig, size_t size, doca_dma_task_memcpy_completion_cb_t on_success,
                    doca_dma_task_memcpy_completion_cb_t on_error, uint32_t num_tasks) {
  dma_rig_configure(rig, size, on_success, on_error, num_tasks);
  CHECK_OK(doca_ctx_start(rig->ctx));
}

void dma_rig_tear_down(struct dma_rig* rig) {
  stop_until_idle(rig->stand.pe, rig->ctx);
  CHECK_OK(doca_dma_destroy(rig->dma));
  CHECK_OK(doca_buf_dec_refcount(rig->src, NULL));
  CHECK_OK(doca_buf_dec_refcount(rig->dst, NULL));
  stand_tear_down(&rig->stand);
}

struct doca_dma_task_memcpy* take_copy(struct dma_rig* rig, struct doca_buf* src, struct doca_buf* dst) {
  struct doca_dma_task_memcpy* task = NULL;
  CHECK_OK(doca_dma_task_memcpy_alloc_init(rig->dma, src, dst, (union doca_data){.u64 = 7}, &task));
  return task;
}

struct doca_task* as_task(struct doca_dma_task_memcpy* task) { return doca_dma_task_memcpy_as_task(task); }

enum doca_ctx_states state_of(struct doca_ctx* ctx) {
  enum doca_ctx_states state = DOCA_CTX_STATE_IDLE;
  CHECK_OK(doca_ctx_get_state(ctx, &state));
  return state;
}

void progress_until_completed(struct dma_rig* rig, int num_completed) {
  while (rig->num_succeeded + rig->num_failed < num_completed) doca_pe_progress(rig->stand.pe);
}

void progress_until_state(struct doca_pe* pe, struct doca_ctx* ctx, enum doca_ctx_states state) {
  while (state_of(ctx) != state) doca_pe_progress(pe);
}

void stop_until_idle(struct doca_pe* pe, struct doca_ctx* ctx) {
  const doca_error_t result = doca_ctx_stop(ctx);
  if (result == DOCA_ERROR_IN_PROGRESS) {
    progress_until_state(pe, ctx, DOCA_CTX_STATE_IDLE);
    return;
  }
  CHECK_OK(result);
}
