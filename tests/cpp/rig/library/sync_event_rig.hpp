#pragma once

#include "pydoca/progress_engine.hpp"
#include "pydoca/sim.hpp"
#include "pydoca/sync_event.hpp"
#include "pydoca/sync_event_context.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <unistd.h>
#include <vector>

namespace pydoca {

inline constexpr std::uint64_t all_bits = ~std::uint64_t{0};

inline std::shared_ptr<Device> open_function(const char* name) { return Device::open(find_device(name)); }

/// Uses a fabric of this process alone.
class SyncEventRigTest : public testing::Test {
 protected:
  SyncEventRigTest() { sim::set_fabric("test-" + std::to_string(::getpid())); }
};

/// Both ends of an event, configured and not started.
inline std::shared_ptr<SyncEvent> local_event(const std::shared_ptr<Device>& device) {
  const auto event = SyncEvent::create();
  event->add_publisher_location_cpu(device);
  event->add_subscriber_location_cpu(device);
  return event;
}

/// An event to wait for here and to publish from the other side.
inline std::shared_ptr<SyncEvent> exported_event(const std::shared_ptr<Device>& device) {
  const auto event = SyncEvent::create();
  event->add_publisher_location(SyncEventLocation::remote_pci);
  event->add_subscriber_location_cpu(device);
  return event;
}

/// A running context on an engine, with the results of its tasks.
class EventRig {
 public:
  struct Completion {
    std::uint64_t user_data = 0;
    Status status = Status::success;
    std::uint64_t result = 0;

    friend bool operator==(const Completion&, const Completion&) = default;
  };

  EventRig(const std::shared_ptr<SyncEvent>& event, const std::shared_ptr<ProgressEngine>& engine,
           std::uint32_t num_tasks = 64)
      : context(event->as_context()), pe(engine) {
    for (std::size_t i = 0; i < num_sync_event_operations; ++i) {
      const auto operation = static_cast<SyncEventOperation>(i);
      if (SyncEventContext::is_supported(event->device()->info(), operation)) {
        context->set_conf(operation, completed, completed, num_tasks);
      }
    }
    context->set_user_data(std::bit_cast<std::uint64_t>(this));
    pe->connect(context);
    EXPECT_EQ(context->start(), Status::success);
  }
  ~EventRig() {
    if (context->state() != ContextState::idle) {
      stop();
    }
    context->close();
  }
  EventRig(const EventRig&) = delete;
  EventRig& operator=(const EventRig&) = delete;

  void stop() {
    static_cast<void>(context->stop());
    while (context->state() != ContextState::idle) {
      pe->progress();
    }
  }
  SyncEventTask& submit(SyncEventOperation operation, std::uint64_t value = 0, std::uint64_t mask = all_bits,
                        std::uint64_t user_data = 0) {
    SyncEventTask* task = nullptr;
    EXPECT_EQ(context->allocate(operation, value, mask, user_data, task), Status::success);
    EXPECT_EQ(task->submit(), Status::success);
    return *task;
  }
  /// Progresses until count completions were seen in all.
  void progress_until(std::size_t count) {
    while (completions.size() < count) {
      pe->progress();
    }
  }
  /// The same, but sleeps whenever there is nothing to do.
  void sleep_until(std::size_t count) {
    while (completions.size() < count) {
      if (pe->wait(10'000)) {
        pe->drain(1000);
      }
    }
  }

  std::shared_ptr<SyncEventContext> context;
  std::shared_ptr<ProgressEngine> pe;
  std::vector<Completion> completions;

 private:
  static void completed(Task& task, std::uint64_t user_data, std::uint64_t self) noexcept {
    auto& rig = *std::bit_cast<EventRig*>(self);
    rig.completions.push_back({user_data, task.status(), static_cast<SyncEventTask&>(task).result()});
    EXPECT_EQ(task.free(), Status::success);
  }
};

}  // namespace pydoca
