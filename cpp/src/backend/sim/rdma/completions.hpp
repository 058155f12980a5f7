#pragma once

#include "pydoca/backend/notifier.hpp"
#include "pydoca/backend/rdma.hpp"

#include "detail/operation_list.hpp"

#include <cstddef>
#include <vector>

namespace pydoca::sim {

/// The finished operations of one context and the reports on its connections, until the engine takes them. Belongs to
/// the engine's thread.
class Completions {
 public:
  Completions(backend::Notifier& notifier, std::size_t max_pairs) : notifier_(notifier) {
    reports_.reserve(max_pairs * max_reports);
  }

  void finish(backend::RdmaOperation& operation, Status status) noexcept {
    operation.outcome = status;
    finished_.push(operation);
    notifier_.notify();
  }
  void report(backend::QueuePair& pair, backend::RdmaEvent::Type type, Status status) noexcept {
    reports_.push_back({&pair, type, status});  // there is room
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
    reports_.erase(reports_.begin());
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

  static constexpr std::size_t max_reports = 2;  ///< reports of one queue pair: it fails to connect, or loses its peer

  backend::Notifier& notifier_;
  detail::OperationList finished_;
  std::vector<Report> reports_;  ///< the first one came first
};

}  // namespace pydoca::sim
