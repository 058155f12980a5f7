// Bufs, their lists, and where they come from: doca_buf.h, doca_buf_inventory.h, doca_buf_pool.h.

#include "rig/dma_rig.h"

#include <doca_buf_pool.h>

enum { size = 4096 };

static uint32_t length_of(struct doca_buf* list) {
  uint32_t length = 0;
  CHECK_OK(doca_buf_get_list_len(list, &length));
  return length;
}

static size_t data_len_of(struct doca_buf* buf) {
  size_t length = 0;
  CHECK_OK(doca_buf_get_data_len(buf, &length));
  return length;
}

CASE(bufs, have_head_data_and_length) {
  struct stage stage;
  void* head = NULL;
  void* data = NULL;
  size_t len = 0;
  stage_open_for_dma(&stage, size);
  struct doca_buf* buf = NULL;
  CHECK_OK(
      doca_buf_inventory_buf_get_by_args(stage.inventory, stage.mmap, stage.memory, 100, stage.memory + 10, 20, &buf));
  CHECK_OK(doca_buf_get_head(buf, &head));
  CHECK_OK(doca_buf_get_data(buf, &data));
  CHECK_OK(doca_buf_get_len(buf, &len));
  CHECK(head == stage.memory && data == stage.memory + 10);
  CHECK_EQUAL(len, 100);
  CHECK_EQUAL(data_len_of(buf), 20);
  CHECK_OK(doca_buf_set_data_len(buf, 90));
  CHECK_OK(doca_buf_set_data(buf, stage.memory + 50, 50));
  CHECK_STATUS(doca_buf_set_data(buf, stage.memory + 50, 51), DOCA_ERROR_INVALID_VALUE);
  CHECK_OK(doca_buf_reset_data_len(buf));
  CHECK_EQUAL(data_len_of(buf), 0);
  CHECK_OK(doca_buf_dec_refcount(buf, NULL));
  stage_close(&stage);
}

CASE(bufs, are_data_or_room) {
  struct stage stage;
  stage_open_for_dma(&stage, size);
  struct doca_buf* data = stage_data(&stage, 0, 100);
  struct doca_buf* room = stage_room(&stage, 0, 100);
  CHECK_EQUAL(data_len_of(data), 100);
  CHECK_EQUAL(data_len_of(room), 0);
  CHECK_OK(doca_buf_dec_refcount(data, NULL));
  CHECK_OK(doca_buf_dec_refcount(room, NULL));
  stage_close(&stage);
}

CASE(bufs, count_their_references) {
  struct stage stage;
  uint16_t count = 0;
  stage_open_for_dma(&stage, size);
  struct doca_buf* buf = stage_data(&stage, 0, 8);
  CHECK_OK(doca_buf_inc_refcount(buf, &count));
  CHECK_EQUAL(count, 1);
  CHECK_OK(doca_buf_get_refcount(buf, &count));
  CHECK_EQUAL(count, 2);
  CHECK_OK(doca_buf_dec_refcount(buf, &count));
  CHECK_EQUAL(count, 2);
  CHECK_OK(doca_buf_dec_refcount(buf, &count));
  CHECK_EQUAL(count, 1);
  stage_close(&stage);
}

// Undefined in DOCA; the memory of bufs stays, so that one that is back is recognised.
CASE(bufs, that_are_back_are_recognised) {
  struct stage stage;
  uint16_t count = 0;
  size_t len = 0;
  stage_open_for_dma(&stage, size);
  struct doca_buf* buf = stage_data(&stage, 0, 8);
  CHECK_OK(doca_buf_dec_refcount(buf, NULL));
  CHECK(doca_buf_dec_refcount(buf, &count) != DOCA_SUCCESS);
  CHECK(doca_buf_inc_refcount(buf, &count) != DOCA_SUCCESS);
  CHECK(doca_buf_get_len(buf, &len) != DOCA_SUCCESS);
  uint32_t num_free = 0;
  CHECK_OK(doca_buf_inventory_get_num_free_elements(stage.inventory, &num_free));
  CHECK_EQUAL(num_free, 64);
  stage_close(&stage);
}

CASE(bufs, have_sixteen_bits_of_references) {
  struct stage stage;
  stage_open_for_dma(&stage, size);
  struct doca_buf* buf = stage_data(&stage, 0, 8);
  for (int i = 1; i < 65535; i++) CHECK_OK(doca_buf_inc_refcount(buf, NULL));
  CHECK_STATUS(doca_buf_inc_refcount(buf, NULL), DOCA_ERROR_TOO_BIG);
  for (int i = 0; i < 65535; i++) CHECK_OK(doca_buf_dec_refcount(buf, NULL));
  stage_close(&stage);
}

CASE(bufs, are_chained) {
  struct stage stage;
  struct doca_buf* next = NULL;
  struct doca_buf* last = NULL;
  uint8_t is_in_list = 9;
  uint8_t is_first = 9;
  uint8_t is_last = 9;
  stage_open_for_dma(&stage, size);
  struct doca_buf* first = stage_data(&stage, 0, 8);
  struct doca_buf* second = stage_data(&stage, 8, 8);
  struct doca_buf* third = stage_data(&stage, 16, 8);
  CHECK_OK(doca_buf_is_in_list(first, &is_in_list));
  CHECK_EQUAL(is_in_list, 0);
  CHECK_OK(doca_buf_chain_list(first, second));
  CHECK_OK(doca_buf_chain_list_tail(first, second, third));
  CHECK_EQUAL(length_of(first), 3);
  CHECK_OK(doca_buf_get_next_in_list(first, &next));
  CHECK_OK(doca_buf_get_last_in_list(first, &last));
  CHECK(next == second && last == third);
  CHECK_OK(doca_buf_is_first_in_list(second, &is_first));
  CHECK_OK(doca_buf_is_last_in_list(third, &is_last));
  CHECK(is_first == 0 && is_last == 1);
  CHECK_STATUS(doca_buf_inc_refcount(second, NULL), DOCA_ERROR_NOT_PERMITTED);
  CHECK_STATUS(doca_buf_dec_refcount(third, NULL), DOCA_ERROR_NOT_PERMITTED);
  CHECK_OK(doca_buf_dec_refcount(first, NULL));
  uint32_t num_free = 0;
  CHECK_OK(doca_buf_inventory_get_num_free_elements(stage.inventory, &num_free));
  CHECK_EQUAL(num_free, 64);
  stage_close(&stage);
}

CASE(bufs, are_unchained) {
  struct stage stage;
  stage_open_for_dma(&stage, size);
  struct doca_buf* first = stage_data(&stage, 0, 8);
  struct doca_buf* second = stage_data(&stage, 8, 8);
  struct doca_buf* other = stage_data(&stage, 16, 8);
  CHECK_OK(doca_buf_chain_list(first, second));
  CHECK_STATUS(doca_buf_unchain_list(first, other), DOCA_ERROR_INVALID_VALUE);
  CHECK_OK(doca_buf_unchain_list(first, second));
  CHECK_EQUAL(length_of(first), 1);
  CHECK_OK(doca_buf_inc_refcount(second, NULL));
  CHECK_STATUS(doca_buf_chain_list(first, second), DOCA_ERROR_NOT_PERMITTED);
  CHECK_OK(doca_buf_dec_refcount(second, NULL));
  CHECK_OK(doca_buf_dec_refcount(first, NULL));
  CHECK_OK(doca_buf_dec_refcount(second, NULL));
  CHECK_OK(doca_buf_dec_refcount(other, NULL));
  stage_close(&stage);
}

CASE(bufs, of_a_list_are_copied_in_order) {
  struct dma_rig rig;
  dma_rig_set_up(&rig, size, count_success, count_failure, 1);
  memcpy(rig.stage.memory, "abcdefghij", 10);
  struct doca_buf* first = stage_data(&rig.stage, 4, 4);
  struct doca_buf* second = stage_data(&rig.stage, 0, 4);
  CHECK_OK(doca_buf_chain_list(first, second));
  struct doca_buf* to = stage_room(&rig.stage, 100, 3);
  struct doca_buf* rest = stage_room(&rig.stage, 200, 100);
  CHECK_OK(doca_buf_chain_list(to, rest));
  CHECK_OK(doca_task_submit(as_task(take_copy(&rig, first, to))));
  progress_until_completed(&rig, 1);
  CHECK_EQUAL(data_len_of(to), 3);
  CHECK_EQUAL(data_len_of(rest), 5);
  CHECK(memcmp(rig.stage.memory + 100, "efg", 3) == 0);
  CHECK(memcmp(rig.stage.memory + 200, "habcd", 5) == 0);
  CHECK_OK(doca_buf_dec_refcount(first, NULL));
  CHECK_OK(doca_buf_dec_refcount(to, NULL));
  dma_rig_tear_down(&rig);
}

// Output is appended, unless the length is reset.
CASE(bufs, grow_by_what_is_copied) {
  struct dma_rig rig;
  dma_rig_set_up(&rig, size, count_success, count_failure, 1);
  CHECK_OK(doca_buf_set_data(rig.src, rig.stage.memory, 100));
  for (int i = 1; i <= 3; i++) {
    CHECK_OK(doca_task_submit(as_task(take_copy(&rig, rig.src, rig.dst))));
    progress_until_completed(&rig, i);
    CHECK_EQUAL(data_len_of(rig.dst), 100 * i);
  }
  dma_rig_tear_down(&rig);
}

CASE(bufs, without_room_fail_a_copy) {
  struct dma_rig rig;
  dma_rig_set_up(&rig, size, count_success, count_failure, 1);
  CHECK_OK(doca_buf_set_data_len(rig.dst, 1));
  struct doca_task* task = as_task(take_copy(&rig, rig.src, rig.dst));
  CHECK_STATUS(doca_task_try_submit(task), DOCA_ERROR_INVALID_VALUE);
  CHECK_OK(doca_task_submit(task));
  progress_until_completed(&rig, 1);
  CHECK_STATUS(rig.first_failure, DOCA_ERROR_IO_FAILED);
  progress_until_state(rig.stage.pe, rig.ctx, DOCA_CTX_STATE_IDLE);
  dma_rig_tear_down(&rig);
}

CASE(inventory, that_is_empty_has_no_memory) {
  struct stage stage;
  struct doca_buf_inventory* inventory = NULL;
  struct doca_buf* bufs[2];
  struct doca_buf* more = NULL;
  stage_open_for_dma(&stage, size);
  CHECK_OK(doca_buf_inventory_create(2, &inventory));
  CHECK_STATUS(doca_buf_inventory_buf_get_by_data(inventory, stage.mmap, stage.memory, 8, &more), DOCA_ERROR_BAD_STATE);
  CHECK_OK(doca_buf_inventory_start(inventory));
  for (int i = 0; i < 2; i++) {
    CHECK_OK(doca_buf_inventory_buf_get_by_data(inventory, stage.mmap, stage.memory, 8, &bufs[i]));
  }
  CHECK_STATUS(doca_buf_inventory_buf_get_by_data(inventory, stage.mmap, stage.memory, 8, &more), DOCA_ERROR_NO_MEMORY);
  CHECK_STATUS(doca_buf_inventory_destroy(inventory), DOCA_ERROR_IN_USE);
  CHECK_OK(doca_buf_inventory_expand(inventory, 1));
  CHECK_OK(doca_buf_inventory_buf_get_by_data(inventory, stage.mmap, stage.memory, 8, &more));
  CHECK_OK(doca_buf_dec_refcount(more, NULL));
  for (int i = 0; i < 2; i++) CHECK_OK(doca_buf_dec_refcount(bufs[i], NULL));
  CHECK_OK(doca_buf_inventory_destroy(inventory));
  stage_close(&stage);
}

CASE(inventory, refuses_what_is_not_in_the_map) {
  struct stage stage;
  struct doca_buf* buf = NULL;
  stage_open_for_dma(&stage, size);
  CHECK_STATUS(doca_buf_inventory_buf_get_by_data(stage.inventory, stage.mmap, stage.memory + 1, size, &buf),
               DOCA_ERROR_INVALID_VALUE);
  CHECK_STATUS(doca_buf_inventory_buf_get_by_data(stage.inventory, stage.mmap, stage.memory - 1, 2, &buf),
               DOCA_ERROR_INVALID_VALUE);
  CHECK_STATUS(doca_buf_inventory_buf_get_by_data(stage.inventory, stage.mmap, stage.memory, SIZE_MAX, &buf),
               DOCA_ERROR_INVALID_VALUE);
  CHECK(buf == NULL);
  stage_close(&stage);
}

CASE(inventory, duplicates_a_buf) {
  struct stage stage;
  struct doca_buf* twin = NULL;
  void* data = NULL;
  stage_open_for_dma(&stage, size);
  struct doca_buf* buf = stage_data(&stage, 10, 20);
  CHECK_OK(doca_buf_inventory_buf_dup(stage.inventory, buf, &twin));
  CHECK(twin != buf);
  CHECK_OK(doca_buf_get_data(twin, &data));
  CHECK(data == stage.memory + 10);
  CHECK_EQUAL(data_len_of(twin), 20);
  CHECK_OK(doca_buf_dec_refcount(buf, NULL));
  CHECK_OK(doca_buf_dec_refcount(twin, NULL));
  stage_close(&stage);
}

CASE(inventory, that_stopped_keeps_its_bufs) {
  struct stage stage;
  struct doca_buf* none = NULL;
  uint32_t count = 0;
  stage_open_for_dma(&stage, size);
  struct doca_buf* buf = stage_data(&stage, 0, 8);
  CHECK_OK(doca_buf_inventory_stop(stage.inventory));
  CHECK_EQUAL(data_len_of(buf), 8);
  CHECK_STATUS(doca_buf_inventory_buf_get_by_data(stage.inventory, stage.mmap, stage.memory, 8, &none),
               DOCA_ERROR_BAD_STATE);
  CHECK_OK(doca_buf_inventory_get_num_elements(stage.inventory, &count));
  CHECK_EQUAL(count, 64);
  CHECK_OK(doca_buf_dec_refcount(buf, NULL));
  stage_close(&stage);
}

CASE(pool, that_is_empty_is_empty) {
  struct stage stage;
  struct doca_buf_pool* pool = NULL;
  struct doca_buf* bufs[4];
  struct doca_buf* more = NULL;
  uint32_t num_free = 9;
  stage_open_for_dma(&stage, size);
  CHECK_OK(doca_buf_pool_create(4, 1024, stage.mmap, &pool));
  CHECK_STATUS(doca_buf_pool_buf_alloc(pool, &more), DOCA_ERROR_BAD_STATE);
  CHECK_OK(doca_buf_pool_start(pool));
  for (int i = 0; i < 4; i++) {
    CHECK_OK(doca_buf_pool_buf_alloc(pool, &bufs[i]));
    CHECK_EQUAL(data_len_of(bufs[i]), 0);
  }
  CHECK_STATUS(doca_buf_pool_buf_alloc(pool, &more), DOCA_ERROR_EMPTY);
  CHECK_OK(doca_buf_pool_get_num_free_elements(pool, &num_free));
  CHECK_EQUAL(num_free, 0);
  CHECK_STATUS(doca_buf_pool_stop(pool), DOCA_ERROR_IN_USE);
  CHECK_STATUS(doca_buf_pool_destroy(pool), DOCA_ERROR_IN_USE);
  for (int i = 0; i < 4; i++) CHECK_OK(doca_buf_dec_refcount(bufs[i], NULL));
  CHECK_OK(doca_buf_pool_destroy(pool));
  stage_close(&stage);
}

CASE(pool, fits_into_its_map) {
  struct stage stage;
  struct doca_buf_pool* pool = NULL;
  size_t alignment = 0;
  stage_open_for_dma(&stage, size);
  CHECK_STATUS(doca_buf_pool_create(0, 8, stage.mmap, &pool), DOCA_ERROR_INVALID_VALUE);
  CHECK_STATUS(doca_buf_pool_create(8, 0, stage.mmap, &pool), DOCA_ERROR_INVALID_VALUE);
  CHECK_OK(doca_buf_pool_create(5, 1024, stage.mmap, &pool));
  CHECK_STATUS(doca_buf_pool_start(pool), DOCA_ERROR_INITIALIZATION);
  CHECK_STATUS(doca_buf_pool_set_element_alignment(pool, 3), DOCA_ERROR_INVALID_VALUE);
  CHECK_OK(doca_buf_pool_set_element_alignment(pool, 16));
  CHECK_OK(doca_buf_pool_get_element_alignment(pool, &alignment));
  CHECK_EQUAL(alignment, 16);
  CHECK_OK(doca_buf_pool_destroy(pool));
  stage_close(&stage);
}
