#include "rig/case.h"

#include <doca_version.h>
#include <string.h>

CASE(error, names_and_sentences_are_never_null) {
  CHECK(strcmp(doca_error_get_name(DOCA_ERROR_AGAIN), "DOCA_ERROR_AGAIN") == 0);
  CHECK(strcmp(doca_error_get_name(DOCA_SUCCESS), "DOCA_SUCCESS") == 0);
  CHECK(strlen(doca_error_get_name((doca_error_t)1000)) > 0);
  CHECK(strlen(doca_error_get_descr((doca_error_t)1000)) > 0);
}

CASE(error, the_first_of_several_failures_is_kept) {
  doca_error_t result = DOCA_SUCCESS;
  DOCA_ERROR_PROPAGATE(result, DOCA_SUCCESS);
  CHECK(!DOCA_IS_ERROR(result));
  DOCA_ERROR_PROPAGATE(result, DOCA_ERROR_FULL);
  DOCA_ERROR_PROPAGATE(result, DOCA_ERROR_EMPTY);
  CHECK_STATUS(result, DOCA_ERROR_FULL);
}

CASE(version, can_be_compared_by_the_preprocessor) {
#if DOCA_VERSION_LTE_CURRENT(DOCA_VERSION_CALC(3, 0, 0)) && !DOCA_VERSION_LTE_CURRENT(DOCA_VERSION_CALC(4, 0, 0))
  CHECK(strcmp(doca_version(), doca_version_runtime()) == 0);
#else
#error "the comparison of versions fails"
#endif
  CHECK(DOCA_VERSION_EQ_CURRENT(DOCA_VERSION_CALC(3, 3, 0)));
}
