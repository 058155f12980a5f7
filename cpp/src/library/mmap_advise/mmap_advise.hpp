#pragma once

#include "pydoca/backend/engine.hpp"
#include "pydoca/backend/queue.hpp"
#include "pydoca/device_properties.hpp"
#include "pydoca/mmap_advise.hpp"

#include "library/data_task.hpp"

#include <array>
#include <cstdint>

namespace pydoca::library {

inline constexpr std::array mmap_advise_opcodes{
    backend::OpcodeTraits{.name = mmap_advise_invalidate_cache.name, .moves_data = false}};

inline constexpr backend::EngineTraits mmap_advise_engine{
    .name = "mmap_advise",
    .queue = "a queue for its cache",
    .lack = "invalidate a cache",
    .opcodes = mmap_advise_opcodes,
    .is_present = [](const Capabilities& capabilities) noexcept { return capabilities.mmap_advise.has_value(); },
    .filled = [](const backend::DataOperation& /*operation*/) noexcept { return std::uint64_t{0}; },
    .cut = detail::cut_to_a_byte,
    .copy = detail::copy_request<backend::DataOperation>};

class MmapAdvise;

class alignas(64) InvalidateCacheTask final
    : public detail::DataTask<MmapAdviseInvalidateCacheTask, backend::DataOperation, MmapAdvise> {
 public:
  using DataTask::DataTask;

  bool breaks_limit(detail::Violation* why) const noexcept override;
  Status post(bool flush) noexcept override { return post_data(flush); }
  void finish(Status status) noexcept override { take_back_data(status, 0); }
};

class MmapAdvise final : public detail::DataContext<pydoca::MmapAdvise, InvalidateCacheTask, mmap_advise_engine> {
 public:
  using DataContext::DataContext;
};

}  // namespace pydoca::library
