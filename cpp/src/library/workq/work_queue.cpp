#include "pydoca/capabilities.hpp"
#include "pydoca/workq.hpp"

#include "detail/concat.hpp"
#include "detail/text/enumerators.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <string_view>
#include <type_traits>
#include <utility>

namespace pydoca::workq {

namespace {

constexpr std::array sync_event_operations{SyncEventOperation::get, SyncEventOperation::notify_set,
                                           SyncEventOperation::notify_add, SyncEventOperation::wait_gt};

[[noreturn]] void refuse(Status status, std::string_view what, std::string_view why) {
  throw Error(status, detail::concat(what, ": ", why));
}

Event event_of(const DmaMemcpyTask& task, std::uint64_t user_data) noexcept {
  return {.type = JobType::dma_memcpy, .result = task.status(), .user_data = user_data};
}

Event event_of(const ShaHashTask& task, std::uint64_t user_data) noexcept {
  constexpr std::array types{JobType::sha1, JobType::sha256, JobType::sha512};
  return {.type = types[static_cast<std::size_t>(task.algorithm())], .result = task.status(), .user_data = user_data};
}

Event event_of(const SyncEventTask& task, std::uint64_t user_data) noexcept {
  constexpr std::array types{JobType::sync_event_get, JobType::sync_event_update_set, JobType::sync_event_update_add,
                             JobType::sync_event_wait};
  const bool reads = task.operation() != SyncEventOperation::notify_set && task.status() == Status::success;
  return {.type = types[static_cast<std::size_t>(task.operation())],
          .result = task.status(),
          .user_data = user_data,
          .value = reads ? task.result() : 0};
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

template <class Library, class Configure>
void WorkQueue::add_configured(const std::shared_ptr<Library>& ctx, const Configure& configure) {
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
  configure(*ctx);
  ctx->set_user_data(std::bit_cast<std::uint64_t>(member.get()));
  ctx->start();
  members_.push_back(std::move(member));
}

void WorkQueue::add(const std::shared_ptr<Dma>& ctx) {
  add_configured(ctx, [this](Dma& dma) {
    const std::uint32_t most = Dma::max_num_tasks(dma.device()->info());
    dma.set_memcpy_conf(task_ended<DmaMemcpyTask>, task_ended<DmaMemcpyTask>, std::min(depth(), most));
  });
}

void WorkQueue::add(const std::shared_ptr<Sha>& ctx) {
  add_configured(ctx, [this](Sha& sha) {
    const std::uint32_t most = Sha::max_num_tasks(sha.device()->info());
    const std::uint32_t count = std::min(depth(), most);
    sha.set_hash_conf(task_ended<ShaHashTask>, task_ended<ShaHashTask>, count);
    sha.set_partial_hash_conf(task_ended<ShaPartialHashTask>, task_ended<ShaPartialHashTask>, count);
  });
}

void WorkQueue::add(const std::shared_ptr<SyncEventContext>& ctx) {
  add_configured(ctx, [this](SyncEventContext& events) {
    const DeviceInfo& info = events.device()->info();
    const std::uint32_t count = std::min(depth(), SyncEventContext::max_num_tasks(info));
    for (const SyncEventOperation operation : sync_event_operations) {
      if (SyncEventContext::is_supported(info, operation)) {
        events.set_conf(operation, task_ended<SyncEventTask>, task_ended<SyncEventTask>, count);
      }
    }
  });
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
    ctx.stop();
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

WorkQueue::Member* WorkQueue::member_of(const Context* ctx) const noexcept {
  const auto found = std::ranges::find_if(members_, [&](const auto& member) { return member->ctx.get() == ctx; });
  return ctx != nullptr && found != members_.end() ? found->get() : nullptr;
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

// ---- Jobs -------------------------------------------------------------------------------------------------------

Status WorkQueue::check_room(const Context* ctx) const noexcept {
  if (member_of(ctx) == nullptr) [[unlikely]] {
    return ctx == nullptr ? Status::invalid_value : Status::not_found;
  }
  return ledger_.is_full() ? Status::no_memory : Status::success;
}

Status WorkQueue::submit_task(Task& task, Buf* filled) noexcept {
  if (destinations_ == Destinations::overwrite) {
    for (Buf* buf = filled; buf != nullptr; buf = buf->next()) {
      static_cast<void>(buf->reset_data_len());  // one in flight is refused below
    }
  }
  const Status status = task.try_submit();
  if (status == Status::success) [[likely]] {
    ledger_.begin();
  }
  return status;
}

template <class Library, class Take>
Status WorkQueue::submit_new(Library* ctx, Buf* filled, const Take& take) noexcept {
  if (const Status status = check_room(ctx); status != Status::success) [[unlikely]] {
    return status;
  }
  Task* task = nullptr;
  if (const Status status = take(task); status != Status::success) [[unlikely]] {
    return status;
  }
  const Status status = submit_task(*task, filled);
  if (status != Status::success) [[unlikely]] {
    task->free();
  }
  return status;
}

Status WorkQueue::submit(const DmaMemcpyJob& job) noexcept {
  return submit_new(job.ctx, job.dst_buff, [&](Task*& taken) {
    DmaMemcpyTask* task = nullptr;
    const Status status = job.ctx->memcpy(job.src_buff, job.dst_buff, job.user_data, task);
    taken = task;
    return status;
  });
}

Status WorkQueue::submit(const ShaJob& job) noexcept {
  return submit_new(job.ctx, job.resp_buf, [&](Task*& taken) {
    ShaHashTask* task = nullptr;
    const Status status = job.ctx->hash(job.req_buf, job.resp_buf, job.algorithm, job.user_data, task);
    taken = task;
    return status;
  });
}

Status WorkQueue::submit(const ShaPartialJob& job) noexcept {
  if (const Status status = check_room(job.ctx); status != Status::success) {
    return status;
  }
  if (job.session == nullptr || &job.session->context() != job.ctx) {
    return Status::invalid_value;
  }
  if (const Status status = prepare(job); status != Status::success) {
    return status;
  }
  return submit_task(*job.session, job.resp_buf);
}

/// The next piece for the session. What a message that has begun keeps is compared, as its setters refuse it.
Status WorkQueue::prepare(const ShaPartialJob& job) noexcept {
  ShaPartialHashTask& session = *job.session;
  Status status = session.set_src(job.req_buf);
  if (status == Status::success && job.resp_buf != session.dst()) {
    status = session.set_dst(job.resp_buf);
  }
  if (status == Status::success && job.algorithm != session.algorithm()) {
    status = session.set_algorithm(job.algorithm);
  }
  if (status == Status::success && job.is_final) {
    status = session.set_is_final_buf();
  }
  if (status == Status::success) {
    session.set_user_data(job.user_data);
  }
  return status;
}

Status WorkQueue::submit(const SyncEventJob& job) noexcept {
  if (job.type < JobType::sync_event_get || job.type > JobType::sync_event_wait) {
    return Status::invalid_value;
  }
  const std::size_t place = static_cast<std::size_t>(job.type) - static_cast<std::size_t>(JobType::sync_event_get);
  return submit_new(job.ctx, nullptr, [&](Task*& taken) {
    SyncEventTask* task = nullptr;
    const Status status = job.ctx->allocate(sync_event_operations[place], job.value, job.mask, job.user_data, task);
    taken = task;
    return status;
  });
}

template <class TaskClass>
void WorkQueue::task_ended(Task& task, std::uint64_t user_data, std::uint64_t address) {
  const Member& member = *std::bit_cast<const Member*>(address);
  static_cast<void>(member.queue->ledger_.end(address, event_of(static_cast<const TaskClass&>(task), user_data)));
  if constexpr (!std::is_same_v<TaskClass, ShaPartialHashTask>) {  // the program's session
    task.free();
  }
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

void WorkQueue::graph_ended(GraphInstance& instance, std::uint64_t user_data, std::uint64_t address) {
  static_cast<void>(std::bit_cast<const Member*>(address)->queue->ledger_.end(address, instance, user_data));
}

}  // namespace pydoca::workq
