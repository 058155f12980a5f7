#include "rig/case.h"

#include <doca_dev.h>
#include <doca_log.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

DOCA_LOG_REGISTER(TESTS::LOG);

static int flushed;

static void flush(char* buffer) {
  (void)buffer;
  ++flushed;
}

static bool buf_has(const char* buf, const char* text) { return strstr(buf, text) != NULL; }

CASE(log, a_message_has_its_source_place_and_text) {
  struct doca_log_backend* backend = NULL;
  char buf[200] = "";
  CHECK_OK(doca_log_backend_create_with_buf(buf, sizeof buf, flush, &backend));
  DOCA_LOG_ERR("copied %d of %s", 7, "ten");
  CHECK(flushed == 1);
  CHECK(buf_has(buf, "TESTS::LOG") && buf_has(buf, "log_test.c") && buf_has(buf, "copied 7 of ten"));
  DOCA_LOG_DBG("below the limit");
  CHECK(flushed == 1);
  CHECK_OK(doca_log_backend_set_level_lower_limit(backend, DOCA_LOG_LEVEL_DEBUG));
  DOCA_LOG_DBG("above it");
  CHECK(flushed == 2 && buf_has(buf, "above it"));
  DOCA_LOG_TRC("left out of the program");
  CHECK(flushed == 2);
}

CASE(log, a_message_has_a_level_that_can_be_shown) {
  struct doca_log_backend* backend = NULL;
  char buf[200] = "";
  CHECK_OK(doca_log_backend_create_with_buf(buf, sizeof buf, flush, &backend));
  CHECK_INVALID(doca_log(DOCA_LOG_LEVEL_DISABLE, log_source, __FILE__, __LINE__, __func__, "a limit"));
  CHECK_INVALID(doca_log(55, log_source, __FILE__, __LINE__, __func__, "none"));
  CHECK(flushed == 0);
  CHECK_OK(doca_log(DOCA_LOG_LEVEL_CRIT, log_source, __FILE__, __LINE__, __func__, "a message"));
  CHECK(flushed == 1);
}

CASE(log, a_message_is_cut_to_the_buffer) {
  struct doca_log_backend* backend = NULL;
  char buf[21];
  memset(buf, 'x', sizeof buf);
  CHECK_OK(doca_log_backend_create_with_buf(buf, 20, flush, &backend));
  DOCA_LOG_ERR("%s", "a text that is longer than the buffer");
  CHECK(strlen(buf) == 19 && buf[20] == 'x');
  CHECK_INVALID(doca_log_backend_create_with_buf(buf, 0, flush, &backend));
  CHECK_INVALID(doca_log_backend_create_with_buf(buf, 20, NULL, &backend));
}

CASE(log, failures_of_the_library_go_to_its_own_backends) {
  struct doca_log_backend* backend = NULL;
  struct doca_log_backend* own = NULL;
  char sdk[300] = "";
  char app[300] = "";
  CHECK_OK(doca_log_backend_create_with_buf_sdk(sdk, sizeof sdk, flush, &backend));
  CHECK_OK(doca_log_backend_create_with_buf(app, sizeof app, flush, &own));
  CHECK_INVALID(doca_dev_close(NULL));
  CHECK(flushed == 1 && buf_has(sdk, "doca_dev_close") && app[0] == '\0');
  CHECK_OK(doca_log_backend_set_sdk_level(backend, DOCA_LOG_LEVEL_DISABLE));
  CHECK_INVALID(doca_dev_close(NULL));
  CHECK(flushed == 1);
}

CASE(log, files_and_descriptors_get_lines) {
  struct doca_log_backend* backend = NULL;
  FILE* file = tmpfile();
  CHECK(file != NULL);
  CHECK_OK(doca_log_backend_create_with_file(file, &backend));
  CHECK_OK(doca_log_backend_create_with_fd_sdk(fileno(file), &backend));
  DOCA_LOG_WARN("to the file");
  CHECK_INVALID(doca_dev_close(NULL));
  char text[1000] = "";
  CHECK(pread(fileno(file), text, sizeof text - 1, 0) > 0);
  CHECK(buf_has(text, "to the file\n") && buf_has(text, "doca_dev_close"));
  CHECK_INVALID(doca_log_backend_create_with_fd(-1, &backend));
  CHECK_INVALID(doca_log_backend_create_with_file(NULL, &backend));
}

CASE(log, a_strict_limit_stays) {
  struct doca_log_backend* backend = NULL;
  char buf[100];
  CHECK_OK(doca_log_backend_create_with_buf(buf, sizeof buf, flush, &backend));
  CHECK_OK(doca_log_backend_set_level_lower_limit_strict(backend));
  CHECK_STATUS(doca_log_backend_set_level_lower_limit(backend, DOCA_LOG_LEVEL_TRACE), DOCA_ERROR_NOT_PERMITTED);
  CHECK_STATUS(doca_log_backend_set_sdk_level(backend, DOCA_LOG_LEVEL_INFO), DOCA_ERROR_NOT_SUPPORTED);
  CHECK_INVALID(doca_log_backend_set_level_upper_limit(backend, 55));
  CHECK_INVALID(doca_log_backend_set_level_upper_limit(NULL, DOCA_LOG_LEVEL_CRIT));
}

CASE(log, global_limits_are_numbers) {
  CHECK(doca_log_level_get_global_lower_limit() == DOCA_LOG_LEVEL_INFO);
  CHECK(doca_log_level_get_global_upper_limit() == DOCA_LOG_LEVEL_CRIT);
  CHECK(doca_log_level_get_global_sdk_limit() == DOCA_LOG_LEVEL_INFO);
  CHECK_OK(doca_log_level_set_global_lower_limit(DOCA_LOG_LEVEL_DEBUG));
  CHECK_OK(doca_log_level_set_global_upper_limit(DOCA_LOG_LEVEL_ERROR));
  CHECK_OK(doca_log_level_set_global_sdk_limit(DOCA_LOG_LEVEL_TRACE));
  CHECK(doca_log_level_get_global_lower_limit() == DOCA_LOG_LEVEL_DEBUG);
  CHECK_INVALID(doca_log_level_set_global_lower_limit(0));
}

CASE(log, sources_have_numbers) {
  int one = -1;
  int two = -1;
  CHECK_OK(doca_log_register_source("APP::ONE", &one));
  CHECK_OK(doca_log_register_source("APP::TWO", &two));
  CHECK(one != two && one >= 0);
  CHECK_OK(doca_log_unregister_source(one));
  CHECK_INVALID(doca_log_unregister_source(one));
  CHECK_INVALID(doca_log_register_source("APP::", &one));
  CHECK_INVALID(doca_log_register_source(NULL, &one));
}
