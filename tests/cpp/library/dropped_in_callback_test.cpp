#include "pydoca/buf_inventory.hpp"
#include "pydoca/comch.hpp"
#include "pydoca/dma.hpp"
#include "pydoca/faults.hpp"
#include "pydoca/graph.hpp"
#include "pydoca/import.hpp"
#include "pydoca/log.hpp"
#include "pydoca/mmap_advise.hpp"
#include "pydoca/progress_engine.hpp"
#include "pydoca/rdma.hpp"
#include "pydoca/sync_event.hpp"
#include "pydoca/sync_event_context.hpp"

#include "rig/devices.hpp"
#include "rig/library/memory_rig.hpp"
#include "rig/library/rdma_rig.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// Callbacks that drop the last reference to an object: to the one that calls, to the engine, to any other. A dropped
/// object calls back no more, and is gone when the outermost call returns; AddressSanitizer sees whether a function
/// that called still uses it.

namespace pydoca {
namespace {

/// The objects of a scene by name, and the callback that drops one of them, or all. The callbacks of a scene are plain
/// functions, so they find the stage of the test that runs.
class Stage {
 public:
  explicit Stage(std::string dropped) : dropped_(std::move(dropped)) { stage_ = this; }
  ~Stage() {
    objects_.clear();
    for (Buf* const buf : bufs_) {
      EXPECT_EQ(buf->dec_refcount(), Status::success);
    }
    stage_ = nullptr;
  }
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;

  /// The stage has the only reference from now on.
  template <class Object>
  Object& hold(const std::string& name, std::shared_ptr<Object> object) {
    Object& held = *object;
    objects_[name] = std::move(object);
    return held;
  }
  template <class Object>
  std::shared_ptr<Object> get(const std::string& name) const {
    return std::static_pointer_cast<Object>(objects_.at(name));
  }
  /// Keeps the buf until the end: it belongs to no task that is in flight then.
  Buf* keep(Buf* buf) {
    bufs_.push_back(buf);
    return buf;
  }
  /// The names of the objects that there were at the drop.
  const std::vector<std::string>& played() const { return played_; }
  bool has_dropped() const { return has_dropped_; }

  /// The first line of each callback of an object of that name.
  static void called(const std::string& owner) {
    EXPECT_TRUE(stage_->objects_.contains(owner)) << owner << " was dropped, and calls";
  }
  /// The callback that the scene is about; drops once.
  static void drop() {
    if (!std::exchange(stage_->has_dropped_, true)) {
      stage_->drop_chosen();
    }
  }

  /// Progresses until the drop, and a little longer where the engine is still there.
  void progress() {
    ProgressEngine* const engine = get<ProgressEngine>("engine").get();
    const std::weak_ptr<void> alive = objects_.at("engine");
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!has_dropped_ && std::chrono::steady_clock::now() < end) {
      if (engine->progress() == 0 && !has_dropped_) {
        engine->wait(20);
      }
    }
    EXPECT_TRUE(has_dropped_) << "the callback was not called";
    for (int i = 0; i < 64 && !alive.expired(); ++i) {
      engine->progress();
    }
    expect_gone();
  }
  /// The dropped objects are destroyed, unless they are held elsewhere.
  void expect_gone() const {
    for (const auto& [name, object] : watched_) {
      EXPECT_TRUE(object.expired()) << name << " is still there";
    }
  }

 private:
  void drop_chosen() {
    for (const auto& [name, object] : objects_) {
      played_.push_back(name);
    }
    auto dropped = std::exchange(objects_, {});
    if (dropped_ != "all") {
      objects_ = std::exchange(dropped, {});
      dropped.insert(objects_.extract(dropped_));
    }
    for (auto& [name, object] : dropped) {
      if (object.use_count() == 1) {
        watched_.emplace_back(name, object);
      }
    }
  }

  static Stage* stage_;

  std::string dropped_;
  bool has_dropped_ = false;
  std::map<std::string, std::shared_ptr<void>> objects_;
  std::vector<std::string> played_;
  std::vector<Buf*> bufs_;
  std::vector<std::pair<std::string, std::weak_ptr<void>>> watched_;
};

Stage* Stage::stage_ = nullptr;

// What the scenes are made of.

Device& hold_device(Stage& stage) { return stage.hold("device", dpu()); }
ProgressEngine& hold_engine(Stage& stage) { return stage.hold("engine", ProgressEngine::create()); }

void hold_memory(Stage& stage) {
  const auto bytes = std::make_shared<std::vector<std::byte>>(4096);
  Mmap& map = stage.hold("map", Mmap::create());
  map.set_memrange(bytes->data(), bytes->size(), bytes);
  map.add_device(stage.get<Device>("device"));
  map.set_permissions(Access::local_read_write);
  map.start();
  stage.hold("inventory", BufInventory::create(16)).start();
}
Buf* buf(Stage& stage, std::size_t offset, std::size_t data) {
  const auto map = stage.get<Mmap>("map");
  Buf* buf = nullptr;
  EXPECT_EQ(
      stage.get<BufInventory>("inventory")->get_by_args(map, map->addr() + offset, 64, map->addr() + offset, data, buf),
      Status::success);
  return stage.keep(buf);
}

template <class Library>
Library& join(Stage& stage, const std::string& name, const std::shared_ptr<Library>& context) {
  stage.get<ProgressEngine>("engine")->connect(context);
  return stage.hold(name, context);
}

void submit(Task* task) { ASSERT_EQ(task->submit(), Status::success); }

// DMA

void dma_done(Task& task, std::uint64_t, std::uint64_t) noexcept {
  Stage::called("dma");
  EXPECT_EQ(task.free(), Status::success);
  Stage::drop();
}
void dma_state(std::uint64_t, Context&, ContextState, ContextState) noexcept {
  Stage::called("dma");
  Stage::drop();
}

Dma& hold_dma(Stage& stage) {
  hold_device(stage);
  hold_engine(stage);
  hold_memory(stage);
  Dma& dma = join(stage, "dma", Dma::create(stage.get<Device>("device")));
  dma.set_memcpy_conf(dma_done, dma_done, 4);
  return dma;
}
void copy_twice(Stage& stage, Dma& dma) {
  EXPECT_EQ(dma.start(), Status::success);
  for (int i = 0; i < 2; ++i) {
    DmaMemcpyTask* task = nullptr;
    ASSERT_EQ(dma.memcpy(buf(stage, 0, 64), buf(stage, 64, 0), 0, task), Status::success);
    submit(task);
  }
}

void dma_success(Stage& stage) {
  copy_twice(stage, hold_dma(stage));
  stage.progress();
}
void dma_error(Stage& stage) {
  Dma& dma = hold_dma(stage);
  copy_twice(stage, dma);
  EXPECT_EQ(dma.stop(), Status::in_progress);
  stage.progress();
}
/// The context's state callback comes first, then the task's.
void dma_failure(Stage& stage) {
  const auto plan = FaultPlan::create({FaultRule{.action = FaultAction::fail, .opcodes = {"dma.memcpy"}}});
  plan->install_silently();
  Dma& dma = hold_dma(stage);
  copy_twice(stage, dma);
  dma.set_state_changed(dma_state);
  stage.progress();
  plan->remove();
}
void start_of_dma(Stage& stage) {
  Dma& dma = hold_dma(stage);
  dma.set_state_changed(dma_state);
  EXPECT_EQ(dma.start(), Status::success);
  stage.expect_gone();
}
void stop_of_dma(Stage& stage) {
  Dma& dma = hold_dma(stage);
  EXPECT_EQ(dma.start(), Status::success);
  dma.set_state_changed(dma_state);
  EXPECT_EQ(dma.stop(), Status::success);
  stage.expect_gone();
}
void stop_of_dma_with_tasks(Stage& stage) {
  Dma& dma = hold_dma(stage);
  copy_twice(stage, dma);
  dma.set_state_changed(dma_state);
  EXPECT_EQ(dma.stop(), Status::in_progress);
  stage.expect_gone();
}

// Cache invalidation

void advise_done(Task& task, std::uint64_t, std::uint64_t) noexcept {
  Stage::called("advise");
  EXPECT_EQ(task.free(), Status::success);
  Stage::drop();
}

void advise_success(Stage& stage) {
  hold_device(stage);
  hold_engine(stage);
  hold_memory(stage);
  MmapAdvise& advise = join(stage, "advise", MmapAdvise::create(stage.get<Device>("device")));
  advise.set_invalidate_cache_conf(advise_done, advise_done, 2);
  EXPECT_EQ(advise.start(), Status::success);
  for (int i = 0; i < 2; ++i) {
    MmapAdviseInvalidateCacheTask* task = nullptr;
    ASSERT_EQ(advise.invalidate_cache(buf(stage, 0, 64), 0, task), Status::success);
    submit(task);
  }
  stage.progress();
}

// Sync events

void event_done(Task& task, std::uint64_t, std::uint64_t) noexcept {
  Stage::called("event context");
  EXPECT_EQ(task.free(), Status::success);
  Stage::drop();
}

SyncEventContext& hold_event(Stage& stage) {
  hold_device(stage);
  hold_engine(stage);
  SyncEvent& event = stage.hold("event", SyncEvent::create());
  event.add_publisher_location_cpu(stage.get<Device>("device"));
  event.add_subscriber_location_cpu(stage.get<Device>("device"));
  SyncEventContext& context = join(stage, "event context", event.as_context());
  context.set_conf(SyncEventOperation::wait_eq, event_done, event_done, 2);
  context.set_conf(SyncEventOperation::notify_set, event_done, event_done, 2);
  EXPECT_EQ(context.start(), Status::success);
  for (const auto operation : {SyncEventOperation::wait_eq, SyncEventOperation::wait_eq}) {
    SyncEventTask* task = nullptr;
    EXPECT_EQ(context.allocate(operation, 1, UINT64_MAX, 0, task), Status::success);
    submit(task);
  }
  return context;
}

void event_success(Stage& stage) {
  SyncEventContext& context = hold_event(stage);
  SyncEventTask* task = nullptr;
  ASSERT_EQ(context.allocate(SyncEventOperation::notify_set, 1, 0, 0, task), Status::success);
  submit(task);
  stage.progress();
}
void event_error(Stage& stage) {
  EXPECT_EQ(hold_event(stage).stop(), Status::in_progress);
  stage.progress();
}

// Graphs

Status run_node(std::uint64_t drops) noexcept {
  Stage::called("graph");
  if (drops != 0) {
    Stage::drop();
  }
  return Status::success;
}
void graph_done(GraphInstance&, std::uint64_t, std::uint64_t) noexcept {
  Stage::called("graph");
  Stage::drop();
}

/// Two instances of a function, a copy, and another function; drops: the second function drops.
void run_graph(Stage& stage, bool drops) {
  Dma& dma = hold_dma(stage);
  dma.set_memcpy_conf(dma_done, dma_done, 2);
  EXPECT_EQ(dma.start(), Status::success);
  Graph& graph = stage.hold("graph", Graph::create(stage.get<ProgressEngine>("engine")));
  GraphNode& first = graph.node_from_user(run_node);
  GraphNode& copy = graph.node_from_context(stage.get<Dma>("dma"));
  GraphNode& last = graph.node_from_user(run_node);
  graph.add_dependency(first, copy);
  graph.add_dependency(copy, last);
  graph.set_conf(graph_done, graph_done, 2);
  graph.start();
  for (int i = 0; i < 2; ++i) {
    DmaMemcpyTask* task = nullptr;
    ASSERT_EQ(dma.memcpy(buf(stage, 0, 64), buf(stage, 64, 0), 0, task), Status::success);
    GraphInstance& instance = graph.create_instance();
    instance.set_task(copy, *task);
    instance.set_cookie(last, drops ? 1 : 0);
    ASSERT_EQ(instance.submit(), Status::success);
  }
  stage.progress();
}
void graph_success(Stage& stage) { run_graph(stage, false); }
void graph_node(Stage& stage) { run_graph(stage, true); }
void graph_error(Stage& stage) {
  const auto plan = FaultPlan::create({FaultRule{.action = FaultAction::fail, .opcodes = {"dma.memcpy"}}});
  plan->install_silently();
  run_graph(stage, false);
  plan->remove();
}

// Comch

/// Which of its callbacks drops.
const char* chosen = "";

void happens(const std::string& owner, std::string_view callback) {
  Stage::called(owner);
  if (callback == chosen) {
    Stage::drop();
  }
}

void joined(comch::Connection& connection, bool, std::uint64_t) noexcept {
  static const std::array<std::byte, 16> message{};
  comch::SendTask* task = nullptr;
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(connection.server()->send(connection, message, 0, task), Status::success);
    submit(task);
  }
  happens("server", "server joined");
}
void left(comch::Connection&, bool, std::uint64_t) noexcept { happens("server", "server left"); }
void received(comch::Connection& connection, std::span<const std::byte> message, std::uint64_t) noexcept {
  if (comch::Client* const client = connection.client()) {
    comch::SendTask* task = nullptr;
    if (client->send(connection, message, 0, task) == Status::success) {
      submit(task);
    }
    happens("client", "client received");
  } else {
    happens("server", "server received");
    if (std::string_view(chosen) == "server left" || std::string_view(chosen) == "client stopped") {
      connection.server()->disconnect(connection);
    }
  }
}
void server_sent(Task& task, std::uint64_t, std::uint64_t) noexcept {
  EXPECT_EQ(task.free(), Status::success);
  happens("server", "server sent");
}
void client_sent(Task& task, std::uint64_t, std::uint64_t) noexcept {
  EXPECT_EQ(task.free(), Status::success);
  happens("client", "client sent");
}
void client_state(std::uint64_t, Context&, ContextState, ContextState next) noexcept {
  happens("client", next == ContextState::running    ? "client connected"
                    : next == ContextState::stopping ? "client stopped"
                                                     : "");
}

/// The server greets, the client echoes.
void talk(Stage& stage, const char* callback) {
  chosen = callback;
  hold_device(stage);
  hold_engine(stage);
  const auto device = stage.get<Device>("device");
  auto& server = join(stage, "server", comch::Server::create(device, device->open_representor("0b:00.0"), "drop"));
  server.set_connection_changed(joined, left);
  server.set_message_received(received);
  server.set_send_conf(server_sent, server_sent, 4);
  EXPECT_EQ(server.start(), Status::success);
  auto& client = join(stage, "client", comch::Client::create(host(), "drop"));
  client.set_message_received(received);
  client.set_send_conf(client_sent, client_sent, 4);
  client.set_state_changed(client_state);
  EXPECT_EQ(client.start(), Status::in_progress);
  stage.progress();
}

// RDMA

void receive_one(Stage& stage, Rdma& rdma) {
  RdmaTask* task = nullptr;
  ASSERT_EQ(rdma.receive(buf(stage, 64, 0), 0, task), Status::success);
  submit(task);
}
void requested(RdmaConnection& connection, std::uint64_t) noexcept {
  connection.accept();
  happens("passive", "requested");
}
void passive_established(RdmaConnection&, std::uint64_t, std::uint64_t) noexcept {
  happens("passive", "passive established");
}
void passive_ended(RdmaConnection&, std::uint64_t, std::uint64_t) noexcept { happens("passive", "passive ended"); }
void active_established(RdmaConnection& connection, std::uint64_t, std::uint64_t src) noexcept {
  RdmaTask* task = nullptr;
  EXPECT_EQ(connection.rdma()->send(connection, std::bit_cast<Buf*>(src), 0, task), Status::success);
  submit(task);
  happens("active", "active established");
}
void active_failed(RdmaConnection&, std::uint64_t, std::uint64_t) noexcept { happens("active", "active failed"); }
void active_ended(RdmaConnection&, std::uint64_t, std::uint64_t) noexcept { happens("active", "active ended"); }
void sent(Task& task, std::uint64_t, std::uint64_t) noexcept {
  const auto connection = static_cast<RdmaTask&>(task).connection();
  EXPECT_EQ(task.free(), Status::success);
  happens("active", "sent");
  if (connection->state() == RdmaConnection::State::established) {
    connection->disconnect();
  }
}
void received_by_rdma(Task& task, std::uint64_t, std::uint64_t) noexcept {
  EXPECT_EQ(task.free(), Status::success);
  happens("passive", "received");
}

Rdma& hold_rdma(Stage& stage, const std::string& name) {
  Rdma& rdma = join(stage, name, Rdma::create(stage.get<Device>("device")));
  rdma.set_permissions(Access::local_read_write);
  rdma.set_max_num_connections(4);
  return rdma;
}

/// One context connects to the other and sends a message; then it disconnects.
void exchange(Stage& stage, const char* callback) {
  constexpr std::uint16_t port = 13571;
  chosen = callback;
  hold_device(stage);
  hold_engine(stage);
  hold_memory(stage);
  Rdma& passive = hold_rdma(stage, "passive");
  passive.set_conf(RdmaTaskKind::receive, received_by_rdma, received_by_rdma, 2);
  passive.set_connection_state_callbacks(requested, passive_established, nullptr, passive_ended);
  EXPECT_EQ(passive.start(), Status::success);
  receive_one(stage, passive);
  const bool fails = std::string_view(callback) == "active failed";
  passive.start_listen_to_port(fails ? port + 1 : port);
  Rdma& active = hold_rdma(stage, "active");
  active.set_conf(RdmaTaskKind::send, sent, sent, 2);
  active.set_connection_state_callbacks(nullptr, active_established, active_failed, active_ended);
  active.set_user_data(std::bit_cast<std::uint64_t>(buf(stage, 0, 64)));
  EXPECT_EQ(active.start(), Status::success);
  active.connect_to_addr(address_of(*stage.get<Device>("device"), port));
  stage.progress();
}

// Imports and maps

void import_map(Stage& stage, bool is_closed) {
  hold_device(stage);
  hold_engine(stage);
  const auto owner = host();
  const auto memory = Memory::allocate(4096);
  const auto exported = Mmap::create();
  exported->add_device(owner);
  exported->set_memrange(memory->data(), 4096, memory);
  exported->set_permissions(Access::local_read_write | Access::pci_read_write);
  exported->start();
  std::unique_ptr<Import<Mmap>> import;
  do {  // the owner, a thread of this process, may answer at once
    import = Import<Mmap>::begin(stage.get<ProgressEngine>("engine"), stage.get<Device>("device"),
                                 exported->export_pci(*owner));
  } while (import->is_over());
  import->set_callback([] {
    Stage::called("import");
    Stage::drop();
  });
  stage.hold("import", std::shared_ptr<Import<Mmap>>(std::move(import)));
  if (is_closed) {
    stage.get<ProgressEngine>("engine").get()->close();
    stage.expect_gone();
  } else {
    stage.progress();
  }
}
void import_arrived(Stage& stage) { import_map(stage, false); }
void engine_closed(Stage& stage) { import_map(stage, true); }

void map_freed(Stage& stage) {
  hold_device(stage);
  hold_memory(stage);
  Mmap& map = *stage.get<Mmap>("map");
  map.stop();
  map.set_free_callback([](std::span<std::byte>) noexcept {
    Stage::called("map");
    Stage::drop();
  });
  map.start();
  map.close();
  EXPECT_TRUE(stage.has_dropped());
  stage.expect_gone();
}

struct Scene {
  const char* name;
  std::function<void(Stage&)> play;
};

const std::vector<Scene>& scenes() {
  static const std::vector<Scene> all = [] {
    std::vector<Scene> scenes{
        {"dma success", dma_success},
        {"dma error", dma_error},
        {"dma failure", dma_failure},
        {"start", start_of_dma},
        {"stop", stop_of_dma},
        {"stop with tasks", stop_of_dma_with_tasks},
        {"cache invalidation", advise_success},
        {"event success", event_success},
        {"event error", event_error},
        {"graph success", graph_success},
        {"graph error", graph_error},
        {"graph node", graph_node},
        {"import arrived", import_arrived},
        {"engine closed", engine_closed},
        {"map freed", map_freed},
    };
    for (const char* const callback : {"server joined", "server sent", "server received", "server left",
                                       "client connected", "client received", "client sent", "client stopped"}) {
      scenes.push_back({callback, [callback](Stage& stage) { talk(stage, callback); }});
    }
    for (const char* const callback : {"requested", "passive established", "passive ended", "received",
                                       "active established", "active failed", "active ended", "sent"}) {
      scenes.push_back({callback, [callback](Stage& stage) { exchange(stage, callback); }});
    }
    return scenes;
  }();
  return all;
}

/// Readings that store their values. The first callback drops their context, and looks at the others' places.
class DroppedWithResults : public RdmaFabricTest {};

TEST_F(DroppedWithResults, NothingIsStoredAfterTheCallback) {
  constexpr std::uint64_t untouched = 99;
  static std::array<std::uint64_t, 4> results;
  results.fill(untouched);
  const auto device = dpu();
  const auto pe = ProgressEngine::create();
  const auto event = SyncEvent::create();
  event->add_publisher_location_cpu(device);
  event->add_subscriber_location_cpu(device);
  static std::shared_ptr<SyncEventContext> context;
  context = event->as_context();
  context->set_conf(
      SyncEventOperation::get, [](Task&, std::uint64_t, std::uint64_t) noexcept { context.reset(); },
      [](Task&, std::uint64_t, std::uint64_t) noexcept {}, 4);
  pe->connect(context);
  EXPECT_EQ(context->start(), Status::success);
  for (std::uint64_t& result : results) {
    SyncEventTask* task = nullptr;
    ASSERT_EQ(context->allocate(SyncEventOperation::get, 0, 0, 0, task), Status::success);
    EXPECT_EQ(task->set_result_address(&result), Status::success);
    submit(task);
  }
  EXPECT_EQ(pe->drain(100), 1U);
  EXPECT_EQ(pe->drain(100), 0U);
  EXPECT_EQ(results, (std::array<std::uint64_t, 4>{0, untouched, untouched, untouched}));
  EXPECT_EQ(pe->num_contexts(), 0U);
}

/// A sink of the engine's log that drops the context whose close() it hears of.
TEST_F(DroppedWithResults, ACloseEndsThoughTheLogDropsItsContext) {
  static std::shared_ptr<Dma> dma;
  const auto sink = log::Sink::callback(log::Family::engine, [](const log::Record& record) {
    if (std::string_view(record.text).ends_with(": closed")) {
      dma.reset();
    }
  });
  sink->set_sdk_level(log::Level::trace);
  const auto device = dpu();
  const auto pe = ProgressEngine::create();
  dma = Dma::create(device);
  const std::weak_ptr<Dma> watched = dma;
  pe->connect(dma);
  dma.get()->close();
  sink->close();
  EXPECT_EQ(dma, nullptr);
  EXPECT_TRUE(watched.expired());
  EXPECT_EQ(pe->num_contexts(), 0U);
}

class DroppedInCallback : public RdmaFabricTest, public testing::WithParamInterface<Scene> {};

TEST_P(DroppedInCallback, AnObjectIsThereUntilTheCallReturns) {
  std::vector<std::string> objects;
  {
    Stage stage("all");
    GetParam().play(stage);
    objects = stage.played();
  }
  for (const std::string& object : objects) {
    SCOPED_TRACE(object);
    Stage stage(object);
    GetParam().play(stage);
  }
}

INSTANTIATE_TEST_SUITE_P(Callbacks, DroppedInCallback, testing::ValuesIn(scenes()), [](const auto& info) {
  std::string name = info.param.name;
  std::ranges::replace(name, ' ', '_');
  return name;
});

}  // namespace
}  // namespace pydoca
