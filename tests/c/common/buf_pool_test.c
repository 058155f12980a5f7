#include "rig/case.h"
#include "rig/device.h"
#include "rig/map.h"

#include <doca_buf.h>
#include <doca_buf_array.h>
#include <doca_buf_pool.h>
#include <stdint.h>

static char memory[4096];

CASE(buf_pool, answers_empty_when_all_are_out) {
  struct doca_dev* dev = open_first_device();
  struct doca_mmap* map = start_map(dev, memory, sizeof memory);
  struct doca_buf_pool* pool = NULL;
  struct doca_buf* buf = NULL;
  struct doca_buf* none = NULL;
  void* addr = NULL;
  size_t alignment = 0;
  uint32_t count = 0;
  CHECK_OK(doca_buf_pool_create(1, 100, map, &pool));
  CHECK_OK(doca_buf_pool_get_element_alignment(pool, &alignment));
  CHECK(alignment == 1);
  CHECK_INVALID(doca_buf_pool_set_element_alignment(pool, 3));
  CHECK_OK(doca_buf_pool_set_element_alignment(pool, 64));
  CHECK_STATUS(doca_buf_pool_buf_alloc(pool, &buf), DOCA_ERROR_BAD_STATE);
  CHECK_OK(doca_buf_pool_start(pool));
  CHECK_STATUS(doca_buf_pool_set_element_alignment(pool, 64), DOCA_ERROR_BAD_STATE);
  CHECK_OK(doca_buf_pool_buf_alloc(pool, &buf));
  CHECK_STATUS(doca_buf_pool_buf_alloc(pool, &none), DOCA_ERROR_EMPTY);
  CHECK(none == NULL);
  CHECK_OK(doca_buf_get_head(buf, &addr));
  CHECK((uintptr_t)addr % 64 == 0);
  CHECK_OK(doca_buf_pool_get_num_free_elements(pool, &count));
  CHECK(count == 0);
  CHECK_OK(doca_buf_pool_get_num_elements(pool, &count));
  CHECK(count == 1);
  CHECK_STATUS(doca_buf_pool_stop(pool), DOCA_ERROR_IN_USE);
  CHECK_STATUS(doca_buf_pool_destroy(pool), DOCA_ERROR_IN_USE);
  CHECK_OK(doca_buf_dec_refcount(buf, NULL));
  CHECK_OK(doca_buf_pool_stop(pool));
  CHECK_OK(doca_buf_pool_destroy(pool));
  CHECK_INVALID(doca_buf_pool_destroy(pool));
  CHECK_OK(doca_mmap_destroy(map));
  CHECK_OK(doca_dev_close(dev));
}

CASE(buf_pool, needs_room_in_the_map) {
  struct doca_dev* dev = open_first_device();
  struct doca_mmap* map = start_map(dev, memory, sizeof memory);
  struct doca_buf_pool* pool = NULL;
  union doca_data data = {.u64 = 3};
  CHECK_INVALID(doca_buf_pool_create(0, 1, map, &pool));
  CHECK_INVALID(doca_buf_pool_create(1, 0, map, &pool));
  CHECK_INVALID(doca_buf_pool_create(1, 1, NULL, &pool));
  CHECK_OK(doca_buf_pool_create(2, 4096, map, &pool));
  CHECK_STATUS(doca_buf_pool_start(pool), DOCA_ERROR_INITIALIZATION);
  CHECK_OK(doca_buf_pool_set_user_data(pool, data));
  data.u64 = 0;
  CHECK_OK(doca_buf_pool_get_user_data(pool, &data));
  CHECK(data.u64 == 3);
  CHECK_OK(doca_buf_pool_destroy(pool));
  CHECK_OK(doca_mmap_destroy(map));
  CHECK_OK(doca_dev_close(dev));
}

CASE(buf_array, is_refused) {
  struct doca_buf_arr* array = NULL;
  CHECK_STATUS(doca_buf_arr_create(1, &array), DOCA_ERROR_NOT_SUPPORTED);
  CHECK_INVALID(doca_buf_arr_create(1, NULL));
  CHECK(array == NULL);
}
