#pragma once

#include "model/explorer/mutation.hpp"
#include "model/explorer/search.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <source_location>
#include <string>
#include <string_view>
#include <ucontext.h>
#include <vector>

namespace pydoca::model {

using Word = std::uint64_t;
using Change = Word (*)(Word old, Word operand);

/// The memory of an atomic.
struct Cell {
  void* address = nullptr;
  std::size_t size = 0;
};

/// How many steps of each thread are known to have happened.
class Knowledge {
 public:
  static constexpr std::size_t max_threads = 8;

  void learn(const Knowledge& other) noexcept;
  std::uint32_t& of(std::size_t thread) noexcept { return steps_[thread]; }
  bool has(std::size_t thread, std::uint32_t step) const noexcept { return steps_[thread] >= step; }

 private:
  std::array<std::uint32_t, max_threads> steps_{};
};

/// One execution of a model: its threads are fibres, of which one runs at a time. Each operation on an atomic is a
/// step, and a search chooses which step comes next. The order of memory is weaker than that of steps:
///
/// * A store that is not sequentially consistent waits in a buffer while its thread goes on, and reaches memory at any
///   later step. A release store keeps its place behind the stores before it, a relaxed one does not.
/// * These come after all earlier stores of their thread: a sequentially consistent store, a read-modify-write that
///   releases, a read or write of an event file. Another read-modify-write comes after those to its place.
/// * Loads read memory, or their own thread's buffer, in program order. What only processors with reordered loads show
///   is found as a race: plain data that two threads access (Data) without a release and an acquire in between.
///
/// The registries have no such tool (relacy, GenMC, CBMC), and a model in another language (spin) drifts from the code.
class Execution {
 public:
  static constexpr std::size_t max_steps = DepthFirst::max_steps - 12;

  /// The executions to come are chosen by search, of code with a mutation.
  void prepare(Search& search, const Mutation& mutation);
  /// Forgets the last execution.
  void begin();
  void add_thread(std::string_view name, std::function<void()> body);
  /// Runs all threads to their ends. False when the model failed; its threads then stay where they were.
  bool run();

  // The operations of a model's threads; those of other code take effect at once.
  Word load(const Cell& cell, std::memory_order order, const Site& site) noexcept;
  void store(const Cell& cell, Word value, std::memory_order order, const Site& site) noexcept;
  Word change(const Cell& cell, Change function, Word operand, std::memory_order order, const Site& site) noexcept;
  bool compare_exchange(const Cell& cell, Word& expected, Word desired, std::memory_order success,
                        std::memory_order failure, const Site& site) noexcept;
  /// Sleeps until is_over(argument), which depends on the cell only. No other thread may make it false again.
  void sleep_until(bool (*is_over)(const void*), const void* argument, const Cell& cell, const Site& site) noexcept;

  /// Ends another thread wherever it is, as SIGKILL; its stores still reach memory.
  void kill(std::size_t thread, std::source_location where = std::source_location::current());

  /// The running thread frees memory: accesses to atomics in it must have come before, and none may follow.
  void end_life(const void* begin, std::size_t size, std::source_location where = std::source_location::current());

  // Plain data; checks only.
  std::size_t thread() const noexcept { return self_; }
  bool is_outside() const noexcept { return self_ == outside; }
  const Knowledge& knowledge() const noexcept { return threads_[self_]->knowledge; }
  std::uint32_t age() noexcept { return threads_[self_]->knowledge.of(self_); }

  void fail(std::string_view reason, const Site& site) noexcept;
  const std::string& failure() const noexcept { return failure_; }
  std::size_t steps() const noexcept { return steps_; }
  /// How often the mutation applied.
  std::uint64_t mutated() const noexcept { return mutations_.applied(); }

 private:
  static constexpr std::size_t outside = Knowledge::max_threads;

  struct Store {
    Cell cell;
    Word value = 0;
    std::memory_order order{};
    std::uint8_t place = 0;
    std::uint32_t number = 0;      ///< its number among those of its thread
    std::uint32_t made_after = 0;  ///< the step of its thread
    Knowledge knowledge;
    Site site;
  };
  struct Step {
    Site site;
    std::uint8_t place = 0;
    bool writes = false;
    bool drains = false;
    std::uint8_t ends = 0;
    bool (*may_come)(const void*) = nullptr;
    const void* argument = nullptr;
  };
  struct Thread {
    std::string name;
    std::function<void()> body;
    std::unique_ptr<std::byte[]> stack;
    ucontext_t context{};
    bool is_done = false;
    Step next;
    std::vector<Store> buffer;
    std::vector<Store> late;  ///< at most one: a mutation's
    std::uint32_t stores_made = 0;
    std::uint32_t last_step = Action::at_start;
    Knowledge knowledge;
  };
  struct Place {
    const void* address = nullptr;
    Knowledge released{};  ///< what a thread learns that acquires it
    Knowledge accessed{};  ///< each thread's last step here
    bool is_gone = false;
  };
  struct Trace {
    std::size_t thread = 0;
    std::size_t place = 0;
    bool commits = false;
    Word value = 0;
    Site site;
  };

  static void enter() noexcept;
  Thread& self() noexcept { return *threads_[self_]; }
  std::uint8_t place_of(const Cell& cell);
  void take_turn(const Step& step);
  void end_step(Word value);
  void pass_on();
  void switch_to(std::size_t thread);
  void leave();
  void list_actions();
  void list_run(std::size_t index, bool kills);
  static bool may_run(const Thread& thread) noexcept;
  void list_stores(std::size_t index);
  void commit(const Action& action);
  void put(const Store& store);
  void put_late_store();
  const Store* newest_store(std::uint8_t place) noexcept;
  Word change_at_once(const Cell& cell, Change function, Word operand, std::memory_order order, const Site& site);
  void note_access(std::uint8_t place);
  void acquire(std::uint8_t place, std::memory_order order) noexcept;
  void release(std::uint8_t place, std::memory_order order) noexcept;
  bool all_done() const noexcept;
  std::string told() const;

  Search* search_ = nullptr;
  Mutations mutations_;
  std::vector<std::unique_ptr<Thread>> threads_;
  std::size_t num_threads_ = 0;
  std::size_t self_ = outside;
  bool is_starting_ = false;
  ucontext_t main_{};
  std::vector<Place> places_;
  Actions actions_;
  std::size_t steps_ = 0;
  std::vector<Trace> trace_;
  std::string failure_;
};

/// The execution under way.
Execution& execution() noexcept;

}  // namespace pydoca::model
