#pragma once

#include "pydoca/backend/engine.hpp"
#include "pydoca/backend/queue.hpp"
#include "pydoca/device_properties.hpp"
#include "pydoca/dma.hpp"

#include "library/data_task.hpp"

#include <array>
#include <memory>

namespace pydoca::library {

inline constexpr std::array dma_opcodes{backend::OpcodeTraits{.name = dma_memcpy.name}};

inline constexpr backend::EngineTraits dma_engine{
    .name = "dma",
    .queue = "a DMA queue",
    .lack = "copy memory: it has no DMA engine",
    .opcodes = dma_opcodes,
    .is_present = [](const Capabilities& capabilities) noexcept { return capabilities.dma.has_value(); },
    .filled = [](const backend::DataOperation& operation) noexcept { return operation.length; },
    .cut = detail::cut_to_a_byte,
    .copy = detail::copy_request<backend::DataOperation>};

class Dma;

class alignas(64) DmaMemcpyTask final : public detail::DataTask<pydoca::DmaMemcpyTask, backend::DataOperation, Dma> {
 public:
  using DataTask::DataTask;

  bool breaks_limit(detail::Violation* why) const noexcept override;
  Status post(bool flush) noexcept override { return post_data(flush); }
  void finish(Status status) noexcept override { take_back_data(status, length); }
};

class Dma final : public detail::DataContext<pydoca::Dma, DmaMemcpyTask, dma_engine> {
 public:
  using DataContext::DataContext;

 private:
  std::unique_ptr<backend::DataQueue> create_queue(const backend::QueueOptions& options) override;
};

}  // namespace pydoca::library
