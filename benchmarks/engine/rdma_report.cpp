// Every figure of RDMA between two processes beside its floor.
// usage: rdma_report [--json] [--check] [--repetitions N] [part of a name]
#include "pydoca/memory.hpp"
#include "pydoca/rdma.hpp"
#include "pydoca/sim.hpp"

#include "dma_loop.hpp"
#include "figure.hpp"
#include "print_report.hpp"

#include <array>
#include <cstring>
#include <memory>
#include <string>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace pydoca::benchmarks {
namespace {

constexpr std::size_t ki = 1024;
constexpr std::size_t mi = 1024 * ki;
constexpr std::size_t memory_size = 64 * mi;
constexpr Access any_rdma = Access::rdma_read | Access::rdma_write | Access::rdma_atomic | Access::local_read_write;

/// The data that the two processes send each other before they are connected.
struct Introduction {
  std::array<std::byte, 512> details{};
  std::array<std::byte, 512> memory{};
  std::uint64_t details_len = 0;
  std::uint64_t memory_len = 0;
  std::uint64_t addr = 0;
};

void send(int fd, const Introduction& introduction) {
  if (::write(fd, &introduction, sizeof introduction) != sizeof introduction) {
    throw Error(Status::connection_reset, "benchmark: the peer cannot be told");
  }
}
Introduction receive(int fd) {
  Introduction introduction;
  if (::recv(fd, &introduction, sizeof introduction, MSG_WAITALL) != sizeof introduction) {
    throw Error(Status::connection_reset, "benchmark: the peer ended early");
  }
  return introduction;
}

/// A context with one connection and memory for its peer.
class Side {
 public:
  explicit Side(const char* function, Task::Callback completed, std::uint32_t num_tasks)
      : device(Device::open(find_device(function))), rdma(Rdma::create(device)) {
    std::memset(memory->data(), 1, memory_size);
    map = mapped(device, memory->data(), memory_size, memory, any_rdma);
    rdma->set_conf(RdmaTaskKind::write, completed, completed, num_tasks);
    rdma->set_conf(RdmaTaskKind::read, completed, completed, num_tasks);
    rdma->set_permissions(any_rdma);
    pe->connect(rdma);
    require(rdma->start());
    connection = rdma->export_connection();
  }

  Introduction introduce() const {
    Introduction introduction{.details_len = connection->details().size(), .addr = map->addr()};
    std::memcpy(introduction.details.data(), connection->details().data(), connection->details().size());
    const std::vector<std::byte> blob = map->export_rdma(*device);
    std::memcpy(introduction.memory.data(), blob.data(), blob.size());
    introduction.memory_len = blob.size();
    return introduction;
  }
  void meet(const Introduction& peer) {
    rdma->connect(std::span(peer.details).first(peer.details_len), *connection);
    remote = Mmap::create_from_export(device, std::span(peer.memory).first(peer.memory_len));
  }

  std::shared_ptr<Device> device;
  std::shared_ptr<ProgressEngine> pe = ProgressEngine::create();
  std::shared_ptr<Rdma> rdma;
  std::shared_ptr<Memory> memory = Memory::allocate(memory_size);
  std::shared_ptr<Mmap> map;
  std::shared_ptr<Mmap> remote;
  std::shared_ptr<RdmaConnection> connection;
};

void ignore(Task& /*task*/, std::uint64_t /*data*/, std::uint64_t /*context*/) noexcept {}

/// A process that lends its memory, until it is destroyed. It must be made before this process has threads.
class Peer {
 public:
  Peer() {
    std::array<int, 2> ends{};
    if (::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()) != 0) {
      throw Error(Status::operating_system, "benchmark: no sockets");
    }
    child_ = ::fork();
    ::close(ends[child_ == 0 ? 0 : 1]);
    fd_ = ends[child_ == 0 ? 1 : 0];
    if (child_ == 0) {
      Side side("p1", ignore, 1);
      send(fd_, side.introduce());
      side.meet(receive(fd_));
      char byte = 0;
      static_cast<void>(!::read(fd_, &byte, 1));
      ::_exit(0);
    }
  }
  ~Peer() {
    ::close(fd_);
    ::waitpid(child_, nullptr, 0);
  }
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;

  int fd() const { return fd_; }

 private:
  int fd_ = -1;
  pid_t child_ = -1;
};

/// Keeps depth operations of size bytes in flight: each task is submitted again in its callback.
class RdmaLoop {
 public:
  RdmaLoop(Side& side, RdmaTaskKind kind, std::size_t size, std::uint32_t depth)
      : side_(side), inventory_(BufInventory::create(std::size_t{2} * depth)) {
    inventory_->start();
    for (std::uint32_t slot = 0; slot < depth; ++slot) {
      const auto& [from, to] =
          kind == RdmaTaskKind::write ? std::pair{side.map, side.remote} : std::pair{side.remote, side.map};
      Buf* src = nullptr;
      Buf* dst = nullptr;
      require(inventory_->get_by_data(from, from->addr() + slot * size, size, src));
      require(inventory_->get_by_addr(to, to->addr() + slot * size, size, dst));
      RdmaTask*& task = idle_.emplace_back();
      require(kind == RdmaTaskKind::write ? side.rdma->write(*side.connection, src, dst, address_of(this), task)
                                          : side.rdma->read(*side.connection, src, dst, address_of(this), task));
    }
  }
  ~RdmaLoop() {
    for (RdmaTask* const task : idle_) {
      require(task->src_buf()->dec_refcount());
      require(task->dst_buf()->dec_refcount());
      require(task->free());
    }
  }
  RdmaLoop(const RdmaLoop&) = delete;
  RdmaLoop& operator=(const RdmaLoop&) = delete;

  /// count must be at least depth.
  void run(std::uint64_t count) {
    to_submit_ = count - idle_.size();
    const std::uint64_t end = completed_ + count;
    for (RdmaTask* const task : std::exchange(idle_, {})) {
      require(task->submit());
    }
    while (completed_ < end) {
      side_.pe->progress();
    }
  }

  static void completed(Task& done, std::uint64_t self, std::uint64_t /*context*/) noexcept {
    auto& loop = *std::bit_cast<RdmaLoop*>(self);
    auto& task = static_cast<RdmaTask&>(done);
    require(task.status());
    require(task.dst_buf()->reset_data_len());
    ++loop.completed_;
    if (loop.to_submit_ == 0) {
      loop.idle_.push_back(&task);
    } else {
      --loop.to_submit_;
      require(task.submit());
    }
  }

 private:
  Side& side_;
  std::shared_ptr<BufInventory> inventory_;
  std::vector<RdmaTask*> idle_;
  std::uint64_t to_submit_ = 0;
  std::uint64_t completed_ = 0;
};

class Bench {
 public:
  explicit Bench(const Peer& peer) {
    const Introduction theirs = receive(peer.fd());
    send(peer.fd(), side_.introduce());
    side_.meet(theirs);
  }

  std::vector<Figure> figures() {
    std::vector<Figure> all;
    all.push_back(figure("rdma write 4 KiB, 32 in flight, against memcpy", RdmaTaskKind::write,
                         Rule::cost_ratio_at_most, 1.5, 4 * ki, 32));
    all.push_back(figure("rdma write 4 KiB, 1 in flight, against memcpy", RdmaTaskKind::write, Rule::cost_ratio_at_most,
                         2, 4 * ki, 1));
    all.push_back(figure("rdma read 4 KiB, 32 in flight, against memcpy", RdmaTaskKind::read, Rule::cost_ratio_at_most,
                         1.5, 4 * ki, 32));
    all.push_back(figure("rdma write 64 B, 32 in flight, above memcpy", RdmaTaskKind::write, Rule::excess_ns_at_most,
                         60, 64, 32));
    all.push_back(figure("rdma write 64 KiB, 8 in flight, against memcpy", RdmaTaskKind::write,
                         Rule::cost_ratio_at_most, 1.1, 64 * ki, 8));
    all.push_back(figure("rdma read 64 KiB, 8 in flight, against memcpy", RdmaTaskKind::read, Rule::cost_ratio_at_most,
                         1.1, 64 * ki, 8));
    all.push_back(figure("rdma write 2 MiB, 8 in flight, against memcpy", RdmaTaskKind::write, Rule::cost_ratio_at_most,
                         1.1, 2 * mi, 8));
    return all;
  }

 private:
  Figure figure(std::string name, RdmaTaskKind kind, Rule rule, double target, std::size_t size, std::uint32_t depth) {
    auto loop = std::make_shared<RdmaLoop>(side_, kind, size, depth);
    return {std::move(name),
            rule,
            target,
            std::max<std::uint64_t>(depth, std::min<std::uint64_t>(4096, 16 * mi / size)),
            [loop](std::uint64_t units) { loop->run(units); },
            [this, size, depth](std::uint64_t units) {
              for (std::uint64_t i = 0; i < units; ++i) {
                std::memcpy(floor_->data() + i % depth * size, side_.memory->data() + i % depth * size, size);
                asm volatile("" : : "r"(floor_->data()) : "memory");
              }
            }};
  }

  Side side_{"pf0", RdmaLoop::completed, 128};
  std::shared_ptr<Memory> floor_ = Memory::allocate(memory_size);
};

}  // namespace
}  // namespace pydoca::benchmarks

int main(int argc, char** argv) {
  using namespace pydoca::benchmarks;
  return print_report(argc, argv, [](const Print& print) {
    const Peer peer;
    print(Bench(peer).figures());
  });
}
