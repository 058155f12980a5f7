#pragma once

#include "pydoca/backend/notifier.hpp"
#include "pydoca/backend/rdma.hpp"

#include "detail/operation_list.hpp"

#include <deque>

namespace pydoca::sim {

/// The finished operations of one context and the reports on its connections, until the engine takes them. Belongs to
/// the engine's thread.
class Completions {
 public:
  explicit Completions(backend::Notifier& notifier) noexcept : notifier_(notifier) {}

  void finish(backend::RdmaOperation& operation, Status status) noexcept {
    operation.status = status;
    finished_.push(operation);
    notifier_.notify();
  }
  void report(backend::QueuePair& pair, backend::RdmaEvent::Type type, Status status) noexcept {
    reports_.push_back({&pair, type, status});
    notifier_.notify();
  }

  bool has_finished() const noexcept { return !finished_.empty(); }
  bool has_reports() const noexcept { return !reports_.empty(); }
  /// The next finished operation, or null.
  backend::RdmaOperation* take() noexcept { return finished_.pop(); }
  /// Fills event with the next report; false when there is none.
  bool take_report(backend::RdmaEvent& event) noexcept {
    if (reports_.empty()) {
      return false;
    }
    const Report report = reports_.front();
    reports_.pop_front();
    event.type = report.type;
    event.queue_pair = report.pair;
    event.status = report.status;
    event.private_data_len = 0;
    return true;
  }
  /// The queue pair is being destroyed: drops its reports, and its receives name no queue pair any more.
  void forget(const backend::QueuePair& pair) noexcept {
    std::erase_if(reports_, [&](const Report& report) { return report.pair == &pair; });
    finished_.for_each([&](backend::RdmaOperation& operation) {
      if (operation.opcode == backend::RdmaOpcode::receive && operation.queue_pair == &pair) {
        operation.queue_pair = nullptr;
      }
    });
  }

 private:
  struct Report {
    backend::QueuePair* pair = nullptr;
    backend::RdmaEvent::Type type{};
    Status status = Status::success;
  };

  backend::Notifier& notifier_;
  detail::OperationList finished_;
  std::deque<Report> reports_;
};

}  // namespace pydoca::sim
