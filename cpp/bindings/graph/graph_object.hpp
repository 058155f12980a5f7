#pragma once

#include <pydoca/graph.hpp>

#include "convert/collectable.hpp"
#include "convert/pybind.hpp"
#include "engine/awaitable.hpp"
#include "engine/engine_object.hpp"
#include "task/unseen_failures.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace pydoca::bindings {

class InstanceObject;
class TaskObject;

/// A graph as Python has it. It keeps its engine, and what its nodes were made from: contexts, functions, graphs.
class GraphObject : NotCopied {
 public:
  struct Options {
    py::object on_completion;  ///< (instance, instance.user_data, graph.user_data)
    py::object on_error;       ///< the same, for instances that failed
    py::object user_data;
  };
  GraphObject(py::object engine, std::uint32_t num_instances, Options options);

  /// source: a Context, a Graph, or a function of one argument. Throws TypeError for other objects.
  GraphNode& add_node(const py::object& source);
  GraphNode& node(std::size_t index) const { return *graph_->nodes()[index]; }
  const py::object& source(const GraphNode& node) const { return sources_[node.index()]; }

  Graph& graph() const noexcept { return *graph_; }
  EngineObject& engine() const noexcept { return *engine_; }
  const py::object& engine_ref() const noexcept { return engine_ref_; }
  const Options& options() const noexcept { return options_; }
  void set_user_data(py::object data) { options_.user_data = std::move(data); }

  // A with block. leave() destroys the instances that do not run, and stops.
  void enter() { start(); }
  void close();
  void release_idle() noexcept;
  /// Destroys the instances whose awaits were cancelled, and which have ended: asyncio may keep such an await, and so
  /// the instance, until the loop's next turn. Returns whether there were any.
  bool reclaim_instances() noexcept;
  void start();
  void stop();

  void add_instance(InstanceObject& instance) { instances_.push_back(&instance); }
  void remove_instance(const InstanceObject& instance) noexcept { std::erase(instances_, &instance); }
  void each_reference(References& references);

 private:
  template <class Predicate>
  bool release_if(Predicate wanted) noexcept;

  py::object engine_ref_;
  EngineObject* engine_;
  std::shared_ptr<Graph> graph_;
  std::vector<py::object> sources_;  ///< indexed by the node
  std::vector<InstanceObject*> instances_;
  Options options_;
};

/// A node, by its graph and index; two with the same are equal.
struct NodeObject {
  py::object graph_ref;
  GraphNode* node;

  GraphObject& graph() const { return graph_ref.cast<GraphObject&>(); }
  void each_reference(References& references) const { references.keep(graph_ref); }
};

/// One run of a graph. The engine has a reference to a running instance, as it has to tasks in flight.
class InstanceObject final : public Awaitable, public Unseen {
 public:
  /// The Python object of a new instance.
  static py::object create(py::object graph);
  explicit InstanceObject(py::object graph);
  ~InstanceObject() override;

  void set_data(const NodeObject& node, py::object data);
  /// None unless set.
  const py::object& data(const NodeObject& node) const;
  void submit();
  void destroy();

  bool is_destroyed() const noexcept { return instance_ == nullptr; }
  /// Throws bad_state when it is destroyed.
  GraphInstance& instance() const;
  const py::object& graph_ref() const noexcept { return graph_ref_; }
  GraphObject& graph() const noexcept { return *graph_; }
  const py::object& user_data() const noexcept { return user_data_; }
  void set_user_data(py::object data) { user_data_ = std::move(data); }

  EngineObject& engine() override { return graph_->engine(); }
  Waiters& waiters() override { return waiters_; }
  bool ready() override { return is_destroyed() || !instance_->is_running(); }
  /// The instance; throws the exception of a function that failed, or the failure of the last run.
  py::object take() override;
  /// The caller has asked for the outcome, and does not want it any more.
  void give_up() override;
  /// Whether its nodes' tasks lend memory, also those that wait for others.
  bool lends_memory() const override;
  /// Once it has ended, another instance may take its place, and other tasks the slots of its tasks; until it is
  /// submitted again.
  void abandon() override;
  bool quarantine() override;
  std::string_view what() const override { return "wait for a graph"; }

  /// The exception of the last run, or None, which a display shows. To look does not count as asking for the outcome.
  py::object shown_failure() const;
  /// The collector may be about to drop the exception that the report shows.
  void finalize() noexcept { report_unseen(); }

  /// The graph's callback.
  static void ended(GraphInstance& instance, std::uint64_t self, std::uint64_t graph) noexcept;
  void each_reference(References& references);

 private:
  void log_failure() const override;
  bool is_inherited() const noexcept override;
  /// What a function of the graph is called with: the cookie of its node points to it.
  struct Call {
    InstanceObject* instance;
    std::size_t node;
  };
  /// What join() and leave() need of a node, without a look into its data.
  struct Member {
    TaskObject* task = nullptr;      ///< the task of a context's node
    InstanceObject* part = nullptr;  ///< the instance of a graph's node
  };
  friend class GraphObject;

  void abandon_tasks();
  void give_back();
  static GraphInstance& make_instance(GraphObject& graph);
  static Status call_function(std::uint64_t cookie) noexcept;
  Status call_node(std::size_t node) noexcept;
  Status outcome(std::size_t node) const;
  /// Its tasks, and those of its parts, are in flight from now on.
  void join();
  /// succeeded: every node has.
  void leave(bool succeeded);
  /// Takes back join() for the first num_nodes.
  void forget(std::size_t num_nodes) noexcept;
  void end();
  void note_failure();
  /// The exception of the last run, which failed.
  py::object failure() const;

  py::object graph_ref_;
  GraphObject* graph_;
  GraphInstance* instance_;
  py::handle self_;  ///< the Python object of this
  // These are indexed by the node.
  std::vector<py::object> data_;
  std::vector<Member> members_;
  std::vector<Call> calls_;
  Waiters waiters_;
  InFlightReference running_;  ///< refers to self_
  py::object error_;           ///< the exception of a function, in the last run
  bool abandoned_ = false;     ///< a wait is over: a failure needs no message
  bool given_up_ = false;      ///< an await was cancelled
  py::object user_data_ = py::none();
};

}  // namespace pydoca::bindings
