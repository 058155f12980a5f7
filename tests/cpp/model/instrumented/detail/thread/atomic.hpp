#pragma once

#include "model/explorer/execution.hpp"

#include <atomic>
#include <cstdint>
#include <cstring>
#include <source_location>

namespace pydoca::detail {

/// Stands for the engine's detail/thread/atomic.hpp in the models: each operation is a step of the execution under way.
/// It has the layout of T, and the operations of std::atomic that the protocols use.
template <class T>
class Atomic {
  using Order = std::memory_order;
  using Site = std::source_location;

 public:
  static constexpr bool is_always_lock_free = std::atomic<T>::is_always_lock_free;

  constexpr Atomic() noexcept = default;
  constexpr Atomic(T value) noexcept : value_(value) {}  // NOLINT: implicit, as std::atomic's
  ~Atomic() = default;
  Atomic(const Atomic&) = delete;
  Atomic& operator=(const Atomic&) = delete;

  T load(Order order = Order::seq_cst, Site site = Site::current()) const noexcept {
    return value_of(model::execution().load(cell(), order, {"load", site}));
  }
  void store(T value, Order order = Order::seq_cst, Site site = Site::current()) noexcept {
    model::execution().store(cell(), word_of(value), order, {"store", site});
  }
  T exchange(T value, Order order = Order::seq_cst, Site site = Site::current()) noexcept {
    return change([](model::Word, model::Word operand) { return operand; }, value, order, {"exchange", site});
  }
  T fetch_add(T value, Order order = Order::seq_cst, Site site = Site::current()) noexcept {
    return change([](model::Word old, model::Word operand) { return old + operand; }, value, order,
                  {"fetch_add", site});
  }
  T fetch_sub(T value, Order order = Order::seq_cst, Site site = Site::current()) noexcept {
    return change([](model::Word old, model::Word operand) { return old - operand; }, value, order,
                  {"fetch_sub", site});
  }
  T fetch_or(T value, Order order = Order::seq_cst, Site site = Site::current()) noexcept {
    return change([](model::Word old, model::Word operand) { return old | operand; }, value, order, {"fetch_or", site});
  }
  bool compare_exchange_strong(T& expected, T desired, Order success, Order failure,
                               Site site = Site::current()) noexcept {
    model::Word old = word_of(expected);
    const bool changed = model::execution().compare_exchange(cell(), old, word_of(desired), success, failure,
                                                             {"compare_exchange", site});
    expected = value_of(old);
    return changed;
  }
  bool compare_exchange_strong(T& expected, T desired, Order order = Order::seq_cst,
                               Site site = Site::current()) noexcept {
    return compare_exchange_strong(expected, desired, order, order, site);
  }
  bool compare_exchange_weak(T& expected, T desired, Order success, Order failure,
                             Site site = Site::current()) noexcept {
    return compare_exchange_strong(expected, desired, success, failure, site);
  }
  bool compare_exchange_weak(T& expected, T desired, Order order = Order::seq_cst,
                             Site site = Site::current()) noexcept {
    return compare_exchange_strong(expected, desired, order, order, site);
  }

 private:
  static model::Word word_of(T value) noexcept {
    model::Word word = 0;
    std::memcpy(&word, static_cast<const void*>(&value), sizeof(T));
    return word;
  }
  static T value_of(model::Word word) noexcept {
    T value{};
    std::memcpy(static_cast<void*>(&value), &word, sizeof(T));
    return value;
  }
  model::Cell cell() const noexcept { return {static_cast<void*>(const_cast<T*>(&value_)), sizeof(T)}; }
  T change(model::Change function, T value, Order order, const model::Site& site) noexcept {
    return value_of(model::execution().change(cell(), function, word_of(value), order, site));
  }

  T value_{};
};

}  // namespace pydoca::detail
