#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace pydoca::detail {

/// Pending waits on one counter, found by the value that ends them: what a new value costs depends on how many waits it
/// ends, not on how many there are. Waits for equality lie in a hash table under (mask, value). Waits for inequality
/// lie in one list per mask: while they are pending, all of them wait for the end of the same masked value.
/// T has value(), mask(), is_equality(), group() - a number below max_groups for each mask - and the links next_ and
/// prev_, which the table uses while it has the wait.
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
    ++(wait.is_equality() ? group.num_equal : group.num_unequal);
    push(list_of(wait, group), wait);
    ++count_;
  }

  /// Calls take with each wait that value ends, which has left the table by then.
  template <class Take>
  void collect(std::uint64_t value, Take take) noexcept {
    for_each_active([&](Group& group) {
      const std::uint64_t masked = value & group.mask;
      if (group.num_equal != 0) {
        take_equal(group, masked, take);
      }
      if (group.num_unequal != 0 && group.unequal->value() != masked) {
        take_list(group.unequal, group.num_unequal, take);
      }
    });
  }
  template <class Take>
  void collect_all(Take take) noexcept {
    for_each_active([&](Group& group) {
      take_list(group.unequal, group.num_unequal, take);
      group.num_equal = 0;
    });
    active_ = 0;
    std::size_t ignored = 0;
    for (std::size_t bucket = 0; bucket <= bucket_mask_ && count_ != 0; ++bucket) {
      take_list(buckets_[bucket], ignored, take);
    }
  }
  void remove(T& wait) noexcept {
    Group& group = groups_[wait.group()];
    --(wait.is_equality() ? group.num_equal : group.num_unequal);
    unlink(list_of(wait, group), wait);
    --count_;
  }

 private:
  struct Group {
    std::uint64_t mask = 0;
    std::size_t num_equal = 0;
    std::size_t num_unequal = 0;
    T* unequal = nullptr;
  };

  /// A group without waits leaves those active.
  template <class Action>
  void for_each_active(Action action) noexcept {
    for (std::uint32_t left = active_; left != 0; left &= left - 1) {
      const auto index = static_cast<std::size_t>(std::countr_zero(left));
      Group& group = groups_[index];
      action(group);
      if (group.num_equal + group.num_unequal == 0) {
        active_ &= ~(std::uint32_t{1} << index);
      }
    }
  }
  T*& bucket_of(std::uint64_t mask, std::uint64_t value) noexcept {
    const std::uint64_t mixed = (value ^ (mask * 3)) * 0x9e3779b97f4a7c15;
    return buckets_[(mixed >> 32) & bucket_mask_];
  }
  T*& list_of(const T& wait, Group& group) noexcept {
    return wait.is_equality() ? bucket_of(wait.mask(), wait.value()) : group.unequal;
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
  void take_equal(Group& group, std::uint64_t value, Take take) noexcept {
    T*& bucket = bucket_of(group.mask, value);
    for (T* wait = bucket; wait != nullptr;) {
      T* const next = wait->next_;
      if (wait->mask() == group.mask && wait->value() == value) {
        --group.num_equal;
        --count_;
        unlink(bucket, *wait);
        take(*wait);
      }
      wait = next;
    }
  }
  template <class Take>
  void take_list(T*& list, std::size_t& number, Take take) noexcept {
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
