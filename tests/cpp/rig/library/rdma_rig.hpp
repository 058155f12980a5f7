#pragma once

#include "pydoca/buf_inventory.hpp"
#include "pydoca/device_properties.hpp"
#include "pydoca/memory.hpp"
#include "pydoca/mmap.hpp"
#include "pydoca/progress_engine.hpp"
#include "pydoca/rdma.hpp"
#include "pydoca/sim.hpp"

#include "rig/bytes.hpp"
#include "rig/process/process_rig.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <memory>
#include <poll.h>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace pydoca {

inline constexpr Access any_rdma = Access::rdma_read | Access::rdma_write | Access::rdma_atomic;

/// Whether the devices under test are the simulator's. A real device does not report that a connection by details has
/// ended, or that its peer has another connection. Connections by address report their end on every backend.
inline bool is_simulated() {
  const char* const device = std::getenv("PYDOCA_TEST_DEVICE");
  return device == nullptr || std::string_view(device) == "sim";
}

/// A simulated function. With another backend: the device under test for functions of the host, its peer for others.
inline std::shared_ptr<Device> open_function(std::string name) {
  const char* const peer = std::getenv("PYDOCA_TEST_PEER");
  if (!is_simulated()) {
    name = name.starts_with("pf") || peer == nullptr ? std::getenv("PYDOCA_TEST_DEVICE") : peer;
  }
  return Device::open(find_device(name));
}

/// The address of a context on that device. Not every device has an IPv4 address.
inline RdmaAddress address_of(const Device& device, std::uint16_t port) {
  if (const auto& ipv4 = device.info().properties().ipv4_addr; ipv4.has_value()) {
    Gid raw{};
    std::ranges::copy(*ipv4, raw.begin() + 12);
    return {RdmaAddressType::ipv4, raw, port};
  }
  const RdmaCapabilities& rdma = *device.info().capabilities().rdma;
  return {RdmaAddressType::gid, rdma.gids.at(rdma.default_gid_index), port};
}

/// Whether other processes can map the memory, or must access the owner's address space.
enum class MemorySource : std::uint8_t { pydoca, foreign };

/// Memory on a device, exported to the network unless access holds no RDMA flag.
class NetMemory {
 public:
  NetMemory(const std::shared_ptr<Device>& device, std::size_t size, Access access = any_rdma,
            MemorySource source = MemorySource::pydoca)
      : mmap(Mmap::create()) {
    if (source == MemorySource::pydoca) {
      shared_ = Memory::allocate(size);
      bytes = {shared_->data(), size};
    } else {
      own_.resize(size + 64);
      bytes = std::span(own_).subspan(64 - std::bit_cast<std::uint64_t>(own_.data()) % 64, size);
    }
    mmap->add_device(device);
    mmap->set_memrange(bytes.data(), size);
    mmap->set_permissions(access | Access::local_read_write);
    mmap->start();
    if (allows(access, any_rdma)) {
      blob = mmap->export_rdma(*device);
    }
  }

  void fill(std::uint64_t seed) { fill_pattern(bytes, seed); }
  std::uint64_t addr(std::size_t offset = 0) const { return mmap->addr() + offset; }
  std::uint64_t& word(std::size_t offset = 0) { return *reinterpret_cast<std::uint64_t*>(bytes.data() + offset); }

  std::span<std::byte> bytes;
  std::shared_ptr<Mmap> mmap;
  std::vector<std::byte> blob;

 private:
  std::shared_ptr<Memory> shared_;
  std::vector<std::byte> own_;
};

/// A context with all kinds of tasks on an engine of its own; it records its events.
class RdmaRig {
 public:
  struct Completion {
    RdmaTaskKind kind{};
    Status status = Status::success;
    std::uint64_t user_data = 0;
    std::uint64_t result_len = 0;
    RdmaOpcode opcode{};
    std::uint32_t immediate = 0;
    RdmaConnection* connection = nullptr;
  };

  explicit RdmaRig(const std::string& function, std::uint32_t num_tasks = 16)
      : RdmaRig(open_function(function), ProgressEngine::create(), num_tasks) {}
  RdmaRig(const std::shared_ptr<Device>& opened, const std::shared_ptr<ProgressEngine>& engine,
          std::uint32_t num_tasks = 16)
      : device(opened), pe(engine), rdma(Rdma::create(device)), inventory(BufInventory::create(512)) {
    for (std::size_t kind = 0; kind < num_rdma_task_kinds; ++kind) {
      if (Rdma::is_task_supported(device->info(), static_cast<RdmaTaskKind>(kind))) {
        rdma->set_conf(static_cast<RdmaTaskKind>(kind), completed, completed, num_tasks);
      }
    }
    rdma->set_connection_state_callbacks(request, established, failed, disconnected);
    rdma->set_permissions(any_rdma);
    rdma->set_user_data(std::bit_cast<std::uint64_t>(this));
    rdma->set_max_send_buf_list_len(std::min(8U, Rdma::max_send_buf_list_len(device->info())));
    rdma->set_receive_dst_buf_list_len(
        std::min(8U, Rdma::max_receive_dst_buf_list_len(device->info(), RdmaTransport::rc)));
    if (!is_simulated()) {
      rdma->set_connection_request_timeout(20'000);  // ms: a guest has an emulated CPU, and its machine may be loaded
    }
    pe->connect(rdma);
    inventory->start();
  }
  ~RdmaRig() {
    stop();
    rdma->close();
    free_bufs();
  }
  RdmaRig(const RdmaRig&) = delete;
  RdmaRig& operator=(const RdmaRig&) = delete;

  void stop() {
    static_cast<void>(rdma->stop());
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (rdma->state() != ContextState::idle && std::chrono::steady_clock::now() < end) {
      pe->progress();
    }
    EXPECT_EQ(rdma->state(), ContextState::idle)
        << rdma->num_inflight_tasks() << " tasks in flight, " << rdma->num_allocated_tasks() << " allocated, "
        << rdma->connections().size() << " connections";
  }

  Buf* data(const std::shared_ptr<Mmap>& mmap, std::uint64_t addr, std::size_t len) {
    Buf* buf = nullptr;
    EXPECT_EQ(inventory->get_by_data(mmap, addr, len, buf), Status::success);
    return keep(buf);
  }
  Buf* room(const std::shared_ptr<Mmap>& mmap, std::uint64_t addr, std::size_t len) {
    Buf* buf = nullptr;
    EXPECT_EQ(inventory->get_by_addr(mmap, addr, len, buf), Status::success);
    return keep(buf);
  }
  Buf* data(const NetMemory& memory, std::size_t offset, std::size_t len) {
    return data(memory.mmap, memory.addr(offset), len);
  }
  Buf* room(const NetMemory& memory, std::size_t offset, std::size_t len) {
    return room(memory.mmap, memory.addr(offset), len);
  }
  void free_bufs() {
    for (Buf* const buf : bufs_) {
      if (buf->refcount() != 0 && buf->is_first()) {
        EXPECT_EQ(buf->dec_refcount(), Status::success);
      }
    }
    bufs_.clear();
  }

  /// Allocates by a member of Rdma and submits.
  template <class Call, class... Args>
  RdmaTask* submit(Call call, Args&&... args) {
    RdmaTask* task = nullptr;
    EXPECT_EQ(((*rdma).*call)(std::forward<Args>(args)..., next_user_data++, task), Status::success);
    if (task != nullptr) {
      EXPECT_EQ(task->submit(), Status::success);
    }
    return task;
  }

  std::shared_ptr<Device> device;
  std::shared_ptr<ProgressEngine> pe;
  std::shared_ptr<Rdma> rdma;
  std::shared_ptr<BufInventory> inventory;
  std::vector<Completion> completions;
  std::vector<std::shared_ptr<RdmaConnection>> requests;
  std::vector<std::shared_ptr<RdmaConnection>> ups;
  std::vector<std::shared_ptr<RdmaConnection>> failures;
  std::vector<std::shared_ptr<RdmaConnection>> downs;
  std::function<void(RdmaConnection&)> on_request;
  std::function<void(RdmaTask&)> on_completion;
  std::uint64_t next_user_data = 0;

 private:
  static RdmaRig& of(std::uint64_t user_data) { return *std::bit_cast<RdmaRig*>(user_data); }
  Buf* keep(Buf* buf) {
    bufs_.push_back(buf);
    return buf;
  }
  static void completed(Task& done, std::uint64_t user_data, std::uint64_t self) noexcept {
    auto& task = static_cast<RdmaTask&>(done);
    of(self).completions.push_back({task.kind(), task.status(), user_data, task.result_len(), task.result_opcode(),
                                    task.result_immediate_data(), task.connection().get()});
    if (of(self).on_completion) {
      of(self).on_completion(task);
    }
    if (task.state() == Task::State::idle) {
      EXPECT_EQ(task.free(), Status::success);
    }
  }
  static void request(RdmaConnection& connection, std::uint64_t self) noexcept {
    of(self).requests.push_back(connection.shared_from_this());
    if (of(self).on_request) {
      of(self).on_request(connection);
    }
  }
  static void established(RdmaConnection& connection, std::uint64_t, std::uint64_t self) noexcept {
    of(self).ups.push_back(connection.shared_from_this());
  }
  static void failed(RdmaConnection& connection, std::uint64_t, std::uint64_t self) noexcept {
    of(self).failures.push_back(connection.shared_from_this());
  }
  static void disconnected(RdmaConnection& connection, std::uint64_t, std::uint64_t self) noexcept {
    of(self).downs.push_back(connection.shared_from_this());
  }

  std::vector<Buf*> bufs_;
};

/// Connects one rig's context with another's by exchanging details.
inline void connect_by_details(RdmaRig& one, RdmaRig& other, std::shared_ptr<RdmaConnection>& there,
                               std::shared_ptr<RdmaConnection>& back) {
  there = one.rdma->export_connection();
  back = other.rdma->export_connection();
  one.rdma->connect(back->details(), *there);
  other.rdma->connect(there->details(), *back);
}

/// Progresses every rig's engine until done(), and sleeps whenever there is nothing to do: a lost wake-up fails the
/// test.
inline bool run_until(std::initializer_list<RdmaRig*> rigs, const std::function<bool()>& done,
                      std::chrono::seconds limit = std::chrono::seconds(is_simulated() ? 20 : 60)) {
  using Time = std::chrono::steady_clock;
  const auto end = Time::now() + limit;
  while (!done()) {
    bool advanced = false;
    for (RdmaRig* const rig : rigs) {
      advanced = rig->pe->progress() != 0 || advanced;
    }
    if (advanced) {
      continue;
    }
    std::vector<pollfd> handles;
    for (RdmaRig* const rig : rigs) {
      rig->pe->request_notification();
      handles.push_back({.fd = rig->pe->notification_handle(), .events = POLLIN, .revents = 0});
    }
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Time::now()).count();
    const int ready = left > 0 ? ::poll(handles.data(), handles.size(), static_cast<int>(left)) : 0;
    for (RdmaRig* const rig : rigs) {
      rig->pe->clear_notification();
    }
    if (ready == 0) {
      return done();
    }
  }
  return true;
}

/// Uses a fabric of this process alone; leaks no descriptors.
class RdmaFabricTest : public testing::Test {
 protected:
  RdmaFabricTest() {
    sim::set_fabric("test-" + std::to_string(::getpid()));
    std::make_unique<NetMemory>(open_function("pf0"), 64).reset();  // starts the service of this process, which stays
    for (const char* const name : {"pf0", "p1"}) {
      open_by_address(name);
    }
    descriptors_ = count_descriptors();
  }
  ~RdmaFabricTest() override {
    // The service's thread closes a connection a moment after its peer has.
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(5);
    while (count_descriptors() != descriptors_ && std::chrono::steady_clock::now() < end) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    EXPECT_EQ(count_descriptors(), descriptors_) << "descriptors leaked";
  }

 private:
  /// librdmacm never closes a device that it has used.
  static void open_by_address(const std::string& name) {
    RdmaRig rig(name);
    if (!is_simulated() && Rdma::is_connection_manager_supported(rig.device->info())) {
      EXPECT_EQ(rig.rdma->start(), Status::success);
      rig.rdma->start_listen_to_port(unused_port);
    }
  }

  static constexpr std::uint16_t unused_port = 13580;
  std::size_t descriptors_ = 0;
};

/// Two contexts in one process, on functions of both sides.
class RdmaTest : public RdmaFabricTest {
 protected:
  static constexpr std::uint16_t port = 13579;

  void start() {
    ASSERT_EQ(a->rdma->start(), Status::success);
    ASSERT_EQ(b->rdma->start(), Status::success);
  }
  /// Connects by exchanging details.
  void connect() {
    start();
    connect_again();
    ASSERT_TRUE(run([this] { return a->ups.size() == 1 && b->ups.size() == 1; }));
  }
  void connect_again() { connect_by_details(*a, *b, ab, ba); }
  /// Connects so that each end learns at once that the other has left.
  void connect_in_touch() {
    if (is_simulated()) {
      connect();
      return;
    }
    start();
    b->on_request = [](RdmaConnection& connection) { connection.accept(); };
    b->rdma->start_listen_to_port(port);
    ab = a->rdma->connect_to_addr(address_of(*b->device, port));
    ASSERT_TRUE(run([this] { return a->ups.size() == 1 && b->ups.size() == 1; }));
    ba = b->ups[0];
  }
  bool is_one_device() const { return a->device->info().name() == b->device->info().name(); }
  /// Disconnects connection where the device does not report that the other end has left.
  static void leave_unless_told(RdmaConnection& connection) {
    if (!is_simulated() && connection.is_connected()) {
      connection.disconnect();
    }
  }
  bool run(const std::function<bool()>& done) { return run_until({a.get(), b.get()}, done); }
  /// Runs until so many tasks have completed.
  bool run(std::size_t of_a, std::size_t of_b) {
    return run([&] { return a->completions.size() >= of_a && b->completions.size() >= of_b; });
  }
  /// The export of b, imported by a.
  std::shared_ptr<Mmap> imported(const NetMemory& memory) const {
    return Mmap::create_from_export(a->device, memory.blob);
  }

  void TearDown() override {
    ab.reset();
    ba.reset();
    a.reset();
    b.reset();
  }

  std::unique_ptr<RdmaRig> a = std::make_unique<RdmaRig>("pf0");
  std::unique_ptr<RdmaRig> b = std::make_unique<RdmaRig>("p1");
  std::shared_ptr<RdmaConnection> ab;
  std::shared_ptr<RdmaConnection> ba;
};

}  // namespace pydoca
