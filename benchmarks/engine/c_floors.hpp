/// The loops of benchmarks/c in C++, where no other report has them.
#pragma once

#include "pydoca/buf_inventory.hpp"
#include "pydoca/comch.hpp"
#include "pydoca/device.hpp"
#include "pydoca/mmap.hpp"
#include "pydoca/progress_engine.hpp"
#include "pydoca/rdma.hpp"
#include "pydoca/sha.hpp"

#include "dma_loop.hpp"
#include "require.hpp"

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>
#include <unistd.h>
#include <vector>

namespace pydoca::benchmarks {

inline constexpr std::uint32_t depth = 32;
inline constexpr std::size_t task_size = 64;

/// What the tasks of a loop need, as stage.h has it.
struct Stage {
  explicit Stage(Access access = Access::local_read_write)
      : map(mapped(device, memory.data(), memory.size(), nullptr, access)) {
    inventory->start();
  }
  Buf* data(const std::shared_ptr<Mmap>& from, std::size_t number) const {
    Buf* buf = nullptr;
    require(inventory->get_by_data(from, from->addr() + number * task_size, task_size, buf));
    return buf;
  }
  Buf* room(const std::shared_ptr<Mmap>& to, std::size_t number) const {
    Buf* buf = nullptr;
    require(inventory->get_by_addr(to, to->addr() + number * task_size, task_size, buf));
    return buf;
  }

  std::shared_ptr<Device> device = Device::open(find_device("pf0", Side::host));
  std::shared_ptr<ProgressEngine> pe = ProgressEngine::create();
  std::shared_ptr<BufInventory> inventory = BufInventory::create(std::size_t{2} * depth);
  std::vector<std::byte> memory = std::vector<std::byte>(2 * depth * task_size);
  std::shared_ptr<Mmap> map;
};

[[noreturn]] inline void failed(Task& /*task*/, std::uint64_t /*data*/, std::uint64_t /*context*/) noexcept {
  std::abort();
}

/// Keeps depth tasks in flight, each with a source and a destination of its own, and takes a task for each. Derived
/// takes it: take(src, dst, number, task).
template <class Derived, class TaskClass>
class FreshLoop {
 public:
  FreshLoop(const FreshLoop&) = delete;
  FreshLoop& operator=(const FreshLoop&) = delete;

  /// count must be at least depth.
  void run(std::uint64_t count) {
    const std::uint64_t end = completed_ + count;
    to_submit_ = count - depth;
    for (std::uint64_t number = 0; number < depth; ++number) {
      start(number);
    }
    while (completed_ < end) {
      stage_.pe->progress();
    }
  }

 protected:
  explicit FreshLoop(Access access = Access::local_read_write) : stage_(access) {}
  ~FreshLoop() = default;

  void open_bufs(const std::shared_ptr<Mmap>& target, std::size_t first) {
    for (std::size_t i = 0; i < depth; ++i) {
      src_[i] = stage_.data(stage_.map, i);
      dst_[i] = stage_.room(target, first + i);
    }
  }
  void close(Context& context) {
    for (std::size_t i = 0; i < depth; ++i) {
      require(src_[i]->dec_refcount());
      require(dst_[i]->dec_refcount());
    }
    static_cast<void>(context.stop());
    while (context.state() != ContextState::idle) {
      stage_.pe->progress();
    }
  }
  static void completed(Task& done, std::uint64_t number, std::uint64_t self) noexcept {
    auto& loop = *std::bit_cast<Derived*>(self);
    require(loop.dst_[number]->reset_data_len());
    require(done.free());
    ++loop.completed_;
    if (loop.to_submit_ > 0) {
      --loop.to_submit_;
      loop.start(number);
    }
  }

  Stage stage_;

 private:
  void start(std::uint64_t number) {
    TaskClass* task = nullptr;
    require(static_cast<Derived&>(*this).take(src_[number], dst_[number], number, task));
    require(task->submit());
  }

  std::array<Buf*, depth> src_{};
  std::array<Buf*, depth> dst_{};
  std::uint64_t to_submit_ = 0;
  std::uint64_t completed_ = 0;
};

class ShaLoop : public FreshLoop<ShaLoop, ShaHashTask> {
 public:
  ShaLoop() : sha_(Sha::create(stage_.device)) {
    sha_->set_hash_conf(completed, failed, depth);
    sha_->set_user_data(address_of(this));
    stage_.pe->connect(sha_);
    require(sha_->start());
    open_bufs(stage_.map, depth);
  }
  ~ShaLoop() { close(*sha_); }

  Status take(Buf* src, Buf* dst, std::uint64_t number, ShaHashTask*& task) noexcept {
    return sha_->hash(src, dst, ShaAlgorithm::sha256, number, task);
  }

 private:
  std::shared_ptr<Sha> sha_;
};

class RdmaLoop : public FreshLoop<RdmaLoop, RdmaTask> {
 public:
  RdmaLoop() : FreshLoop(access) {
    open(stage_, *rdma_, this);
    open(peer_stage_, *peer_, this);
    const auto connection = peer_->export_connection();
    connection_ = rdma_->export_connection();
    rdma_->connect(connection->details(), *connection_);
    peer_->connect(connection_->details(), *connection);
    while (!connection_->is_connected() || !connection->is_connected()) {
      stage_.pe->progress();
      peer_stage_.pe->progress();
    }
    remote_ = Mmap::create_from_export(stage_.device, peer_stage_.map->export_rdma(*peer_stage_.device));
    open_bufs(remote_, 0);
  }
  ~RdmaLoop() {
    close(*rdma_);
    static_cast<void>(peer_->stop());
  }

  Status take(Buf* src, Buf* dst, std::uint64_t number, RdmaTask*& task) noexcept {
    return rdma_->write(*connection_, src, dst, number, task);
  }

 private:
  static constexpr Access access = Access::local_read_write | Access::rdma_read | Access::rdma_write;

  static void open(const Stage& stage, Rdma& rdma, RdmaLoop* self) {
    rdma.set_conf(RdmaTaskKind::write, completed, failed, depth);
    rdma.set_permissions(access);
    rdma.set_user_data(address_of(self));
    stage.pe->connect(rdma.shared_from_this());
    require(rdma.start());
  }

  Stage peer_stage_{access};
  std::shared_ptr<Rdma> rdma_ = Rdma::create(stage_.device);
  std::shared_ptr<Rdma> peer_ = Rdma::create(peer_stage_.device);
  std::shared_ptr<RdmaConnection> connection_;
  std::shared_ptr<Mmap> remote_;
};

/// The server of both loops of messages, which are in one process with it.
class Server {
 public:
  Server() {
    server_->set_send_conf(failed, failed, 1);
    server_->set_message_received([](comch::Connection&, std::span<const std::byte>, std::uint64_t) noexcept {});
    server_->set_connection_changed([](comch::Connection&, bool, std::uint64_t) noexcept {},
                                    [](comch::Connection&, bool, std::uint64_t) noexcept {});
    pe_->connect(server_);
    require(server_->start());
  }
  const char* name() const noexcept { return server_->name().c_str(); }
  static void serve(void* server) { static_cast<Server*>(server)->pe_->drain(depth); }

 private:
  std::shared_ptr<ProgressEngine> pe_ = ProgressEngine::create();
  std::shared_ptr<Device> device_ = Device::open(find_device("p0", Side::dpu));
  std::shared_ptr<comch::Server> server_ =
      comch::Server::create(device_, device_->open_representor("0b:00.0"), "benchmark-" + std::to_string(::getpid()));
};

class ComchLoop {
 public:
  explicit ComchLoop(Server& server) : server_(server), client_(comch::Client::create(stage_.device, server.name())) {
    client_->set_send_conf(sent, failed, depth);
    client_->set_message_received([](comch::Connection&, std::span<const std::byte>, std::uint64_t) noexcept {});
    client_->set_user_data(address_of(this));
    stage_.pe->connect(client_);
    static_cast<void>(client_->start());
    while (client_->state() != ContextState::running) {
      stage_.pe->progress();
      Server::serve(&server_);
    }
    connection_ = client_->connection();
  }
  ~ComchLoop() {
    static_cast<void>(client_->stop());
    while (client_->state() != ContextState::idle) {
      stage_.pe->progress();
    }
  }
  ComchLoop(const ComchLoop&) = delete;
  ComchLoop& operator=(const ComchLoop&) = delete;

  void run(std::uint64_t count) {
    const std::uint64_t end = completed_ + count;
    while (completed_ < end) {
      const std::uint64_t next = completed_ + 1;
      comch::SendTask* task = nullptr;
      require(client_->send(*connection_, std::span(stage_.memory).first(task_size), 0, task));
      require(task->submit());
      while (completed_ < next) {
        stage_.pe->progress();
      }
      Server::serve(&server_);
    }
  }

 private:
  static void sent(Task& task, std::uint64_t /*data*/, std::uint64_t self) noexcept {
    require(task.free());
    ++std::bit_cast<ComchLoop*>(self)->completed_;
  }

  Server& server_;
  Stage stage_;
  std::shared_ptr<comch::Client> client_;
  std::shared_ptr<comch::Connection> connection_;
  std::uint64_t completed_ = 0;
};

}  // namespace pydoca::benchmarks
