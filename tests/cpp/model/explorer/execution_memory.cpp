#include "model/explorer/execution.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace pydoca::model {

namespace {

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

}  // namespace

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

void Execution::acquire(std::uint8_t place, std::memory_order order) noexcept {
  if (acquires(order)) {
    self().knowledge.learn(places_[place - 1U].released);
  }
}

/// A read-modify-write does this, which continues what others have released.
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
  note_access(store.place);
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

void Execution::put_late_store() {
  if (!self().late.empty()) {
    const Store store = self().late.back();
    self().late.clear();
    put(store);
  }
}

void Execution::sleep_until(bool (*is_over)(const void*), const void* argument, const Cell& cell,
                            const Site& site) noexcept {
  const std::uint8_t place = place_of(cell);
  take_turn({.site = site, .place = place, .may_come = is_over, .argument = argument});
  acquire(place, std::memory_order_acquire);
  end_step(read(cell));
}

}  // namespace pydoca::model
