#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

namespace pydoca {

struct Capabilities;

}  // namespace pydoca

namespace pydoca::backend {

struct DataOperation;

/// A kind of operation of an engine, as data. Its number is its place in the engine's table.
struct OpcodeTraits {
  std::string_view name;  ///< the task's, as in doca_dma_task_memcpy: "memcpy"
  /// Whether source's data, or what is computed of it, goes to target: it may be cut short or corrupted.
  bool moves_data = true;
};

/// An engine of a device that takes data operations, as data. The table is beside the engine's library. Backends find
/// their queue by its name, and fault plans read its operations; none of them lists engines.
struct EngineTraits {
  std::string_view name;   ///< the library's, and in the names of operations: "dma", of "dma.memcpy"
  std::string_view queue;  ///< its name in messages: "a DMA queue"
  std::string_view lack;   ///< ends "this device cannot ..."
  std::span<const OpcodeTraits> opcodes;

  bool (*is_present)(const Capabilities& capabilities) noexcept;
  /// Bytes that target's tailroom gets when the operation succeeds.
  std::uint64_t (*filled)(const DataOperation& operation) noexcept;
  /// The length, of at most so many bytes, to which the device can be asked to cut the operation.
  std::uint64_t (*cut)(const DataOperation& operation, std::uint64_t length) noexcept;
  /// Another operation with the same request. Throws std::bad_alloc.
  std::shared_ptr<DataOperation> (*copy)(const DataOperation& operation);

  // An engine whose device tells more of an operation than its status has these; they are null otherwise.
  /// Gives an operation what the device told of another one with the same request.
  void (*take_answer)(const DataOperation& from, DataOperation& to) noexcept = nullptr;
  /// Has an operation tell another number of bytes than filled() says. It is also null where the request says how many.
  void (*set_filled)(DataOperation& operation, std::uint64_t length) noexcept = nullptr;
};

/// The operations of all engines together, at most.
inline constexpr std::size_t max_engine_opcodes = 64;

/// The tables of all libraries.
std::span<const EngineTraits* const> engines() noexcept;

}  // namespace pydoca::backend
