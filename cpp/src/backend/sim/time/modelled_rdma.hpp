#pragma once

#include "pydoca/backend/notifier.hpp"
#include "pydoca/backend/rdma.hpp"

#include "backend/sim/place/place.hpp"
#include "backend/sim/time/function_model.hpp"
#include "detail/fd.hpp"
#include "detail/operation_list.hpp"
#include "detail/time/time.hpp"
#include "detail/time/timer.hpp"

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace pydoca::sim {

class ModelledRdmaQueue;

/// One end of a connection whose operations take their time: it holds them until they are due, then another queue pair
/// executes them. So the peer sees a write, and gets a message, when they are due and not before.
class ModelledQueuePair final : public backend::QueuePair {
 public:
  ModelledQueuePair(ModelledRdmaQueue& queue, std::unique_ptr<backend::QueuePair> inner);
  ~ModelledQueuePair() override;

  std::vector<std::byte> describe() override { return inner_->describe(); }
  std::shared_ptr<backend::ImportAnswer> ask_peer(std::span<const std::byte> blob) override {
    return inner_->ask_peer(blob);
  }
  void connect(std::span<const std::byte> blob, const std::shared_ptr<backend::ImportAnswer>& answer) override {
    inner_->connect(blob, answer);
  }
  void accept(std::span<const std::byte> private_data) override { inner_->accept(private_data); }
  void reject() override { inner_->reject(); }
  Status post(backend::RdmaOperation& operation, bool flush) noexcept override;
  void disconnect() noexcept override;

  // The queue uses these:
  /// The time of what was posted without flush begins.
  void ring() noexcept;
  /// Gives the other queue pair what is due.
  void release(std::uint64_t now) noexcept;
  /// What it holds ends with that status.
  void give_back(Status status) noexcept;
  void operation_polled() noexcept { --outstanding_; }
  /// When its first operation is due; never: it holds none.
  std::uint64_t next_due() const noexcept { return held_.empty() ? detail::never : held_.front()->own[due_word]; }

 private:
  static constexpr std::size_t due_word = 3;

  void admit(backend::RdmaOperation& operation) noexcept;

  ModelledRdmaQueue& queue_;
  const std::unique_ptr<backend::QueuePair> inner_;
  detail::OperationList unposted_;
  detail::OperationList held_;
  std::uint64_t last_due_ = 0;
  std::uint32_t outstanding_ = 0;
};

/// The queue of one RDMA context with a model. Receives have no time of their own.
class ModelledRdmaQueue final : public backend::RdmaQueue {
 public:
  /// Whether the model has an operation of RDMA.
  static bool applies_to(const FunctionModel& model) noexcept;
  /// Throws operating_system, std::bad_alloc.
  ModelledRdmaQueue(std::unique_ptr<backend::RdmaQueue> inner, std::shared_ptr<FunctionModel> model, const Place& place,
                    const backend::RdmaOptions& options, backend::Notifier& notifier);

  int fd() const noexcept override { return all_.get(); }
  bool look() noexcept override;
  void arm() noexcept override;
  /// What it holds becomes due by itself.
  bool may_advance_elsewhere(Cpus here) noexcept override {
    return inner_->may_advance_elsewhere(here) || next_due_ != detail::never;
  }
  backend::Operation* poll(bool& more) noexcept override;
  void flush() noexcept override;
  void abort() noexcept override;
  Status post_receive(backend::RdmaOperation& operation, bool flush) noexcept override {
    return inner_->post_receive(operation, flush);
  }
  std::unique_ptr<backend::QueuePair> create_queue_pair() override;
  void listen(std::uint16_t port) override { inner_->listen(port); }
  void stop_listening(std::uint16_t port) noexcept override { inner_->stop_listening(port); }
  std::unique_ptr<backend::QueuePair> connect_to(const backend::RdmaAddress& address,
                                                 std::span<const std::byte> private_data) override;
  bool next_event(backend::RdmaEvent& event) noexcept override;
  int event_fd() const noexcept override { return inner_->event_fd(); }

  // Its queue pairs use these:
  std::uint32_t depth() const noexcept { return depth_; }
  void add(ModelledQueuePair& pair) { pairs_.push_back(&pair); }
  void remove(ModelledQueuePair& pair) noexcept { std::erase(pairs_, &pair); }
  /// When an operation is over that is posted now.
  std::uint64_t due_of(const backend::RdmaOperation& operation) noexcept;
  /// A queue pair holds an operation until then.
  void expect(std::uint64_t due) noexcept;
  void give_back(backend::RdmaOperation& operation, Status status) noexcept;

 private:
  static constexpr std::size_t num_kinds = 4;

  void release(std::uint64_t now) noexcept;

  const std::shared_ptr<FunctionModel> model_;
  const Place& place_;
  backend::Notifier& notifier_;
  const std::uint32_t depth_;
  std::vector<Random> random_;  ///< one of each kind of operation
  const std::unique_ptr<backend::RdmaQueue> inner_;
  detail::Timer timer_;
  detail::Fd all_;  ///< an epoll set of the other queue's descriptor and the timer
  std::vector<ModelledQueuePair*> pairs_;
  detail::OperationList returned_;
  std::uint64_t next_due_ = detail::never;  ///< when the first operation of the queue pairs is due
  bool armed_ = false;
};

}  // namespace pydoca::sim
