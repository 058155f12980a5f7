// The SHA-256 digest of a text, as a whole and piece by piece. BlueField-2 has this engine; the
// simulated machine has such cards with PYDOCA_PROFILE=bluefield2 in the environment.

#include "common.h"

#include <doca_buf.h>
#include <doca_buf_inventory.h>
#include <doca_log.h>
#include <doca_sha.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

DOCA_LOG_REGISTER(SHA_DIGEST);

enum { digest_size = 32, log_num_tasks = 0 };  // 2^0: one task of each kind
static const enum doca_sha_algorithm algorithm = DOCA_SHA_ALGORITHM_SHA256;

struct resources {
  struct doca_dev* dev;
  struct doca_pe* pe;
  struct doca_sha* sha;
  struct doca_buf_inventory* inventory;
  struct region text;
  struct region digest;
  bool is_done;
};

static void hashed(struct doca_sha_task_hash* task, union doca_data task_user_data, union doca_data ctx_user_data) {
  struct resources* all = ctx_user_data.ptr;
  (void)task;
  (void)task_user_data;
  all->is_done = true;
}

static void piece_hashed(struct doca_sha_task_partial_hash* task, union doca_data task_user_data,
                         union doca_data ctx_user_data) {
  struct resources* all = ctx_user_data.ptr;
  (void)task;
  (void)task_user_data;
  all->is_done = true;
}

static doca_error_t is_suitable(const struct doca_devinfo* info) {
  const doca_error_t result = doca_sha_cap_task_hash_get_supported(info, DOCA_SHA_ALGORITHM_SHA256);
  if (result != DOCA_SUCCESS) return result;
  return doca_sha_cap_task_partial_hash_get_supported(info, DOCA_SHA_ALGORITHM_SHA256);
}

static doca_error_t start_sha(struct resources* all) {
  doca_error_t result = doca_sha_create(all->dev, &all->sha);
  if (result != DOCA_SUCCESS) return result;
  result = doca_sha_task_hash_set_conf(all->sha, hashed, hashed, log_num_tasks);
  if (result != DOCA_SUCCESS) return result;
  result = doca_sha_task_partial_hash_set_conf(all->sha, piece_hashed, piece_hashed, log_num_tasks);
  if (result != DOCA_SUCCESS) return result;
  result = doca_ctx_set_user_data(doca_sha_as_ctx(all->sha), (union doca_data){.ptr = all});
  if (result != DOCA_SUCCESS) return result;
  result = doca_pe_connect_ctx(all->pe, doca_sha_as_ctx(all->sha));
  if (result != DOCA_SUCCESS) return result;
  return doca_ctx_start(doca_sha_as_ctx(all->sha));
}

static doca_error_t create(const char* text, struct resources* all) {
  doca_error_t result = open_device(NULL, is_suitable, &all->dev);
  if (result == DOCA_ERROR_NOT_FOUND) {
    DOCA_LOG_ERR("BlueField-2 has an engine for SHA: set PYDOCA_PROFILE=bluefield2 for simulated cards of this kind");
  }
  if (result != DOCA_SUCCESS) return result;
  result = region_create(all->dev, strlen(text), DOCA_ACCESS_FLAG_LOCAL_READ_ONLY, &all->text);
  if (result != DOCA_SUCCESS) return result;
  memcpy(all->text.memory, text, all->text.size);
  result = region_create(all->dev, 2 * (size_t)digest_size, DOCA_ACCESS_FLAG_LOCAL_READ_WRITE, &all->digest);
  if (result != DOCA_SUCCESS) return result;
  result = doca_buf_inventory_create(2, &all->inventory);
  if (result != DOCA_SUCCESS) return result;
  result = doca_buf_inventory_start(all->inventory);
  if (result != DOCA_SUCCESS) return result;
  result = doca_pe_create(&all->pe);
  return result == DOCA_SUCCESS ? start_sha(all) : result;
}

static doca_error_t destroy(struct resources* all) {
  doca_error_t result = DOCA_SUCCESS;
  if (all->sha != NULL) {
    const doca_error_t stopped = stop_context(all->pe, doca_sha_as_ctx(all->sha));
    const doca_error_t destroyed = doca_sha_destroy(all->sha);
    DOCA_ERROR_PROPAGATE(result, stopped);
    DOCA_ERROR_PROPAGATE(result, destroyed);
  }
  if (all->pe != NULL) {
    const doca_error_t destroyed = doca_pe_destroy(all->pe);
    DOCA_ERROR_PROPAGATE(result, destroyed);
  }
  if (all->inventory != NULL) {
    const doca_error_t destroyed = doca_buf_inventory_destroy(all->inventory);
    DOCA_ERROR_PROPAGATE(result, destroyed);
  }
  const doca_error_t text = region_destroy(&all->text);
  const doca_error_t digest = region_destroy(&all->digest);
  DOCA_ERROR_PROPAGATE(result, text);
  DOCA_ERROR_PROPAGATE(result, digest);
  if (all->dev != NULL) {
    const doca_error_t closed = doca_dev_close(all->dev);
    DOCA_ERROR_PROPAGATE(result, closed);
  }
  return result;
}

// Submits the task, and returns its status.
static doca_error_t run(struct resources* all, struct doca_task* task) {
  all->is_done = false;
  const doca_error_t result = doca_task_submit(task);
  if (result != DOCA_SUCCESS) return result;
  while (!all->is_done) doca_pe_progress(all->pe);
  return doca_task_get_status(task);
}

static doca_error_t hash_whole(struct resources* all, struct doca_buf* src, struct doca_buf* dst) {
  struct doca_sha_task_hash* task = NULL;
  const union doca_data none = {0};
  doca_error_t result = doca_sha_task_hash_alloc_init(all->sha, algorithm, src, dst, none, &task);
  if (result != DOCA_SUCCESS) return result;
  result = run(all, doca_sha_task_hash_as_task(task));
  doca_task_free(doca_sha_task_hash_as_task(task));
  return result;
}

// Each piece but the last is a multiple of the algorithm's block. One task takes them all, since it has the state.
static doca_error_t hash_pieces(struct resources* all, struct doca_buf* src, struct doca_buf* dst) {
  struct doca_sha_task_partial_hash* task = NULL;
  const union doca_data none = {0};
  uint32_t block = 0;
  doca_error_t result =
      doca_sha_cap_get_partial_hash_block_size(doca_dev_as_devinfo(all->dev), DOCA_SHA_ALGORITHM_SHA256, &block);
  if (result != DOCA_SUCCESS) return result;
  if (all->text.size <= block) {
    DOCA_LOG_ERR("A text of one block of %u bytes has no pieces", block);
    return DOCA_ERROR_INVALID_VALUE;
  }
  result = doca_sha_task_partial_hash_alloc_init(all->sha, algorithm, src, dst, none, &task);
  for (size_t at = 0; result == DOCA_SUCCESS && at < all->text.size; at += block) {
    const size_t left = all->text.size - at;
    result = doca_buf_set_data(src, all->text.memory + at, left < block ? left : block);
    if (result == DOCA_SUCCESS && left <= block) result = doca_sha_task_partial_hash_set_is_final_buf(task);
    if (result == DOCA_SUCCESS) result = run(all, doca_sha_task_partial_hash_as_task(task));
  }
  if (task != NULL) doca_task_free(doca_sha_task_partial_hash_as_task(task));
  return result;
}

static void print_digest(const char* name, const char* digest) {
  printf("%s: ", name);
  for (int i = 0; i < digest_size; i++) printf("%02x", (unsigned char)digest[i]);
  printf("\n");
}

static doca_error_t hash(struct resources* all) {
  struct doca_buf* src = NULL;
  struct doca_buf* dst = NULL;
  doca_error_t result =
      doca_buf_inventory_buf_get_by_data(all->inventory, all->text.mmap, all->text.memory, all->text.size, &src);
  if (result == DOCA_SUCCESS) {
    result = doca_buf_inventory_buf_get_by_addr(all->inventory, all->digest.mmap, all->digest.memory, all->digest.size,
                                                &dst);
  }
  // The second digest is appended to the first one.
  if (result == DOCA_SUCCESS) result = hash_whole(all, src, dst);
  if (result == DOCA_SUCCESS) result = hash_pieces(all, src, dst);
  if (src != NULL) doca_buf_dec_refcount(src, NULL);
  if (dst != NULL) doca_buf_dec_refcount(dst, NULL);
  return result;
}

int main(int argc, char** argv) {
  const char* text = argc > 1 ? argv[1]
                              : "A message of more than one block of SHA-256, which has 64 bytes, so that "
                                "the last of its pieces is shorter than the others.";
  struct resources all = {0};
  doca_error_t result = start_logging();
  if (result == DOCA_SUCCESS) result = create(text, &all);
  if (result == DOCA_SUCCESS) result = hash(&all);
  if (result == DOCA_SUCCESS) {
    print_digest("whole ", all.digest.memory);
    print_digest("pieces", all.digest.memory + digest_size);
    if (memcmp(all.digest.memory, all.digest.memory + digest_size, digest_size) != 0) result = DOCA_ERROR_UNEXPECTED;
  }
  const doca_error_t destroyed = destroy(&all);
  DOCA_ERROR_PROPAGATE(result, destroyed);
  return exit_status("sha_digest", result);
}
