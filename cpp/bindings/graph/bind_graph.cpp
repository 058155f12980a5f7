#include <pydoca/graph.hpp>

#include "call/raw_method.hpp"
#include "call/scope.hpp"
#include "convert/bindings.hpp"
#include "convert/collectable.hpp"
#include "convert/convert.hpp"
#include "convert/parse.hpp"
#include "graph/graph_object.hpp"

#include <pybind11/native_enum.h>

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

namespace pydoca::bindings {

namespace {

using NodeState = GraphInstance::NodeState;

void bind_node_state(py::module_& module) {
  py::native_enum<NodeState>(module, "GraphNodeState", "enum.IntEnum", "How far a node has got in a run.")
      .value("NOT_STARTED", NodeState::not_started)
      .value("STARTED", NodeState::started)
      .value("COMPLETED", NodeState::completed)
      .value("ERROR", NodeState::error)
      .finalize();
}

std::string type_of(const NodeObject& self) {
  constexpr std::array names{"context", "user", "graph"};
  return names[static_cast<std::size_t>(self.node->type())];
}

NodeObject node_of(const py::object& graph, GraphNode& node) { return {graph, &node}; }

void bind_node(py::module_& module) {
  const auto is_equal = [](const NodeObject& self, const py::object& other) {
    return py::isinstance<NodeObject>(other) && other.cast<const NodeObject&>().node == self.node;
  };
  const auto successors = [](const NodeObject& self) {
    py::list list;
    for (GraphNode* const node : self.node->successors()) list.append(node_of(self.graph_ref, *node));
    return list;
  };
  py::classh<NodeObject>(module, "GraphNode", "A step of a graph; Graph.node() makes it. Nodes are keys of mappings.",
                         collectable<NodeObject>())
      .def_property_readonly(
          "graph", [](const NodeObject& self) { return self.graph_ref; }, "The Graph of the node.")
      .def_property_readonly(
          "index", [](const NodeObject& self) { return self.node->index(); }, "Its place in Graph.nodes.")
      .def_property_readonly("type", &type_of, "\"context\", \"user\" or \"graph\".")
      .def_property_readonly(
          "source", [](const NodeObject& self) { return self.graph().source(*self.node); },
          "What it was made from: the context, the function or the graph.")
      .def_property_readonly("successors", successors, "The nodes that depend on this one.")
      .def("__eq__", is_equal, "other"_a)
      .def("__hash__", [](const NodeObject& self) { return reinterpret_cast<std::uintptr_t>(self.node) >> 4U; })
      .def("__repr__", [](const NodeObject& self) { return "<pydoca.GraphNode, " + self.node->describe() + ">"; });
  made_by(module, "GraphNode", "Graph.node()");
}

std::shared_ptr<GraphObject> new_graph(py::object pe, const py::object& num_instances, py::object on_completion,
                                       py::object on_error, py::object user_data, bool timing) {
  GraphObject::Options options{std::move(on_completion), std::move(on_error), std::move(user_data)};
  auto graph =
      std::make_shared<GraphObject>(std::move(pe), to_u32(num_instances, "num_instances", 1), std::move(options));
  graph->graph().set_timing(timing);
  return graph;
}

void add_dependency(GraphObject& self, const NodeObject& from, const NodeObject& to) {
  self.engine().require_thread("add dependency");
  self.graph().add_dependency(*from.node, *to.node);
}

NodeObject add_node(const py::object& graph, const py::object& source, const py::iterable& after) {
  auto& self = graph.cast<GraphObject&>();
  NodeObject node = node_of(graph, self.add_node(source));
  for (const py::handle before : after) add_dependency(self, before.cast<const NodeObject&>(), node);
  return node;
}

py::object create_instance(const py::object& graph, const py::object& data) {
  py::object instance = InstanceObject::create(graph);
  if (!data.is_none()) {
    auto& made = instance.cast<InstanceObject&>();
    for (const auto& [node, its_data] : py::dict(data)) {
      made.set_data(node.cast<const NodeObject&>(), py::reinterpret_borrow<py::object>(its_data));
    }
  }
  return instance;
}

py::object run(const py::object& graph, const py::object& data) {
  py::object instance = create_instance(graph, data);
  instance.cast<InstanceObject&>().submit();
  return instance;
}

void bind_graph_nodes(py::classh<GraphObject>& type) {
  type.def("node", &add_node, "source"_a, py::kw_only(), "after"_a = py::tuple(),
           "Adds a node. source: a context, of which it will run a task; a function of one argument; or a started\n"
           "graph. after: the nodes that must succeed before it starts. A function runs in progress() and gets its\n"
           "cookie; an exception, or a Status that is not SUCCESS, fails the instance. Raises BadStateError when\n"
           "the graph is started, InvalidValueError for a context or graph of another engine,\n"
           "NotPermittedError for the graph itself and for a graph of which it is a sub-graph, at any depth\n"
           "(doca_graph_node_create_from_ctx, _user, _graph).")
      .def("add_dependency", &add_dependency, "from_"_a, "to"_a,
           "to starts when from_ has succeeded. Raises NotPermittedError for a cycle, AlreadyExistError for a\n"
           "dependency that exists, InvalidValueError for a node of another graph (doca_graph_add_dependency).")
      .def_property_readonly(
          "nodes",
          [](const py::object& self) {
            py::list list;
            for (const auto& node : self.cast<GraphObject&>().graph().nodes()) list.append(node_of(self, *node));
            return list;
          },
          "Every GraphNode, in the order of creation.");
}

void bind_graph_instances(py::classh<GraphObject>& type) {
  type.def("create_instance", &create_instance, "data"_a = py::none(),
           "An instance that is not submitted. data: a mapping from nodes to their tasks, cookies and instances;\n"
           "a task is made with submit=False. Raises BadStateError unless the graph is started, NoMemoryError when\n"
           "num_instances exist (doca_graph_instance_create).")
      .def("run", &run, "data"_a,
           "A new instance, which is submitted: await graph.run({copy: task, check: cookie}). Raises the errors of\n"
           "create_instance() and GraphInstance.submit().")
      .def_property_readonly(
          "timing", [](const GraphObject& self) { return self.graph().is_timed(); },
          "Whether instances record the times of their nodes.")
      .def_property_readonly(
          "num_instances", [](const GraphObject& self) { return self.graph().num_instances(); },
          "How many instances exist.")
      .def_property_readonly(
          "max_instances", [](const GraphObject& self) { return self.graph().max_instances(); }, "How many may exist.");
}

void bind_graph(py::classh<GraphObject>& type) {
  type.def(py::init(&new_graph), "pe"_a, py::kw_only(), "num_instances"_a = 1, "on_completion"_a = py::none(),
           "on_error"_a = py::none(), "user_data"_a = py::none(), "timing"_a = false,
           "A graph without nodes. num_instances: how many instances may exist. on_completion and on_error are\n"
           "called with (instance, instance.user_data, graph.user_data) when an instance has ended. timing:\n"
           "whether GraphInstance.node_times() tells when nodes started and ended (doca_graph_create,\n"
           "doca_graph_set_conf).")
      .def("start", &GraphObject::start,
           "From now on instances can be created. Raises BadStateError when started, without a context node, and\n"
           "unless all contexts run and all sub-graphs are started (doca_graph_start).")
      .def("stop", &GraphObject::stop,
           "Nodes can be added again; does nothing when stopped. Raises InUseError while instances exist. The end\n"
           "of a with block destroys those that do not run (doca_graph_stop).")
      .def_property_readonly(
          "is_started", [](const GraphObject& self) { return self.graph().is_started(); }, "Whether it is started.")
      .def_property_readonly(
          "progress_engine", [](const GraphObject& self) { return self.engine_ref(); }, "The ProgressEngine.")
      .def_property(
          "user_data", [](const GraphObject& self) { return self.options().user_data; }, &GraphObject::set_user_data,
          "Any object; the callbacks get it as an argument.")
      .def("__repr__", [](const GraphObject& self) {
        const Graph& graph = self.graph();
        return py::str("<pydoca.Graph, {} node(s), {} of {} instances, {}>")
            .format(graph.nodes().size(), graph.num_instances(), graph.max_instances(),
                    graph.is_started() ? "started" : "stopped");
      });
  bind_scope(type);
}

void submit_instance(PyObject* self) { object_of<InstanceObject>(self).submit(); }

std::span<PyMethodDef> instance_submissions() {
  static std::array methods{
      raw_method<"submit($self, /)", &submit_instance>(
          "Runs the graph once; await the instance, or wait() for it. Its tasks are in flight until it has ended,\n"
          "and call no callbacks. Raises InUseError while it runs, as part of another and when one of its tasks is\n"
          "in flight, InvalidValueError when a node has no data (doca_graph_instance_submit)."),
  };
  return methods;
}

void bind_instance_run(py::classh<InstanceObject, Awaitable>& type) {
  add_methods(type, instance_submissions());
  type.def("destroy", &InstanceObject::destroy,
           "Ends the instance; dropping it does so, too. Raises InUseError while it runs and as part of another\n"
           "(doca_graph_instance_destroy).")
      .def_property_readonly(
          "is_running", [](const InstanceObject& self) { return self.instance().is_running(); },
          "Whether it was submitted and has not ended.")
      .def_property_readonly(
          "status",
          [](InstanceObject& self) {
            self.mark_seen();
            return to_status(self.instance().status());
          },
          "Of the last run: SUCCESS, IN_PROGRESS, or why its first node failed.");
}

void bind_instance_nodes(py::classh<InstanceObject, Awaitable>& type) {
  const auto failed_node = [](const InstanceObject& self) -> py::object {
    const GraphNode* const node = self.instance().failed_node();
    if (node == nullptr) return py::none();
    return py::cast(node_of(self.graph_ref(), self.graph().node(node->index())));
  };
  type.def("__getitem__", &InstanceObject::data, "node"_a, "What the node runs or gets; None unless set.")
      .def("__setitem__", &InstanceObject::set_data, "node"_a, "data"_a,
           "The node's task, cookie or instance. Raises BadStateError while it runs, NotPermittedError for a task\n"
           "of another context or an instance of another graph (doca_graph_instance_set_ctx_node_data and others).")
      .def(
          "node_state",
          [](const InstanceObject& self, const NodeObject& node) { return self.instance().node_state(*node.node); },
          "node"_a, "How far the node got in the last run.")
      .def(
          "node_times",
          [](const InstanceObject& self, const NodeObject& node) {
            const GraphInstance::NodeTimes times = self.instance().node_times(*node.node);
            return py::make_tuple(times.started, times.ended);
          },
          "node"_a,
          "When the node started and ended in the last run, in nanoseconds after submit(); 0 when it did not.\n"
          "Raises NotPermittedError unless the graph was made with timing=True.")
      .def_property_readonly("failed_node", failed_node, "The first node that failed in the last run, or None.")
      .def_property_readonly("_failure", &InstanceObject::shown_failure)
      .def_property_readonly("_status", [](const InstanceObject& self) { return to_status(self.instance().status()); })
      .def_property_readonly(
          "graph", [](const InstanceObject& self) { return self.graph_ref(); }, "The Graph.")
      .def_property(
          "user_data", [](const InstanceObject& self) { return self.user_data(); }, &InstanceObject::set_user_data,
          "Any object; the callbacks get it as an argument.")
      .def("__repr__", [](const InstanceObject& self) {
        if (self.is_destroyed()) return std::string("<pydoca.GraphInstance, destroyed>");
        const py::object status = to_status(self.instance().status());
        return "<pydoca.GraphInstance, " + status.attr("name").cast<std::string>() + ">";
      });
}

}  // namespace

void bind_graph(py::module_& module) {
  bind_node_state(module);
  bind_node(module);
  py::classh<GraphObject> graph(
      module, "Graph",
      "Tasks and functions that run in the order of their dependencies. Add nodes, start it, create instances,\n"
      "submit them; many may run at once. Belongs to the thread of its progress engine.",
      collectable<GraphObject>());
  bind_graph(graph);
  bind_graph_nodes(graph);
  bind_graph_instances(graph);
  py::classh<InstanceObject, Awaitable> instance(
      module, "GraphInstance",
      "One run of a graph, again and again: give it data, submit it, await it. Awaiting raises the error of the\n"
      "first node that failed, when the nodes that ran have ended. A cancelled await raises CancelledError once the\n"
      "run has ended; what gives up a task gives up all tasks of the run.",
      collectable<InstanceObject>());
  bind_instance_run(instance);
  bind_instance_nodes(instance);
  made_by(module, "GraphInstance", "Graph.create_instance()");
}

}  // namespace pydoca::bindings
