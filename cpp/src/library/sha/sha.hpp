#pragma once

#include "pydoca/backend/engine.hpp"
#include "pydoca/backend/hash.hpp"
#include "pydoca/backend/queue.hpp"
#include "pydoca/device_properties.hpp"
#include "pydoca/sha.hpp"

#include "library/data_task.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace pydoca::library {

inline constexpr std::array sha_opcodes{backend::OpcodeTraits{.name = sha_hash.name},
                                        backend::OpcodeTraits{.name = sha_partial_hash.name}};

inline constexpr backend::EngineTraits sha_engine{
    .name = "sha",
    .queue = "a SHA queue",
    .lack = "hash memory: it has no SHA engine",
    .opcodes = sha_opcodes,
    .is_present = [](const Capabilities& capabilities) noexcept { return capabilities.sha.has_value(); },
    .filled = [](const backend::DataOperation& operation) noexcept -> std::uint64_t {
      const auto& hashed = static_cast<const backend::HashOperation&>(operation);
      return hashed.is_last ? digest_size(hashed.hash_function) : 0;
    },
    .cut =
        [](const backend::DataOperation& operation, std::uint64_t length) noexcept {
          const auto& hashed = static_cast<const backend::HashOperation&>(operation);
          return hashed.is_last ? length : length - length % block_size(hashed.hash_function);
        },
    .copy =
        [](const backend::DataOperation& operation) {
          auto copy = detail::copy_request<backend::HashOperation>(operation);
          auto& to = static_cast<backend::HashOperation&>(*copy);
          const auto& from = static_cast<const backend::HashOperation&>(operation);
          to.hash_function = from.hash_function;
          to.is_first = from.is_first;
          to.is_last = from.is_last;
          to.message = from.message;
          return copy;
        }};

class Sha;

/// A task of either kind: what hashes a message at once is one that never begins a message.
class alignas(64) ShaTask final : public detail::DataTask<pydoca::ShaPartialHashTask, backend::HashOperation, Sha> {
 public:
  using DataTask::DataTask;

  bool breaks_limit(detail::Violation* why) const noexcept override;
  Status post(bool flush) noexcept override;
  void finish(Status status) noexcept override;

  /// A message begins. What is known of the last one stays until then: a callback may ask after it has freed the task.
  void give(Buf* from, Buf* to, ShaAlgorithm by) noexcept {
    DataTask::give(from, to);
    algorithm_ = by;
    begun_ = is_final_ = has_result_ = false;
  }
  /// A task that hashes piece by piece keeps its message.
  void keep_message() noexcept;

 private:
  bool is_partial() const noexcept { return message != nullptr; }
  bool breaks_piece_limit(detail::Violation* why) const noexcept;
};

class Sha final : public detail::DataContext<pydoca::Sha, ShaTask, sha_engine> {
 public:
  static constexpr std::size_t hash_kind = 0;
  static constexpr std::size_t partial_hash_kind = 1;

  using DataContext::DataContext;
  ~Sha() override;

  /// A message for a task that has none yet; the task keeps it for as long as the context runs.
  backend::OperationState* lend_message() noexcept { return messages_[num_lent_++].get(); }

 private:
  std::unique_ptr<backend::DataQueue> create_queue(const backend::QueueOptions& options) override;

  std::vector<std::unique_ptr<backend::OperationState>> messages_;  ///< one for each task that hashes piece by piece
  std::size_t num_lent_ = 0;
};

}  // namespace pydoca::library
