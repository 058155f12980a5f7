#pragma once

#include "pydoca/context.hpp"
#include "pydoca/progress_engine.hpp"
#include "pydoca/status.hpp"
#include "pydoca/task.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace pydoca::detail {
class DeferredNodes;
class InstanceRun;
class OwnedInstance;
}  // namespace pydoca::detail

#pragma GCC visibility push(default)

namespace pydoca {

class Graph;
class GraphInstance;

/// A step of a graph (DOCA Core Programming Guide, graph: doca_graph_node). The graph owns it; an instance gives it
/// its data: a task, a cookie, or an instance of the sub-graph.
class GraphNode {
 public:
  enum class Type : std::uint8_t { context, user, graph };
  /// Runs in progress(), in the engine's thread, and must not call progress(). Any status but success fails the
  /// instance. The cookie may be a pointer.
  using User = Callback<Status(std::uint64_t cookie)>;

  virtual ~GraphNode() = default;
  GraphNode(const GraphNode&) = delete;
  GraphNode& operator=(const GraphNode&) = delete;

  Graph& graph() const noexcept { return *graph_; }
  /// Counts from 0, in the order of creation.
  std::uint32_t index() const noexcept { return index_; }
  Type type() const noexcept { return type_; }
  /// The context of a context node; null for others.
  const std::shared_ptr<Context>& context() const noexcept { return context_; }
  /// The graph of a graph node; null for others.
  const std::shared_ptr<Graph>& sub_graph() const noexcept { return sub_graph_; }
  /// The function of a user node; null for others.
  User user() const noexcept { return user_; }
  /// The nodes that start after this one, in the order of their dependencies' creation.
  const std::vector<GraphNode*>& successors() const noexcept { return successors_; }
  /// The nodes that must end before this one starts; 0: a root.
  std::uint32_t num_predecessors() const noexcept { return num_predecessors_; }
  /// "node 2 (dma)": for messages.
  std::string describe() const;

 protected:
  GraphNode(Graph& graph, std::uint32_t index, Type type) noexcept : graph_(&graph), index_(index), type_(type) {}

  Graph* graph_;
  std::shared_ptr<Context> context_;
  std::shared_ptr<Graph> sub_graph_;
  User user_ = nullptr;
  std::vector<GraphNode*> successors_;
  std::uint32_t num_predecessors_ = 0;
  std::uint32_t index_;
  Type type_;
};

/// Tasks and functions that run in the order of their dependencies (DOCA Core Programming Guide, graph: doca_graph).
/// A graph is the plan; an instance is one run of it, with data of its own; many may run at once, beside tasks of their
/// own on the same contexts.
///
/// | state | the caller may | it ends |
/// |---|---|---|
/// | stopped | configure, add nodes and dependencies, start, drop | by start() |
/// | started | create, submit and destroy instances, stop | by stop() |
///
/// Tasks that run as nodes do not call their own callbacks: the graph's callback ends the instance, in progress(). A
/// node that fails fails its instance: the nodes that run are awaited, no other starts, then comes the error callback.
/// A node whose queue is full (again) is tried once more in each progress().
///
/// Ownership: the graph holds its engine, its contexts and its sub-graphs, and owns nodes and instances. Dropping a
/// started graph ends its instances without callbacks; tasks of theirs that are in flight complete without callbacks.
///
/// Thread safety: the thread of the progress engine. Running an instance allocates nothing.
class Graph : public std::enable_shared_from_this<Graph> {
 public:
  /// Called by progress() when an instance has ended: it may be submitted again or destroyed, in the callback or later.
  /// It must not call progress().
  using Callback =
      pydoca::Callback<void(GraphInstance& instance, std::uint64_t instance_user_data, std::uint64_t graph_user_data)>;

  /// A stopped graph without nodes (doca_graph_create). Throws invalid_value for null.
  static std::shared_ptr<Graph> create(std::shared_ptr<ProgressEngine> engine);
  ~Graph();
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  // While stopped; each throws bad_state when started.

  /// The callbacks, which may be the same function, and how many instances may exist (doca_graph_set_conf). Needed
  /// before start(). Throws invalid_value for a null callback and for 0 instances.
  void set_conf(Callback on_success, Callback on_error, std::uint32_t num_instances);
  /// Any 64 bits, for the callbacks.
  void set_user_data(std::uint64_t data);
  std::uint64_t user_data() const noexcept { return user_data_; }

  /// Whether instances record when their nodes start and end; off unless set. It costs two looks at the clock a node.
  void set_timing(bool on);
  bool is_timed() const noexcept { return timed_; }

  /// A task of context (doca_graph_node_create_from_ctx). Throws invalid_value for null and for a context of another
  /// engine.
  GraphNode& node_from_context(std::shared_ptr<Context> context);
  /// A function (doca_graph_node_create_from_user). Throws invalid_value for null.
  GraphNode& node_from_user(GraphNode::User function);
  /// An instance of another graph (doca_graph_node_create_from_graph). Throws invalid_value for null and for a graph of
  /// another engine, not_permitted for this graph and for one of which it is a sub-graph, at any depth, bad_state
  /// unless sub_graph is started.
  GraphNode& node_from_graph(std::shared_ptr<Graph> sub_graph);
  /// Has to start when from has succeeded (doca_graph_add_dependency). Throws invalid_value for a node of another
  /// graph, already_exist when it was added before, not_permitted when to precedes from already: that would be a cycle.
  void add_dependency(GraphNode& from, GraphNode& to);

  /// Starts the graph, so that instances can be created (doca_graph_start). Throws invalid_value without set_conf(),
  /// bad_state when started, without a context node here or in a sub-graph, and unless all contexts run and all
  /// sub-graphs are started.
  void start();
  /// Instances are no longer created (doca_graph_stop); does nothing when stopped. Throws in_use while instances exist.
  void stop();
  bool is_started() const noexcept { return started_; }

  /// An instance, without data yet (doca_graph_instance_create). Throws bad_state unless started, no_memory when
  /// num_instances exist.
  GraphInstance& create_instance();
  std::size_t num_instances() const noexcept { return instances_.size(); }
  std::uint32_t max_instances() const noexcept { return max_instances_; }

  /// The nodes in the order of creation.
  const std::vector<std::unique_ptr<GraphNode>>& nodes() const noexcept { return nodes_; }
  const std::shared_ptr<ProgressEngine>& progress_engine() const noexcept { return engine_; }

 private:
  explicit Graph(std::shared_ptr<ProgressEngine> engine);
  /// Throws bad_state when started, naming what was attempted.
  void require_stopped(std::string_view what) const;
  bool has_context_node() const noexcept;
  void require_ready(const GraphNode& node) const;
  void flatten();

  std::shared_ptr<ProgressEngine> engine_;
  std::unique_ptr<detail::DeferredNodes> deferred_;
  std::vector<std::unique_ptr<GraphNode>> nodes_;
  std::vector<std::uint32_t> successors_;  ///< all nodes' successors by index, node after node; filled by start()
  std::vector<std::unique_ptr<detail::OwnedInstance>> instances_;
  Callback on_success_ = nullptr;
  Callback on_error_ = nullptr;
  std::uint64_t user_data_ = 0;
  std::uint32_t max_instances_ = 0;
  bool started_ = false;
  bool timed_ = false;
  bool is_sub_graph_ = false;  ///< has been added to another graph: only then can one contain it
};

/// One run of a graph, again and again (doca_graph_instance). The graph owns it, until destroy().
///
/// Thread safety: as its graph's. set_*_data() throw bad_state while it runs, invalid_value for a node of another
/// graph, not_permitted for a node of another type.
class GraphInstance {
 public:
  enum class NodeState : std::uint8_t { not_started, started, completed, error };
  /// Nanoseconds after the submission; 0: it has not come to that.
  struct NodeTimes {
    std::uint64_t started = 0;
    std::uint64_t ended = 0;
  };

  GraphInstance(const GraphInstance&) = delete;
  GraphInstance& operator=(const GraphInstance&) = delete;

  /// The task that the node runs (doca_graph_instance_set_ctx_node_data). It must stay allocated while the instance
  /// exists, and must not run in another instance at the same time. Throws not_permitted for another context's task.
  void set_task(const GraphNode& node, Task& task);
  /// What the node's function is given (doca_graph_instance_set_user_node_data); 0 unless set.
  void set_cookie(const GraphNode& node, std::uint64_t cookie);
  /// The instance that the node runs (doca_graph_instance_set_sub_graph_node_data). Throws not_permitted for an
  /// instance of another graph than the node's, in_use when it is running or is another node's.
  void set_instance(const GraphNode& node, GraphInstance& instance);

  /// Any 64 bits, for the callback. Throws in_use while it runs.
  void set_user_data(std::uint64_t data);
  std::uint64_t user_data() const noexcept { return user_data_; }

  /// Runs the graph once (doca_graph_instance_submit). success: a callback of the graph follows, in progress().
  /// After another status none follows: in_use while it runs and as another instance's sub-graph, invalid_value while a
  /// node has no data, bad_state in a forked child, not_permitted in another thread than the engine's, and when a root
  /// task could not be submitted before any other node had started, why.
  Status submit() noexcept;
  /// Ends the instance (doca_graph_instance_destroy). in_use while it runs and while another instance has it as its
  /// sub-graph.
  Status destroy() noexcept;

  bool is_running() const noexcept;
  Graph& graph() const noexcept { return *graph_; }
  /// The outcome of the last run: success, in_progress, or why the first node that failed did so.
  Status status() const noexcept;
  /// The first node that failed in the last run; null: none.
  const GraphNode* failed_node() const noexcept;
  /// The node's state in the last run.
  NodeState node_state(const GraphNode& node) const;
  /// The node's times in the last run. Throws not_permitted unless the graph is timed, invalid_value for a node of
  /// another graph.
  NodeTimes node_times(const GraphNode& node) const;
  /// Why submit() answered status, or the run failed with it: one sentence that names the node.
  std::string explain(Status status) const;

 protected:
  explicit GraphInstance(Graph& graph) noexcept;
  ~GraphInstance();

  std::unique_ptr<detail::InstanceRun> run_;

 private:
  /// Throws bad_state while it runs, invalid_value for another graph's node, not_permitted for another type's.
  void require_settable(std::string_view what, const GraphNode& node, GraphNode::Type type) const;
  void require_own(std::string_view what, const GraphNode& node) const;

  Graph* graph_;
  std::uint64_t user_data_ = 0;
};

}  // namespace pydoca

#pragma GCC visibility pop
