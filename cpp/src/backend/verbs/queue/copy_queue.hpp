#pragma once

#include "pydoca/backend/notifier.hpp"
#include "pydoca/backend/queue.hpp"
#include "pydoca/device_properties.hpp"

#include "backend/verbs/adapter/adapter.hpp"
#include "backend/verbs/queue/completions.hpp"
#include "backend/verbs/queue/pair.hpp"

#include <cstdint>
#include <memory>
#include <string_view>

namespace pydoca::verbs {

/// Copies by a queue pair that is connected to itself: each copy is a receive into the destination and a send of the
/// source, so the device itself checks the local permissions of both and handles lists at both ends, and no memory has
/// to be open to peers. A copy is complete when its receive is.
class CopyQueue final : public backend::DataQueue {
 public:
  static constexpr std::string_view engine = "dma";  ///< the name in EngineTraits
  /// Sends of which one is signalled, at most; the completion queue has places for so many above those of the tasks.
  static constexpr std::uint32_t max_signal_interval = 64;

  /// Throws as the library fails.
  CopyQueue(Place& place, const backend::QueueOptions& options, backend::Notifier& notifier);
  ~CopyQueue() override;

  int fd() const noexcept override { return completions_.fd(); }
  bool look() noexcept override;
  void arm() noexcept override { completions_.arm(); }
  Status post(backend::DataOperation& operation, bool flush) noexcept override;
  backend::Operation* poll(bool& more) noexcept override;
  void flush() noexcept override;
  void abort() noexcept override;

 private:
  struct Chain;
  /// A ring of places for all operations that may be outstanding.
  class Ring {
   public:
    explicit Ring(std::uint32_t depth);
    bool empty() const noexcept { return head_ == tail_; }
    std::uint32_t size() const noexcept { return tail_ - head_; }
    void push(backend::Operation& operation) noexcept { places_[tail_++ & mask_] = &operation; }
    backend::Operation& pop() noexcept { return *places_[head_++ & mask_]; }

   private:
    std::uint32_t mask_;
    std::uint32_t head_ = 0;
    std::uint32_t tail_ = 0;
    std::unique_ptr<backend::Operation*[]> places_;
  };

  OwnedPair create_pair();
  bool is_postable(const backend::DataOperation& operation) const noexcept;
  /// Gives what may begin to the device, as far as its queue has room.
  void advance() noexcept;
  void fill_chain() noexcept;
  void add_to_chain(backend::DataOperation& operation) noexcept;
  void post_chain() noexcept;
  void fail_chain(std::uint32_t received, std::uint32_t sent) noexcept;
  void fetch() noexcept;
  void complete_send(const ibv_wc& completion) noexcept;
  void complete_receive(const ibv_wc& completion) noexcept;
  void blame(backend::Operation& operation) noexcept;
  void break_down() noexcept;
  void settle_failure() noexcept;
  void lose_device() noexcept;
  void finish(backend::Operation& operation, Status status) noexcept;
  Status rest() const noexcept { return removed_ ? Status::driver : Status::shutdown; }

  Place& place_;
  backend::Notifier& notifier_;
  const std::uint32_t depth_;
  const std::uint32_t max_list_len_;
  const std::uint32_t signal_interval_;  ///< one send in this many is signalled, also for those before it
  std::uint32_t inline_size_ = 0;        ///< bytes that the device takes along with the request
  Completions completions_;
  const OwnedPair pair_;
  const std::unique_ptr<Chain> chain_;

  // Where operations are: accepted, then posted in that order, then finished.
  Ring accepted_;
  Ring posted_;
  Ring finished_;
  Ring flushed_;                 ///< by a broken pair; kept until all are flushed, when it is known which one broke it
  std::uint32_t may_begin_ = 0;  ///< how many of those accepted may begin
  std::uint32_t outstanding_ = 0;
  std::uint32_t send_room_ = 0;  ///< places in the device's queue that are known to be free
  std::uint32_t since_signal_ = 0;
  backend::Operation* culprit_ = nullptr;
  bool broken_ = false;       ///< operations that have not begun do not begin
  bool pair_broken_ = false;  ///< operations that have begun come back flushed
  bool removed_ = false;
};

/// An adapter's, which copies by its queue pairs.
void equip_with_copies(Capabilities& capabilities, const Adapter& adapter);

}  // namespace pydoca::verbs
