#pragma once

#include "pydoca/comch.hpp"
#include "pydoca/progress_engine.hpp"

#include "rig/bytes.hpp"
#include "rig/process/process_rig.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <functional>
#include <memory>
#include <poll.h>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace pydoca::comch {

/// Waits on the notification handles only: a wake-up that is lost fails the test. Progress of every engine until
/// done().
inline bool run_until(const std::vector<ProgressEngine*>& engines, const std::function<bool()>& done) {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::seconds(20);
  while (!done()) {
    bool advanced = false;
    for (ProgressEngine* engine : engines) {
      advanced = engine->progress() != 0 || advanced;
    }
    if (advanced) {
      continue;
    }
    std::vector<pollfd> handles;
    for (ProgressEngine* engine : engines) {
      engine->request_notification();
      handles.push_back({.fd = engine->notification_handle(), .events = POLLIN, .revents = 0});
    }
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now()).count();
    const int ready = left > 0 ? ::poll(handles.data(), handles.size(), static_cast<int>(left)) : 0;
    for (ProgressEngine* engine : engines) {
      engine->clear_notification();
    }
    if (ready == 0) {
      return done();
    }
  }
  return true;
}

/// A record of the events of one endpoint, whose user data points here.
struct Events {
  std::vector<std::shared_ptr<Connection>> connected;
  std::vector<Bytes> messages;
  std::vector<Status> sent;  ///< status of each completed task
  std::vector<ContextState> states;
  int turned_away = 0;
  int disconnected = 0;
  std::function<void(Connection&, std::span<const std::byte>)> on_message;
  std::function<void(SendTask&)> on_sent;
  std::function<void(Connection&)> on_connected;
  std::function<void(Connection&)> on_disconnected;

  static Events& of(std::uint64_t user_data) { return *std::bit_cast<Events*>(user_data); }

  static void received(Connection& connection, std::span<const std::byte> message, std::uint64_t user_data) noexcept {
    Events& events = of(user_data);
    events.messages.emplace_back(message.begin(), message.end());
    if (events.on_message) {
      events.on_message(connection, message);
    }
  }
  static void completed(Task& task, std::uint64_t /*task_user_data*/, std::uint64_t user_data) noexcept {
    Events& events = of(user_data);
    events.sent.push_back(task.status());
    if (events.on_sent) {
      events.on_sent(static_cast<SendTask&>(task));
    } else {
      EXPECT_EQ(task.free(), Status::success);
    }
  }
  static void joined(Connection& connection, bool successful, std::uint64_t user_data) noexcept {
    Events& events = of(user_data);
    if (!successful) {
      ++events.turned_away;
      return;
    }
    events.connected.push_back(connection.shared_from_this());
    if (events.on_connected) {
      events.on_connected(connection);
    }
  }
  static void left(Connection& connection, bool successful, std::uint64_t user_data) noexcept {
    Events& events = of(user_data);
    EXPECT_TRUE(successful);
    ++events.disconnected;
    if (events.on_disconnected) {
      events.on_disconnected(connection);
    }
  }
  static void changed(std::uint64_t user_data, Context& /*context*/, ContextState /*previous*/,
                      ContextState next) noexcept {
    of(user_data).states.push_back(next);
  }
};

inline std::shared_ptr<Device> open(std::string_view name, Side side) { return Device::open(find_device(name, side)); }

/// An endpoint, its events and how to send. May be destroyed in any state.
template <typename T>
class Peer {
 public:
  Events events;
  std::shared_ptr<ProgressEngine> engine;
  std::shared_ptr<T> context;

  /// The message may be a temporary: it is copied.
  Status send(Connection& connection, std::span<const std::byte> message) {
    SendTask* task = nullptr;
    const Status status = context->send(connection, message, 0, task);
    if (status != Status::success) {
      return status;
    }
    return task->submit();
  }
  bool stop() {
    static_cast<void>(context->stop());
    return run_until({engine.get()}, [this] { return context->state() == ContextState::idle; });
  }

 protected:
  void set_up(const std::shared_ptr<ProgressEngine>& shared, std::uint32_t num_tasks) {
    engine = shared != nullptr ? shared : ProgressEngine::create();
    context->set_user_data(std::bit_cast<std::uint64_t>(&events));
    context->set_send_conf(Events::completed, Events::completed, num_tasks);
    context->set_message_received(Events::received);
    context->set_state_changed(Events::changed);
    engine->connect(context);
  }
};

class ServerSide : public Peer<Server> {
 public:
  explicit ServerSide(std::string_view name = "copy", const std::shared_ptr<ProgressEngine>& shared = nullptr,
                      std::uint32_t num_tasks = 32, std::string_view function = "0b:00.0") {
    const auto device = open("p0", pydoca::Side::dpu);
    context = Server::create(device, device->open_representor(function), name);
    context->set_connection_changed(Events::joined, Events::left);
    set_up(shared, num_tasks);
  }
  ServerSide& start() {
    EXPECT_EQ(context->start(), Status::success);
    return *this;
  }
};

class ClientSide : public Peer<Client> {
 public:
  explicit ClientSide(std::string_view name = "copy", const std::shared_ptr<ProgressEngine>& shared = nullptr,
                      std::uint32_t num_tasks = 32, std::string_view function = "pf0") {
    context = Client::create(open(function, pydoca::Side::host), name);
    set_up(shared, num_tasks);
  }
  ClientSide& start() {
    EXPECT_EQ(context->start(), Status::in_progress);
    return *this;
  }
  bool is(ContextState state) const { return context->state() == state; }
  Status send(std::span<const std::byte> message) { return Peer::send(*context->connection(), message); }
};

class Comch : public FabricTest {
 protected:
  /// Progresses until server and client are connected.
  static void meet(ServerSide& server, ClientSide& client) {
    const std::size_t known = server.events.connected.size();
    ASSERT_TRUE(run_until({server.engine.get(), client.engine.get()}, [&] {
      return client.is(ContextState::running) && server.events.connected.size() == known + 1;
    }));
  }
};

}  // namespace pydoca::comch
