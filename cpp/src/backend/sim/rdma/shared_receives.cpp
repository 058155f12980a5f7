#include "backend/sim/rdma/shared_receives.hpp"

#include <utility>

namespace pydoca::sim {

using backend::RdmaOperation;

void SharedReceives::post(RdmaOperation& operation) noexcept {
  unpublished_.push(operation);
  publish();
}

void SharedReceives::publish() noexcept {
  bool wanted = false;
  while (!unpublished_.empty() && operations_[board_.index_of(board_.next_number())] == nullptr) {
    RdmaOperation& operation = *unpublished_.pop();
    operations_[board_.index_of(board_.next_number())] = &operation;
    wanted = board_.publish(operation.length) || wanted;
  }
  for (PeerInbox* const peer : peers_) {
    if (wanted && peer != nullptr) {
      peer->tell();
    }
  }
}

RdmaOperation* SharedReceives::taken(std::uint64_t number, std::uint32_t peer) const noexcept {
  if (operations_.empty()) {
    return nullptr;
  }
  const std::size_t index = board_.index_of(number);
  return board_.is_taken_by(index, number, peer) ? operations_[index] : nullptr;
}

void SharedReceives::retire(std::uint64_t number) noexcept {
  board_.close(board_.index_of(number));
  operations_[board_.index_of(number)] = nullptr;
  publish();
}

void SharedReceives::reclaim(std::uint32_t peer) noexcept {
  for (std::size_t back = 1; back <= operations_.size(); ++back) {  // the latest first: they go to the front
    const std::size_t index = board_.index_of(board_.next_number() - back);
    if (operations_[index] != nullptr && board_.is_taken_by(index, peer)) {
      board_.close(index);
      unpublished_.push_front(*std::exchange(operations_[index], nullptr));
    }
  }
  publish();
}

void SharedReceives::fail(Status status) noexcept {
  for (std::size_t back = operations_.size(); back > 0; --back) {
    const std::size_t index = board_.index_of(board_.next_number() - back);
    if (operations_[index] != nullptr && board_.withdraw(index)) {
      completions_.finish(*std::exchange(operations_[index], nullptr), status);
    }
  }
  while (RdmaOperation* const operation = unpublished_.pop()) {
    completions_.finish(*operation, status);
  }
}

}  // namespace pydoca::sim
