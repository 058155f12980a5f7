// Loops in C beside the same ones of the engine in C++, in one process. Memory is malloc'd.
// usage: c_report [--json] [--check] [--repetitions N] [part of a name]
#include "pydoca/buf_inventory.hpp"
#include "pydoca/progress_engine.hpp"
#include "pydoca/sim.hpp"
#include "pydoca/sync_event.hpp"

#include "c/loops.h"
#include "c_floors.hpp"
#include "dma_loop.hpp"
#include "figure.hpp"
#include "print_report.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace pydoca::benchmarks {
namespace {

using Action = std::function<void(std::uint64_t units)>;

/// A loop in C: it is closed with the last copy of the action.
template <class Loop>
Action in_c(Loop* loop, void (*run)(Loop*, std::uint64_t), void (*close)(Loop*)) {
  return [kept = std::shared_ptr<Loop>(loop, close), run](std::uint64_t units) { run(kept.get(), units); };
}

template <class Loop, class... Arguments>
Action in_cpp(Arguments&&... arguments) {
  return
      [loop = std::make_shared<Loop>(std::forward<Arguments>(arguments)...)](std::uint64_t units) { loop->run(units); };
}

/// The copies of report's figures.
class Copies {
 public:
  explicit Copies(DmaLoop::Tasks tasks) : loop_(stage_.device, stage_.pe, half(0), half(1), task_size, depth, tasks) {}
  void run(std::uint64_t units) { loop_.run(units); }

 private:
  std::shared_ptr<Mmap> half(std::size_t number) {
    const std::size_t size = stage_.memory.size() / 2;
    return mapped(stage_.device, stage_.memory.data() + number * size, size);
  }

  Stage stage_;
  DmaLoop loop_;
};

class Bufs {
 public:
  void run(std::uint64_t units) {
    for (std::array<Buf*, depth> out{}; units >= depth; units -= depth) {
      for (std::size_t i = 0; i < depth; i += 2) {
        require(stage_.inventory->get_by_data(stage_.map, stage_.map->addr(), task_size, out[i]));
        require(stage_.inventory->get_by_addr(stage_.map, stage_.map->addr(), task_size, out[i + 1]));
      }
      for (Buf* const buf : out) {
        require(buf->dec_refcount());
      }
    }
  }

 private:
  Stage stage_;
};

class Event {
 public:
  Event() {
    event_->add_publisher_location_cpu(stage_.device);
    event_->add_subscriber_location_cpu(stage_.device);
    event_->start();
  }
  void run(std::uint64_t units) {
    for (std::uint64_t i = 0; i < units; ++i) {
      std::uint64_t value = 0;
      require(event_->update_set(i));
      require(event_->get(value));
      require(event_->wait_eq(value, ~std::uint64_t{0}, WaitMode::busy));
    }
  }

 private:
  Stage stage_;
  std::shared_ptr<SyncEvent> event_ = SyncEvent::create();
};

class Idle {
 public:
  void run(std::uint64_t units) {
    for (std::uint64_t i = 0; i < units; ++i) {
      stage_.pe->progress();
    }
  }

 private:
  Stage stage_;
};

/// above: the limit of the difference, in ns.
Figure figure(std::string name, double above, Action subject, Action floor) {
  return {std::move(name), Rule::excess_ns_at_most, above, 4096, std::move(subject), std::move(floor)};
}

/// The same of operations with system calls, which take microseconds. most: the limit of the ratio.
Figure ratio(std::string name, double most, Action subject, Action floor) {
  return {std::move(name), Rule::cost_ratio_at_most, most, 4096, std::move(subject), std::move(floor)};
}

std::vector<Figure> figures(Server& server) {
  const auto dma = [](bool is_fresh) { return in_c(c_dma_open(is_fresh), c_dma_run, c_dma_close); };
  return {
      figure("dma 64 B, 32 in flight, from C, above C++", 5, dma(false), in_cpp<Copies>(DmaLoop::Tasks::reused)),
      figure("dma 64 B, 32 in flight, task allocated and freed, from C, above C++", 10, dma(true),
             in_cpp<Copies>(DmaLoop::Tasks::fresh)),
      figure("sha256 of 64 B, 32 in flight, task allocated and freed, from C, above C++", 10,
             in_c(c_sha_open(), c_sha_run, c_sha_close), in_cpp<ShaLoop>()),
      ratio("rdma write 64 B, 32 in flight, task allocated and freed, from C, against C++", 1.05,
            in_c(c_rdma_open(), c_rdma_run, c_rdma_close), in_cpp<RdmaLoop>()),
      ratio("comch message of 64 B, task allocated and freed, from C, against C++", 1.1,
            in_c(c_comch_open(server.name(), Server::serve, &server), c_comch_run, c_comch_close),
            in_cpp<ComchLoop>(server)),
      figure("buf of an inventory, got and given back, from C, above C++", 5,
             in_c(c_buf_open(), c_buf_run, c_buf_close), in_cpp<Bufs>()),
      figure("sync event set, read and waited for, from C, above C++", 10,
             in_c(c_event_open(), c_event_run, c_event_close), in_cpp<Event>()),
      figure("progress of an engine that has nothing to do, from C, above C++", 5,
             in_c(c_idle_open(), c_idle_run, c_idle_close), in_cpp<Idle>()),
  };
}

}  // namespace
}  // namespace pydoca::benchmarks

int main(int argc, char** argv) {
  using namespace pydoca::benchmarks;
  return print_report(argc, argv, [](const Print& print) {
    pydoca::sim::set_topology(pydoca::sim::default_topology("bluefield2"));  // it has SHA
    Server server;
    print(figures(server));
  });
}
