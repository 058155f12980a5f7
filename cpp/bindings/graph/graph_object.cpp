#include "graph/graph_object.hpp"

#include <pydoca/log.hpp>

#include "call/raw_method.hpp"
#include "convert/convert.hpp"
#include "convert/python.hpp"
#include "task/context_object.hpp"
#include "task/task_object.hpp"

#include <algorithm>
#include <utility>

namespace pydoca::bindings {

GraphObject::GraphObject(py::object engine, std::uint32_t num_instances, Options options)
    : engine_ref_(std::move(engine)),
      engine_(&to_engine(engine_ref_)),
      graph_(Graph::create(engine_->engine().shared_from_this())),
      options_(std::move(options)) {
  require_callback(options_.on_completion, "on_completion");
  require_callback(options_.on_error, "on_error");
  graph_->set_conf(InstanceObject::ended, InstanceObject::ended, num_instances);
}

GraphNode& GraphObject::add_node(const py::object& source) {
  engine_->require_thread("add a node to a graph");
  GraphNode* node = nullptr;
  if (py::isinstance<ContextObject>(source)) {
    node = &graph_->node_from_context(
        std::static_pointer_cast<Context>(source.cast<ContextObject&>().context().shared_from_this()));
  } else if (py::isinstance<GraphObject>(source)) {
    node = &graph_->node_from_graph(source.cast<GraphObject&>().graph_);
  } else if (PyCallable_Check(source.ptr()) != 0) {
    require_plain_function("node", source);
    node = &graph_->node_from_user(&InstanceObject::call_function);
  } else {
    throw py::type_error("node: give a context, a graph or a function of one argument, not " + type_name(source));
  }
  sources_.push_back(source);
  return *node;
}

void GraphObject::start() {
  engine_->require_open("start graph");
  graph_->start();
}

void GraphObject::stop() {
  engine_->require_thread("stop graph");
  graph_->stop();
}

void GraphObject::close() { stop(); }

void GraphObject::release_idle() noexcept {
  release_if([](const InstanceObject&) { return true; });
}

bool GraphObject::reclaim_instances() noexcept {
  return release_if([](const InstanceObject& instance) { return instance.given_up_; });
}

template <class Predicate>
bool GraphObject::release_if(Predicate wanted) noexcept {
  const std::size_t before = instances_.size();
  for (InstanceObject* const instance : std::vector(instances_)) {
    if (!wanted(*instance)) continue;
    instance->report_unseen();
    if (instance->instance_ != nullptr && instance->instance_->destroy() == Status::success) {
      instance->instance_ = nullptr;
      remove_instance(*instance);
    }
  }
  return instances_.size() != before;
}

void GraphObject::each_reference(References& references) {
  references.keep(engine_ref_);
  references.drop_all(sources_);
  references.drop(options_.on_completion, options_.on_error, options_.user_data);
}

py::object InstanceObject::create(py::object graph) {
  py::object made = py::cast(std::make_shared<InstanceObject>(std::move(graph)));
  made.cast<InstanceObject&>().self_ = made;
  return made;
}

GraphInstance& InstanceObject::make_instance(GraphObject& graph) {
  try {
    return graph.graph().create_instance();
  } catch (const Error& error) {
    if (error.status() != Status::no_memory || !graph.reclaim_instances()) throw;
    return graph.graph().create_instance();
  }
}

InstanceObject::InstanceObject(py::object graph)
    : graph_ref_(std::move(graph)), graph_(&graph_ref_.cast<GraphObject&>()) {
  graph_->engine().require_thread("create graph instance");
  const std::size_t num_nodes = graph_->graph().nodes().size();
  data_.resize(num_nodes, py::none());
  members_.resize(num_nodes);
  calls_.resize(num_nodes);
  instance_ = &make_instance(*graph_);
  instance_->set_user_data(reinterpret_cast<std::uintptr_t>(this));
  graph_->add_instance(*this);
  for (std::size_t node = 0; node < num_nodes; ++node) {
    calls_[node] = {this, node};
    if (graph_->node(node).type() == GraphNode::Type::user) {
      instance_->set_cookie(graph_->node(node), reinterpret_cast<std::uintptr_t>(&calls_[node]));
    }
  }
}

InstanceObject::~InstanceObject() {
  report_unseen();
  if (instance_ != nullptr) {
    graph_->remove_instance(*this);
    static_cast<void>(instance_->destroy());
  }
}

GraphInstance& InstanceObject::instance() const {
  if (instance_ == nullptr) {
    raise(
        Status::bad_state,
        "graph instance: it is destroyed, by destroy(), at the end of its graph's with block, or for another instance "
        "once its await was cancelled");
  }
  return *instance_;
}

void InstanceObject::set_data(const NodeObject& node, py::object data) {
  GraphInstance& mine = instance();
  Member member;
  switch (node.node->type()) {
    case GraphNode::Type::context: {
      if (!py::isinstance<TaskObject>(data)) {
        throw py::type_error(node.node->describe() + " runs a task, not " + type_name(data));
      }
      member.task = &object_of<TaskObject>(data.ptr());
      Task* const slot = member.task->slot();
      if (slot == nullptr) raise(Status::bad_state, node.node->describe() + ": the task is freed; make a new one");
      mine.set_task(*node.node, *slot);
      break;
    }
    case GraphNode::Type::graph:
      if (!py::isinstance<InstanceObject>(data)) {
        throw py::type_error(node.node->describe() + " runs an instance of its graph, not " + type_name(data));
      }
      member.part = &object_of<InstanceObject>(data.ptr());
      mine.set_instance(*node.node, member.part->instance());
      break;
    default:
      if (mine.is_running()) raise(Status::bad_state, "set data: the instance is running; wait for its end");
      if (&node.node->graph() != &mine.graph()) {
        raise(Status::invalid_value, "set data: " + node.node->describe() + " is a node of another graph");
      }
  }
  members_[node.node->index()] = member;
  data_[node.node->index()] = std::move(data);
}

const py::object& InstanceObject::data(const NodeObject& node) const {
  if (&node.node->graph() != &graph_->graph()) {
    raise(Status::invalid_value, "graph instance: " + node.node->describe() + " is a node of another graph");
  }
  return data_[node.node->index()];
}

void InstanceObject::join() {
  error_ = py::object();
  std::size_t joined = 0;
  try {
    for (; joined < data_.size(); ++joined) {
      const auto [task, part] = members_[joined];
      if (task != nullptr) task->join_graph();
      if (part != nullptr) part->join();
    }
  } catch (...) {
    forget(joined);
    throw;
  }
}

void InstanceObject::forget(std::size_t num_nodes) noexcept {
  for (std::size_t node = 0; node < num_nodes; ++node) {
    const auto [task, part] = members_[node];
    if (task != nullptr) task->forget_graph();
    if (part != nullptr) part->forget(part->data_.size());
  }
}

/// The outcome of a node's task. A task that was never submitted has the status of an earlier run.
Status InstanceObject::outcome(std::size_t node) const {
  const GraphNode& its_node = graph_->node(node);
  if (instance_->failed_node() == &its_node) {
    return instance_->status();
  }
  const bool has_run = instance_->node_state(its_node) != GraphInstance::NodeState::not_started;
  return has_run ? members_[node].task->slot()->status() : Status::shutdown;
}

void InstanceObject::leave(bool succeeded) {
  for (std::size_t node = 0; node < data_.size(); ++node) {
    const auto [task, part] = members_[node];
    if (task != nullptr) task->leave_graph(succeeded ? Status::success : outcome(node));
    if (part != nullptr) part->leave(succeeded);
  }
}

void InstanceObject::submit() {
  GraphInstance& mine = instance();
  engine().require_open("submit graph instance");
  report_unseen();
  Status status = mine.is_running() ? Status::in_use : Status::success;
  if (status == Status::success) {
    join();
    status = mine.submit();
    if (status != Status::success) forget(data_.size());
  }
  if (status != Status::success) raise(status, "submit graph instance: " + mine.explain(status));
  abandoned_ = given_up_ = false;
  running_.hold(engine(), py::reinterpret_borrow<py::object>(self_));
}

void InstanceObject::destroy() {
  GraphInstance& mine = instance();
  engine().require_thread("destroy graph instance");
  report_unseen();
  const Status status = mine.destroy();
  if (status != Status::success) raise(status, "destroy graph instance: " + mine.explain(status));
  instance_ = nullptr;
  graph_->remove_instance(*this);
  give_back();
}

/// Whoever keeps the instance does not keep the tasks of its nodes, nor their slots.
void InstanceObject::give_back() {
  std::ranges::fill(members_, Member{});
  const auto dropped = std::exchange(data_, std::vector(data_.size(), py::object(py::none())));
}

void InstanceObject::ended(GraphInstance& instance, std::uint64_t, std::uint64_t) noexcept {
  auto& self = *reinterpret_cast<InstanceObject*>(static_cast<std::uintptr_t>(instance.user_data()));
  EngineObject& engine = self.engine();
  py::object mine = self.running_.release();
  try {
    self.end();
  } catch (py::error_already_set& error) {
    engine.collect(error, mine);
  }
  engine.keep(std::move(mine));
}

void InstanceObject::end() {
  const bool failed = instance_->status() != Status::success;
  leave(!failed);
  if (failed) note_failure();
  waiters_.wake(engine(), py::none());
  const GraphObject::Options& options = graph_->options();
  const py::object& callback = failed ? options.on_error : options.on_completion;
  if (!callback.is_none()) {
    const auto self = py::reinterpret_borrow<py::object>(self_);
    engine().call(callback, self, self, user_data_, options.user_data);
  }
}

py::object InstanceObject::take() {
  mark_seen();
  if (instance().status() != Status::success) raise(failure());
  return py::reinterpret_borrow<py::object>(self_);
}

void InstanceObject::give_up() {
  abandoned_ = true;
  mark_seen();
}

bool InstanceObject::lends_memory() const {
  return std::ranges::any_of(members_, [](const Member& member) {
    return (member.task != nullptr && member.task->in_flight() && member.task->lends_memory()) ||
           (member.part != nullptr && member.part->lends_memory());
  });
}

void InstanceObject::abandon() {
  given_up_ = true;
  abandon_tasks();
}

void InstanceObject::abandon_tasks() {
  for (const auto [task, part] : members_) {
    if (task != nullptr) task->abandon();
    if (part != nullptr) part->abandon_tasks();
  }
}

bool InstanceObject::quarantine() {
  bool any = false;
  for (const auto [task, part] : members_) {
    any |= task != nullptr && task->quarantine();
    any |= part != nullptr && part->quarantine();
  }
  return any;
}

/// A flushed task is a consequence of a stop.
void InstanceObject::note_failure() {
  if (abandoned_ || instance_->status() == Status::shutdown || !graph_->options().on_error.is_none()) return;
  expect_question();
}

void InstanceObject::log_failure() const {
  const auto text = py::str("an instance of a graph failed, and no code asked for its outcome: {!r}").format(failure());
  log::engine(log::Level::error, "graph", text.cast<std::string>());
}

bool InstanceObject::is_inherited() const noexcept { return graph_->engine().engine().is_inherited(); }

py::object InstanceObject::shown_failure() const {
  return instance().failed_node() != nullptr ? failure() : py::none();
}

py::object InstanceObject::failure() const {
  if (error_) return error_;
  const GraphNode* const node = instance_->failed_node();
  const TaskObject* const failed = node != nullptr ? members_[node->index()].task : nullptr;
  const Status status = instance_->status();
  if (failed != nullptr) {
    // The operands may have changed since the failure: the task has the explanation of that time.
    py::object error = data_[node->index()].cast<TaskObject&>().outcome();
    if (!error.is_none()) return error;
  }
  return to_exception(status, "graph: " + instance_->explain(status));
}

Status InstanceObject::call_function(std::uint64_t cookie) noexcept {
  const Call& call = *reinterpret_cast<const Call*>(static_cast<std::uintptr_t>(cookie));
  return call.instance->call_node(call.node);
}

Status InstanceObject::call_node(std::size_t node) noexcept {
  if (engine().is_silent()) return Status::shutdown;
  try {
    const py::object function = graph_->source(graph_->node(node));
    const py::object answer = function(data_[node]);
    if (py::isinstance(answer, py::type::of(to_status(Status::success)))) {
      return static_cast<Status>(answer.cast<int>());
    }
    return Status::success;
  } catch (py::error_already_set& error) {
    error_ = error.value();
    return Status::unexpected;
  }
}

void InstanceObject::each_reference(References& references) {
  references.keep(graph_ref_);
  references.drop_all(data_);
  references.drop(user_data_);
  references.reset(error_);
  waiters_.each_reference(references);
}

}  // namespace pydoca::bindings
