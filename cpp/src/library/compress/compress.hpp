#pragma once

#include "pydoca/backend/compress.hpp"
#include "pydoca/backend/engine.hpp"
#include "pydoca/compress.hpp"

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
    .filled = [](const backend::DataOperation& operation) noexcept -> std::uint64_t {
      return static_cast<const backend::DecompressOperation&>(operation).filled;
    },
    .cut = detail::cut_to_a_byte,
    .copy = detail::copy_request<backend::DecompressOperation>,
    .take_answer =
        [](const backend::DataOperation& from, backend::DataOperation& to) noexcept {
          const auto& told = static_cast<const backend::DecompressOperation&>(from);
          auto& answer = static_cast<backend::DecompressOperation&>(to);
          answer.filled = told.filled;
          answer.crc = told.crc;
          answer.adler = told.adler;
          answer.fault = told.fault;
        },
    .set_filled =
        [](backend::DataOperation& operation, std::uint64_t length) noexcept {
          static_cast<backend::DecompressOperation&>(operation).filled = length;
        }};

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

class Compress final : public detail::DataContext<pydoca::Compress, DecompressTask> {
 public:
  explicit Compress(std::shared_ptr<Device> device);
  ~Compress() override;
};

}  // namespace pydoca::library
