#pragma once

#include "pydoca/backend/engine.hpp"
#include "pydoca/backend/queue.hpp"
#include "pydoca/mmap_advise.hpp"

#include "library/data_task.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

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

class alignas(64) InvalidateCacheTask final : public MmapAdviseInvalidateCacheTask, public backend::DataOperation {
 public:
  using Library = MmapAdvise;
  InvalidateCacheTask(MmapAdvise& context, detail::TaskPool& pool, std::size_t kind) noexcept;

  /// The operand of a task that was just taken.
  void give(Buf* buf) noexcept { buf_ = buf; }

  std::string explain(Status status) const override;
  bool breaks_limit(detail::Violation* why) const noexcept override;
  Status post(bool flush) noexcept override;
  void finish(Status status) noexcept override;
  void promise_operands(std::int32_t change, detail::Promise promise) noexcept override {
    detail::Operands::promise(buf(), change, promise);
  }

 private:
  MmapAdvise& library() const noexcept;
};

class MmapAdvise final : public detail::DataContext<pydoca::MmapAdvise, InvalidateCacheTask> {
 public:
  explicit MmapAdvise(std::shared_ptr<Device> device);
  ~MmapAdvise() override;
};

}  // namespace pydoca::library
