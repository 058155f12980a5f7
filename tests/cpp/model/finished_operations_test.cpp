#include "backend/sim/work/finished_operations.hpp"

#include "detail/ready_list.hpp"
#include "model/explorer/data.hpp"
#include "model/model_test.hpp"

#include <array>
#include <memory>

namespace pydoca::model {
namespace {

/// A queue whose operations are finished by workers, and its context, which delivers them.
class Queue final : public detail::ReadyNode {
 public:
  using ReadyNode::join;
  using ReadyNode::leave;

  /// A worker calls it.
  void finish(std::size_t index) {
    results_[index].write(1);
    finished.add_from_any_thread(operations_[index], Status::success);
  }

  std::uint32_t taken = 0;
  sim::FinishedOperations finished{2, *this};

 private:
  bool progress_one(bool& more) noexcept override {
    const backend::Operation* const operation = finished.take(more);
    if (operation == nullptr) {
      return false;
    }
    const auto index =
        static_cast<std::size_t>(static_cast<const backend::DataOperation*>(operation) - operations_.data());
    require(results_[index].read() == 1, "an operation is delivered when its work is done");
    ++taken;
    return true;
  }

  std::array<backend::DataOperation, 2> operations_;
  std::array<Data<int>, 2> results_;
};

/// Two workers, each with an operation. The queue ends when both were delivered, and no worker is inside; else the
/// engine would look again.
struct TwoWorkers {
  TwoWorkers() { queue->join(list); }

  void start() {
    execution().add_thread("engine", [this] {
      for (int look = 0; look < 3 && queue->taken < 2; ++look) {
        list.progress();
      }
      if (queue->taken == 2 && !queue->finished.is_being_added_to()) {
        queue->leave();
        execution().end_life(queue.get(), sizeof *queue);
        has_ended = true;
      }
    });
    execution().add_thread("worker 1", [this] { queue->finish(0); });
    execution().add_thread("worker 2", [this] { queue->finish(1); });
  }
  void check() {
    while (!has_ended && list.progress()) {
    }
    require(queue->taken == 2, "each operation is delivered");
  }

  detail::ReadyList list;
  const std::unique_ptr<Queue> queue = std::make_unique<Queue>();
  bool has_ended = false;  ///< the engine's
};

TEST(FinishedOperationsModel, TheQueueEndsAfterItsWorkersHaveLeft) { expect_holds<TwoWorkers>(); }

TEST(FinishedOperationsModel, FindsAQueueThatEndsTooEarly) {
  expect_finds<TwoWorkers>({Fault::blind, "FinishedOperations::is_being_added_to"});
  expect_finds<TwoWorkers>({Fault::relax, "FinishedOperations::is_being_added_to"});
  expect_finds<TwoWorkers>({Fault::relax, "FinishedOperations::add_from_any_thread", "fetch_sub"});
}

TEST(FinishedOperationsModel, FindsAnOperationThatIsDeliveredTooEarly) {
  expect_finds<TwoWorkers>({Fault::relax, "FinishedOperations::add_from_any_thread", "compare_exchange"});
  expect_finds<TwoWorkers>({Fault::relax, "FinishedOperations::collect"});
  expect_finds<TwoWorkers>({Fault::split, "FinishedOperations::add_from_any_thread", "compare_exchange"});
}

}  // namespace
}  // namespace pydoca::model
