#pragma once

#include "pydoca/buf.hpp"
#include "pydoca/context.hpp"
#include "pydoca/dma.hpp"
#include "pydoca/graph.hpp"
#include "pydoca/job_ledger.hpp"
#include "pydoca/progress_engine.hpp"
#include "pydoca/sha.hpp"
#include "pydoca/status.hpp"
#include "pydoca/sync_event_context.hpp"
#include "pydoca/task.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#pragma GCC visibility push(default)

/// Jobs and events, as DOCA 2.0 to 2.2 had them before progress engines and tasks (DOCA Core Programming Guide 2.0.2 to
/// 2.2.1: work queues). For programs of that time: a thin layer over a ProgressEngine, whose tasks need no look at each
/// result. Python's pydoca.workq has the same flows.
///
/// | DOCA 2.0 to 2.2 | here | since DOCA 2.5 |
/// |---|---|---|
/// | doca_workq_create | WorkQueue::create() | ProgressEngine::create(), and num_tasks of each context |
/// | doca_ctx_start, doca_ctx_workq_add | add() | ProgressEngine::connect(), Context::start() |
/// | struct doca_dma_job_memcpy, doca_sha_job, ... | DmaMemcpyJob, ShaJob, SyncEventJob | Dma::memcpy(), ... |
/// | doca_sha_partial_session_create, ..._job | Sha::partial_hash(), ShaPartialJob | the same task |
/// | doca_workq_submit | submit() | Task::submit() |
/// | doca_workq_progress_retrieve | progress_retrieve() | ProgressEngine::progress(), and callbacks |
/// | doca_workq_set_event_driven_enable | set_event_driven() | always possible |
/// | doca_workq_get_event_handle, _arm, _clear | event_handle(), ... | ProgressEngine::notification_handle(), ... |
/// | doca_graph_create, doca_graph_workq_add | create_graph() | Graph::create() |
/// | doca_workq_graph_submit | submit() of an instance | GraphInstance::submit() |
/// | doca_ctx_workq_rm, doca_ctx_stop | remove() | Context::stop() |
namespace pydoca::workq {

/// What a job does; an event says which job has ended.
enum class JobType : std::uint8_t {
  dma_memcpy,
  sha1,
  sha256,
  sha512,
  sync_event_get,
  sync_event_update_set,
  sync_event_update_add,
  sync_event_wait,
  graph,
};

// Jobs are values: submit() reads them, and they can be changed and submitted again at once. ctx is a context that was
// added; the caller keeps its references to the bufs until the event.

/// struct doca_dma_job_memcpy.
struct DmaMemcpyJob {
  Dma* ctx = nullptr;
  Buf* dst_buff = nullptr;
  Buf* src_buff = nullptr;
  std::uint64_t user_data = 0;
};

/// struct doca_sha_job: the digest is appended to resp_buf.
struct ShaJob {
  Sha* ctx = nullptr;
  Buf* resp_buf = nullptr;
  Buf* req_buf = nullptr;
  ShaAlgorithm algorithm = ShaAlgorithm::sha256;
  std::uint64_t user_data = 0;
};

/// struct doca_sha_partial_job: a piece of a message. session: a task of ctx->partial_hash(), for one message at a time
/// (doca_sha_partial_session_create); its reset() begins another, its free() is doca_sha_partial_session_destroy.
/// resp_buf and algorithm stay the same for all pieces; the last one, which is_final marks, appends the digest.
struct ShaPartialJob {
  Sha* ctx = nullptr;
  Buf* resp_buf = nullptr;
  Buf* req_buf = nullptr;
  ShaPartialHashTask* session = nullptr;
  ShaAlgorithm algorithm = ShaAlgorithm::sha256;
  bool is_final = false;  ///< DOCA_SHA_JOB_FLAGS_SHA_PARTIAL_FINAL; not of a message's first piece
  std::uint64_t user_data = 0;
};

/// struct doca_sync_event_job_<type>. type: one of the four of sync events. value: what is set or added; a wait ends
/// when the masked value of the event is greater, and both are 0..max_wait_gt_value.
struct SyncEventJob {
  SyncEventContext* ctx = nullptr;
  JobType type = JobType::sync_event_get;
  std::uint64_t value = 0;
  std::uint64_t mask = ~std::uint64_t{0};
  std::uint64_t user_data = 0;
};

/// Whether results are appended to the data of a destination, as everywhere in DOCA 2.2 and later, or replace it, as up
/// to DOCA 2.0.2.
enum class Destinations : std::uint8_t { append, overwrite };

/// One kind of task that jobs become; its library has the table.
struct JobTraits;

/// A queue of jobs for several contexts (struct doca_workq).
///
/// What differs from DOCA: a context joins before it starts, so add() does both, and belongs to one queue for life. A
/// job that fails stops its context, as everywhere in pydoca: retrieve the other events, then remove() and add() it.
///
/// Ownership: the queue holds its contexts and graphs. Its end stops the contexts; jobs in flight end without events.
/// Do not use its graphs afterwards.
///
/// Thread safety: one thread, which progresses by progress_retrieve() only.
class WorkQueue {
 public:
  /// depth: the most jobs whose events have not been retrieved (doca_workq_create). Throws invalid_value for 0.
  static std::unique_ptr<WorkQueue> create(std::uint32_t depth, Destinations destinations = Destinations::append);
  ~WorkQueue();
  WorkQueue(const WorkQueue&) = delete;
  WorkQueue& operator=(const WorkQueue&) = delete;

  std::uint32_t depth() const noexcept { return ledger_.depth(); }
  /// Jobs that were submitted, and whose events have not been retrieved.
  std::uint32_t num_jobs() const noexcept { return ledger_.num_jobs(); }
  const std::shared_ptr<ProgressEngine>& progress_engine() const noexcept { return engine_; }

  // Joins a context that has no engine, gives it depth tasks of each kind, takes its callbacks and user data, and
  // starts it (doca_ctx_start, doca_ctx_workq_add). Throws invalid_value for null, bad_state unless it is idle, and
  // when it was added before, not_permitted when it belongs to another engine, and what start() throws.
  void add(const std::shared_ptr<Dma>& ctx);
  void add(const std::shared_ptr<Sha>& ctx);
  void add(const std::shared_ptr<SyncEventContext>& ctx);
  /// Stops the context, which can be added to this queue again (doca_ctx_workq_rm, doca_ctx_stop). Throws not_found
  /// when it was not added, not_permitted while an event of it is not retrieved, in_use while the program has tasks of
  /// it.
  void remove(Context& ctx);

  // Hands the job to its context: success, and progress_retrieve() will give its event. invalid_value for what the
  // device refuses, not_found unless ctx was added, no_memory when depth jobs are not retrieved, bad_state when the
  // context has stopped (doca_workq_submit).
  Status submit(const DmaMemcpyJob& job) noexcept;
  Status submit(const ShaJob& job) noexcept;
  /// Also in_use while the session has a piece in flight; bad_state for is_final of the first piece, for a resp_buf or
  /// an algorithm that changes within a message, and for a piece after the last.
  Status submit(const ShaPartialJob& job) noexcept;
  Status submit(const SyncEventJob& job) noexcept;

  /// A job that has ended: success, or io_failed when it has failed, with the event in both cases. An instance of a
  /// graph that has ended: again for each of its nodes that has run, those of sub-graphs apart; then success, also when
  /// the instance failed, which event.result says. again: nothing has ended yet (doca_workq_progress_retrieve).
  Status progress_retrieve(Event& event) noexcept { return ledger_.retrieve(event); }

  /// A graph whose instances submit() takes; do not change its conf (doca_graph_create, doca_graph_workq_add). Throws
  /// invalid_value for 0 instances.
  std::shared_ptr<Graph> create_graph(std::uint32_t num_instances);
  /// Stops the graph (doca_graph_workq_rm, doca_graph_stop). Throws not_found unless create_graph() has made it,
  /// not_permitted while an event of it is not retrieved, in_use while instances exist.
  void remove(Graph& graph);
  /// Runs the instance once (doca_workq_graph_submit). It answers as for jobs, and as GraphInstance::submit().
  Status submit(GraphInstance& instance, std::uint64_t user_data) noexcept;

  /// Whether the program sleeps at event_handle() between looks; false at first, when it polls. All contexts can wake
  /// it, so none refuses with not_supported (doca_workq_set_event_driven_enable). Throws bad_state while an event is
  /// not retrieved.
  void set_event_driven(bool on) { ledger_.set_event_driven(on); }
  bool is_event_driven() const noexcept { return ledger_.is_event_driven(); }
  /// For epoll: readable when an event may be retrieved, once it is armed. The three throw bad_state for a queue that
  /// polls (doca_workq_get_event_handle).
  int event_handle() const { return ledger_.event_handle(); }
  void event_handle_arm() { ledger_.event_handle_arm(); }      ///< needed before every wait
  void event_handle_clear() { ledger_.event_handle_clear(); }  ///< needed after every wait, before progress_retrieve()

 private:
  /// A context or graph that was added.
  struct Member {
    WorkQueue* queue;
    std::shared_ptr<Context> ctx;
    std::shared_ptr<Graph> graph;
  };

  WorkQueue(std::uint32_t depth, Destinations destinations);
  /// Checks a context that joins, and gives it the engine.
  std::unique_ptr<Member> join(const std::shared_ptr<Context>& ctx);
  void start(std::unique_ptr<Member> member);
  template <class Library, class Configure>
  void add_configured(const std::shared_ptr<Library>& ctx, const Configure& configure);
  template <class Noun>
  Member& idle_member(const char* what, const Noun& noun);
  Member* member_of(const Context* ctx) const noexcept;
  Member* member_of(const Graph* graph) const noexcept;
  /// Its jobs whose events have not been retrieved.
  std::size_t num_jobs_of(const Member& member) const noexcept;
  void forget(const Member& member) noexcept;
  static void stop(Context& ctx);
  /// Whether a job of ctx may be submitted.
  Status check_room(const Context* ctx) const noexcept;
  Status submit_task(Task& task, Buf* filled) noexcept;
  template <class Library, class Take>
  Status submit_new(Library* ctx, Buf* filled, const Take& take) noexcept;
  template <const JobTraits& jobs>
  static void task_ended(Task& task, std::uint64_t user_data, std::uint64_t member) noexcept;
  static void graph_ended(GraphInstance& instance, std::uint64_t user_data, std::uint64_t member) noexcept;

  const std::shared_ptr<ProgressEngine> engine_ = ProgressEngine::create();
  JobLedger ledger_;
  std::vector<std::unique_ptr<Member>> members_;
  const Destinations destinations_;
};

}  // namespace pydoca::workq

#pragma GCC visibility pop
