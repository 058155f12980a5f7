#include "failure/connections.hpp"

#include "pydoca/comch.hpp"
#include "pydoca/rdma.hpp"
#include "pydoca/representor.hpp"
#include "pydoca/sync_event.hpp"
#include "pydoca/sync_event_context.hpp"

#include "failure/parts.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace pydoca::failure {
namespace {

constexpr std::uint64_t all_bits = ~std::uint64_t{0};
using Events = Running<SyncEventContext>;

SyncEventTask& event_task(Events& events, SyncEventOperation operation, std::uint64_t value) {
  SyncEventTask* task = nullptr;
  require(events.context->allocate(operation, value, all_bits, 0, task), "a task of an event");
  return *task;
}

}  // namespace

void sync_event_scenario() {
  const auto host = opened("pf0");
  const auto dpu = opened("p0");
  step("create");
  const auto event = SyncEvent::create();
  event->add_publisher_location(SyncEventLocation::remote_pci);
  event->add_subscriber_location_cpu(host);
  step("context");
  Events waits(event->as_context(), ProgressEngine::create());
  for (std::size_t i = 0; i < num_sync_event_operations; ++i) {
    waits.context->set_conf(static_cast<SyncEventOperation>(i), Events::count, Events::count, 4);
  }
  step("start");
  waits.start();
  step("export");
  const auto blob = event->export_to_remote_pci(*host);
  step("import");
  const auto imported = SyncEvent::create_from_export(dpu, blob);
  imported->start();
  step("update");
  std::uint64_t value = 0;
  require(imported->update_set(3), "update_set");
  require(imported->update_add(2, value), "update_add");
  step("wait");
  waits.finish(event_task(waits, SyncEventOperation::wait_eq, 5));
  waits.finish(event_task(waits, SyncEventOperation::get, 0));
  step("stop");
  imported->stop();
  waits.stop();
  step("synchronous");
  const auto local = SyncEvent::create();
  local->add_publisher_location_cpu(host);
  local->add_subscriber_location_cpu(host);
  local->start();
  require(local->update_set(9), "update_set");
  require(local->wait_gt(8, all_bits, WaitMode::yield, std::chrono::seconds(5)), "wait_gt");
  local->stop();
}

namespace {

/// What an endpoint was told.
template <class T>
class Link : public Running<T> {
 public:
  using Running<T>::context;
  using Running<T>::engine;

  Link(std::shared_ptr<T> made) : Running<T>(std::move(made), ProgressEngine::create()) {
    context->set_send_conf(Running<T>::count, Running<T>::count, 4);
    context->set_message_received(
        [](comch::Connection&, std::span<const std::byte> message, std::uint64_t self) noexcept {
          static_cast<Link*>(std::bit_cast<Running<T>*>(self))->received += message.size();
        });
    engine->connect(context);
  }
  void send(comch::Connection& to) {
    static constexpr std::array<std::byte, 100> message{};
    comch::SendTask* task = nullptr;
    require(context->send(to, message, 0, task), "a send task");
    require(task->submit(), "submit");
  }

  std::size_t received = 0;
  int connected = 0;
  int disconnected = 0;
  comch::Connection* connection = nullptr;
};

using ServerLink = Link<comch::Server>;
using ClientLink = Link<comch::Client>;

ServerLink& server_of(std::uint64_t self) {
  return *static_cast<ServerLink*>(std::bit_cast<Running<comch::Server>*>(self));
}

void joined(comch::Connection& connection, bool successful, std::uint64_t self) noexcept {
  if (successful) {
    server_of(self).connection = &connection;
    ++server_of(self).connected;
  }
}

void left(comch::Connection& /*connection*/, bool /*successful*/, std::uint64_t self) noexcept {
  server_of(self).connection = nullptr;
  ++server_of(self).disconnected;
}

bool is_over(const Context& context) { return context.state() == ContextState::idle; }

}  // namespace

void comch_scenario() {
  const auto dpu = opened("p0");
  step("server");
  ServerLink server(comch::Server::create(dpu, dpu->open_representor("0b:00.0"), "copy"));
  server.context->set_connection_changed(&joined, &left);
  step("client");
  ClientLink client(comch::Client::create(opened("pf0"), "copy"));
  step("start of the client");
  check(client.context->start() == Status::in_progress, "start of a client");
  static_cast<void>(client.engine->progress());  // it watches for its server
  step("start of the server");
  require(server.context->start(), "start of a server");
  const auto both = {server.engine.get(), client.engine.get()};
  step("connect");
  await("a connection", both, [&] {
    return is_over(*client.context) || (client.context->state() == ContextState::running && server.connected != 0);
  });
  require(client.context->failure(), "connect");
  step("messages");
  client.send(*client.context->connection());
  client.send(*client.context->connection());
  server.send(*server.connection);
  await("messages", both, [&] {
    return is_over(*client.context) || client.last != Status::success || server.last != Status::success ||
           (server.received == 200 && client.received == 100 && client.completed == 2);
  });
  require(client.last, "a send task");
  require(server.last, "a send task");
  require(client.context->failure(), "messages");
  client.context->connection()->update_info();
  check(server.context->connections().size() == 1, "connections");
  step("disconnect");
  client.stop();
  await("the end of a connection", both, [&] { return server.disconnected == 1; });
  step("stop of the server");
  server.stop();
}

namespace {

/// A context with tasks of all kinds, and what it was told of connections.
class Net : public Running<Rdma> {
 public:
  explicit Net(std::string_view name)
      : Running<Rdma>(Rdma::create(opened(name)), ProgressEngine::create()),
        memory(context->device(), 4096, any),
        inventory(started_inventory(16)) {
    for (std::size_t kind = 0; kind < num_rdma_task_kinds; ++kind) {
      context->set_conf(static_cast<RdmaTaskKind>(kind), count, count, 4);
    }
    context->set_connection_state_callbacks(requested, established, ended, ended);
    context->set_permissions(any);
    context->set_max_num_connections(2);
    start();
  }

  static constexpr Access any = Access::rdma_read | Access::rdma_write | Access::rdma_atomic | Access::local_read_write;
  Mapped memory;
  std::shared_ptr<BufInventory> inventory;
  int ups = 0;
  int ends = 0;
  RdmaConnection* up = nullptr;
  Status accepting = Status::success;
  Status end = Status::success;  ///< the outcome of the last connection that ended

 private:
  static Net& of(std::uint64_t self) { return *static_cast<Net*>(std::bit_cast<Running<Rdma>*>(self)); }
  static void requested(RdmaConnection& connection, std::uint64_t self) noexcept {
    try {
      connection.accept();
    } catch (const std::exception& error) {
      const auto* const typed = dynamic_cast<const Error*>(&error);
      of(self).accepting = typed != nullptr ? typed->status() : Status::no_memory;
      if (connection.state() == RdmaConnection::State::requested) {
        connection.reject();
      }
    }
  }
  static void established(RdmaConnection& connection, std::uint64_t, std::uint64_t self) noexcept {
    ++of(self).ups;
    of(self).up = &connection;
  }
  static void ended(RdmaConnection& connection, std::uint64_t, std::uint64_t self) noexcept {
    ++of(self).ends;
    of(self).end = connection.failure();
  }
};

void write_and_send(Net& a, Net& b, RdmaConnection& connection, const std::shared_ptr<Mmap>& remote) {
  const auto both = {a.engine.get(), b.engine.get()};
  const Held src(a.inventory, a.memory.mmap, a.memory.addr(), 64, true);
  const Held dst(a.inventory, remote, remote->addr() + 1024, 64, false);
  RdmaTask* task = nullptr;
  step("write");
  require(a.context->write(connection, src.get(), dst.get(), 0, task), "a write task");
  a.finish(*task);
  check(std::memcmp(a.memory.memory->data(), b.memory.memory->data() + 1024, 64) == 0, "a write");
  step("add");
  const Held word(a.inventory, remote, remote->addr() + 2048, 8, false);
  const Held result(a.inventory, a.memory.mmap, a.memory.addr(256), 8, false);
  require(a.context->atomic_fetch_add(connection, word.get(), result.get(), 1, 0, task), "an atomic task");
  a.finish(*task);
  step("message");
  const Held room(b.inventory, b.memory.mmap, b.memory.addr(512), 64, false);
  require(b.context->receive(room.get(), 0, task), "a receive task");
  require(task->submit(), "submit");
  require(a.context->send(connection, src.get(), 0, task), "a send task");
  const int sent = a.completed;
  const int received = b.completed;
  require(task->submit(), "submit");
  await("a message", both, [&] { return a.completed > sent && b.completed > received; });
  require(a.last, "a send");
  require(b.last, "a receive");
}

}  // namespace

void rdma_scenario() {
  step("create");
  Net a("pf0");
  Net b("p1");
  std::memset(a.memory.memory->data(), 7, 4096);
  step("memory of the peer");
  const auto remote = Mmap::create_from_export(a.context->device(), b.memory.mmap->export_rdma(*b.context->device()));
  step("details");
  const auto there = a.context->export_connection();
  const auto back = b.context->export_connection();
  step("connect");
  a.context->connect(back->details(), *there);
  b.context->connect(there->details(), *back);
  const auto both = {a.engine.get(), b.engine.get()};
  await("connections", both, [&] { return (a.ups == 1 && b.ups == 1) || a.ends != 0 || b.ends != 0; });
  require(there->failure(), "connection");
  require(back->failure(), "connection");
  write_and_send(a, b, *there, remote);
  step("disconnect");
  there->disconnect();
  await("the ends of connections", both, [&] { return a.ends == 1 && b.ends == 1; });
}

void rdma_by_address_scenario() {
  Net a("pf0");
  Net b("p1");
  constexpr std::uint16_t port = 13579;
  step("listen");
  b.context->start_listen_to_port(port);
  step("connect");
  Gid raw{};
  std::ranges::copy(b.context->device()->info().ipv4_addr(), raw.begin() + 12);
  const auto there = a.context->connect_to_addr(RdmaAddress(RdmaAddressType::ipv4, raw, port));
  const auto both = {a.engine.get(), b.engine.get()};
  await("connections", both, [&] { return (a.ups == 1 && b.ups == 1) || a.ends != 0 || b.ends != 0; });
  require(b.accepting, "accept");
  require(b.end, "accepted connection");
  require(there->failure(), "connection");
  check(a.ups == 1 && b.ups == 1, "connections");
  step("disconnect");
  there->disconnect();
  await("the ends of connections", both, [&] { return a.ends == 1 && b.ends == 1; });
  step("stop of listening");
  b.context->stop_listen_to_port(port);
}

}  // namespace pydoca::failure
