// One figure of an RDMA operation between two processes, measured as perftest's ib_<operation>_lat and _bw do.
// usage: rdma_exchange write|read|send latency|bandwidth SIZE ITERATIONS [SERVER CLIENT [GID_INDEX]]
// Prints microseconds (the median; of a write and a send, half a round trip) or MiB/s. Unless told, the devices are two
// of the simulator's.
#include "pydoca/memory.hpp"
#include "pydoca/rdma.hpp"

#include "dma_loop.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace pydoca::benchmarks {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint32_t depth = 128;  // tasks in flight, as perftest has it
constexpr std::uint32_t reported_at_once = 32;
constexpr Access of_peers = Access::rdma_read | Access::rdma_write;

struct Order {
  std::string_view operation;
  bool is_latency = false;
  std::size_t size = 0;
  std::size_t iterations = 0;
  std::array<std::string, 2> devices{"pf0", "p1"};  ///< the server's, the client's
  std::uint32_t gid_index = 0;
};

/// The link by which the two processes exchange their addresses.
class Link {
 public:
  explicit Link(int socket) : socket_(socket) {}
  ~Link() { ::close(socket_); }
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  void send(std::span<const std::byte> message) {
    if (::send(socket_, message.data(), message.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(message.size())) {
      throw Error(Status::connection_reset, "benchmark: the other process has gone");
    }
  }
  std::vector<std::byte> receive() {
    std::vector<std::byte> message(1024);
    const ssize_t got = ::recv(socket_, message.data(), message.size(), 0);
    if (got <= 0) {
      throw Error(Status::connection_reset, "benchmark: the other process has gone");
    }
    message.resize(static_cast<std::size_t>(got));
    return message;
  }
  void meet() {
    send(std::array{std::byte{1}});
    receive();
  }

 private:
  int socket_;
};

/// One process's end: memory with one half for outgoing and one for incoming data, a context, a connection.
class Side {
 public:
  Side(const Order& order, const std::string& device, int socket)
      : order_(order),
        link_(socket),
        device_(Device::open(find_device(device))),
        memory_(Memory::allocate(2 * order.size)),
        out_(memory_->data()),
        in_(memory_->data() + order.size),
        mmap_(mapped(device_, memory_->data(), 2 * order.size, memory_, Access::local_read_write | of_peers)),
        pe_(ProgressEngine::create()),
        rdma_(Rdma::create(device_)),
        inventory_(BufInventory::create(std::size_t{4} * depth)) {
    std::memset(memory_->data(), 0, 2 * order.size);
    inventory_->start();
    configure();
    connect();
    make_tasks();
  }
  ~Side() {
    for (RdmaTask* const task : tasks_) {
      require(task->free());
    }
    // The peer leaves too, and its receives and connection end with it: nothing is awaited here.
  }
  Side(const Side&) = delete;
  Side& operator=(const Side&) = delete;

  double latency() {
    std::vector<double> rounds;
    link_.meet();
    for (std::size_t round = 1; round <= order_.iterations; ++round) {
      const auto begin = Clock::now();
      leads(round);
      rounds.push_back(std::chrono::duration<double, std::micro>(Clock::now() - begin).count());
    }
    link_.meet();
    std::ranges::nth_element(rounds, rounds.begin() + static_cast<std::ptrdiff_t>(rounds.size() / 2));
    return rounds[rounds.size() / 2] / (order_.operation == "read" ? 1 : 2);
  }

  double bandwidth() {
    link_.meet();
    const auto begin = Clock::now();
    to_submit_ = order_.iterations;
    for (RdmaTask* const task : tasks_) {
      submit_next(*task);
    }
    rdma_->flush_tasks();
    while (completed_ < order_.iterations) {
      if (pe_->drain(depth) > 0) {
        rdma_->flush_tasks();
      }
    }
    const std::chrono::duration<double> took = Clock::now() - begin;
    link_.meet();
    return static_cast<double>(order_.iterations * order_.size) / took.count() / (1 << 20);
  }

  /// The server's part in the client's measurement.
  void serve() {
    link_.meet();
    for (std::size_t round = 1; order_.is_latency && order_.operation != "read" && round <= order_.iterations;
         ++round) {
      follows(round);
    }
    while (!order_.is_latency && order_.operation == "send" && received_ < order_.iterations) {
      pe_->drain(depth);
    }
    link_.meet();
  }

 private:
  static Side& of(std::uint64_t user_data) { return *std::bit_cast<Side*>(user_data); }
  bool receives() const { return order_.operation == "send"; }

  RdmaTaskKind kind() const {
    if (order_.operation == "read") {
      return RdmaTaskKind::read;
    }
    return receives() ? RdmaTaskKind::send : RdmaTaskKind::write;
  }

  void configure() {
    rdma_->set_conf(kind(), completed, failed, depth);
    if (receives()) {
      rdma_->set_conf(RdmaTaskKind::receive, received, failed, 2 * depth);
    }
    rdma_->set_permissions(of_peers);
    rdma_->set_gid_index(order_.gid_index);
    rdma_->set_mtu(MtuSize::bytes_4096);
    rdma_->set_user_data(address_of(this));
    pe_->connect(rdma_);
    require(rdma_->start());
  }

  void connect() {
    connection_ = rdma_->export_connection();
    link_.send(connection_->details());
    rdma_->connect(link_.receive(), *connection_);
    while (!connection_->is_connected()) {
      pe_->progress();
    }
    link_.send(mmap_->export_rdma(*device_));
    remote_ = Mmap::create_from_export(device_, link_.receive());
  }

  void make_tasks() {
    const std::size_t wanted = order_.is_latency ? 1 : std::min<std::size_t>(depth, order_.iterations);
    for (std::size_t index = 0; index < wanted; ++index) {
      make_task(tasks_.emplace_back());
    }
    for (std::uint32_t index = 0; receives() && index < 2 * depth; ++index) {
      Buf* dst = nullptr;
      RdmaTask* task = nullptr;
      require(inventory_->get_by_addr(mmap_, mmap_->addr() + order_.size, order_.size, dst));
      require(rdma_->receive(dst, 0, task));
      require(task->submit());
    }
  }

  void make_task(RdmaTask*& task) {
    Buf* local = nullptr;
    Buf* remote = nullptr;
    if (order_.operation == "read") {
      require(inventory_->get_by_addr(mmap_, mmap_->addr() + order_.size, order_.size, local));
      require(inventory_->get_by_data(remote_, remote_->addr(), order_.size, remote));
      require(rdma_->read(*connection_, remote, local, 0, task));
      return;
    }
    require(inventory_->get_by_data(mmap_, mmap_->addr(), order_.size, local));
    if (receives()) {
      require(rdma_->send(*connection_, local, 0, task));
      return;
    }
    require(inventory_->get_by_addr(remote_, remote_->addr() + order_.size, order_.size, remote));
    require(rdma_->write(*connection_, local, remote, 0, task));
  }

  void leads(std::size_t round) {
    go(round);
    if (order_.operation != "read") {
      await(round);
    }
  }
  void follows(std::size_t round) {
    await(round);
    go(round);
  }

  /// One operation, until it is complete here.
  void go(std::size_t round) {
    const std::uint64_t end = completed_ + 1;
    out_[order_.size - 1] = static_cast<std::byte>(round);
    require(tasks_.front()->submit());
    while (completed_ < end) {
      pe_->progress();
    }
  }

  /// Waits for the peer's part of this round.
  void await(std::size_t round) {
    if (receives()) {
      while (received_ < round) {
        pe_->progress();
      }
      return;
    }
    const volatile std::byte& last = in_[order_.size - 1];
    while (last != static_cast<std::byte>(round)) {
    }
  }

  void submit_next(RdmaTask& task) {
    if (to_submit_ > 0) {
      --to_submit_;
      require(task.submit(to_submit_ % reported_at_once == 0 ? SubmitFlags::none : SubmitFlags::optimize_reports));
    }
  }

  static void completed(Task& done, std::uint64_t, std::uint64_t self) noexcept {
    auto& task = static_cast<RdmaTask&>(done);
    if (task.kind() == RdmaTaskKind::read) {
      require(task.dst_buf()->reset_data_len());
    }
    ++of(self).completed_;
    of(self).submit_next(task);
  }
  static void received(Task& done, std::uint64_t, std::uint64_t self) noexcept {
    auto& task = static_cast<RdmaTask&>(done);
    require(task.dst_buf()->reset_data_len());
    ++of(self).received_;
    require(task.submit());
  }
  static void failed(Task& task, std::uint64_t, std::uint64_t) noexcept {
    if (task.status() != Status::shutdown && task.status() != Status::connection_reset) {
      std::fprintf(stderr, "rdma_exchange: a task failed with %s\n", std::string(error_name(task.status())).c_str());
      std::_Exit(2);
    }
  }

  const Order& order_;
  Link link_;
  std::shared_ptr<Device> device_;
  std::shared_ptr<Memory> memory_;
  std::byte* out_;
  std::byte* in_;
  std::shared_ptr<Mmap> mmap_;
  std::shared_ptr<ProgressEngine> pe_;
  std::shared_ptr<Rdma> rdma_;
  std::shared_ptr<BufInventory> inventory_;
  std::shared_ptr<RdmaConnection> connection_;
  std::shared_ptr<Mmap> remote_;
  std::vector<RdmaTask*> tasks_;
  std::size_t to_submit_ = 0;
  std::size_t completed_ = 0;
  std::size_t received_ = 0;
};

double measure(const Order& order) {
  std::array<int, 2> sockets{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET, 0, sockets.data()) != 0) {
    throw Error(Status::operating_system, "benchmark: no socket");
  }
  const pid_t server = ::fork();
  if (server == 0) {
    ::close(sockets[1]);
    Side(order, order.devices[0], sockets[0]).serve();
    std::_Exit(0);
  }
  ::close(sockets[0]);
  Side client(order, order.devices[1], sockets[1]);
  const double figure = order.is_latency ? client.latency() : client.bandwidth();
  ::waitpid(server, nullptr, 0);
  return figure;
}

Order parse(std::span<char*> arguments) {
  if (arguments.size() < 5) {
    throw Error(Status::invalid_value, "usage: rdma_exchange write|read|send latency|bandwidth SIZE ITERATIONS ...");
  }
  Order order{.operation = arguments[1],
              .is_latency = std::string_view(arguments[2]) == "latency",
              .size = std::stoul(arguments[3]),
              .iterations = std::stoul(arguments[4])};
  if (arguments.size() > 6) {
    order.devices = {arguments[5], arguments[6]};
  }
  if (arguments.size() > 7) {
    order.gid_index = static_cast<std::uint32_t>(std::stoul(arguments[7]));
  }
  return order;
}

}  // namespace
}  // namespace pydoca::benchmarks

int main(int argc, char** argv) try {
  const auto order = pydoca::benchmarks::parse({argv, static_cast<std::size_t>(argc)});
  std::printf("%.3f\n", pydoca::benchmarks::measure(order));
  std::fflush(stdout);
  std::_Exit(0);  // connections end with the process
} catch (const pydoca::Error& error) {
  std::fprintf(stderr, "rdma_exchange: %s\n", error.what());
  return 1;
}
