#pragma once

#include "pydoca/backend/compress.hpp"
#include "pydoca/backend/engine.hpp"
#include "pydoca/compress.hpp"
#include "pydoca/device_properties.hpp"

#include "library/data_task.hpp"

#include <array>
#include <memory>
#include <string>

namespace pydoca::library {

inline constexpr std::array compress_opcodes{backend::OpcodeTraits{.name = compress_decompress_deflate.name}};

inline constexpr backend::EngineTraits compress_engine{
    .name = "compress",
    .queue = "a compression queue",
    .lack = "expand data: it has no compression engine",
    .opcodes = compress_opcodes,
    .is_present = [](const Capabilities& capabilities) noexcept { return capabilities.compress.has_value(); },
    .filled = detail::told_length<backend::DecompressOperation>,
    .cut = detail::cut_to_a_byte,
    .copy = detail::copy_request<backend::DecompressOperation>,
    .take_answer = detail::take_answer<backend::DecompressOperation>,
    .set_filled = detail::tell_length<backend::DecompressOperation>};

class Compress;

class alignas(64) DecompressTask final
    : public detail::DataTask<CompressDecompressDeflateTask, backend::DecompressOperation, Compress> {
 public:
  using DataTask::DataTask;

  std::string explain(Status status) const override;
  bool breaks_limit(detail::Violation* why) const noexcept override;
  Status post(bool flush) noexcept override;
  void finish(Status status) noexcept override;
};

class Compress final : public detail::DataContext<pydoca::Compress, DecompressTask, compress_engine> {
 public:
  using DataContext::DataContext;
};

}  // namespace pydoca::library
