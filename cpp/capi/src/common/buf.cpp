#include "pydoca/buf.hpp"

#include "base/call.hpp"
#include "base/convert.hpp"
#include "base/objects.hpp"

#include <doca_buf.h>
#include <source_location>

using namespace pydoca;
using capi::Call;
using capi::engine;

namespace {

template <class Value, class Read>
doca_error_t get(const doca_buf* buf, Value* value, Read read,
                 std::source_location where = std::source_location::current()) noexcept {
  if (!Call::accepts(engine(buf), value)) [[unlikely]] {
    return Call::refuse_arguments(where, engine(buf), value);
  }
  *value = static_cast<Value>(read(*engine(buf)));
  return DOCA_SUCCESS;
}

}  // namespace

// The engine answers for a buf that was given back.
doca_error_t doca_buf_inc_refcount(doca_buf* buf, std::uint16_t* refcount) {
  if (!Call::accepts(static_cast<const void*>(buf))) [[unlikely]] {
    return Call::refuse_arguments(std::source_location::current(), static_cast<const void*>(buf));
  }
  return capi::as_c(engine(buf)->inc_refcount(refcount));
}

doca_error_t doca_buf_dec_refcount(doca_buf* buf, std::uint16_t* refcount) {
  if (!Call::accepts(static_cast<const void*>(buf))) [[unlikely]] {
    return Call::refuse_arguments(std::source_location::current(), static_cast<const void*>(buf));
  }
  return capi::as_c(engine(buf)->dec_refcount(refcount));
}

doca_error_t doca_buf_get_refcount(const doca_buf* buf, std::uint16_t* refcount) {
  return get(buf, refcount, [](const Buf& of) { return of.refcount(); });
}

doca_error_t doca_buf_get_len(const doca_buf* buf, std::size_t* len) {
  return get(buf, len, [](const Buf& of) { return of.len(); });
}

doca_error_t doca_buf_get_head(const doca_buf* buf, void** head) {
  return get(buf, head, [](const Buf& of) { return capi::pointer_to(of.head()); });
}

doca_error_t doca_buf_get_data(const doca_buf* buf, void** data) {
  return get(buf, data, [](const Buf& of) { return capi::pointer_to(of.data()); });
}

doca_error_t doca_buf_get_data_len(const doca_buf* buf, std::size_t* data_len) {
  return get(buf, data_len, [](const Buf& of) { return of.data_len(); });
}

doca_error_t doca_buf_set_data(doca_buf* buf, void* data, std::size_t data_len) {
  if (!Call::accepts(engine(buf))) [[unlikely]] {
    return Call::refuse_arguments(std::source_location::current(), engine(buf));
  }
  return capi::as_c(engine(buf)->set_data(capi::address_of(data), data_len));
}

doca_error_t doca_buf_set_data_len(doca_buf* buf, std::size_t data_len) {
  if (!Call::accepts(engine(buf))) [[unlikely]] {
    return Call::refuse_arguments(std::source_location::current(), engine(buf));
  }
  return capi::as_c(engine(buf)->set_data_len(data_len));
}

doca_error_t doca_buf_reset_data_len(doca_buf* buf) {
  if (!Call::accepts(engine(buf))) [[unlikely]] {
    return Call::refuse_arguments(std::source_location::current(), engine(buf));
  }
  return capi::as_c(engine(buf)->reset_data_len());
}

doca_error_t doca_buf_get_next_in_list(doca_buf* buf, doca_buf** next_buf) {
  if (!Call::accepts(engine(buf), next_buf)) [[unlikely]] {
    return Call::refuse_arguments(std::source_location::current(), engine(buf), next_buf);
  }
  *next_buf = capi::as_c(engine(buf)->next());
  return DOCA_SUCCESS;
}

doca_error_t doca_buf_get_last_in_list(doca_buf* buf, doca_buf** last_buf) {
  if (!Call::accepts(engine(buf), last_buf)) [[unlikely]] {
    return Call::refuse_arguments(std::source_location::current(), engine(buf), last_buf);
  }
  *last_buf = capi::as_c(&engine(buf)->last());
  return DOCA_SUCCESS;
}

doca_error_t doca_buf_is_last_in_list(const doca_buf* buf, std::uint8_t* is_last) {
  return get(buf, is_last, [](const Buf& of) { return of.is_last(); });
}

doca_error_t doca_buf_is_first_in_list(const doca_buf* buf, std::uint8_t* is_first) {
  return get(buf, is_first, [](const Buf& of) { return of.is_first(); });
}

doca_error_t doca_buf_is_in_list(const doca_buf* buf, std::uint8_t* is_in_list) {
  return get(buf, is_in_list, [](const Buf& of) { return of.is_in_list(); });
}

doca_error_t doca_buf_get_list_len(const doca_buf* buf, std::uint32_t* num_elements) {
  if (!Call::accepts(engine(buf), num_elements)) [[unlikely]] {
    return Call::refuse_arguments(std::source_location::current(), engine(buf), num_elements);
  }
  return capi::as_c(engine(buf)->list_len(*num_elements));
}

doca_error_t doca_buf_chain_list(doca_buf* list1, doca_buf* list2) {
  if (!Call::accepts(engine(list1), engine(list2))) [[unlikely]] {
    return Call::refuse_arguments(std::source_location::current(), engine(list1), engine(list2));
  }
  return capi::as_c(engine(list1)->chain(*engine(list2)));
}

doca_error_t doca_buf_chain_list_tail(doca_buf* list1_head, doca_buf* list1_tail, doca_buf* list2) {
  if (!Call::accepts(engine(list1_head), engine(list1_tail), engine(list2))) [[unlikely]] {
    return Call::refuse_arguments(std::source_location::current(), engine(list1_head), engine(list1_tail),
                                  engine(list2));
  }
  return capi::as_c(engine(list1_head)->chain_tail(*engine(list1_tail), *engine(list2)));
}

doca_error_t doca_buf_unchain_list(doca_buf* list1, doca_buf* list2) {
  if (!Call::accepts(engine(list1), engine(list2))) [[unlikely]] {
    return Call::refuse_arguments(std::source_location::current(), engine(list1), engine(list2));
  }
  return capi::as_c(engine(list1)->unchain(*engine(list2)));
}
