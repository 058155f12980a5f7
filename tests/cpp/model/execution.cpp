#include "model/execution.hpp"

#include <algorithm>
#include <cstring>
#include <sstream>
#include <utility>

namespace pydoca::model {

namespace {

constexpr std::size_t stack_size = std::size_t{256} << 10;

bool acquires(std::memory_order order) noexcept {
  return order != std::memory_order_relaxed && order != std::memory_order_release;
}
bool releases(std::memory_order order) noexcept {
  return order == std::memory_order_release || order == std::memory_order_acq_rel || order == std::memory_order_seq_cst;
}

Word read(const Cell& cell) noexcept {
  Word word = 0;
  std::memcpy(&word, cell.address, cell.size);
  return word;
}
void write(const Cell& cell, Word word) noexcept { std::memcpy(cell.address, &word, cell.size); }

/// Class and function, of "bool pydoca::sim::Gate::enter()".
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
}

/// After each operation: what the thread does from now on, a release of this operation does not cover.
void Execution::end_step(Word value) {
  ++self().knowledge.of(self_);
  if (!trace_.empty()) {
    trace_.back().value = value;
  }
  put_late_store();
}

void Execution::put_late_store() {
  if (!self().late.empty()) {
    const Store store = self().late.back();
    self().late.clear();
    put(store);
  }
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

void Execution::list_stores(std::size_t index) {
  const std::vector<Store>& buffer = threads_[index]->buffer;
  for (auto store = buffer.begin(); store != buffer.end(); ++store) {
    const bool is_first =
        std::none_of(buffer.begin(), store, [&](const Store& other) { return other.place == store->place; });
    if (is_first && (store == buffer.begin() || !releases(store->order))) {
      actions_.add({.thread = static_cast<std::uint8_t>(index),
                    .place = store->place,
                    .commits = true,
                    .writes = true,
                    .releases = releases(store->order),
                    .store = store->number,
                    .after = store->made_after});
    }
  }
}

void Execution::commit(const Action& action) {
  std::vector<Store>& buffer = threads_[action.thread]->buffer;
  const auto store =
      std::find_if(buffer.begin(), buffer.end(), [&](const Store& other) { return other.place == action.place; });
  model::write(store->cell, store->value);
  Knowledge& released = places_[store->place - 1U].released;
  released = releases(store->order) ? store->knowledge : Knowledge{};
  trace_.push_back({action.thread, store->place, true, store->value, store->site});
  buffer.erase(store);
}

std::uint8_t Execution::place_of(const Cell& cell) {
  const auto found =
      std::find_if(places_.begin(), places_.end(), [&](const Place& place) { return place.address == cell.address; });
  const auto number = static_cast<std::uint8_t>(found - places_.begin() + 1);
  if (found == places_.end()) {
    places_.push_back({cell.address, {}});
  }
  return number;
}

void Execution::acquire(std::uint8_t place, std::memory_order order) noexcept {
  if (acquires(order)) {
    self().knowledge.learn(places_[place - 1U].released);
  }
}

/// By a read-modify-write, which continues what others have released.
void Execution::release(std::uint8_t place, std::memory_order order) noexcept {
  if (releases(order)) {
    places_[place - 1U].released.learn(self().knowledge);
  }
}

const Execution::Store* Execution::newest_store(std::uint8_t place) noexcept {
  const std::vector<Store>& buffer = self().buffer;
  const auto found =
      std::find_if(buffer.rbegin(), buffer.rend(), [&](const Store& store) { return store.place == place; });
  return found != buffer.rend() ? &*found : nullptr;
}

Word Execution::load(const Cell& cell, std::memory_order order, const Site& site) noexcept {
  if (is_outside()) {
    return read(cell);
  }
  if (mutations_.apply(Fault::blind, site)) {
    return 0;
  }
  const std::uint8_t place = place_of(cell);
  take_turn({.site = site, .place = place});
  Word value = 0;
  if (const Store* const store = newest_store(place)) {
    value = store->value;
  } else {
    value = read(cell);
    acquire(place, mutations_.apply(Fault::relax, site) ? std::memory_order_relaxed : order);
  }
  end_step(value);
  return value;
}

void Execution::store(const Cell& cell, Word value, std::memory_order order, const Site& site) noexcept {
  if (is_outside()) {
    return model::write(cell, value);
  }
  if (mutations_.apply(Fault::relax, site)) {
    order = std::memory_order_relaxed;
  }
  if (order == std::memory_order_seq_cst && mutations_.apply(Fault::weaken, site)) {
    order = std::memory_order_release;
  }
  const Store store{
      .cell = cell, .value = value, .order = order, .place = place_of(cell), .knowledge = {}, .site = site};
  if (mutations_.apply(Fault::late, site)) {
    self().late.push_back(store);
  } else {
    put(store);
  }
}

void Execution::put(const Store& store) {
  if (store.order == std::memory_order_seq_cst) {
    take_turn({.site = store.site, .place = store.place, .writes = true, .drains = true});
    model::write(store.cell, store.value);
    places_[store.place - 1U].released = self().knowledge;
    return end_step(store.value);
  }
  Store& buffered = self().buffer.emplace_back(store);
  buffered.number = ++self().stores_made;
  buffered.made_after = self().last_step;
  buffered.knowledge = self().knowledge;
  ++self().knowledge.of(self_);
}

Word Execution::change(const Cell& cell, Change function, Word operand, std::memory_order order,
                       const Site& site) noexcept {
  if (is_outside()) {
    const Word old = read(cell);
    model::write(cell, function(old, operand));
    return old;
  }
  if (mutations_.apply(Fault::split, site)) {
    const Word old = load(cell, std::memory_order_acquire, site);
    store(cell, function(old, operand), std::memory_order_release, site);
    return old;
  }
  return change_at_once(cell, function, operand, order, site);
}

Word Execution::change_at_once(const Cell& cell, Change function, Word operand, std::memory_order order,
                               const Site& site) {
  if (mutations_.apply(Fault::relax, site)) {
    order = std::memory_order_relaxed;
  }
  const std::uint8_t place = place_of(cell);
  take_turn({.site = site, .place = place, .writes = true, .drains = releases(order)});
  const Word old = read(cell);
  acquire(place, order);
  release(place, order);
  model::write(cell, function(old, operand));
  end_step(old);
  return old;
}

bool Execution::compare_exchange(const Cell& cell, Word& expected, Word desired, std::memory_order success,
                                 std::memory_order failure, const Site& site) noexcept {
  if (!is_outside() && mutations_.apply(Fault::split, site)) {
    const Word old = load(cell, std::memory_order_acquire, site);
    if (old == expected) {
      store(cell, desired, std::memory_order_release, site);
    }
    return std::exchange(expected, old) == old;
  }
  const std::uint8_t place = is_outside() ? std::uint8_t{0} : place_of(cell);
  if (!is_outside()) {
    if (mutations_.apply(Fault::relax, site)) {
      success = failure = std::memory_order_relaxed;
    }
    take_turn({.site = site, .place = place, .writes = true, .drains = releases(success)});
  }
  const Word old = read(cell);
  const bool changes = old == expected;
  if (changes) {
    model::write(cell, desired);
  }
  expected = old;
  if (!is_outside()) {
    acquire(place, changes ? success : failure);
    release(place, changes ? success : std::memory_order_relaxed);
    end_step(old);
  }
  return changes;
}

void Execution::sleep_until(bool (*is_over)(const void*), const void* argument, const Cell& cell,
                            const Site& site) noexcept {
  const std::uint8_t place = place_of(cell);
  take_turn({.site = site, .place = place, .may_come = is_over, .argument = argument});
  acquire(place, std::memory_order_acquire);
  end_step(read(cell));
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
