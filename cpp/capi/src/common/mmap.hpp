#pragma once

#include "pydoca/mmap.hpp"

#include "base/handle.hpp"

#include <cstddef>
#include <cstdint>
#include <doca_mmap.h>
#include <memory>
#include <vector>

namespace pydoca::capi {

/// The callback of a map, which may live longer than the map's object: as long as the map.
struct FreeCallback {
  doca_mmap_memrange_free_cb_t* function = nullptr;
  void* opaque = nullptr;
};

/// A description that C programs point to, until the map's stop.
struct Export {
  std::size_t ordinal;  ///< the device's
  bool is_pci;
  std::vector<std::byte> bytes;
};

}  // namespace pydoca::capi

struct doca_mmap : pydoca::capi::Handle<"memory map"> {
  std::shared_ptr<pydoca::Mmap> map;
  std::shared_ptr<pydoca::capi::FreeCallback> free_callback;
  std::vector<std::unique_ptr<pydoca::capi::Export>> exports;
};
