#pragma once

#include "pydoca/progress_engine.hpp"

#include "rig/library/memory_rig.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <functional>
#include <memory>
#include <poll.h>
#include <string>
#include <utility>
#include <vector>

namespace pydoca {

/// A context of tasks of one kind, on a progress engine, that records every completion and every state it went through.
template <class Library, class TaskClass>
class DataRig {
 public:
  struct Completion {
    std::uint64_t user_data = 0;
    Status status = Status::success;
    bool by_error_callback = false;

    friend bool operator==(const Completion&, const Completion&) = default;
  };
  using Transition = std::pair<ContextState, ContextState>;

  DataRig(const DataRig&) = delete;
  DataRig& operator=(const DataRig&) = delete;

  /// Progresses until count completions were seen in all.
  void progress_until(std::size_t count) {
    while (completions.size() < count) {
      pe->progress();
    }
  }
  void progress_until_idle() {
    while (context->state() != ContextState::idle) {
      pe->progress();
    }
  }

  /// The same without polling: only when the engine's descriptor says so, so that workers do all large operations.
  void sleep_until(std::size_t count) {
    pollfd event{.fd = pe->notification_handle(), .events = POLLIN, .revents = 0};
    while (completions.size() < count) {
      pe->request_notification();
      while (::poll(&event, 1, -1) != 1) {
      }
      pe->clear_notification();
      pe->drain(1000);
    }
  }
  /// task has a fault: try_submit() refuses it with this reason, and after submit() it fails, its context with it.
  /// try_submit() does not see a fault that only the device knows.
  void expect_refused(TaskClass& task, const char* reason, bool only_the_device_knows) {
    if (!only_the_device_knows) {
      EXPECT_EQ(task.try_submit(), Status::invalid_value);
      EXPECT_EQ(task.explain(Status::invalid_value), reason);
      EXPECT_EQ(task.state(), Task::State::idle);
      EXPECT_EQ(context->state(), ContextState::running);
    }
    std::string given;
    in_callback = [&](const TaskClass& failed) { given = failed.explain(failed.status()); };
    const std::vector<Completion> expected{{task.user_data(), Status::io_failed, true}};
    EXPECT_EQ(task.submit(), Status::success);
    progress_until_idle();
    in_callback = nullptr;
    EXPECT_EQ(completions, expected);
    EXPECT_TRUE(given.starts_with(reason)) << given;
    EXPECT_EQ(context->failure(), Status::io_failed);
  }

  /// The task has a buf that was given back: neither submission takes it.
  void expect_not_taken(TaskClass& task, const char* operand) {
    const std::string reason =
        std::string(operand) + " was given back before the submission; keep a reference until the completion";
    for (const bool checks : {true, false}) {
      EXPECT_EQ(checks ? task.try_submit() : task.submit(), Status::invalid_value);
      EXPECT_EQ(task.explain(Status::invalid_value), reason);
    }
    EXPECT_EQ(task.free(), Status::success);
    EXPECT_EQ(context->state(), ContextState::running);
  }

  std::shared_ptr<Library> context;
  std::shared_ptr<ProgressEngine> pe;
  std::vector<Completion> completions;
  std::vector<Transition> transitions;
  /// Runs in each completion callback, before the task is freed.
  std::function<void(TaskClass&)> in_callback;
  bool free_tasks = true;

 protected:
  using SetConf = void (Library::*)(TaskCallback<TaskClass> on_success, TaskCallback<TaskClass> on_error,
                                    std::uint32_t num_tasks);

  DataRig(std::shared_ptr<Library> made, const std::shared_ptr<ProgressEngine>& engine, SetConf set_conf,
          std::uint32_t num_tasks)
      : context(std::move(made)), pe(engine) {
    (context.get()->*set_conf)(completed_well, completed_badly, num_tasks);
    context->set_user_data(std::bit_cast<std::uint64_t>(this));
    context->set_state_changed(
        [](std::uint64_t self, Context& changed, ContextState previous, ContextState next) noexcept {
          EXPECT_EQ(changed.state(), next);
          std::bit_cast<DataRig*>(self)->transitions.emplace_back(previous, next);
        });
    pe->connect(context);
  }
  ~DataRig() = default;

  static void completed_well(Task& task, std::uint64_t user_data, std::uint64_t self) noexcept {
    std::bit_cast<DataRig*>(self)->completed(task, user_data, false);
  }
  static void completed_badly(Task& task, std::uint64_t user_data, std::uint64_t self) noexcept {
    std::bit_cast<DataRig*>(self)->completed(task, user_data, true);
  }

 private:
  void completed(Task& task, std::uint64_t user_data, bool by_error_callback) {
    completions.push_back({user_data, task.status(), by_error_callback});
    if (in_callback) {
      in_callback(static_cast<TaskClass&>(task));
    }
    if (free_tasks && task.state() == Task::State::idle) {
      EXPECT_EQ(task.free(), Status::success);
    }
  }
};

/// Frees the bufs that a test holds, and expects that no other buf is left.
class HeldBufsTest : public testing::Test {
 public:
  Buf* hold(Buf* buf) { return held.emplace_back(buf); }
  void free_held() {
    for (Buf* const buf : std::exchange(held, {})) {
      EXPECT_EQ(buf->dec_refcount(), Status::success);
    }
  }
  void TearDown() override {
    free_held();
    EXPECT_EQ(bufs.inventory->num_free_elements(), bufs.inventory->num_elements());
  }

  Bufs bufs{1024};
  std::vector<Buf*> held;
};

}  // namespace pydoca
