#pragma once

#include "pydoca/graph.hpp"

#include "base/handle.hpp"

#include <doca_graph.h>
#include <memory>
#include <vector>

struct doca_graph_node : pydoca::capi::Handle<"graph node"> {
  pydoca::GraphNode* node = nullptr;
  doca_graph_user_node_cb_t user = nullptr;  ///< a user node's
};

struct doca_graph : pydoca::capi::Handle<"graph"> {
  std::shared_ptr<pydoca::Graph> graph;
  std::vector<doca_graph_node*> nodes;
  doca_graph_completion_cb_t on_success = nullptr;
  doca_graph_completion_cb_t on_error = nullptr;
  doca_data user_data{};
};

namespace pydoca::capi {

/// What a user node of one instance runs: the engine's cookie.
struct UserRun {
  doca_graph_user_node_cb_t function = nullptr;
  void* cookie = nullptr;
};

}  // namespace pydoca::capi

struct doca_graph_instance : pydoca::capi::Handle<"graph instance"> {
  pydoca::GraphInstance* instance = nullptr;
  doca_graph* graph = nullptr;
  std::vector<pydoca::capi::UserRun> runs;  ///< one for each node, by its index
  doca_data user_data{};
};
