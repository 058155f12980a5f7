#include "pydoca/job_ledger.hpp"

#include "pydoca/workq.hpp"

#include "detail/concat.hpp"
#include "detail/ready_node.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace pydoca::workq {

namespace {

std::shared_ptr<ProgressEngine> require_engine(std::shared_ptr<ProgressEngine> engine) {
  if (engine == nullptr) {
    throw Error(Status::invalid_value, "create a work queue: its engine is null");
  }
  return engine;
}

std::uint32_t require_depth(std::uint32_t depth) {
  if (depth == 0) {
    throw Error(Status::invalid_value, "create a work queue: depth must be 1 or more");
  }
  return depth;
}

/// The nodes that have run; those of sub-graphs apart.
std::uint64_t num_nodes_of(const GraphInstance& instance) noexcept {
  return static_cast<std::uint64_t>(std::ranges::count_if(instance.graph().nodes(), [&](const auto& node) {
    return instance.node_state(*node) != GraphInstance::NodeState::not_started;
  }));
}

}  // namespace

/// Wakes an armed engine for events that wait already.
class JobLedger::Waker final : public detail::ReadyNode {
 public:
  explicit Waker(ProgressEngine& engine) noexcept { join(engine.ready_list()); }
  ~Waker() override { leave(); }
  Waker(const Waker&) = delete;
  Waker& operator=(const Waker&) = delete;

 private:
  bool progress_one(bool& more) noexcept override {
    more = false;
    return false;
  }
};

JobLedger::JobLedger(std::shared_ptr<ProgressEngine> engine, std::uint32_t depth)
    : engine_(require_engine(std::move(engine))),
      waker_(std::make_unique<Waker>(*engine_)),
      ended_(std::bit_ceil(require_depth(depth))),
      depth_(depth) {
  runs_.reserve(depth);
}

JobLedger::~JobLedger() = default;

std::size_t JobLedger::num_waiting(Member member) const noexcept {
  auto count = static_cast<std::size_t>(std::ranges::count(runs_, member, &Run::graph));
  for (std::uint32_t place = head_; place != tail_; ++place) {
    count += ended_[place & (ended_.size() - 1)].member == member ? 1U : 0U;
  }
  return count;
}

void JobLedger::begin(Member graph, const GraphInstance& instance) noexcept {
  runs_.push_back({&instance, graph, num_agains_});
  ++num_jobs_;
}

bool JobLedger::push(const Ended& ended) noexcept {
  if (num_ended() == num_jobs_) [[unlikely]] {
    return false;
  }
  ended_[tail_++ & (ended_.size() - 1)] = ended;
  return true;
}

bool JobLedger::end(Member member, const Event& event) noexcept { return push({.event = event, .member = member}); }

bool JobLedger::end(Member graph, const GraphInstance& instance, std::uint64_t user_data) noexcept {
  const auto run = std::ranges::find(runs_, &instance, &Run::instance);
  if (run == runs_.end()) {
    return false;
  }
  const std::uint64_t first = run->num_agains;
  *run = runs_.back();
  runs_.pop_back();
  return push({.event = {.type = JobType::graph, .result = instance.status(), .user_data = user_data},
               .member = graph,
               .num_agains = first + num_nodes_of(instance)});
}

Status JobLedger::retrieve(Event& event) noexcept {
  if (head_ == tail_) {
    engine_->progress();
  }
  if (head_ == tail_ || num_agains_ < next().num_agains) {
    ++num_agains_;
    return Status::again;
  }
  event = next().event;
  ++head_;
  --num_jobs_;
  return event.result == Status::success || event.type == JobType::graph ? Status::success : Status::io_failed;
}

void JobLedger::clear() noexcept {
  runs_.clear();
  head_ = tail_;
  num_jobs_ = 0;
}

// ---- Events instead of polling ----------------------------------------------------------------------------------

void JobLedger::set_event_driven(bool on) {
  if (num_jobs_ != 0) {
    throw Error(Status::bad_state, detail::concat("set event-driven: ", num_jobs_,
                                                  " job(s) are not retrieved; retrieve their events first"));
  }
  event_driven_ = on;
}

void JobLedger::require_event_driven(const char* what) const {
  if (!event_driven_) {
    throw Error(Status::bad_state, detail::concat(what, ": the work queue polls; make it event-driven first"));
  }
}

int JobLedger::event_handle() const {
  require_event_driven("event_handle");
  return engine_->notification_handle();
}

void JobLedger::event_handle_arm() {
  require_event_driven("event_handle_arm");
  if (head_ != tail_) {
    waker_->notify();
  }
  engine_->request_notification();
}

void JobLedger::event_handle_clear() {
  require_event_driven("event_handle_clear");
  engine_->clear_notification();
}

}  // namespace pydoca::workq
