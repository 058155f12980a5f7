#include "model/explorer/execution.hpp"

#include <algorithm>
#include <sstream>

namespace pydoca::model {

namespace {

constexpr std::size_t stack_size = std::size_t{256} << 10;

/// Class and function, of "bool pydoca::sim::RevocationPage::enter()".
std::string_view short_name(std::string_view name) noexcept {
  name = name.substr(0, name.find('('));
  for (std::size_t colon = name.rfind("::"), kept = 1; colon != std::string_view::npos; --kept) {
    if (kept == 0) {
      return name.substr(colon + 2);
    }
    colon = colon == 0 ? std::string_view::npos : name.rfind("::", colon - 1);
  }
  return name.substr(name.rfind(' ') + 1);
}

}  // namespace

Execution& execution() noexcept {
  static Execution one;
  return one;
}

void Knowledge::learn(const Knowledge& other) noexcept {
  for (std::size_t thread = 0; thread < max_threads; ++thread) {
    steps_[thread] = std::max(steps_[thread], other.steps_[thread]);
  }
}

void Execution::prepare(Search& search, const Mutation& mutation) {
  search_ = &search;
  mutations_.reset(mutation);
}

void Execution::begin() {
  num_threads_ = 0;
  places_.clear();
  trace_.clear();
  failure_.clear();
  steps_ = 0;
  self_ = outside;
}

void Execution::add_thread(std::string_view name, std::function<void()> body) {
  if (num_threads_ == threads_.size()) {
    threads_.push_back(std::make_unique<Thread>());
    threads_.back()->stack = std::make_unique<std::byte[]>(stack_size);
  }
  Thread& thread = *threads_[num_threads_];
  thread.name = name;
  thread.body = std::move(body);
  thread.is_done = false;
  thread.buffer.clear();
  thread.late.clear();
  thread.stores_made = 0;
  thread.last_step = Action::at_start;
  thread.knowledge = {};
  thread.knowledge.of(num_threads_++) = 1;
  ::getcontext(&thread.context);
  thread.context.uc_stack.ss_sp = thread.stack.get();
  thread.context.uc_stack.ss_size = stack_size;
  ::makecontext(&thread.context, [] { enter(); }, 0);
}

bool Execution::run() {
  is_starting_ = true;
  for (std::size_t thread = 0; thread < num_threads_ && failure_.empty(); ++thread) {
    switch_to(thread);
  }
  is_starting_ = false;
  if (failure_.empty()) {
    pass_on();
  }
  return failure_.empty();
}

/// Where each thread begins.
void Execution::enter() noexcept {
  Execution& one = execution();
  one.self().body();
  one.put_late_store();
  one.self().is_done = true;
  if (one.is_starting_) {
    one.leave();
  }
  one.pass_on();
}

void Execution::switch_to(std::size_t thread) {
  ucontext_t& from = self_ == outside ? main_ : self().context;
  self_ = thread;
  ::swapcontext(&from, &self().context);
}

/// Ends the running thread, or at its start only interrupts it.
void Execution::leave() {
  if (self_ != outside) {
    ucontext_t& from = self().context;
    self_ = outside;
    ::swapcontext(&from, &main_);
  }
}

/// Announces the next operation of the running thread, and returns when the search has chosen it.
void Execution::take_turn(const Step& step) {
  self().next = step;
  if (is_starting_) {
    leave();
  } else {
    pass_on();
  }
  trace_.push_back({.thread = self_, .place = step.place, .site = step.site});
  if (step.place != 0) {
    note_access(step.place);
  }
}

/// After each operation: what the thread does from now on, a release of this operation does not cover.
void Execution::end_step(Word value) {
  ++self().knowledge.of(self_);
  if (!trace_.empty()) {
    trace_.back().value = value;
  }
  put_late_store();
}

/// Lets steps come until the search chooses one of the running thread; for code outside of threads, until all are done.
void Execution::pass_on() {
  for (;;) {
    list_actions();
    if (actions_.size() == 0) {
      return all_done() ? leave() : fail("every thread that is left sleeps for ever", {});
    }
    if (steps_ == max_steps) {
      return fail("the execution does not end", {});
    }
    const Action action = actions_[search_->choose(actions_)];
    ++steps_;
    if (action.commits) {
      commit(action);
      continue;
    }
    threads_[action.thread]->last_step = static_cast<std::uint32_t>(steps_ - 1);
    if (action.thread != self_) {
      switch_to(action.thread);
    }
    return;
  }
}

bool Execution::all_done() const noexcept {
  return std::all_of(threads_.begin(), threads_.begin() + static_cast<std::ptrdiff_t>(num_threads_),
                     [](const auto& thread) { return thread->is_done; });
}

void Execution::list_actions() {
  actions_.clear();
  if (self_ != outside) {
    list_run(self_, false);  // first: going on costs no switch
  }
  for (std::size_t index = 0; index < num_threads_; ++index) {
    if (index != self_) {
      list_run(index, false);
    }
  }
  for (std::size_t index = 0; index < num_threads_; ++index) {
    list_stores(index);
  }
  // The reduction moves a kill before the steps that it has seen, so these come first.
  for (std::size_t index = 0; index < num_threads_; ++index) {
    list_run(index, true);
  }
}

void Execution::list_run(std::size_t index, bool kills) {
  const Thread& thread = *threads_[index];
  const Step& next = thread.next;
  if (!thread.is_done && kills == (next.ends != 0) && may_run(thread)) {
    actions_.add({.thread = static_cast<std::uint8_t>(index),
                  .place = next.place,
                  .writes = next.writes,
                  .drains = next.drains,
                  .ends = next.ends});
  }
}

bool Execution::may_run(const Thread& thread) noexcept {
  const Step& next = thread.next;
  const auto is_before = [&](const Store& store) { return next.drains || (next.writes && store.place == next.place); };
  return std::none_of(thread.buffer.begin(), thread.buffer.end(), is_before) &&
         (next.may_come == nullptr || next.may_come(next.argument));
}

std::uint8_t Execution::place_of(const Cell& cell) {
  const auto found =
      std::find_if(places_.begin(), places_.end(), [&](const Place& place) { return place.address == cell.address; });
  const auto number = static_cast<std::uint8_t>(found - places_.begin() + 1);
  if (found == places_.end()) {
    places_.push_back({.address = cell.address});
  }
  return number;
}

void Execution::note_access(std::uint8_t number) {
  Place& place = places_[number - 1U];
  if (place.is_gone) {
    fail("an access to an atomic that is gone", self().next.site);
  }
  place.accessed.of(self_) = self().knowledge.of(self_);
}

void Execution::end_life(const void* begin, std::size_t size, std::source_location where) {
  const auto* const first = static_cast<const std::byte*>(begin);
  for (Place& place : places_) {
    const auto* const address = static_cast<const std::byte*>(place.address);
    if (address < first || address >= first + size) {
      continue;
    }
    place.is_gone = true;
    for (std::size_t thread = 0; thread < num_threads_; ++thread) {
      if (!self().knowledge.has(thread, place.accessed.of(thread))) {
        fail("an atomic is gone while another thread accesses it", {"", where});
      }
    }
  }
}

void Execution::kill(std::size_t thread, std::source_location where) {
  take_turn({.site = {"kill", where}, .ends = static_cast<std::uint8_t>(thread + 1)});
  threads_[thread]->is_done = true;
  end_step(thread);
}

void Execution::fail(std::string_view reason, const Site& site) noexcept {
  std::ostringstream text;
  text << reason;
  if (site.where.line() != 0) {
    text << " (" << short_name(site.where.function_name()) << ":" << site.where.line() << ")";
  }
  text << ", after:\n" << told();
  failure_ = text.str();
  leave();
}

std::string Execution::told() const {
  std::ostringstream text;
  for (const Trace& step : trace_) {
    text << "  " << threads_[step.thread]->name << ": " << step.site.what << " #" << step.place << " = " << std::hex
         << step.value << std::dec << (step.commits ? " reaches memory" : "") << "  ("
         << short_name(step.site.where.function_name()) << ":" << step.site.where.line() << ")\n";
  }
  for (std::size_t index = 0; index < num_threads_; ++index) {
    const Thread& thread = *threads_[index];
    if (!thread.is_done) {
      text << "  " << thread.name << " is at " << thread.next.site.what << " #" << int{thread.next.place} << "  ("
           << short_name(thread.next.site.where.function_name()) << ":" << thread.next.site.where.line() << ")\n";
    }
  }
  return text.str();
}

}  // namespace pydoca::model
