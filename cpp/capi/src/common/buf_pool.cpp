#include "pydoca/buf_pool.hpp"

#include "base/call.hpp"
#include "base/convert.hpp"
#include "base/handle.hpp"
#include "base/objects.hpp"
#include "common/mmap.hpp"

#include <doca_buf_pool.h>
#include <memory>
#include <utility>

using namespace pydoca;
using capi::Call;

struct doca_buf_pool : capi::Handle<"buf pool"> {
  std::shared_ptr<BufPool> source;
};

namespace {

template <class Change>
doca_error_t change(const Call& call, doca_buf_pool* pool, Change apply) noexcept {
  if (!call.has(pool)) {
    return DOCA_ERROR_INVALID_VALUE;
  }
  return call.run([&] { apply(*pool->source); });
}

template <class Value, class Read>
doca_error_t get(const Call& call, const doca_buf_pool* pool, Value* value, Read read) noexcept {
  if (!call.has(pool, value)) {
    return DOCA_ERROR_INVALID_VALUE;
  }
  *value = static_cast<Value>(read(*pool->source));
  return DOCA_SUCCESS;
}

}  // namespace

doca_error_t doca_buf_pool_create(std::size_t num_elements, std::size_t element_size, const doca_mmap* mmap,
                                  doca_buf_pool** buf_pool) {
  const Call call;
  if (!call.has(mmap, buf_pool)) {
    return DOCA_ERROR_INVALID_VALUE;
  }
  return call.run([&] {
    auto source = BufPool::create(num_elements, element_size, mmap->map);
    *buf_pool = capi::Slab<doca_buf_pool>::make();
    (*buf_pool)->source = std::move(source);
  });
}

doca_error_t doca_buf_pool_destroy(doca_buf_pool* buf_pool) {
  return change(Call(), buf_pool, [&](BufPool& source) {
    source.close();
    capi::Slab<doca_buf_pool>::end(*buf_pool);
  });
}

doca_error_t doca_buf_pool_start(doca_buf_pool* buf_pool) {
  return change(Call(), buf_pool, [](BufPool& source) { source.start(); });
}

doca_error_t doca_buf_pool_stop(doca_buf_pool* buf_pool) {
  return change(Call(), buf_pool, [](BufPool& source) { source.stop(); });
}

doca_error_t doca_buf_pool_buf_alloc(doca_buf_pool* buf_pool, doca_buf** buf) {
  if (!Call().has(buf_pool, buf)) {
    return DOCA_ERROR_INVALID_VALUE;
  }
  return capi::as_c(buf_pool->source->alloc(capi::filled(buf)));
}

doca_error_t doca_buf_pool_set_user_data(doca_buf_pool* buf_pool, doca_data user_data) {
  return change(Call(), buf_pool, [&](BufPool& source) { source.set_user_data(user_data.u64); });
}

doca_error_t doca_buf_pool_get_user_data(const doca_buf_pool* buf_pool, doca_data* user_data) {
  if (!Call().has(buf_pool, user_data)) {
    return DOCA_ERROR_INVALID_VALUE;
  }
  *user_data = capi::as_data(buf_pool->source->user_data());
  return DOCA_SUCCESS;
}

doca_error_t doca_buf_pool_set_element_alignment(doca_buf_pool* buf_pool, std::size_t element_alignment) {
  return change(Call(), buf_pool, [&](BufPool& source) { source.set_element_alignment(element_alignment); });
}

doca_error_t doca_buf_pool_get_element_alignment(const doca_buf_pool* buf_pool, std::size_t* element_alignment) {
  return get(Call(), buf_pool, element_alignment, [](const BufPool& source) { return source.element_alignment(); });
}

doca_error_t doca_buf_pool_get_num_elements(const doca_buf_pool* buf_pool, std::uint32_t* num_of_elements) {
  return get(Call(), buf_pool, num_of_elements, [](const BufPool& source) { return source.num_elements(); });
}

doca_error_t doca_buf_pool_get_num_free_elements(const doca_buf_pool* buf_pool, std::uint32_t* num_of_free_elements) {
  return get(Call(), buf_pool, num_of_free_elements, [](const BufPool& source) { return source.num_free_elements(); });
}
