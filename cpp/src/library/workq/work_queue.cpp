#include "library/workq/work_queue.hpp"

#include "detail/concat.hpp"
#include "detail/text/enumerators.hpp"

#include <algorithm>
#include <bit>
#include <string_view>
#include <utility>

namespace pydoca::workq {

namespace {

[[noreturn]] void refuse(Status status, std::string_view what, std::string_view why) {
  throw Error(status, detail::concat(what, ": ", why));
}

}  // namespace

WorkQueue::WorkQueue(std::uint32_t depth, Destinations destinations)
    : ledger_(engine_, depth), destinations_(destinations) {}

std::unique_ptr<WorkQueue> WorkQueue::create(std::uint32_t depth, Destinations destinations) {
  detail::require_one_of("create work queue", destinations, Destinations::overwrite, "treatment of destinations");
  return std::unique_ptr<WorkQueue>(new WorkQueue(depth, destinations));
}

WorkQueue::~WorkQueue() {
  for (const auto& member : members_) {
    if (member->ctx != nullptr) {
      stop(*member->ctx);
    }
  }
}

// ---- Contexts ---------------------------------------------------------------------------------------------------

std::unique_ptr<WorkQueue::Member> WorkQueue::join(const std::shared_ptr<Context>& ctx) {
  constexpr std::string_view what = "add a context to a work queue";
  if (ctx == nullptr) {
    refuse(Status::invalid_value, what, "it is null");
  }
  if (member_of(ctx.get()) != nullptr) {
    refuse(Status::bad_state, what, "it was added before");
  }
  if (ctx->progress_engine() == nullptr) {
    engine_->connect(ctx);
  } else if (ctx->progress_engine() != engine_) {
    refuse(Status::not_permitted, what,
           "it belongs to another queue or engine, for life; create another context of the device");
  }
  auto member = std::make_unique<Member>(Member{.queue = this, .ctx = ctx, .graph = nullptr});
  members_.reserve(members_.size() + 1);
  return member;
}

void WorkQueue::start(std::unique_ptr<Member> member) {
  member->ctx->set_user_data(std::bit_cast<std::uint64_t>(member.get()));
  static_cast<void>(member->ctx->start());  // contexts with jobs run at once
  members_.push_back(std::move(member));
}

void WorkQueue::remove(Context& ctx) {
  constexpr const char* what = "remove a context from a work queue";
  Member& member = idle_member(what, ctx);
  if (ctx.num_allocated_tasks() != 0) {
    refuse(Status::in_use, what,
           detail::concat(ctx.num_allocated_tasks(), " task(s) of it, of nodes or sessions, are not freed; free them"));
  }
  stop(ctx);
  forget(member);
}

/// Jobs in flight end by this, and their callbacks free the tasks. A context whose other tasks are not freed stays
/// stopping, as always.
void WorkQueue::stop(Context& ctx) {
  if (ctx.state() == ContextState::running) {
    static_cast<void>(ctx.stop());  // the loop waits for its end
  }
  while (ctx.num_inflight_tasks() != 0 || (ctx.state() != ContextState::idle && ctx.num_allocated_tasks() == 0)) {
    ctx.progress_engine()->progress();
  }
}

template <class Noun>
WorkQueue::Member& WorkQueue::idle_member(const char* what, const Noun& noun) {
  Member* const member = member_of(&noun);
  if (member == nullptr) {
    refuse(Status::not_found, what, "it was not added");
  }
  if (const std::size_t num_jobs = num_jobs_of(*member); num_jobs != 0) {
    refuse(Status::not_permitted, what,
           detail::concat(num_jobs, " job(s) of it are not retrieved; retrieve their events first"));
  }
  return *member;
}

WorkQueue::Member* WorkQueue::member_of(const Graph* graph) const noexcept {
  const auto found = std::ranges::find_if(members_, [&](const auto& member) { return member->graph.get() == graph; });
  return graph != nullptr && found != members_.end() ? found->get() : nullptr;
}

std::size_t WorkQueue::num_jobs_of(const Member& member) const noexcept {
  return ledger_.num_waiting(std::bit_cast<std::uint64_t>(&member)) +
         (member.ctx != nullptr ? member.ctx->num_inflight_tasks() : 0);
}

void WorkQueue::forget(const Member& member) noexcept {
  std::erase_if(members_, [&](const auto& other) { return other.get() == &member; });
}

// ---- Graphs -----------------------------------------------------------------------------------------------------

std::shared_ptr<Graph> WorkQueue::create_graph(std::uint32_t num_instances) {
  auto graph = Graph::create(engine_);
  graph->set_conf(graph_ended, graph_ended, num_instances);
  auto member = std::make_unique<Member>(Member{.queue = this, .ctx = nullptr, .graph = graph});
  graph->set_user_data(std::bit_cast<std::uint64_t>(member.get()));
  members_.push_back(std::move(member));
  return graph;
}

void WorkQueue::remove(Graph& graph) {
  Member& member = idle_member("remove a graph from a work queue", graph);
  graph.stop();
  forget(member);
}

Status WorkQueue::submit(GraphInstance& instance, std::uint64_t user_data) noexcept {
  const Member* const member = member_of(&instance.graph());
  if (member == nullptr) {
    return Status::not_found;
  }
  if (ledger_.is_full()) {
    return Status::no_memory;
  }
  if (instance.is_running()) {
    return Status::in_use;
  }
  instance.set_user_data(user_data);
  if (const Status status = instance.submit(); status != Status::success) {
    return status;
  }
  ledger_.begin(std::bit_cast<std::uint64_t>(member), instance);
  return Status::success;
}

void WorkQueue::graph_ended(GraphInstance& instance, std::uint64_t user_data, std::uint64_t address) noexcept {
  static_cast<void>(std::bit_cast<const Member*>(address)->queue->ledger_.end(address, instance, user_data));
}

}  // namespace pydoca::workq
