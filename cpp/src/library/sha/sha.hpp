#pragma once

#include "pydoca/backend/queue.hpp"
#include "pydoca/sha.hpp"

#include "library/data_task.hpp"

#include <cstddef>
#include <memory>
#include <string_view>
#include <vector>

namespace pydoca::library {

class Sha;

/// A task of either kind: what hashes a message at once is one that never begins a message.
class alignas(64) ShaTask final : public detail::DataTask<pydoca::ShaPartialHashTask, backend::HashOperation, Sha> {
 public:
  using DataTask::DataTask;

  bool breaks_limit(detail::Violation* why) const noexcept override;
  Status post(bool flush) noexcept override;
  void finish(Status status) noexcept override;
  void forget() noexcept override;

  /// For a task that hashes piece by piece.
  void keep_message() noexcept;

 private:
  bool is_partial() const noexcept { return message != nullptr; }
  bool breaks_piece_limit(detail::Violation* why) const noexcept;
};

class Sha final : public detail::DataContext<pydoca::Sha, ShaTask, backend::HashQueue> {
 public:
  static constexpr std::size_t hash_kind = 0;
  static constexpr std::size_t partial_hash_kind = 1;

  explicit Sha(std::shared_ptr<Device> device);
  ~Sha() override;

  /// A message for a task that has none yet; the task keeps it for as long as the context runs.
  backend::HashMessage* lend_message() noexcept { return messages_[num_lent_++].get(); }

 private:
  std::unique_ptr<backend::HashQueue> create_queue(const backend::QueueOptions& options) override;
  std::string_view task_name(std::size_t kind) const noexcept override {
    return kind == hash_kind ? sha_hash.name : sha_partial_hash.name;
  }

  std::vector<std::unique_ptr<backend::HashMessage>> messages_;  ///< one for each task that hashes piece by piece
  std::size_t num_lent_ = 0;
};

}  // namespace pydoca::library
