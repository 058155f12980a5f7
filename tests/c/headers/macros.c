/* A file as programs have them: with sources of messages, and what the preprocessor compares. */
#include <doca_buf_inventory.h>
#include <doca_error.h>
#include <doca_log.h>
#include <doca_version.h>

DOCA_LOG_REGISTER(MACROS::FILE);

#if defined(DOCA_ARCH_HOST) == defined(DOCA_ARCH_DPU)
#error "exactly one side is defined"
#endif
#if !DOCA_VERSION_LTE_CURRENT(DOCA_VERSION_CALC(2, 6, 0))
#error "the version is too old"
#endif

int main(void) {
  doca_error_t result = DOCA_SUCCESS;
  DOCA_ERROR_PROPAGATE(result, DOCA_ERROR_AGAIN);
  DOCA_LOG_ERR("one text");
  DOCA_LOG_INFO("%s: %d", doca_error_get_descr(result), 1);
  DOCA_LOG_TRC("%d is left out", 2);
  if (DOCA_IS_ERROR(result))
    DOCA_LOG_CRIT("%s", doca_version());
  else
    DOCA_LOG_DBG("none");
  return 0;
}
