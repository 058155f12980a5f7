#pragma once

#include "pydoca/backend/counter.hpp"
#include "pydoca/backend/device.hpp"
#include "pydoca/backend/import.hpp"
#include "pydoca/backend/memory.hpp"

#include "backend/sim/memory/blob.hpp"
#include "backend/sim/place/place.hpp"

#include <memory>
#include <span>

namespace pydoca::sim {

/// Throw as backend::Device does.
std::unique_ptr<backend::Counter> create_counter(const Place& place, const backend::MemoryRange* memory);
std::unique_ptr<backend::Counter> import_counter(const Place& place, std::span<const std::byte> blob, BlobType type,
                                                 const std::shared_ptr<backend::ImportAnswer>& answer);
BlobType blob_type_of(backend::CounterScope scope) noexcept;

/// The function that owns it, as origin_of() its blob; 0 unless it was imported.
std::uint64_t origin_of(const backend::Counter& counter) noexcept;

}  // namespace pydoca::sim
