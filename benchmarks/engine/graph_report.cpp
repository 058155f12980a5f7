// Every figure of graphs beside its floor. usage: graph_report [--json] [--check] [--repetitions N] [part of a name]
#include "pydoca/graph.hpp"
#include "pydoca/memory.hpp"

#include "dma_loop.hpp"
#include "figure.hpp"
#include "print_report.hpp"

#include <bit>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#ifdef PYDOCA_HAS_TBB
#include <tbb/flow_graph.h>
#include <tbb/global_control.h>
#endif

namespace pydoca::benchmarks {
namespace {

constexpr std::size_t size = 64;  ///< bytes of a copy
enum class Shape : std::uint8_t { chain, fan };

/// Tasks that copy 64 bytes, on an engine of their own.
class Copies {
 public:
  explicit Copies(std::uint32_t count)
      : device_(Device::open(find_device("p0", Side::dpu))),
        memory_(Memory::allocate(std::size_t{2} * count * size)),
        map_(mapped(device_, memory_->data(), memory_->size(), memory_)),
        dma_(Dma::create(device_)),
        inventory_(BufInventory::create(std::size_t{2} * count)) {
    inventory_->start();
    dma_->set_memcpy_conf(completed, failed, count);
    dma_->set_user_data(address_of(this));
    pe_->connect(dma_);
    require(dma_->start());
    for (std::uint32_t i = 0; i < count; ++i) {
      Buf* from = nullptr;
      Buf* to = nullptr;
      require(inventory_->get_by_data(map_, map_->addr() + 2 * i * size, size, from));
      require(inventory_->get_by_addr(map_, map_->addr() + (2 * i + 1) * size, size, to));
      require(dma_->memcpy(from, to, i, tasks_.emplace_back()));
    }
  }
  ~Copies() {
    for (DmaMemcpyTask* const task : tasks_) {
      require(task->src()->dec_refcount());
      require(task->dst()->dec_refcount());
      require(task->free());
    }
    require(dma_->stop());
  }
  Copies(const Copies&) = delete;
  Copies& operator=(const Copies&) = delete;

  const std::shared_ptr<ProgressEngine>& pe() const { return pe_; }
  const std::shared_ptr<Dma>& dma() const { return dma_; }
  const std::vector<DmaMemcpyTask*>& tasks() const { return tasks_; }
  void empty_destinations() const {
    for (const DmaMemcpyTask* const task : tasks_) {
      require(task->dst()->reset_data_len());
    }
  }

  /// The floor: the tasks one after the other, or all at once, without a graph.
  void run(std::uint64_t count, Shape shape) {
    for (; count > 0; count -= tasks_.size()) {
      empty_destinations();
      completed_ = 0;
      chained_ = shape == Shape::chain;
      for (std::size_t i = 0; i < (chained_ ? 1 : tasks_.size()); ++i) {
        require(tasks_[i]->try_submit());
      }
      while (completed_ < tasks_.size()) {
        pe_->progress();
      }
    }
  }

 private:
  static void completed(Task&, std::uint64_t index, std::uint64_t self) noexcept {
    auto& copies = *std::bit_cast<Copies*>(self);
    ++copies.completed_;
    if (copies.chained_ && index + 1 < copies.tasks_.size()) {
      require(copies.tasks_[index + 1]->try_submit());
    }
  }
  [[noreturn]] static void failed(Task&, std::uint64_t, std::uint64_t) noexcept { std::abort(); }

  std::shared_ptr<ProgressEngine> pe_ = ProgressEngine::create();
  std::shared_ptr<Device> device_;
  std::shared_ptr<Memory> memory_;
  std::shared_ptr<Mmap> map_;
  std::shared_ptr<Dma> dma_;
  std::shared_ptr<BufInventory> inventory_;
  std::vector<DmaMemcpyTask*> tasks_;
  std::size_t completed_ = 0;
  bool chained_ = false;
};

Status step(std::uint64_t counter) noexcept {
  auto& count = *std::bit_cast<volatile std::uint64_t*>(counter);
  count = count + 1;
  return Status::success;
}

/// A graph of one node per copy, and of functions after the last one.
class GraphLoop {
 public:
  GraphLoop(Copies& copies, Shape shape, std::uint32_t num_functions) : graph_(Graph::create(copies.pe())) {
    graph_->set_conf(ended, failed, 1);
    graph_->set_user_data(address_of(this));
    std::vector<GraphNode*> nodes;
    for (std::size_t i = 0; i < copies.tasks().size(); ++i) {
      nodes.push_back(&graph_->node_from_context(copies.dma()));
      if (shape == Shape::chain && i > 0) {
        graph_->add_dependency(*nodes[i - 1], *nodes[i]);
      }
    }
    for (std::uint32_t i = 0; i < num_functions; ++i) {
      GraphNode* const previous = nodes.back();
      graph_->add_dependency(*previous, *nodes.emplace_back(&graph_->node_from_user(step)));
    }
    graph_->start();
    instance_ = &graph_->create_instance();
    for (std::size_t i = 0; i < copies.tasks().size(); ++i) {
      instance_->set_task(*nodes[i], *copies.tasks()[i]);
    }
    for (std::size_t i = copies.tasks().size(); i < nodes.size(); ++i) {
      instance_->set_cookie(*nodes[i], address_of(&steps));
    }
  }
  void run(const Copies& copies) {
    copies.empty_destinations();
    ended_ = false;
    require(instance_->submit());
    while (!ended_) {
      copies.pe()->progress();
    }
  }

  std::uint64_t steps = 0;

 private:
  static void ended(GraphInstance&, std::uint64_t, std::uint64_t self) noexcept {
    std::bit_cast<GraphLoop*>(self)->ended_ = true;
  }
  [[noreturn]] static void failed(GraphInstance&, std::uint64_t, std::uint64_t) noexcept { std::abort(); }

  std::shared_ptr<Graph> graph_;
  GraphInstance* instance_ = nullptr;
  bool ended_ = false;
};

/// ns above the same tasks without a graph, a node.
Figure copies_figure(std::string name, Shape shape, std::uint32_t count) {
  const auto copies = std::make_shared<Copies>(count);
  const auto graph = std::make_shared<GraphLoop>(*copies, shape, 0);
  return {std::move(name),
          Rule::excess_ns_at_most,
          10,
          std::uint64_t{16384},
          [copies, graph](std::uint64_t units) {
            for (; units > 0; units -= copies->tasks().size()) {
              graph->run(*copies);
            }
          },
          [copies, shape](std::uint64_t units) { copies->run(units, shape); }};
}

/// ns above the bare call of a function, a node; the one copy of the graph is divided among many functions.
Figure functions_figure(std::string name, std::uint32_t count) {
  const auto copies = std::make_shared<Copies>(1);
  const auto graph = std::make_shared<GraphLoop>(*copies, Shape::chain, count);
  return {std::move(name),
          Rule::excess_ns_at_most,
          10,
          std::uint64_t{65536},
          [copies, graph, count](std::uint64_t units) {
            for (; units > 0; units -= count) {
              graph->run(*copies);
            }
          },
          [copies, graph](std::uint64_t units) {
            GraphNode::User::Raw volatile function = step;
            for (; units > 0; --units) {
              require(function(address_of(&graph->steps)));
            }
          }};
}

#ifdef PYDOCA_HAS_TBB
/// A chain of functions in oneTBB's flow graph, with one thread, which is its best case.
class TbbChain {
 public:
  explicit TbbChain(std::uint32_t count) {
    for (std::uint32_t i = 0; i < count; ++i) {
      nodes_.push_back(std::make_unique<Node>(graph_, [this](const tbb::flow::continue_msg& message) {
        require(step(address_of(&steps_)));
        return message;
      }));
      if (i > 0) {
        tbb::flow::make_edge(*nodes_[i - 1], *nodes_[i]);
      }
    }
  }
  void run() {
    nodes_.front()->try_put(tbb::flow::continue_msg());
    graph_.wait_for_all();
  }

 private:
  using Node = tbb::flow::continue_node<tbb::flow::continue_msg>;

  tbb::global_control one_thread_{tbb::global_control::max_allowed_parallelism, 1};
  tbb::flow::graph graph_;
  std::vector<std::unique_ptr<Node>> nodes_;
  std::uint64_t steps_ = 0;
};

Figure tbb_figure(std::string name, std::uint32_t count) {
  const auto copies = std::make_shared<Copies>(1);
  const auto graph = std::make_shared<GraphLoop>(*copies, Shape::chain, count);
  return {std::move(name),
          Rule::cost_ratio_at_most,
          1,
          std::uint64_t{65536},
          [copies, graph, count](std::uint64_t units) {
            for (; units > 0; units -= count) {
              graph->run(*copies);
            }
          },
          [chain = std::make_shared<TbbChain>(count), count](std::uint64_t units) {
            for (; units > 0; units -= count) {
              chain->run();
            }
          }};
}
#endif

}  // namespace
}  // namespace pydoca::benchmarks

int main(int argc, char** argv) {
  using namespace pydoca::benchmarks;
  return print_report(argc, argv, [](const Print& print) {
    print({copies_figure("graph of 4 copies of 64 B in a chain, a node, above the tasks alone", Shape::chain, 4),
           copies_figure("graph of 16 copies of 64 B side by side, a node, above the tasks alone", Shape::fan, 16),
           functions_figure("graph of 256 functions in a chain, a node, above their calls", 256)});
#ifdef PYDOCA_HAS_TBB
    print({tbb_figure("graph of 256 functions in a chain, against oneTBB's flow graph", 256)});
#else
    std::fputs("not measured: what stands beside oneTBB (libtbb-dev), which was not there to build with\n", stderr);
#endif
  });
}
