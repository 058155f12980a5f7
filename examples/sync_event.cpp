// One process, one device, two sync events: a thread that waits and is answered, then the same by tasks.

#include <pydoca/progress_engine.hpp>
#include <pydoca/sync_event.hpp>
#include <pydoca/sync_event_context.hpp>

#include <cstdint>
#include <exception>
#include <iostream>
#include <string>
#include <string_view>
#include <thread>

namespace {

using pydoca::require;
using pydoca::Status;
using pydoca::SyncEventOperation;
using pydoca::WaitMode;

constexpr std::uint64_t all_bits = ~std::uint64_t{0};

/// An event that this process publishes and waits for.
std::shared_ptr<pydoca::SyncEvent> make_event(const std::shared_ptr<pydoca::Device>& device) {
  auto event = pydoca::SyncEvent::create();
  event->add_publisher_location_cpu(device);
  event->add_subscriber_location_cpu(device);
  return event;
}

// Synchronous mode: calls that return when the operation is done.
void answer(pydoca::SyncEvent& signal, pydoca::SyncEvent& reply) {
  std::uint64_t before = 0;
  if (signal.wait_eq(1, all_bits, WaitMode::yield) == Status::success) {
    static_cast<void>(reply.update_add(2, before));
  }
}

void signal_and_wait(const std::shared_ptr<pydoca::Device>& device) {
  const auto signal = make_event(device);
  const auto reply = make_event(device);
  signal->start();
  reply->start();
  std::thread other([&] { answer(*signal, *reply); });
  Status status = signal->update_set(1);
  status = status == Status::success ? reply->wait_gt(1, all_bits, WaitMode::yield) : status;
  other.join();
  require(status, "wait for the reply");
  std::uint64_t value = 0;
  require(reply->get(value), "get the reply");
  std::cout << "synchronous: the reply is " << value << '\n';
  signal->close();
  reply->close();
}

// Asynchronous mode: tasks that complete while the engine progresses. The user data points to the variable for the
// result.
void completed(pydoca::SyncEventTask& task, std::uint64_t* result) noexcept {
  *result = task.result();
  static_cast<void>(task.free());  // it has completed
}

void failed(pydoca::SyncEventTask& task) noexcept {
  std::cerr << "task failed: " << pydoca::error_name(task.status()) << '\n';
  static_cast<void>(task.free());  // it has completed
}

void submit(pydoca::SyncEventContext& context, SyncEventOperation operation, std::uint64_t value,
            std::uint64_t& result) {
  pydoca::SyncEventTask* task = nullptr;
  require(context.allocate(operation, value, all_bits, pydoca::as_user_data(&result), task), "allocate the task");
  require(task->try_submit(), "submit the task");
}

void submit_and_progress(const std::shared_ptr<pydoca::Device>& device) {
  const auto engine = pydoca::ProgressEngine::create();
  const auto event = make_event(device);
  const auto context = event->as_context();
  context->set_conf(SyncEventOperation::wait_eq, pydoca::calls<completed>, pydoca::calls<failed>, 1);
  context->set_conf(SyncEventOperation::notify_add, pydoca::calls<completed>, pydoca::calls<failed>, 1);
  engine->connect(context);
  require(context->start(), "start the context");

  std::uint64_t seen = 0;
  std::uint64_t before = all_bits;
  submit(*context, SyncEventOperation::wait_eq, 3, seen);
  submit(*context, SyncEventOperation::notify_add, 3, before);
  while (engine->num_inflight_tasks() > 0) {
    engine->progress();
  }
  std::cout << "asynchronous: " << before << " became " << seen << '\n';
  require(context->stop(), "stop the context");
  event->close();
}

}  // namespace

int main() {
  try {
    const auto device = pydoca::Device::open(pydoca::find_device("03:00.0"));
    signal_and_wait(device);
    submit_and_progress(device);
  } catch (const std::exception& error) {
    std::cerr << "sync_event: " << error.what() << '\n';
    return 1;
  }
  return 0;
}
