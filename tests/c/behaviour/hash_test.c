// SHA, which cards like the BlueField-2 have: doca_sha.h.

#include "rig/dma_rig.h"

#include <doca_sha.h>
#include <stdlib.h>
#include <string.h>

enum { size = 4096, digest_size = 32, log_num_tasks = 2, num_tasks = 4 };

// The digest of "abc", as FIPS 180-4 has it.
static const unsigned char digest_of_abc[digest_size] = {
    0xba, 0x78, 0x16, 0xbf, 0x8f, 0x01, 0xcf, 0xea, 0x41, 0x41, 0x40, 0xde, 0x5d, 0xae, 0x22, 0x23,
    0xb0, 0x03, 0x61, 0xa3, 0x96, 0x17, 0x7a, 0x9c, 0xb4, 0x10, 0xff, 0x61, 0xf2, 0x00, 0x15, 0xad};

static const union doca_data no_data = {.u64 = 0};

// The first look at devices comes later.
__attribute__((constructor)) static void choose_card(void) { setenv("PYDOCA_PROFILE", "bluefield2", 1); }

struct sha_rig {
  struct stage stage;
  struct doca_sha* sha;
  struct doca_ctx* ctx;
  struct doca_buf* src;
  struct doca_buf* dst;
  int num_succeeded;
  int num_failed;
};

static void count_hash(struct doca_sha_task_hash* task, union doca_data task_user_data, union doca_data ctx_user_data) {
  struct sha_rig* rig = ctx_user_data.ptr;
  (void)task_user_data;
  const doca_error_t status = doca_task_get_status(doca_sha_task_hash_as_task(task));
  *(status == DOCA_SUCCESS ? &rig->num_succeeded : &rig->num_failed) += 1;
  doca_task_free(doca_sha_task_hash_as_task(task));
}

// The task stays, for the next piece.
static void count_piece(struct doca_sha_task_partial_hash* task, union doca_data task_user_data,
                        union doca_data ctx_user_data) {
  struct sha_rig* rig = ctx_user_data.ptr;
  (void)task_user_data;
  const doca_error_t status = doca_task_get_status(doca_sha_task_partial_hash_as_task(task));
  *(status == DOCA_SUCCESS ? &rig->num_succeeded : &rig->num_failed) += 1;
}

static doca_error_t has_sha(const struct doca_devinfo* info) {
  return doca_sha_cap_task_hash_get_supported(info, DOCA_SHA_ALGORITHM_SHA256);
}

static void configure(struct sha_rig* rig) {
  memset(rig, 0, sizeof *rig);
  stage_open(&rig->stage, open_first(has_sha), size);
  CHECK_OK(doca_sha_create(rig->stage.dev, &rig->sha));
  rig->ctx = doca_sha_as_ctx(rig->sha);
  CHECK_OK(doca_sha_task_hash_set_conf(rig->sha, count_hash, count_hash, log_num_tasks));
  CHECK_OK(doca_sha_task_partial_hash_set_conf(rig->sha, count_piece, count_piece, 0));
  CHECK_OK(doca_ctx_set_user_data(rig->ctx, (union doca_data){.ptr = rig}));
  CHECK_OK(doca_pe_connect_ctx(rig->stage.pe, rig->ctx));
  memcpy(rig->stage.memory, "abc", 3);
  rig->src = stage_data(&rig->stage, 0, 3);
  rig->dst = stage_room(&rig->stage, size / 2, 256);
}

static void set_up(struct sha_rig* rig) {
  configure(rig);
  CHECK_OK(doca_ctx_start(rig->ctx));
}

static void tear_down(struct sha_rig* rig) {
  stage_stop(&rig->stage, rig->ctx);
  CHECK_OK(doca_sha_destroy(rig->sha));
  CHECK_OK(doca_buf_dec_refcount(rig->src, NULL));
  CHECK_OK(doca_buf_dec_refcount(rig->dst, NULL));
  stage_close(&rig->stage);
}

static struct doca_sha_task_hash* take_hash(struct sha_rig* rig) {
  struct doca_sha_task_hash* task = NULL;
  CHECK_OK(doca_sha_task_hash_alloc_init(rig->sha, DOCA_SHA_ALGORITHM_SHA256, rig->src, rig->dst, no_data, &task));
  return task;
}

static void progress_until(struct sha_rig* rig, int num_completed) {
  while (rig->num_succeeded + rig->num_failed < num_completed) doca_pe_progress(rig->stage.pe);
}

CASE(hash, of_a_text_is_appended_to_the_destination) {
  struct sha_rig rig;
  size_t length = 0;
  set_up(&rig);
  CHECK_OK(doca_task_submit(doca_sha_task_hash_as_task(take_hash(&rig))));
  progress_until(&rig, 1);
  CHECK_EQUAL(rig.num_succeeded, 1);
  CHECK_OK(doca_buf_get_data_len(rig.dst, &length));
  CHECK_EQUAL(length, digest_size);
  CHECK(memcmp(rig.stage.memory + size / 2, digest_of_abc, digest_size) == 0);
  tear_down(&rig);
}

CASE(hash, tasks_are_configured_by_their_logarithm) {
  struct sha_rig rig;
  struct doca_sha_task_hash* tasks[num_tasks];
  struct doca_sha_task_hash* more = NULL;
  uint32_t most = 0;
  set_up(&rig);
  for (int i = 0; i < num_tasks; i++) tasks[i] = take_hash(&rig);
  CHECK_STATUS(doca_sha_task_hash_alloc_init(rig.sha, DOCA_SHA_ALGORITHM_SHA256, rig.src, rig.dst, no_data, &more),
               DOCA_ERROR_NO_MEMORY);
  for (int i = 0; i < num_tasks; i++) doca_task_free(doca_sha_task_hash_as_task(tasks[i]));
  CHECK_STATUS(doca_sha_task_hash_set_conf(rig.sha, count_hash, count_hash, 0), DOCA_ERROR_BAD_STATE);
  CHECK_OK(doca_ctx_stop(rig.ctx));
  CHECK_OK(doca_sha_cap_get_max_num_tasks(rig.sha, &most));
  CHECK(most >= num_tasks);
  CHECK_STATUS(doca_sha_task_hash_set_conf(rig.sha, count_hash, count_hash, 31), DOCA_ERROR_INVALID_VALUE);
  CHECK_STATUS(doca_sha_task_hash_set_conf(rig.sha, count_hash, count_hash, 32), DOCA_ERROR_INVALID_VALUE);
  CHECK_STATUS(doca_sha_task_hash_set_conf(rig.sha, count_hash, count_hash, 255), DOCA_ERROR_INVALID_VALUE);
  CHECK_OK(doca_sha_task_hash_set_conf(rig.sha, count_hash, count_hash, 0));
  tear_down(&rig);
}

CASE(hash, task_is_taken_from_a_running_context) {
  struct sha_rig rig;
  struct doca_sha_task_hash* task = NULL;
  configure(&rig);
  CHECK_STATUS(doca_sha_task_hash_alloc_init(rig.sha, DOCA_SHA_ALGORITHM_SHA256, rig.src, rig.dst, no_data, &task),
               DOCA_ERROR_BAD_STATE);
  tear_down(&rig);
}

CASE(hash, setters_answer_and_getters_read) {
  struct sha_rig rig;
  set_up(&rig);
  struct doca_sha_task_hash* task = take_hash(&rig);
  CHECK(doca_sha_task_hash_get_src(task) == rig.src);
  CHECK(doca_sha_task_hash_get_dst(task) == rig.dst);
  CHECK_EQUAL(doca_sha_task_hash_get_algorithm(task), DOCA_SHA_ALGORITHM_SHA256);
  CHECK_STATUS(doca_sha_task_hash_set_src(task, NULL), DOCA_ERROR_INVALID_VALUE);
  CHECK_STATUS(doca_sha_task_hash_set_dst(task, NULL), DOCA_ERROR_INVALID_VALUE);
  CHECK_STATUS(doca_sha_task_hash_set_algorithm(task, (enum doca_sha_algorithm)7), DOCA_ERROR_INVALID_VALUE);
  CHECK_OK(doca_sha_task_hash_set_algorithm(task, DOCA_SHA_ALGORITHM_SHA512));
  CHECK_EQUAL(doca_sha_task_hash_get_algorithm(task), DOCA_SHA_ALGORITHM_SHA512);
  CHECK_OK(doca_sha_task_hash_set_src(task, rig.src));
  CHECK_OK(doca_task_submit(doca_sha_task_hash_as_task(task)));
  progress_until(&rig, 1);
  tear_down(&rig);
}

static struct doca_sha_task_partial_hash* take_pieces(struct sha_rig* rig) {
  struct doca_sha_task_partial_hash* task = NULL;
  CHECK_OK(
      doca_sha_task_partial_hash_alloc_init(rig->sha, DOCA_SHA_ALGORITHM_SHA256, rig->src, rig->dst, no_data, &task));
  return task;
}

CASE(hash, of_pieces_is_that_of_the_whole) {
  struct sha_rig rig;
  const uint8_t* digests = NULL;
  set_up(&rig);
  digests = rig.stage.memory + size / 2;
  memset(rig.stage.memory, 'x', 67);
  CHECK_OK(doca_buf_dec_refcount(rig.src, NULL));
  rig.src = stage_data(&rig.stage, 0, 67);
  CHECK_OK(doca_task_submit(doca_sha_task_hash_as_task(take_hash(&rig))));
  progress_until(&rig, 1);

  CHECK_OK(doca_buf_set_data(rig.src, rig.stage.memory, 64));
  struct doca_sha_task_partial_hash* pieces = take_pieces(&rig);
  CHECK_OK(doca_task_submit(doca_sha_task_partial_hash_as_task(pieces)));
  progress_until(&rig, 2);
  CHECK_EQUAL(doca_sha_task_partial_hash_get_has_result(pieces), 0);
  CHECK_EQUAL(doca_sha_task_partial_hash_get_is_final(pieces), 0);
  CHECK_OK(doca_buf_set_data(rig.src, rig.stage.memory + 64, 3));
  CHECK_OK(doca_sha_task_partial_hash_set_is_final_buf(pieces));
  CHECK_EQUAL(doca_sha_task_partial_hash_get_is_final(pieces), 1);
  CHECK_OK(doca_task_submit(doca_sha_task_partial_hash_as_task(pieces)));
  progress_until(&rig, 3);
  CHECK_EQUAL(doca_sha_task_partial_hash_get_has_result(pieces), 1);
  CHECK(memcmp(digests, digests + digest_size, digest_size) == 0);
  doca_task_free(doca_sha_task_partial_hash_as_task(pieces));
  tear_down(&rig);
}

CASE(hash, that_has_begun_keeps_its_destination_and_algorithm) {
  struct sha_rig rig;
  set_up(&rig);
  CHECK_OK(doca_buf_dec_refcount(rig.src, NULL));
  rig.src = stage_data(&rig.stage, 0, 64);
  struct doca_sha_task_partial_hash* pieces = take_pieces(&rig);
  CHECK_OK(doca_sha_task_partial_hash_set_dst(pieces, rig.dst));
  CHECK_OK(doca_task_submit(doca_sha_task_partial_hash_as_task(pieces)));
  progress_until(&rig, 1);
  CHECK_STATUS(doca_sha_task_partial_hash_set_dst(pieces, rig.dst), DOCA_ERROR_BAD_STATE);
  CHECK_STATUS(doca_sha_task_partial_hash_set_algorithm(pieces, DOCA_SHA_ALGORITHM_SHA1), DOCA_ERROR_BAD_STATE);
  CHECK_OK(doca_sha_task_partial_hash_set_src(pieces, rig.src));
  CHECK_OK(doca_sha_task_partial_hash_reset(pieces));
  CHECK_OK(doca_sha_task_partial_hash_set_algorithm(pieces, DOCA_SHA_ALGORITHM_SHA1));
  CHECK_OK(doca_sha_task_partial_hash_set_dst(pieces, rig.dst));
  doca_task_free(doca_sha_task_partial_hash_as_task(pieces));
  tear_down(&rig);
}

CASE(hash, has_limits) {
  struct sha_rig rig;
  uint32_t number = 0;
  uint64_t bytes = 0;
  set_up(&rig);
  const struct doca_devinfo* info = doca_dev_as_devinfo(rig.stage.dev);
  CHECK_OK(doca_sha_cap_get_min_dst_buf_size(info, DOCA_SHA_ALGORITHM_SHA1, &number));
  CHECK_EQUAL(number, 20);
  CHECK_OK(doca_sha_cap_get_min_dst_buf_size(info, DOCA_SHA_ALGORITHM_SHA512, &number));
  CHECK_EQUAL(number, 64);
  CHECK_OK(doca_sha_cap_get_partial_hash_block_size(info, DOCA_SHA_ALGORITHM_SHA256, &number));
  CHECK_EQUAL(number, 64);
  CHECK_OK(doca_sha_cap_get_partial_hash_block_size(info, DOCA_SHA_ALGORITHM_SHA512, &number));
  CHECK_EQUAL(number, 128);
  CHECK_OK(doca_sha_cap_get_max_list_buf_num_elem(info, &number));
  CHECK_OK(doca_sha_cap_get_max_src_buf_size(info, &bytes));
  CHECK(number >= 1 && bytes >= size);
  CHECK_STATUS(doca_sha_cap_get_min_dst_buf_size(info, DOCA_SHA_ALGORITHM_SHA1, NULL), DOCA_ERROR_INVALID_VALUE);
  CHECK_STATUS(doca_sha_cap_get_min_dst_buf_size(NULL, DOCA_SHA_ALGORITHM_SHA1, &number), DOCA_ERROR_INVALID_VALUE);
  tear_down(&rig);
}

CASE(hash, without_room_for_the_digest_fails) {
  struct sha_rig rig;
  set_up(&rig);
  CHECK_OK(doca_buf_set_data_len(rig.dst, 256 - digest_size + 1));
  struct doca_task* task = doca_sha_task_hash_as_task(take_hash(&rig));
  CHECK_STATUS(doca_task_try_submit(task), DOCA_ERROR_INVALID_VALUE);
  CHECK_OK(doca_task_submit(task));
  progress_until(&rig, 1);
  CHECK_EQUAL(rig.num_failed, 1);
  tear_down(&rig);
}

CASE(hash, context_that_runs_is_not_destroyed) {
  struct sha_rig rig;
  set_up(&rig);
  CHECK_STATUS(doca_sha_destroy(rig.sha), DOCA_ERROR_IN_USE);
  tear_down(&rig);
}
