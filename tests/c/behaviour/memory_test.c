// Memory of programs is not the engine's: allocated, static, on the stack, or of a file. doca_mmap.h.

#include "rig/dma_rig.h"
#include "rig/side.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { size = 64 * 1024, page = 4096 };

// Copies the first half of memory to the second one.
static void copy_within(struct dma_rig* rig, char* memory) {
  struct doca_mmap* mmap = map_memory(rig->stage.dev, memory, size, DOCA_ACCESS_FLAG_LOCAL_READ_WRITE);
  struct doca_buf_inventory* inventory = rig->stage.inventory;
  struct doca_buf* src = NULL;
  struct doca_buf* dst = NULL;
  for (size_t i = 0; i < size / 2; i++) memory[i] = (char)(i % 127);
  CHECK_OK(doca_buf_inventory_buf_get_by_data(inventory, mmap, memory, size / 2, &src));
  CHECK_OK(doca_buf_inventory_buf_get_by_addr(inventory, mmap, memory + size / 2, size / 2, &dst));
  const int before = rig->num_succeeded;
  CHECK_OK(doca_task_submit(as_task(take_copy(rig, src, dst))));
  progress_until_completed(rig, before + 1);
  CHECK_EQUAL(rig->num_failed, 0);
  CHECK(memcmp(memory, memory + size / 2, size / 2) == 0);
  CHECK_OK(doca_buf_dec_refcount(src, NULL));
  CHECK_OK(doca_buf_dec_refcount(dst, NULL));
  CHECK_OK(doca_mmap_destroy(mmap));
}

CASE(memory, may_be_allocated) {
  struct dma_rig rig;
  dma_rig_set_up(&rig, page, count_success, count_failure, 1);
  char* memory = malloc(size);
  CHECK(memory != NULL);
  copy_within(&rig, memory);
  free(memory);
  dma_rig_tear_down(&rig);
}

CASE(memory, may_be_static) {
  static char memory[size];
  struct dma_rig rig;
  dma_rig_set_up(&rig, page, count_success, count_failure, 1);
  copy_within(&rig, memory);
  dma_rig_tear_down(&rig);
}

CASE(memory, may_be_on_the_stack) {
  char memory[size];
  struct dma_rig rig;
  dma_rig_set_up(&rig, page, count_success, count_failure, 1);
  copy_within(&rig, memory);
  dma_rig_tear_down(&rig);
}

static int make_file(void) {
  FILE* file = tmpfile();
  CHECK(file != NULL);
  const int fd = dup(fileno(file));
  fclose(file);
  CHECK(fd >= 0 && ftruncate(fd, size) == 0);
  return fd;
}

CASE(memory, may_be_of_a_file) {
  struct dma_rig rig;
  const int fd = make_file();
  char in_file[16];
  char* memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  CHECK(memory != MAP_FAILED);
  dma_rig_set_up(&rig, page, count_success, count_failure, 1);
  copy_within(&rig, memory);
  CHECK(pread(fd, in_file, sizeof in_file, size / 2) == sizeof in_file);
  CHECK(memcmp(in_file, memory, sizeof in_file) == 0);
  munmap(memory, size);
  close(fd);
  dma_rig_tear_down(&rig);
}

CASE(memory, may_begin_and_end_inside_of_pages) {
  struct dma_rig rig;
  dma_rig_set_up(&rig, page, count_success, count_failure, 1);
  char* memory = malloc(size + 100);
  CHECK(memory != NULL);
  copy_within(&rig, memory + 37);
  free(memory);
  dma_rig_tear_down(&rig);
}

// Nothing accesses the memory after it was freed, although the map is started.
CASE(memory, is_freed_while_its_map_is_started) {
  struct dma_rig rig;
  dma_rig_set_up(&rig, page, count_success, count_failure, 1);
  char* allocated = malloc(size);
  char* mapped = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(allocated != NULL && mapped != MAP_FAILED);
  struct doca_mmap* first = map_memory(rig.stage.dev, allocated, size, DOCA_ACCESS_FLAG_LOCAL_READ_WRITE);
  struct doca_mmap* second = map_memory(rig.stage.dev, mapped, size, DOCA_ACCESS_FLAG_LOCAL_READ_WRITE);
  free(allocated);
  munmap(mapped, size);
  CHECK_OK(doca_mmap_stop(first));
  CHECK_OK(doca_mmap_destroy(first));
  CHECK_OK(doca_mmap_destroy(second));
  dma_rig_tear_down(&rig);
}

CASE(memory, that_nobody_may_write_is_read) {
  struct dma_rig rig;
  struct doca_buf* src = NULL;
  dma_rig_set_up(&rig, page, count_success, count_failure, 1);
  char* memory = mmap(NULL, page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(memory != MAP_FAILED);
  struct doca_mmap* map = map_memory(rig.stage.dev, memory, page, DOCA_ACCESS_FLAG_LOCAL_READ_ONLY);
  CHECK_OK(doca_buf_inventory_buf_get_by_data(rig.stage.inventory, map, memory, 100, &src));
  CHECK_OK(doca_task_submit(as_task(take_copy(&rig, src, rig.dst))));
  progress_until_completed(&rig, 1);
  CHECK_EQUAL(rig.num_succeeded, 1);
  CHECK_OK(doca_buf_dec_refcount(src, NULL));
  CHECK_OK(doca_mmap_destroy(map));
  munmap(memory, page);
  dma_rig_tear_down(&rig);
}

// A destination needs the permission; the failure is the completion's.
CASE(memory, without_the_permission_is_not_written) {
  struct dma_rig rig;
  struct doca_buf* dst = NULL;
  static char memory[page];
  dma_rig_set_up(&rig, page, count_success, count_failure, 1);
  struct doca_mmap* map = map_memory(rig.stage.dev, memory, page, DOCA_ACCESS_FLAG_LOCAL_READ_ONLY);
  CHECK_OK(doca_buf_inventory_buf_get_by_addr(rig.stage.inventory, map, memory, page, &dst));
  CHECK_OK(doca_task_submit(as_task(take_copy(&rig, rig.src, dst))));
  progress_until_completed(&rig, 1);
  CHECK_EQUAL(rig.num_failed, 1);
  CHECK_STATUS(rig.first_failure, DOCA_ERROR_IO_FAILED);
  progress_until_state(rig.stage.pe, rig.ctx, DOCA_CTX_STATE_IDLE);
  CHECK_OK(doca_buf_dec_refcount(dst, NULL));
  CHECK_OK(doca_mmap_destroy(map));
  dma_rig_tear_down(&rig);
}

CASE(memory, of_a_map_that_no_device_has_is_refused) {
  struct doca_mmap* map = NULL;
  static char memory[page];
  CHECK_OK(doca_mmap_create(&map));
  CHECK_STATUS(doca_mmap_start(map), DOCA_ERROR_INVALID_VALUE);
  CHECK_OK(doca_mmap_set_memrange(map, memory, page));
  CHECK_STATUS(doca_mmap_start(map), DOCA_ERROR_INVALID_VALUE);
  CHECK_OK(doca_mmap_destroy(map));
}

CASE(memory, is_set_once) {
  struct doca_dev* dev = open_device(FIRST_DEVICE);
  struct doca_mmap* map = NULL;
  static char memory[page];
  void* addr = NULL;
  size_t len = 0;
  CHECK_OK(doca_mmap_create(&map));
  CHECK_STATUS(doca_mmap_set_memrange(map, NULL, page), DOCA_ERROR_INVALID_VALUE);
  CHECK_STATUS(doca_mmap_set_memrange(map, memory, 0), DOCA_ERROR_INVALID_VALUE);
  CHECK_STATUS(doca_mmap_set_memrange(map, memory, SIZE_MAX), DOCA_ERROR_INVALID_VALUE);
  CHECK_OK(doca_mmap_set_memrange(map, memory, page));
  CHECK_STATUS(doca_mmap_set_memrange(map, memory, page), DOCA_ERROR_NOT_PERMITTED);
  CHECK_OK(doca_mmap_get_memrange(map, &addr, &len));
  CHECK(addr == memory && len == page);
  CHECK_OK(doca_mmap_add_dev(map, dev));
  CHECK_STATUS(doca_mmap_add_dev(map, dev), DOCA_ERROR_ALREADY_EXIST);
  CHECK_OK(doca_mmap_start(map));
  CHECK_STATUS(doca_mmap_set_memrange(map, memory, page), DOCA_ERROR_BAD_STATE);
  CHECK_STATUS(doca_mmap_set_permissions(map, DOCA_ACCESS_FLAG_LOCAL_READ_WRITE), DOCA_ERROR_BAD_STATE);
  CHECK_STATUS(doca_mmap_rm_dev(map, dev), DOCA_ERROR_NOT_PERMITTED);
  CHECK_OK(doca_mmap_stop(map));
  CHECK_OK(doca_mmap_rm_dev(map, dev));
  CHECK_STATUS(doca_mmap_rm_dev(map, dev), DOCA_ERROR_NOT_FOUND);
  CHECK_OK(doca_mmap_destroy(map));
  CHECK_OK(doca_dev_close(dev));
}

CASE(memory, has_permissions_of_known_bits) {
  struct doca_mmap* map = NULL;
  CHECK_OK(doca_mmap_create(&map));
  CHECK_STATUS(doca_mmap_set_permissions(map, 128), DOCA_ERROR_INVALID_VALUE);
  CHECK_STATUS(doca_mmap_set_permissions(map, DOCA_ACCESS_FLAG_PCI_READ_ONLY | DOCA_ACCESS_FLAG_PCI_READ_WRITE),
               DOCA_ERROR_INVALID_VALUE);
  CHECK_OK(doca_mmap_set_permissions(map, DOCA_ACCESS_FLAG_PCI_READ_WRITE | DOCA_ACCESS_FLAG_RDMA_READ));
  CHECK_OK(doca_mmap_destroy(map));
}

CASE(memory, with_bufs_is_not_given_up) {
  struct stage stage;
  uint32_t num_bufs = 0;
  stage_open_for_dma(&stage, page);
  struct doca_buf* buf = stage_data(&stage, 0, 8);
  CHECK_OK(doca_mmap_get_num_bufs(stage.mmap, &num_bufs));
  CHECK_EQUAL(num_bufs, 1);
  CHECK_STATUS(doca_mmap_stop(stage.mmap), DOCA_ERROR_NOT_PERMITTED);
  CHECK_STATUS(doca_mmap_destroy(stage.mmap), DOCA_ERROR_NOT_PERMITTED);
  CHECK_OK(doca_buf_dec_refcount(buf, NULL));
  CHECK_OK(doca_mmap_stop(stage.mmap));
  stage_close(&stage);
}

static int num_freed = 0;

static void note_free(void* addr, size_t len, void* opaque) {
  CHECK(addr == opaque);
  CHECK_EQUAL(len, page);
  num_freed++;
  free(addr);
}

CASE(memory, is_freed_by_the_callback_of_its_map) {
  struct doca_dev* dev = open_device(FIRST_DEVICE);
  struct doca_mmap* map = NULL;
  char* memory = malloc(page);
  CHECK(memory != NULL);
  CHECK_OK(doca_mmap_create(&map));
  CHECK_OK(doca_mmap_set_memrange(map, memory, page));
  CHECK_OK(doca_mmap_set_free_cb(map, note_free, memory));
  CHECK_OK(doca_mmap_add_dev(map, dev));
  CHECK_OK(doca_mmap_start(map));
  CHECK_OK(doca_mmap_stop(map));
  CHECK_EQUAL(num_freed, 0);
  CHECK_OK(doca_mmap_destroy(map));
  CHECK_EQUAL(num_freed, 1);
  CHECK_OK(doca_dev_close(dev));
}

CASE(memory, of_a_map_that_never_started_is_not_freed) {
  struct doca_mmap* map = NULL;
  static char memory[page];
  num_freed = 0;
  CHECK_OK(doca_mmap_create(&map));
  CHECK_OK(doca_mmap_set_memrange(map, memory, page));
  CHECK_OK(doca_mmap_set_free_cb(map, note_free, memory));
  CHECK_OK(doca_mmap_destroy(map));
  CHECK_EQUAL(num_freed, 0);
}

CASE(memory, of_a_map_with_thread_safety_may_go_with_bufs_out) {
  struct stage stage;
  struct doca_mmap* map = NULL;
  struct doca_buf* buf = NULL;
  static char memory[page];
  stage_open_for_dma(&stage, page);
  CHECK_OK(doca_mmap_create(&map));
  CHECK_OK(doca_mmap_set_memrange(map, memory, page));
  CHECK_OK(doca_mmap_add_dev(map, stage.dev));
  CHECK_OK(doca_mmap_enable_thread_safety(map));
  CHECK_OK(doca_mmap_start(map));
  CHECK_STATUS(doca_mmap_enable_thread_safety(map), DOCA_ERROR_NOT_PERMITTED);
  CHECK_OK(doca_buf_inventory_buf_get_by_data(stage.inventory, map, memory, 8, &buf));
  CHECK_OK(doca_mmap_destroy(map));
  CHECK_OK(doca_buf_dec_refcount(buf, NULL));
  stage_close(&stage);
}

CASE(memory, has_a_limited_number_of_devices) {
  struct doca_mmap* map = NULL;
  uint32_t most = 0;
  struct doca_dev* first = open_device(FIRST_DEVICE);
  struct doca_dev* second = open_device(SECOND_DEVICE);
  CHECK_OK(doca_mmap_create(&map));
  CHECK_OK(doca_mmap_get_max_num_devices(map, &most));
  CHECK(most >= 1);
  CHECK_OK(doca_mmap_set_max_num_devices(map, 1));
  CHECK_OK(doca_mmap_add_dev(map, first));
  CHECK_STATUS(doca_mmap_add_dev(map, second), DOCA_ERROR_NO_MEMORY);
  CHECK_OK(doca_mmap_destroy(map));
  CHECK_OK(doca_dev_close(first));
  CHECK_OK(doca_dev_close(second));
}

CASE(memory, of_another_driver_is_not_supported) {
  struct doca_mmap* map = NULL;
  static char memory[page];
  const int fd = make_file();
  CHECK_OK(doca_mmap_create(&map));
  CHECK_STATUS(doca_mmap_set_dmabuf_memrange(map, fd, memory, 0, page), DOCA_ERROR_NOT_SUPPORTED);
  CHECK_OK(doca_mmap_destroy(map));
  close(fd);
}

CASE(memory, has_user_data_that_are_set_while_stopped) {
  struct stage stage;
  union doca_data data = {.u64 = 9};
  stage_open_for_dma(&stage, page);
  CHECK_OK(doca_mmap_get_user_data(stage.mmap, &data));
  CHECK_EQUAL(data.u64, 0);
  CHECK_STATUS(doca_mmap_set_user_data(stage.mmap, (union doca_data){.u64 = 5}), DOCA_ERROR_BAD_STATE);
  CHECK_OK(doca_mmap_stop(stage.mmap));
  CHECK_OK(doca_mmap_set_user_data(stage.mmap, (union doca_data){.u64 = 5}));
  CHECK_OK(doca_mmap_get_user_data(stage.mmap, &data));
  CHECK_EQUAL(data.u64, 5);
  stage_close(&stage);
}
