/// Graphs: tasks and functions that run in the order of their dependencies.
///
/// A graph is the plan; an instance is one run of it, with data of its own. Both belong to the thread of the graph's
/// progress engine. Besides what is said at each function: INVALID_VALUE for NULL, for an object that was
/// destroyed, for one of another kind, and for a node or an instance of another graph.
#ifndef DOCA_GRAPH_H_
#define DOCA_GRAPH_H_

#include <doca_build_config.h>
#include <doca_compat.h>
#include <doca_ctx.h>
#include <doca_error.h>
#include <doca_pe.h>
#include <doca_types.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct doca_graph;
struct doca_graph_node;
struct doca_graph_instance;

/// Called by doca_pe_progress() when an instance has ended: it may be submitted again or destroyed, there or later.
typedef void (*doca_graph_completion_cb_t)(struct doca_graph_instance* graph_instance,
                                           union doca_data instance_user_data, union doca_data graph_user_data);
/// What a user node runs, in doca_pe_progress(), which it must not call. Any result but DOCA_SUCCESS fails the
/// instance.
typedef doca_error_t (*doca_graph_user_node_cb_t)(void* cookie);

/// A stopped graph without nodes.
DOCA_EXPERIMENTAL doca_error_t doca_graph_create(struct doca_pe* pe, struct doca_graph** graph);
/// Destroys the graph and its nodes. BAD_STATE unless it is stopped.
DOCA_EXPERIMENTAL doca_error_t doca_graph_destroy(struct doca_graph* graph);

// BAD_STATE unless the graph is stopped.
/// The callbacks of success and failure, which may be the same function, and how many instances may exist. Needed
/// before the start.
DOCA_EXPERIMENTAL doca_error_t doca_graph_set_conf(struct doca_graph* graph,
                                                   doca_graph_completion_cb_t graph_completion_cb,
                                                   doca_graph_completion_cb_t graph_error_cb, uint32_t num_instances);
DOCA_EXPERIMENTAL doca_error_t doca_graph_set_user_data(struct doca_graph* graph, union doca_data user_data);
/// A task of ctx, which is on the same progress engine.
DOCA_EXPERIMENTAL doca_error_t doca_graph_node_create_from_ctx(struct doca_graph* graph, struct doca_ctx* ctx,
                                                               struct doca_graph_node** node);
DOCA_EXPERIMENTAL doca_error_t doca_graph_node_create_from_user(struct doca_graph* graph,
                                                                doca_graph_user_node_cb_t user_cb,
                                                                struct doca_graph_node** node);
/// An instance of another graph, which is started. NOT_PERMITTED for this graph, and for one of which it is a
/// sub-graph.
DOCA_EXPERIMENTAL doca_error_t doca_graph_node_create_from_graph(struct doca_graph* graph, struct doca_graph* sub_graph,
                                                                 struct doca_graph_node** node);
/// Has to start when from has succeeded. NOT_PERMITTED for a cycle, ALREADY_EXIST when it was added before.
DOCA_EXPERIMENTAL doca_error_t doca_graph_add_dependency(struct doca_graph* graph, struct doca_graph_node* from,
                                                         struct doca_graph_node* to);

DOCA_EXPERIMENTAL doca_error_t doca_graph_get_user_data(const struct doca_graph* graph, union doca_data* user_data);

/// BAD_STATE when the graph is started, without a context node in it or in a sub-graph, and unless all contexts run.
DOCA_EXPERIMENTAL doca_error_t doca_graph_start(struct doca_graph* graph);
/// IN_USE while instances exist; does nothing on a stopped graph.
DOCA_EXPERIMENTAL doca_error_t doca_graph_stop(struct doca_graph* graph);

/// An instance without data. BAD_STATE unless the graph is started, NO_MEMORY when all instances exist.
DOCA_EXPERIMENTAL doca_error_t doca_graph_instance_create(struct doca_graph* graph,
                                                          struct doca_graph_instance** graph_instance);
/// IN_USE while it runs, and while another instance has it as its sub-graph.
DOCA_EXPERIMENTAL doca_error_t doca_graph_instance_destroy(struct doca_graph_instance* graph_instance);

/// IN_USE while it runs.
DOCA_EXPERIMENTAL doca_error_t doca_graph_instance_set_user_data(struct doca_graph_instance* graph_instance,
                                                                 union doca_data user_data);
DOCA_EXPERIMENTAL doca_error_t doca_graph_instance_get_user_data(const struct doca_graph_instance* graph_instance,
                                                                 union doca_data* user_data);

// The data of nodes. BAD_STATE while the instance runs, NOT_PERMITTED for a node of another type.
/// The task that the node runs. It stays allocated while the instance exists, and runs in one instance at a time.
/// NOT_PERMITTED for a task of another context.
DOCA_EXPERIMENTAL doca_error_t doca_graph_instance_set_ctx_node_data(struct doca_graph_instance* graph_instance,
                                                                     struct doca_graph_node* node,
                                                                     struct doca_task* task);
/// What the node's function is given; NULL unless set.
DOCA_EXPERIMENTAL doca_error_t doca_graph_instance_set_user_node_data(struct doca_graph_instance* graph_instance,
                                                                      struct doca_graph_node* node, void* cookie);
/// The instance that the node runs. NOT_PERMITTED for an instance of another graph than the node's.
DOCA_EXPERIMENTAL doca_error_t
doca_graph_instance_set_sub_graph_node_data(struct doca_graph_instance* graph_instance, struct doca_graph_node* node,
                                            struct doca_graph_instance* sub_graph_instance);

/// Runs the graph once. SUCCESS: a callback of the graph follows. IN_USE while it runs, INVALID_VALUE while a node has
/// no data.
DOCA_EXPERIMENTAL doca_error_t doca_graph_instance_submit(struct doca_graph_instance* graph_instance);

#ifdef __cplusplus
}
#endif

#endif  // DOCA_GRAPH_H_
