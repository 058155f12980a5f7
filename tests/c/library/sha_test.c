#include "rig/case.h"
#include "rig/device.h"
#include "rig/stage.h"

#include <doca_sha.h>
#include <stdlib.h>
#include <string.h>

enum { log_num_tasks = 1, num_tasks = 2, dst_at = 4096, block = 64 };

static const uint8_t sha256_of_abc[32] = {0xba, 0x78, 0x16, 0xbf, 0x8f, 0x01, 0xcf, 0xea, 0x41, 0x41, 0x40,
                                          0xde, 0x5d, 0xae, 0x22, 0x23, 0xb0, 0x03, 0x61, 0xa3, 0x96, 0x17,
                                          0x7a, 0x9c, 0xb4, 0x10, 0xff, 0x61, 0xf2, 0x00, 0x15, 0xad};

/// What the callbacks have seen: the user data of the context.
struct seen {
  int completions;
  doca_error_t status;
  uint8_t has_result;
  uint8_t is_final;
  const struct doca_buf* dst;
  enum doca_sha_algorithm algorithm;
};

static void hashed(struct doca_sha_task_hash* task, union doca_data task_data, union doca_data ctx_data) {
  struct seen* seen = ctx_data.ptr;
  (void)task_data;
  ++seen->completions;
  seen->status = doca_task_get_status(doca_sha_task_hash_as_task(task));
}

static void hashed_a_piece(struct doca_sha_task_partial_hash* task, union doca_data task_data,
                           union doca_data ctx_data) {
  struct seen* seen = ctx_data.ptr;
  ++seen->completions;
  if (task_data.u64 != 0) {
    doca_task_free(doca_sha_task_partial_hash_as_task(task));
  }
  seen->status = doca_task_get_status(doca_sha_task_partial_hash_as_task(task));
  seen->has_result = doca_sha_task_partial_hash_get_has_result(task);
  seen->is_final = doca_sha_task_partial_hash_get_is_final(task);
  seen->dst = doca_sha_task_partial_hash_get_dst(task);
  seen->algorithm = doca_sha_task_partial_hash_get_algorithm(task);
}

/// A device with a SHA engine.
static struct doca_dev* open_hasher(void) {
  setenv("PYDOCA_PROFILE", "bluefield2", 1);
  return open_first_device();
}

static struct doca_sha* make_sha(struct stage* stage, struct seen* seen) {
  memset(seen, 0, sizeof *seen);
  stage_open(stage, open_hasher(), (size_t)2 * dst_at);
  memcpy(stage->memory, "abc", 3);
  struct doca_sha* sha = NULL;
  CHECK_OK(doca_sha_create(stage->dev, &sha));
  CHECK_OK(doca_sha_task_hash_set_conf(sha, hashed, hashed, log_num_tasks));
  CHECK_OK(doca_sha_task_partial_hash_set_conf(sha, hashed_a_piece, hashed_a_piece, log_num_tasks));
  CHECK_OK(doca_ctx_set_user_data(doca_sha_as_ctx(sha), (union doca_data){.ptr = seen}));
  stage_start(stage, doca_sha_as_ctx(sha));
  return sha;
}

static void end_sha(struct stage* stage, struct doca_sha* sha) {
  stage_stop(stage, doca_sha_as_ctx(sha));
  CHECK_OK(doca_sha_destroy(sha));
  stage_close(stage);
}

CASE(sha, a_digest_is_appended_to_dst) {
  struct stage stage;
  struct seen seen;
  struct doca_sha* sha = make_sha(&stage, &seen);
  struct doca_buf* src = stage_data(&stage, 0, 3);
  struct doca_buf* dst = stage_room(&stage, dst_at, 64);
  struct doca_sha_task_hash* task = NULL;
  CHECK_OK(doca_sha_task_hash_alloc_init(sha, DOCA_SHA_ALGORITHM_SHA256, src, dst, (union doca_data){.u64 = 0}, &task));
  CHECK(doca_sha_task_hash_get_src(task) == src && doca_sha_task_hash_get_dst(task) == dst);
  CHECK(doca_sha_task_hash_get_algorithm(task) == DOCA_SHA_ALGORITHM_SHA256);
  CHECK_OK(doca_task_submit(doca_sha_task_hash_as_task(task)));
  stage_progress_until(&stage, &seen.completions, 1);
  CHECK(seen.status == DOCA_SUCCESS && data_len(dst) == 32);
  CHECK(memcmp(stage.memory + dst_at, sha256_of_abc, 32) == 0);
  CHECK_OK(doca_sha_task_hash_set_algorithm(task, DOCA_SHA_ALGORITHM_SHA1));
  CHECK_OK(doca_task_try_submit(doca_sha_task_hash_as_task(task)));
  stage_progress_until(&stage, &seen.completions, 2);
  CHECK(seen.status == DOCA_SUCCESS && data_len(dst) == 52);
  doca_task_free(doca_sha_task_hash_as_task(task));
  give_back(src);
  give_back(dst);
  end_sha(&stage, sha);
}

CASE(sha, the_number_of_tasks_is_given_by_its_logarithm) {
  struct stage stage;
  struct seen seen;
  struct doca_sha* sha = make_sha(&stage, &seen);
  struct doca_sha_task_hash* tasks[num_tasks + 1] = {NULL};
  const union doca_data none = {.u64 = 0};
  for (int i = 0; i < num_tasks; ++i) {
    CHECK_OK(doca_sha_task_hash_alloc_init(sha, DOCA_SHA_ALGORITHM_SHA1, NULL, NULL, none, &tasks[i]));
  }
  CHECK_STATUS(doca_sha_task_hash_alloc_init(sha, DOCA_SHA_ALGORITHM_SHA1, NULL, NULL, none, &tasks[num_tasks]),
               DOCA_ERROR_NO_MEMORY);
  for (int i = 0; i < num_tasks; ++i) {
    doca_task_free(doca_sha_task_hash_as_task(tasks[i]));
  }
  end_sha(&stage, sha);
}

CASE(sha, a_message_is_hashed_piece_by_piece) {
  struct stage stage;
  struct seen seen;
  struct doca_sha* sha = make_sha(&stage, &seen);
  struct doca_buf* first = stage_data(&stage, 0, block);
  struct doca_buf* last = stage_data(&stage, block, 5);
  struct doca_buf* dst = stage_room(&stage, dst_at, 64);
  struct doca_sha_task_partial_hash* task = NULL;
  CHECK_OK(doca_sha_task_partial_hash_alloc_init(sha, DOCA_SHA_ALGORITHM_SHA256, first, dst,
                                                 (union doca_data){.u64 = 0}, &task));
  struct doca_task* base = doca_sha_task_partial_hash_as_task(task);
  CHECK_STATUS(doca_sha_task_partial_hash_set_is_final_buf(task), DOCA_ERROR_BAD_STATE);
  CHECK_OK(doca_task_submit(base));
  stage_progress_until(&stage, &seen.completions, 1);
  CHECK(seen.status == DOCA_SUCCESS && seen.has_result == 0 && data_len(dst) == 0);
  CHECK_STATUS(doca_sha_task_partial_hash_set_dst(task, dst), DOCA_ERROR_BAD_STATE);
  CHECK_STATUS(doca_sha_task_partial_hash_set_algorithm(task, DOCA_SHA_ALGORITHM_SHA1), DOCA_ERROR_BAD_STATE);
  CHECK_OK(doca_sha_task_partial_hash_set_src(task, last));
  CHECK_OK(doca_sha_task_partial_hash_set_is_final_buf(task));
  doca_task_set_user_data(base, (union doca_data){.u64 = 1});
  CHECK_OK(doca_task_submit(base));
  stage_progress_until(&stage, &seen.completions, 2);
  // The callback has freed the task before it asked.
  CHECK(seen.status == DOCA_SUCCESS && seen.has_result == 1 && seen.is_final == 1 && data_len(dst) == 32);
  CHECK(seen.dst == dst && seen.algorithm == DOCA_SHA_ALGORITHM_SHA256);
  CHECK_OK(doca_sha_task_partial_hash_alloc_init(sha, DOCA_SHA_ALGORITHM_SHA1, first, dst, (union doca_data){.u64 = 0},
                                                 &task));
  CHECK(doca_sha_task_partial_hash_get_has_result(task) == 0 && doca_sha_task_partial_hash_get_is_final(task) == 0);
  CHECK_OK(doca_sha_task_partial_hash_reset(task));
  doca_task_free(doca_sha_task_partial_hash_as_task(task));
  give_back(first);
  give_back(last);
  give_back(dst);
  end_sha(&stage, sha);
}

CASE(sha, operands_that_a_task_cannot_have_are_invalid) {
  struct stage stage;
  struct seen seen;
  struct doca_sha* sha = make_sha(&stage, &seen);
  const union doca_data none = {.u64 = 0};
  const enum doca_sha_algorithm unknown = (enum doca_sha_algorithm)3;
  struct doca_sha_task_hash* task = NULL;
  CHECK_INVALID(doca_sha_task_hash_alloc_init(sha, unknown, NULL, NULL, none, &task));
  CHECK_INVALID(doca_sha_task_hash_alloc_init(NULL, DOCA_SHA_ALGORITHM_SHA1, NULL, NULL, none, &task));
  CHECK_INVALID(doca_sha_task_hash_alloc_init(sha, DOCA_SHA_ALGORITHM_SHA1, NULL, NULL, none, NULL));
  CHECK_OK(doca_sha_task_hash_alloc_init(sha, DOCA_SHA_ALGORITHM_SHA1, NULL, NULL, none, &task));
  CHECK_INVALID(doca_sha_task_hash_set_src(task, NULL));
  CHECK_INVALID(doca_sha_task_hash_set_src(NULL, NULL));
  CHECK_INVALID(doca_sha_task_hash_set_algorithm(task, unknown));
  CHECK_INVALID(doca_task_try_submit(doca_sha_task_hash_as_task(task)));
  CHECK_INVALID(doca_sha_task_partial_hash_reset(NULL));
  CHECK_INVALID(doca_sha_task_partial_hash_set_is_final_buf(NULL));
  CHECK(doca_sha_task_partial_hash_get_has_result(NULL) == 0 && doca_sha_task_partial_hash_get_is_final(NULL) == 0);
  doca_task_free(doca_sha_task_hash_as_task(task));
  end_sha(&stage, sha);
}

CASE(sha, configuration_is_refused_unless_idle) {
  struct stage stage;
  struct seen seen;
  struct doca_sha* sha = make_sha(&stage, &seen);
  CHECK_STATUS(doca_sha_task_hash_set_conf(sha, hashed, hashed, 0), DOCA_ERROR_BAD_STATE);
  CHECK_STATUS(doca_sha_destroy(sha), DOCA_ERROR_IN_USE);
  stage_stop(&stage, doca_sha_as_ctx(sha));
  CHECK_INVALID(doca_sha_task_hash_set_conf(sha, hashed, hashed, 32));
  CHECK_INVALID(doca_sha_task_hash_set_conf(sha, hashed, hashed, 255));
  CHECK_INVALID(doca_sha_task_hash_set_conf(sha, NULL, hashed, 0));
  struct doca_sha_task_hash* task = NULL;
  CHECK_STATUS(
      doca_sha_task_hash_alloc_init(sha, DOCA_SHA_ALGORITHM_SHA1, NULL, NULL, (union doca_data){.u64 = 0}, &task),
      DOCA_ERROR_BAD_STATE);
  end_sha(&stage, sha);
}

CASE(sha, capabilities_answer_by_device) {
  struct doca_dev* dev = open_hasher();
  const struct doca_devinfo* info = doca_dev_as_devinfo(dev);
  CHECK_OK(doca_sha_cap_task_hash_get_supported(info, DOCA_SHA_ALGORITHM_SHA512));
  CHECK_OK(doca_sha_cap_task_partial_hash_get_supported(info, DOCA_SHA_ALGORITHM_SHA1));
  CHECK_STATUS(doca_sha_cap_task_hash_get_supported(info, (enum doca_sha_algorithm)3), DOCA_ERROR_NOT_SUPPORTED);
  uint32_t bytes = 0;
  CHECK_OK(doca_sha_cap_get_min_dst_buf_size(info, DOCA_SHA_ALGORITHM_SHA512, &bytes));
  CHECK(bytes == 64);
  CHECK_OK(doca_sha_cap_get_partial_hash_block_size(info, DOCA_SHA_ALGORITHM_SHA512, &bytes));
  CHECK(bytes == 128);
  uint64_t size = 0;
  CHECK_OK(doca_sha_cap_get_max_src_buf_size(info, &size));
  CHECK_OK(doca_sha_cap_get_max_list_buf_num_elem(info, &bytes));
  CHECK(size > 0 && bytes > 0);
  CHECK_INVALID(doca_sha_cap_get_max_src_buf_size(info, NULL));
  struct doca_sha* sha = NULL;
  CHECK_OK(doca_sha_create(dev, &sha));
  CHECK_OK(doca_sha_cap_get_max_num_tasks(sha, &bytes));
  CHECK_OK(doca_sha_destroy(sha));
  CHECK_INVALID(doca_sha_destroy(sha));
  CHECK_OK(doca_dev_close(dev));
}

CASE(sha, a_device_without_the_engine_is_not_supported) {
  setenv("PYDOCA_PROFILE", "bluefield3", 1);
  struct doca_dev* dev = open_first_device();
  const struct doca_devinfo* info = doca_dev_as_devinfo(dev);
  struct doca_sha* sha = NULL;
  uint32_t limit = 0;
  CHECK_STATUS(doca_sha_create(dev, &sha), DOCA_ERROR_NOT_SUPPORTED);
  CHECK_STATUS(doca_sha_cap_task_hash_get_supported(info, DOCA_SHA_ALGORITHM_SHA1), DOCA_ERROR_NOT_SUPPORTED);
  CHECK_STATUS(doca_sha_cap_get_max_list_buf_num_elem(info, &limit), DOCA_ERROR_NOT_SUPPORTED);
  CHECK_OK(doca_dev_close(dev));
}
