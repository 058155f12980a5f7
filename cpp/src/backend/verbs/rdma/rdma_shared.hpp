#pragma once

#include "pydoca/backend/notifier.hpp"
#include "pydoca/backend/rdma.hpp"

#include "backend/verbs/adapter/place.hpp"
#include "backend/verbs/library/owned.hpp"
#include "backend/verbs/queue/completions.hpp"
#include "backend/verbs/queue/pair.hpp"
#include "detail/operation_list.hpp"

#include <array>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

namespace pydoca::verbs {

class QueuePair;

/// What the queue pairs of one context and its connection manager share. RdmaQueue is the one class that derives from
/// it. Belongs to the engine's thread.
class RdmaShared {
 public:
  /// Requests that one call to the device may take.
  static constexpr std::uint32_t max_chain = 16;

  RdmaShared(const RdmaShared&) = delete;
  RdmaShared& operator=(const RdmaShared&) = delete;

  Place& place() noexcept { return place_; }
  const Place& place() const noexcept { return place_; }
  const backend::RdmaOptions& options() const noexcept { return options_; }
  const PairSettings& settings() const noexcept { return settings_; }
  ibv_cq* completions() const noexcept { return completions_.get(); }
  /// Null when the context has no receives.
  ibv_srq* receives() const noexcept { return shared_receives_.get(); }
  /// Room for the requests of one chain, each with its list.
  std::array<ibv_send_wr, max_chain>& requests() noexcept { return requests_; }

  /// Has poll() return the operation, and tells the engine.
  void finish(backend::RdmaOperation& operation, Status status, backend::QueuePair* pair) noexcept {
    completed(operation, status, pair);
    notifier_.notify();
  }
  /// The same for completions that the queue is fetching: the queue tells the engine.
  void completed(backend::RdmaOperation& operation, Status status, backend::QueuePair* pair) noexcept {
    operation.outcome = status;
    operation.queue_pair = pair;
    finished_.push(operation);
  }
  /// Has next_event() return it once the pair's finished operations are delivered, and tells the engine.
  void report(QueuePair& pair, backend::RdmaEvent::Type type, Status status) noexcept {
    reports_.push_back({&pair, type, status});
    notifier_.notify();
  }

  /// Throws driver when the device is removed or has given up a queue, and as the library fails.
  virtual std::unique_ptr<QueuePair> make_pair() = 0;
  /// The pair's peer is to confirm the connection within the time that options() give a request. The connection fails
  /// otherwise, so that peers that stop in the middle do not keep their places.
  virtual void await_peer(QueuePair& pair) noexcept = 0;
  /// The queue pair is being destroyed.
  virtual void forget(QueuePair& pair) noexcept = 0;
  /// The device was removed: ends every operation and every connection.
  virtual void lose_device() noexcept = 0;
  bool is_removed() const noexcept { return removed_; }
  template <class Visit>
  void for_each_pair(Visit visit) const {
    for (const auto& [number, pair] : pairs_) {
      visit(*pair);
    }
  }

 protected:
  struct Report {
    QueuePair* pair;
    backend::RdmaEvent::Type type;
    Status status;
  };

  /// depth: completions that can be there at once. what: the user's action, for messages. Throws as the library fails.
  RdmaShared(Place& place, const backend::RdmaOptions& options, const PairSettings& settings, std::uint32_t depth,
             const char* what, backend::Notifier& notifier)
      : place_(place), options_(options), settings_(settings), notifier_(notifier), completions_(place, depth, what) {}
  ~RdmaShared() = default;

  Place& place_;
  const backend::RdmaOptions options_;
  const PairSettings settings_;
  backend::Notifier& notifier_;
  Completions completions_;
  OwnedReceives shared_receives_;
  std::array<ibv_send_wr, max_chain> requests_{};
  std::unordered_map<std::uint32_t, QueuePair*> pairs_;  ///< indexed by number
  detail::OperationList finished_;
  std::vector<Report> reports_;
  bool removed_ = false;
};

}  // namespace pydoca::verbs
