#include "pydoca/buf_inventory.hpp"

#include "base/call.hpp"
#include "base/convert.hpp"
#include "base/handle.hpp"
#include "base/objects.hpp"
#include "common/mmap.hpp"

#include <doca_buf_inventory.h>
#include <memory>
#include <source_location>
#include <utility>

using namespace pydoca;
using capi::Call;
using capi::engine;

struct doca_buf_inventory : capi::Handle<"buf inventory"> {
  std::shared_ptr<BufInventory> source;
};

namespace {

template <class Change>
doca_error_t change(const Call& call, doca_buf_inventory* inventory, Change apply) noexcept {
  if (!call.has(inventory)) {
    return DOCA_ERROR_INVALID_VALUE;
  }
  return call.run([&] { apply(*inventory->source); });
}

}  // namespace

doca_error_t doca_buf_inventory_create(std::size_t num_elements, doca_buf_inventory** inventory) {
  const Call call;
  if (!call.has(inventory)) {
    return DOCA_ERROR_INVALID_VALUE;
  }
  return call.run([&] {
    auto source = BufInventory::create(num_elements);
    *inventory = capi::Slab<doca_buf_inventory>::make();
    (*inventory)->source = std::move(source);
  });
}

doca_error_t doca_buf_inventory_destroy(doca_buf_inventory* inventory) {
  return change(Call(), inventory, [&](BufInventory& source) {
    source.close();
    capi::Slab<doca_buf_inventory>::end(*inventory);
  });
}

doca_error_t doca_buf_inventory_start(doca_buf_inventory* inventory) {
  return change(Call(), inventory, [](BufInventory& source) { source.start(); });
}

doca_error_t doca_buf_inventory_stop(doca_buf_inventory* inventory) {
  return change(Call(), inventory, [](BufInventory& source) { source.stop(); });
}

doca_error_t doca_buf_inventory_expand(doca_buf_inventory* inventory, std::uint32_t num_elements) {
  return change(Call(), inventory, [&](BufInventory& source) { source.expand(num_elements); });
}

doca_error_t doca_buf_inventory_buf_get_by_args(doca_buf_inventory* inventory, const doca_mmap* mmap, void* addr,
                                                std::size_t len, void* data, std::size_t data_len, doca_buf** buf) {
  if (!Call::accepts(inventory, mmap, buf)) [[unlikely]] {
    return Call::refuse_arguments(std::source_location::current(), inventory, mmap, buf);
  }
  return capi::as_c(inventory->source->get_by_args(mmap->map, capi::address_of(addr), len, capi::address_of(data),
                                                   data_len, capi::filled(buf)));
}

doca_error_t doca_buf_inventory_buf_dup(doca_buf_inventory* inventory, const doca_buf* src_buf, doca_buf** dst_buf) {
  if (!Call::accepts(inventory, engine(src_buf), dst_buf)) [[unlikely]] {
    return Call::refuse_arguments(std::source_location::current(), inventory, engine(src_buf), dst_buf);
  }
  return capi::as_c(inventory->source->dup(*engine(src_buf), capi::filled(dst_buf)));
}

doca_error_t doca_buf_inventory_set_user_data(doca_buf_inventory* inventory, doca_data user_data) {
  return change(Call(), inventory, [&](BufInventory& source) { source.set_user_data(user_data.u64); });
}

doca_error_t doca_buf_inventory_get_user_data(const doca_buf_inventory* inventory, doca_data* user_data) {
  if (!Call().has(inventory, user_data)) {
    return DOCA_ERROR_INVALID_VALUE;
  }
  *user_data = capi::as_data(inventory->source->user_data());
  return DOCA_SUCCESS;
}

doca_error_t doca_buf_inventory_get_num_elements(const doca_buf_inventory* inventory, std::uint32_t* num_of_elements) {
  if (!Call().has(inventory, num_of_elements)) {
    return DOCA_ERROR_INVALID_VALUE;
  }
  *num_of_elements = static_cast<std::uint32_t>(inventory->source->num_elements());
  return DOCA_SUCCESS;
}

doca_error_t doca_buf_inventory_get_num_free_elements(const doca_buf_inventory* inventory,
                                                      std::uint32_t* num_of_free_elements) {
  if (!Call().has(inventory, num_of_free_elements)) {
    return DOCA_ERROR_INVALID_VALUE;
  }
  *num_of_free_elements = static_cast<std::uint32_t>(inventory->source->num_free_elements());
  return DOCA_SUCCESS;
}
