#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace pydoca::detail {

/// What a wait compares the masked value of a counter with.
enum class WaitCondition : std::uint8_t { equal, unequal, greater };

/// The largest value that a wait for a greater one takes, and that it compares (DOCA up to 2.6).
inline constexpr std::uint64_t max_greater_value = 254;

/// Pending waits on one counter, found by the value that ends them: what a new value costs depends on how many waits it
/// ends, not on how many there are. Waits for equality lie in a hash table under (mask, value). Waits for a greater
/// value also lie there; their values are few, and each mask has a bit for each of them. Waits for inequality lie in
/// one list per mask: while they are pending, all of them wait for the end of the same masked value. T has value() - up
/// to max_greater_value in a wait for a greater one -, mask(), condition(), group() - a number below max_groups for
/// each mask - and the links next_ and prev_, which the table uses while it has the wait.
template <typename T>
class WaitTable {
 public:
  static constexpr std::size_t max_groups = 32;

  explicit WaitTable(std::size_t capacity)
      : bucket_mask_(std::bit_ceil(std::max<std::size_t>(capacity, 1)) - 1),
        buckets_(std::make_unique<T*[]>(bucket_mask_ + 1)) {}

  bool empty() const noexcept { return count_ == 0; }

  /// wait is not satisfied by the value that was last given to collect().
  void insert(T& wait) noexcept {
    Group& group = groups_[wait.group()];
    group.mask = wait.mask();
    active_ |= std::uint32_t{1} << wait.group();
    ++group.number(wait.condition());
    push(list_of(wait, group), wait);
    if (wait.condition() == WaitCondition::greater) {
      group.greater[wait.value() / 64] |= std::uint64_t{1} << wait.value() % 64;
    }
    ++count_;
  }

  /// Calls take with each wait that value ends, which has left the table by then.
  template <class Take>
  void collect(std::uint64_t value, Take take) noexcept {
    for_each_active([&](Group& group) {
      const std::uint64_t masked = value & group.mask;
      if (group.number(WaitCondition::equal) != 0) {
        take_from_bucket(WaitCondition::equal, group, masked, take);
      }
      if (group.number(WaitCondition::greater) != 0) {
        take_less(group, masked, take);
      }
      if (group.number(WaitCondition::unequal) != 0 && group.unequal->value() != masked) {
        take_list(group.unequal, group.number(WaitCondition::unequal), take);
      }
    });
  }
  template <class Take>
  void collect_all(Take take) noexcept {
    for_each_active([&](Group& group) {
      take_list(group.unequal, group.number(WaitCondition::unequal), take);
      group.numbers = {};
      group.greater = {};
    });
    active_ = 0;
    std::uint32_t ignored = 0;
    for (std::size_t bucket = 0; bucket <= bucket_mask_ && count_ != 0; ++bucket) {
      take_list(buckets_[bucket], ignored, take);
    }
  }
  void remove(T& wait) noexcept {
    Group& group = groups_[wait.group()];
    --group.number(wait.condition());
    unlink(list_of(wait, group), wait);
    --count_;
  }

 private:
  struct Group {
    std::uint64_t mask = 0;
    std::array<std::uint32_t, 3> numbers{};  ///< how many waits are pending, by WaitCondition
    T* unequal = nullptr;
    std::array<std::uint64_t, max_greater_value / 64 + 1> greater{};  ///< a bit for each value that may have waits

    std::uint32_t& number(WaitCondition condition) noexcept { return numbers[static_cast<std::size_t>(condition)]; }
  };

  /// A group without waits leaves those active.
  template <class Action>
  void for_each_active(Action action) noexcept {
    for (std::uint32_t left = active_; left != 0; left &= left - 1) {
      const auto index = static_cast<std::size_t>(std::countr_zero(left));
      Group& group = groups_[index];
      action(group);
      if (group.numbers == std::array<std::uint32_t, 3>{}) {
        active_ &= ~(std::uint32_t{1} << index);
      }
    }
  }
  T*& bucket_of(std::uint64_t mask, std::uint64_t value) noexcept {
    const std::uint64_t mixed = (value ^ (mask * 3)) * 0x9e3779b97f4a7c15;
    return buckets_[(mixed >> 32) & bucket_mask_];
  }
  T*& list_of(const T& wait, Group& group) noexcept {
    return wait.condition() == WaitCondition::unequal ? group.unequal : bucket_of(wait.mask(), wait.value());
  }
  static void push(T*& list, T& wait) noexcept {
    wait.prev_ = nullptr;
    wait.next_ = list;
    if (list != nullptr) {
      list->prev_ = &wait;
    }
    list = &wait;
  }
  static void unlink(T*& list, T& wait) noexcept {
    (wait.prev_ != nullptr ? wait.prev_->next_ : list) = wait.next_;
    if (wait.next_ != nullptr) {
      wait.next_->prev_ = wait.prev_;
    }
  }
  template <class Take>
  void take_from_bucket(WaitCondition condition, Group& group, std::uint64_t value, Take take) noexcept {
    T*& bucket = bucket_of(group.mask, value);
    for (T* wait = bucket; wait != nullptr;) {
      T* const next = wait->next_;
      if (wait->mask() == group.mask && wait->value() == value && wait->condition() == condition) {
        --group.number(condition);
        --count_;
        unlink(bucket, *wait);
        take(*wait);
      }
      wait = next;
    }
  }
  /// The waits for a value above those less than masked.
  template <class Take>
  void take_less(Group& group, std::uint64_t masked, Take take) noexcept {
    for (std::size_t word = 0; word < group.greater.size() && word * 64 < masked; ++word) {
      const std::uint64_t rest = masked - word * 64;
      std::uint64_t less = rest < 64 ? group.greater[word] & ((std::uint64_t{1} << rest) - 1) : group.greater[word];
      group.greater[word] ^= less;
      for (; less != 0; less &= less - 1) {
        take_from_bucket(WaitCondition::greater, group, word * 64 + static_cast<unsigned>(std::countr_zero(less)),
                         take);
      }
    }
  }
  template <class Take>
  void take_list(T*& list, std::uint32_t& number, Take take) noexcept {
    T* wait = list;
    list = nullptr;
    number = 0;
    while (wait != nullptr) {
      T* const next = wait->next_;
      --count_;
      take(*wait);
      wait = next;
    }
  }

  const std::size_t bucket_mask_;
  const std::unique_ptr<T*[]> buckets_;
  std::array<Group, max_groups> groups_{};
  std::uint32_t active_ = 0;  ///< a bit for each group that may have waits
  std::size_t count_ = 0;
};

}  // namespace pydoca::detail
