#include "pydoca/status.hpp"

#include "base/convert.hpp"

#include <doca_error.h>

const char* doca_error_get_name(doca_error_t error) {
  return pydoca::error_name(static_cast<pydoca::Status>(pydoca::capi::number_of(error))).data();
}

const char* doca_error_get_descr(doca_error_t error) {
  return pydoca::error_descr(static_cast<pydoca::Status>(pydoca::capi::number_of(error))).data();
}
