#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

namespace pydoca::detail {

/// A fixed number of T, made at once and handed out last-in first-out. T links free slots through its member
/// next_free_.
template <typename T>
class SlotPool {
 public:
  template <typename... Args>
  SlotPool(std::uint32_t count, Args&... args)
      : storage_(static_cast<std::byte*>(::operator new(count * sizeof(T), std::align_val_t{alignof(T)}))),
        count_(count) {
    for (std::uint32_t i = count; i-- > 0;) {
      put(*new (storage_.get() + i * sizeof(T)) T(args...));
    }
  }
  ~SlotPool() {
    for (std::uint32_t i = 0; i < count_; ++i) {
      std::launder(reinterpret_cast<T*>(storage_.get() + i * sizeof(T)))->~T();
    }
  }
  SlotPool(const SlotPool&) = delete;
  SlotPool& operator=(const SlotPool&) = delete;

  /// Null when all are out.
  T* take() noexcept {
    T* slot = free_;
    if (slot != nullptr) {
      free_ = slot->next_free_;
    }
    return slot;
  }
  void put(T& slot) noexcept {
    slot.next_free_ = free_;
    free_ = &slot;
  }

 private:
  struct Deallocate {
    void operator()(std::byte* storage) const noexcept { ::operator delete(storage, std::align_val_t{alignof(T)}); }
  };

  std::unique_ptr<std::byte, Deallocate> storage_;
  std::uint32_t count_;
  T* free_ = nullptr;
};

}  // namespace pydoca::detail
