// Replaces operator new by one that counts, and fails as failure/injection.hpp says.
#include "failure/injection.hpp"

#include <cstddef>
#include <cstdlib>
#include <new>

namespace {

std::atomic<std::int64_t> live{0};

void* allocated_or_null(std::size_t size, std::size_t alignment) noexcept {
  if (pydoca::failure::fails(pydoca::failure::Plan::Kind::allocation)) {
    return nullptr;
  }
  live.fetch_add(1, std::memory_order_relaxed);
  const std::size_t rounded = (size + alignment - 1) / alignment * alignment;
  return std::aligned_alloc(alignment, rounded == 0 ? alignment : rounded);
}

void* allocated(std::size_t size, std::size_t alignment) {
  if (void* const memory = allocated_or_null(size, alignment)) {
    return memory;
  }
  throw std::bad_alloc();
}

void release(void* memory) noexcept {
  if (memory != nullptr) {
    live.fetch_sub(1, std::memory_order_relaxed);
    std::free(memory);
  }
}

}  // namespace

std::int64_t pydoca::failure::live_blocks() noexcept { return live.load(std::memory_order_relaxed); }

// All other forms call these, except the nothrow form of AddressSanitizer.
void* operator new(std::size_t size) { return allocated(size, alignof(std::max_align_t)); }
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return allocated_or_null(size, alignof(std::max_align_t));
}
void* operator new(std::size_t size, std::align_val_t alignment) {
  return allocated(size, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept { release(memory); }
void operator delete(void* memory, std::size_t) noexcept { release(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { release(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { release(memory); }
