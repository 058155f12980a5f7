#pragma once

#include "pydoca/backend/notifier.hpp"
#include "pydoca/backend/rdma.hpp"

#include "backend/sim/inbox/mailbox.hpp"
#include "backend/sim/inbox/receive_queue_file.hpp"
#include "backend/sim/place/place.hpp"
#include "backend/sim/rdma/completions.hpp"
#include "backend/sim/rdma/shared_receives.hpp"
#include "detail/time/time.hpp"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

namespace pydoca::sim {

class QueuePair;

/// What the queue pairs of one context and its connection manager share. RdmaQueue is the one class that derives from
/// it. Belongs to the engine's thread.
class RdmaShared {
 public:
  RdmaShared(const RdmaShared&) = delete;
  RdmaShared& operator=(const RdmaShared&) = delete;

  const Place& place() const noexcept { return place_; }
  const backend::RdmaOptions& options() const noexcept { return options_; }
  const std::shared_ptr<Mailbox>& mailbox() const noexcept { return mailbox_; }
  const std::shared_ptr<ReceiveQueueFile>& receive_queue() const noexcept { return receive_queue_; }
  SharedReceives& receives() noexcept { return receives_; }
  void finish(backend::RdmaOperation& operation, Status status) noexcept { completions_.finish(operation, status); }
  void report(backend::QueuePair& pair, backend::RdmaEvent::Type type, Status status) noexcept {
    completions_.report(pair, type, status);
  }
  /// Has poll() attend to all queue pairs at that moment of detail::now().
  void watch_deadline(std::uint64_t deadline) noexcept { deadline_ = std::min(deadline_, deadline); }
  /// Has poll() attend to the queue pair of that number again.
  void attend_again(std::uint32_t number) noexcept {
    mailbox_->remind(number);
    // A notification from within poll() has poll() called again at once, so that an engine's call would last as long
    // as there is work; the next look sees the mailbox.
    if (!is_attending_) {
      notifier_.notify();
    }
  }

  /// Throws full when max_num_connections queue pairs exist.
  virtual std::unique_ptr<QueuePair> make_pair() = 0;
  /// The pair's handshake imports the peer's inbox: calls continue_import() when that can go on.
  virtual void watch_import(QueuePair& pair) = 0;
  /// The queue pair of that number is being destroyed.
  void forget(std::uint32_t number, const backend::QueuePair& pair) noexcept {
    pairs_[number] = nullptr;
    completions_.forget(pair);
  }
  template <class Visit>
  void for_each_pair(Visit visit) const {
    for (QueuePair* const pair : pairs_) {
      if (pair != nullptr) {
        visit(*pair);
      }
    }
  }

 protected:
  /// Throws invalid_value, no_memory, operating_system.
  RdmaShared(const Place& place, const backend::RdmaOptions& options, backend::Notifier& notifier)
      : place_(place),
        options_(options),
        notifier_(notifier),
        mailbox_(std::make_shared<Mailbox>()),
        receive_queue_(std::make_shared<ReceiveQueueFile>(options.recv_queue_size)),
        completions_(notifier, options.max_num_connections),
        receives_(receive_queue_->receive_queue(), options.recv_queue_size, options.max_num_connections, completions_),
        pairs_(options.max_num_connections) {}
  ~RdmaShared() = default;

  const Place& place_;
  const backend::RdmaOptions options_;
  backend::Notifier& notifier_;
  const std::shared_ptr<Mailbox> mailbox_;
  const std::shared_ptr<ReceiveQueueFile> receive_queue_;
  Completions completions_;
  SharedReceives receives_;
  std::vector<QueuePair*> pairs_;           ///< indexed by number; null where there is none
  std::uint64_t deadline_ = detail::never;  ///< the next one of a message without a receive
  bool is_attending_ = false;               ///< set within poll()
};

}  // namespace pydoca::sim
