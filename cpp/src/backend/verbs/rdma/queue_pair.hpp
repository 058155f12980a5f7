#pragma once

#include "pydoca/backend/rdma.hpp"

#include "backend/verbs/library/owned.hpp"
#include "backend/verbs/queue/pair.hpp"
#include "backend/verbs/rdma/cm_link.hpp"
#include "backend/verbs/rdma/rdma_shared.hpp"
#include "backend/verbs/rdma/request.hpp"
#include "detail/operation_list.hpp"

#include <cstdint>
#include <memory>

namespace pydoca::verbs {

/// One end of a connection, over a queue pair of the device. Only the last of the requests that go to the device
/// together is signalled; when it succeeds, those before it have succeeded.
class QueuePair final : public backend::QueuePair {
 public:
  explicit QueuePair(RdmaShared& shared);
  ~QueuePair() override;

  std::vector<std::byte> describe() override;
  void connect(std::span<const std::byte> blob, const std::shared_ptr<backend::ImportAnswer>& answer) override;
  void accept(std::span<const std::byte> private_data) override;
  void reject() override;
  Status post(backend::RdmaOperation& operation, bool flush) noexcept override;
  void disconnect() noexcept override;

  // The queue uses these:
  std::uint32_t number() const noexcept { return pair_->qp_num; }
  void flush() noexcept;
  void complete(const ibv_wc& completion) noexcept {
    if (completion.status != IBV_WC_SUCCESS) [[unlikely]] {
      complete_failed(completion);
    } else {
      finish_through(completion, Status::success, Status::success);
    }
    settle();
  }
  /// A message for it could not be received, or the device reports an error of the queue pair.
  void failed() noexcept { break_down(Status::success); }
  /// A receive that it filled was finished; that, or an operation, was delivered by poll().
  void finished() noexcept { ++undelivered_; }
  void delivered() noexcept { --undelivered_; }
  bool is_connected() const noexcept { return connected_ && !closed_; }
  bool has_undelivered() const noexcept { return undelivered_ != 0; }
  void lose_device() noexcept;
  /// The same, when no completions come any more.
  void abandon() noexcept;

  // The connection manager uses these:
  ibv_qp& handle() noexcept { return *pair_; }
  CmLink& link() noexcept { return link_; }
  bool is_closed() const noexcept { return closed_; }
  void established() noexcept { connected_ = true; }
  void peer_left() noexcept { break_down(Status::connection_reset); }

 private:
  OwnedPair create();
  RequestLimits limits() const noexcept;
  bool can_post() const noexcept { return !broken_ && refused_ == nullptr; }
  /// Moves one that was accepted to those with the device, as request number index of a chain; false when the device
  /// must not have it.
  bool take(backend::RdmaOperation& operation, std::uint32_t index) noexcept;
  std::uint32_t fill_chain() noexcept;
  void post_chain(std::uint32_t count) noexcept;
  void take_back(std::uint32_t count, std::uint32_t taken) noexcept;
  void complete_failed(const ibv_wc& completion) noexcept;
  /// Ends the operation that completed with status, and those posted before it with before.
  void finish_through(const ibv_wc& completion, Status before, Status status) noexcept {
    const auto* const last = reinterpret_cast<const backend::RdmaOperation*>(completion.wr_id);
    for (bool is_last = false; !is_last && !posted_.empty();) {
      backend::RdmaOperation& operation = posted_.take();
      is_last = &operation == last;
      --outstanding_;
      ++undelivered_;
      shared_.completed(operation, is_last ? status : before, this);
    }
  }
  void finish(backend::RdmaOperation& operation, Status status) noexcept;
  /// Has the device flush everything. why: the status of what is not yet finished; success: the operation that failed
  /// before decides.
  void break_down(Status why) noexcept;
  /// Once the device has given back everything: fails what was not posted, and reports that the connection has ended.
  void settle() noexcept {
    if (!can_post() && posted_.empty()) [[unlikely]] {
      close_down();
    }
  }
  void close_down() noexcept;
  /// Whether this is a forked child's copy, which must not change the device's objects.
  bool is_inherited() const noexcept { return pair_.get_deleter().forks != detail::fork_count(); }

  RdmaShared& shared_;
  std::uint32_t inline_size_ = 0;
  const OwnedPair pair_;
  const RequestLimits limits_;
  PairBlob self_;
  CmLink link_;
  detail::OperationList accepted_;  ///< operations that the device does not have yet
  detail::OperationList posted_;
  backend::RdmaOperation* refused_ = nullptr;  ///< fails once all before it have ended
  std::uint32_t outstanding_ = 0;
  std::uint32_t undelivered_ = 0;
  Status rest_ = Status::shutdown;  ///< the outcome of what did not begin, or was flushed
  bool connected_ = false;
  bool blamed_ = false;  ///< an operation's failure is the reason of the pair's end
  bool broken_ = false;
  bool closed_ = false;    ///< this side closed it
  bool reported_ = false;  ///< whether its break was reported
};

}  // namespace pydoca::verbs
