#include "core/task_pool.hpp"

#include "core/violation.hpp"
#include "library/library_context.hpp"
#include "rig/expect_error.hpp"
#include "rig/library/dma_rig.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace pydoca::detail {
namespace {

using testing::HasSubstr;

void ignore(Task& /*task*/, std::uint64_t /*task_user_data*/, std::uint64_t /*context_user_data*/) noexcept {}
void fail(Task& /*task*/, std::uint64_t /*task_user_data*/, std::uint64_t /*context_user_data*/) noexcept {}

/// A context that only counts its tasks that are alive.
class CountingContext final : public LibraryContext<Context> {
 public:
  explicit CountingContext(std::shared_ptr<Device> device) : LibraryContext(std::move(device), std::size_t{0}) {}
  std::string_view kind() const noexcept override { return "counting"; }

  int alive = 0;

 private:
  Status begin() override { return Status::success; }
  void quiesce() noexcept override {}
  void end() noexcept override {}
  bool poll_one(bool& /*more*/) noexcept override { return false; }
  std::string_view task_name(std::size_t /*kind*/) const noexcept override { return "count"; }
};

class alignas(64) CountedTask final : public Task {
 public:
  CountedTask(CountingContext& context, TaskPool& pool, std::size_t kind) noexcept
      : Task(context, pool), kind_(kind), alive_(&context.alive) {
    ++*alive_;
  }
  ~CountedTask() override { --*alive_; }

  std::size_t kind() const noexcept { return kind_; }

 private:
  bool breaks_limit(Violation* /*why*/) const noexcept override { return false; }
  Status post(bool /*flush*/) noexcept override { return Status::success; }
  void finish(Status /*status*/) noexcept override {}

  std::size_t kind_;
  int* alive_;
};

class TaskPoolTest : public testing::Test {
 protected:
  void open(std::uint32_t num_tasks) {
    pool.configure("set conf", &ignore, &fail, num_tasks, 10);
    pool.open<CountedTask>(context, 3);
  }

  fake::Backend backend;
  CountingContext context{backend.open_device()};
  TaskPool pool;
};

TEST_F(TaskPoolTest, HandsOutEveryTaskOnceAndThenNull) {
  open(5);
  std::set<Task*> taken;
  for (int i = 0; i < 5; ++i) {
    Task* const task = pool.take();
    ASSERT_NE(task, nullptr);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(task) % alignof(CountedTask), 0U);
    EXPECT_EQ(static_cast<CountedTask*>(task)->kind(), 3U);
    taken.insert(task);
  }
  EXPECT_EQ(taken.size(), 5U);
  EXPECT_EQ(pool.take(), nullptr);
}

TEST_F(TaskPoolTest, HandsOutTheLastReturnedFirst) {
  open(2);
  Task* const first = pool.take();
  Task* const second = pool.take();
  pool.put(*second);
  pool.put(*first);
  EXPECT_EQ(pool.take(), first);
  EXPECT_EQ(pool.take(), second);
}

TEST_F(TaskPoolTest, MakesItsTasksAtOpenInPlaceOfThoseOfTheLastRun) {
  EXPECT_EQ(pool.take(), nullptr);
  open(7);
  EXPECT_EQ(context.alive, 7);
  EXPECT_NE(pool.take(), nullptr);
  pool.close();
  EXPECT_EQ(pool.take(), nullptr);
  pool.open<CountedTask>(context, 3);
  EXPECT_EQ(context.alive, 7);
}

TEST_F(TaskPoolTest, ATaskOfAClosedPoolIsFree) {
  open(1);
  Task* const task = pool.take(std::uint64_t{0});
  EXPECT_EQ(task->state(), Task::State::idle);
  pool.close();
  EXPECT_EQ(task->state(), Task::State::free);
  EXPECT_EQ(task->submit(), Status::bad_state);
  EXPECT_EQ(task->free(), Status::bad_state);
}

TEST_F(TaskPoolTest, ChoosesTheCallbackByTheStatus) {
  open(1);
  EXPECT_EQ(pool.callback(Status::success), &ignore);
  EXPECT_EQ(pool.callback(Status::io_failed), &fail);
}

TEST_F(TaskPoolTest, KeepsItsConfigurationWhenAnotherIsRefused) {
  open(4);
  const auto configure = [&](Task::Callback on_success, Task::Callback on_error, std::uint32_t num_tasks) {
    return [=, this] { pool.configure("set conf", on_success, on_error, num_tasks, 10); };
  };
  EXPECT_EQ(thrown_by(configure(nullptr, &fail, 1)), Status::invalid_value);
  EXPECT_EQ(thrown_by(configure(&ignore, nullptr, 1)), Status::invalid_value);
  EXPECT_EQ(thrown_by(configure(&ignore, &fail, 0)), Status::invalid_value);
  EXPECT_EQ(thrown_by(configure(&ignore, &fail, 11)), Status::invalid_value);
  EXPECT_THAT(reason_of(configure(&ignore, &fail, 11)), HasSubstr("set conf: 11 tasks is not in 1..10"));
  EXPECT_EQ(pool.num_tasks(), 4U);
}

}  // namespace
}  // namespace pydoca::detail
