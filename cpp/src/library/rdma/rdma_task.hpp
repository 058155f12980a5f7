#pragma once

#include "pydoca/backend/rdma.hpp"
#include "pydoca/rdma.hpp"

#include "core/violation.hpp"
#include "library/operands.hpp"
#include "library/rdma/rdma_connection.hpp"
#include "library/rdma/rdma_owner.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace pydoca::library {

constexpr bool is_of_event(RdmaTaskKind kind) noexcept { return kind >= RdmaTaskKind::remote_net_sync_event_get; }

class alignas(64) RdmaTask final : public pydoca::RdmaTask, public backend::RdmaOperation {
 public:
  RdmaTask(pydoca::Rdma& rdma, detail::TaskPool& pool, std::size_t kind) noexcept;

  std::string explain(Status status) const override;
  bool breaks_limit(detail::Violation* why) const noexcept override;
  Status post(bool flush) noexcept override;
  void finish(Status status) noexcept override;
  void promise_operands(std::int32_t change, detail::Promise promise) noexcept override {
    detail::Operands::promise(here_, change, promise);
    detail::Operands::promise(there_, change, promise);
  }
  void forget() noexcept override;
  std::uint64_t size_in_flight() const noexcept override { return length; }
  void number_message() noexcept override;
  void message_submitted(Status status, std::uint64_t begin) noexcept override;
  void message_completed(Status status) noexcept override;

  RdmaOwner& rdma() const noexcept { return static_cast<RdmaOwner&>(context()); }
  const TaskTraits& traits() const noexcept { return traits_of(kind()); }
  /// Where the task keeps a buf. Which of them have a name, such as src, follows from the kind's traits.
  enum class BufPlace : std::uint8_t { none, here, there };
  Buf* buf(BufPlace place) const noexcept;
  Status set_buf(BufPlace place, Buf* buf) noexcept;
  /// Sets the operand at this place of the kind's traits; unchecked.
  template <RdmaTaskKind kind, std::size_t operand, class Value>
  void give(const Value& value) noexcept;

  std::shared_ptr<pydoca::SyncEventRemoteNet> event_;
  using pydoca::RdmaTask::connection_;

 private:
  /// Apart, as a receive's share of the connection would have the compiler guard the stack of every completion.
  [[gnu::noinline]] void finish_filled(Status status) noexcept;
  void describe() noexcept;
  void describe_sent() noexcept;
  void describe_filled() noexcept;
  Status hand_over(bool flush) noexcept;
  void record_message(TraceEventKind kind, std::uint64_t time, std::uint64_t connection) const noexcept;
  bool breaks_local_limit(detail::Violation* why) const noexcept;
  bool breaks_event_limit(detail::Violation* why) const noexcept;
  bool breaks_size_limit(detail::Violation* why) const noexcept;
  bool breaks_word_limit(detail::Violation* why) const noexcept;
  std::uint64_t size_to_move() const noexcept;
  std::string explain_failed_access() const;

  const bool fills_;      ///< the buf on this side is filled, not sent
  Buf* here_ = nullptr;   ///< what is sent, or filled: src, dst or result, as the kind has it
  Buf* there_ = nullptr;  ///< the peer's memory: src of a read, else dst
};

/// Here, as the context completes its tasks without a call.
inline void RdmaTask::finish(Status status) noexcept {
  detail::Operands::take_back(there_);
  if (!fills_) {
    detail::Operands::take_back(here_);
    of(*connection_).task_done();
  } else {
    finish_filled(status);
  }
}

inline RdmaTask& of(pydoca::RdmaTask& task) noexcept { return static_cast<RdmaTask&>(task); }
inline const RdmaTask& of(const pydoca::RdmaTask& task) noexcept { return static_cast<const RdmaTask&>(task); }

}  // namespace pydoca::library
