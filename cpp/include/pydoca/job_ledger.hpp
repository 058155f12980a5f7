#pragma once

#include "pydoca/graph.hpp"
#include "pydoca/progress_engine.hpp"
#include "pydoca/status.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#pragma GCC visibility push(default)

/// The rules of a work queue (DOCA Core Programming Guide 2.0.2 to 2.2.1). WorkQueue obeys them, and so does the queue
/// of another language, whose jobs are tasks of that language.
namespace pydoca::workq {

enum class JobType : std::uint8_t;  // workq.hpp

/// A job that has ended (struct doca_event).
struct Event {
  JobType type{};
  Status result = Status::success;  ///< success, or why the job, or the graph's instance, failed
  std::uint64_t user_data = 0;      ///< the job's
  std::uint64_t value = 0;          ///< what a job of a sync event has read; before an addition
};

/// The jobs of a queue whose events have not been retrieved: how many there may be, which event comes next, and when a
/// sleeping program is woken.
///
/// Thread safety: the thread of the engine.
class JobLedger {
 public:
  /// Identifies a context or a graph.
  using Member = std::uint64_t;

  /// depth: the most jobs. Throws invalid_value for null and for 0.
  JobLedger(std::shared_ptr<ProgressEngine> engine, std::uint32_t depth);
  ~JobLedger();
  JobLedger(const JobLedger&) = delete;
  JobLedger& operator=(const JobLedger&) = delete;

  std::uint32_t depth() const noexcept { return depth_; }
  std::uint32_t num_jobs() const noexcept { return num_jobs_; }
  bool is_full() const noexcept { return num_jobs_ == depth_; }
  /// Events of the member that wait, and instances of it that run. Jobs of a context in flight are tasks of it.
  std::size_t num_waiting(Member member) const noexcept;

  // A job, or an instance of a graph, was submitted. Call only unless it is full.
  void begin() noexcept { ++num_jobs_; }
  void begin(Member graph, const GraphInstance& instance) noexcept;
  // It has ended. False: none was in flight, so it is not a job of the queue, and has no event.
  bool end(Member member, const Event& event) noexcept;
  bool end(Member graph, const GraphInstance& instance, std::uint64_t user_data) noexcept;
  /// Progresses the engine when no event waits. WorkQueue::progress_retrieve() says more.
  Status retrieve(Event& event) noexcept;
  /// Forgets the events, and what is in flight.
  void clear() noexcept;

  // WorkQueue has the same.
  void set_event_driven(bool on);
  bool is_event_driven() const noexcept { return event_driven_; }
  int event_handle() const;
  void event_handle_arm();
  void event_handle_clear();

 private:
  class Waker;
  struct Ended {
    Event event;
    Member member = 0;
    std::uint64_t num_agains = 0;  ///< answers of again that come first, counted from the ledger's beginning
  };
  /// An instance in flight, and the answers of again before its submission.
  struct Run {
    const GraphInstance* instance;
    Member graph;
    std::uint64_t num_agains;
  };

  void require_event_driven(const char* what) const;
  std::size_t num_ended() const noexcept { return tail_ - head_; }
  bool push(const Ended& ended) noexcept;
  const Ended& next() const noexcept { return ended_[head_ & (ended_.size() - 1)]; }

  const std::shared_ptr<ProgressEngine> engine_;
  std::unique_ptr<Waker> waker_;
  std::vector<Ended> ended_;  ///< a ring of depth places or more, a power of 2
  std::vector<Run> runs_;
  std::uint64_t num_agains_ = 0;
  std::uint32_t head_ = 0;
  std::uint32_t tail_ = 0;
  std::uint32_t num_jobs_ = 0;
  const std::uint32_t depth_;
  bool event_driven_ = false;
};

}  // namespace pydoca::workq

#pragma GCC visibility pop
