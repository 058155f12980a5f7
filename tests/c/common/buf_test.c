#include "rig/case.h"
#include "rig/device.h"
#include "rig/map.h"

#include <doca_buf.h>
#include <doca_buf_inventory.h>

static char memory[4096];

struct bufs {
  struct doca_dev* dev;
  struct doca_mmap* map;
  struct doca_buf_inventory* inventory;
};

static struct bufs make_bufs(size_t count) {
  struct bufs made = {.dev = open_first_device()};
  made.map = start_map(made.dev, memory, sizeof memory);
  CHECK_OK(doca_buf_inventory_create(count, &made.inventory));
  CHECK_OK(doca_buf_inventory_start(made.inventory));
  return made;
}

static void end_bufs(struct bufs* bufs) {
  CHECK_OK(doca_buf_inventory_stop(bufs->inventory));
  CHECK_OK(doca_buf_inventory_destroy(bufs->inventory));
  CHECK_OK(doca_mmap_stop(bufs->map));
  CHECK_OK(doca_mmap_destroy(bufs->map));
  CHECK_OK(doca_dev_close(bufs->dev));
}

static struct doca_buf* get(struct bufs* bufs, size_t at, size_t len) {
  struct doca_buf* buf = NULL;
  CHECK_OK(doca_buf_inventory_buf_get_by_data(bufs->inventory, bufs->map, memory + at, len, &buf));
  return buf;
}

CASE(buf, sections_are_addresses_and_lengths) {
  struct bufs bufs = make_bufs(1);
  struct doca_buf* buf = NULL;
  void* addr = NULL;
  size_t len = 0;
  CHECK_OK(doca_buf_inventory_buf_get_by_args(bufs.inventory, bufs.map, memory + 64, 128, memory + 80, 16, &buf));
  CHECK_OK(doca_buf_get_head(buf, &addr));
  CHECK(addr == memory + 64);
  CHECK_OK(doca_buf_get_len(buf, &len));
  CHECK(len == 128);
  CHECK_OK(doca_buf_get_data(buf, &addr));
  CHECK(addr == memory + 80);
  CHECK_OK(doca_buf_get_data_len(buf, &len));
  CHECK(len == 16);
  CHECK_OK(doca_buf_set_data(buf, memory + 64, 128));
  CHECK_INVALID(doca_buf_set_data(buf, memory + 63, 1));
  CHECK_INVALID(doca_buf_set_data(buf, memory + 65, 128));
  CHECK_OK(doca_buf_set_data_len(buf, 1));
  CHECK_OK(doca_buf_reset_data_len(buf));
  CHECK_OK(doca_buf_get_data_len(buf, &len));
  CHECK(len == 0);
  CHECK_OK(doca_buf_dec_refcount(buf, NULL));
  end_bufs(&bufs);
}

CASE(buf, a_buf_that_was_given_back_is_recognised) {
  struct bufs bufs = make_bufs(1);
  struct doca_buf* buf = get(&bufs, 0, 64);
  uint16_t count = 0;
  size_t len = 0;
  CHECK_OK(doca_buf_inc_refcount(buf, &count));
  CHECK(count == 1);
  CHECK_OK(doca_buf_dec_refcount(buf, &count));
  CHECK(count == 2);
  CHECK_STATUS(doca_mmap_stop(bufs.map), DOCA_ERROR_NOT_PERMITTED);
  CHECK_STATUS(doca_buf_inventory_destroy(bufs.inventory), DOCA_ERROR_IN_USE);
  CHECK_OK(doca_buf_dec_refcount(buf, NULL));
  CHECK_STATUS(doca_buf_dec_refcount(buf, NULL), DOCA_ERROR_BAD_STATE);
  CHECK_INVALID(doca_buf_get_len(buf, &len));
  CHECK_INVALID(doca_buf_reset_data_len(buf));
  end_bufs(&bufs);
}

CASE(buf, lists_are_chained_and_cut) {
  struct bufs bufs = make_bufs(3);
  struct doca_buf* first = get(&bufs, 0, 64);
  struct doca_buf* second = get(&bufs, 64, 64);
  struct doca_buf* third = get(&bufs, 128, 64);
  struct doca_buf* found = NULL;
  uint32_t length = 0;
  uint8_t answer = 0;
  CHECK_OK(doca_buf_chain_list(first, second));
  CHECK_OK(doca_buf_chain_list_tail(first, second, third));
  CHECK_OK(doca_buf_get_list_len(first, &length));
  CHECK(length == 3);
  CHECK_STATUS(doca_buf_get_list_len(second, &length), DOCA_ERROR_NOT_PERMITTED);
  CHECK_STATUS(doca_buf_dec_refcount(third, NULL), DOCA_ERROR_NOT_PERMITTED);
  CHECK_OK(doca_buf_get_next_in_list(first, &found));
  CHECK(found == second);
  CHECK_OK(doca_buf_get_last_in_list(first, &found));
  CHECK(found == third);
  CHECK_OK(doca_buf_get_next_in_list(third, &found));
  CHECK(found == NULL);
  CHECK_OK(doca_buf_is_last_in_list(third, &answer));
  CHECK(answer == 1);
  CHECK_OK(doca_buf_is_first_in_list(third, &answer));
  CHECK(answer == 0);
  CHECK_OK(doca_buf_is_in_list(second, &answer));
  CHECK(answer == 1);
  CHECK_OK(doca_buf_unchain_list(first, second));
  CHECK_INVALID(doca_buf_unchain_list(first, third));
  CHECK_OK(doca_buf_is_in_list(first, &answer));
  CHECK(answer == 0);
  CHECK_OK(doca_buf_dec_refcount(first, NULL));
  CHECK_OK(doca_buf_dec_refcount(second, NULL));
  end_bufs(&bufs);
}

CASE(buf, null_is_an_invalid_value) {
  struct doca_buf* buf = NULL;
  size_t len = 0;
  CHECK_INVALID(doca_buf_inc_refcount(NULL, NULL));
  CHECK_INVALID(doca_buf_dec_refcount(NULL, NULL));
  CHECK_INVALID(doca_buf_get_len(NULL, &len));
  CHECK_INVALID(doca_buf_set_data(NULL, NULL, 0));
  CHECK_INVALID(doca_buf_get_next_in_list(NULL, &buf));
  CHECK_INVALID(doca_buf_chain_list(NULL, NULL));
}

CASE(buf_inventory, answers_no_memory_when_every_descriptor_is_out) {
  struct bufs bufs = make_bufs(1);
  struct doca_buf* first = get(&bufs, 0, 64);
  struct doca_buf* second = NULL;
  uint32_t count = 0;
  CHECK_STATUS(doca_buf_inventory_buf_get_by_addr(bufs.inventory, bufs.map, memory, 64, &second), DOCA_ERROR_NO_MEMORY);
  CHECK(second == NULL);
  CHECK_OK(doca_buf_inventory_get_num_free_elements(bufs.inventory, &count));
  CHECK(count == 0);
  CHECK_OK(doca_buf_inventory_expand(bufs.inventory, 1));
  CHECK_OK(doca_buf_inventory_get_num_elements(bufs.inventory, &count));
  CHECK(count == 2);
  CHECK_OK(doca_buf_inventory_buf_dup(bufs.inventory, first, &second));
  CHECK_OK(doca_buf_dec_refcount(second, NULL));
  CHECK_OK(doca_buf_dec_refcount(first, NULL));
  end_bufs(&bufs);
}

CASE(buf_inventory, needs_a_start_and_a_piece_of_the_map) {
  struct bufs bufs = make_bufs(1);
  struct doca_buf* buf = NULL;
  CHECK_INVALID(doca_buf_inventory_buf_get_by_addr(bufs.inventory, bufs.map, memory + 4095, 2, &buf));
  CHECK_INVALID(doca_buf_inventory_buf_get_by_addr(bufs.inventory, bufs.map, memory, 0, &buf));
  CHECK_INVALID(doca_buf_inventory_buf_get_by_addr(bufs.inventory, NULL, memory, 1, &buf));
  CHECK_INVALID(doca_buf_inventory_buf_get_by_addr(NULL, bufs.map, memory, 1, &buf));
  CHECK_OK(doca_buf_inventory_stop(bufs.inventory));
  CHECK_STATUS(doca_buf_inventory_buf_get_by_addr(bufs.inventory, bufs.map, memory, 1, &buf), DOCA_ERROR_BAD_STATE);
  CHECK_STATUS(doca_buf_inventory_expand(bufs.inventory, 1), DOCA_ERROR_BAD_STATE);
  end_bufs(&bufs);
  CHECK_INVALID(doca_buf_inventory_start(bufs.inventory));
  CHECK_INVALID(doca_buf_inventory_create(0, &bufs.inventory));
}
