#pragma once

#include "pydoca/buf.hpp"
#include "pydoca/segment.hpp"
#include "pydoca/status.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#pragma GCC visibility push(default)

namespace pydoca {

/// What gives bufs: a BufInventory or a BufPool. It has the memory of its descriptors, at most 128 bytes each, and
/// lives at least until the last of its bufs is back, also when the program lets go of it; a weak_ptr has expired
/// before.
///
/// Thread safety: one thread at a time, together with its bufs. Getting and returning bufs allocates nothing, and uses
/// no locked instruction unless the map has thread safety.
// Aligned, as each buf that is got or given back writes to it: the sources of two threads share no cache line.
class alignas(64) BufSource {
 public:
  BufSource(const BufSource&) = delete;
  BufSource& operator=(const BufSource&) = delete;

  bool is_started() const noexcept { return started_; }
  /// Descriptors in all; 0 once closed.
  std::size_t num_elements() const noexcept { return num_elements_; }
  std::size_t num_free_elements() const noexcept { return num_elements_ - num_out(); }
  /// 0 at first.
  std::uint64_t user_data() const noexcept { return user_data_; }

 protected:
  /// noun: a literal, for messages.
  explicit BufSource(const char* noun) noexcept : noun_(noun) {}
  virtual ~BufSource() = default;

  /// Shares a new source. The descriptors and the source end with the last pointer, or later with the last buf.
  template <class Source>
  static std::shared_ptr<Source> share(Source* source) {
    return {source, [](Source* shared) { shared->let_go(); }};
  }
  const char* noun() const noexcept { return noun_; }
  /// The map of a buf, for another buf that holds it.
  static Mmap& map_of(const Buf& buf) noexcept { return *buf.mmap_; }
  /// Throws invalid_value unless count is in 1..2^32-1, no_memory.
  void add_descriptors(std::size_t count);
  /// Throws bad_state once closed.
  void allow_bufs();
  void end_bufs() noexcept { started_ = false; }
  /// Throws in_use while a buf is out; what names the attempt.
  void require_idle(const char* what) const;
  /// Releases the descriptors for good. Throws in_use while a buf is out.
  void release_descriptors();
  void set_data_word(std::uint64_t data) noexcept { user_data_ = data; }
  /// Calls visit(descriptor) for each, in the order of memory.
  template <class Visit>
  void each_descriptor(Visit visit) {
    for (const Slab& slab : slabs_) {
      for (std::size_t i = 0; i < slab.count; ++i) {
        visit(slab.bufs[i]);
      }
    }
  }

  /// Whether mmap is started, and has all of a range that is not empty.
  static bool allows_buf(const Mmap& mmap, std::uint64_t addr, std::uint64_t len) noexcept;
  /// A descriptor of mmap, with a count of 1, which holds mmap; its sections are as they were. Null when none is free.
  Buf* take(Mmap& mmap) noexcept;
  /// The sections of a descriptor, for the source that gives it.
  static Segment& segment_of(Buf& buf) noexcept { return buf; }
  /// The map's regions as a segment has them: they stay the same as long as the map lives.
  static backend::MemoryRegion* const* regions_of(const Mmap& mmap) noexcept;

 private:
  friend class Buf;
  void put_back(Buf& buf) noexcept;
  void let_go() noexcept;
  std::size_t num_out() const noexcept { return holds_ / one_buf; }
  // The end of what only bufs had kept: the source, and a map.
  [[gnu::noinline, gnu::cold]] void end() noexcept;
  [[gnu::noinline, gnu::cold]] static void end(Mmap& mmap) noexcept;

  /// A program cannot end a buf; this class can.
  struct Delete {
    void operator()(Buf* bufs) const noexcept { delete[] bufs; }
  };
  struct Slab {
    std::unique_ptr<Buf[], Delete> bufs;
    std::size_t count;
  };

  // What holds the source: every buf that is out, and in the lowest bit the program's shared pointers together. The one
  // that takes it to 0 ends the source.
  static constexpr std::size_t program = 1;
  static constexpr std::size_t one_buf = 2;

  // A buf that is got and one that is returned change the first two.
  Buf* free_ = nullptr;
  std::size_t holds_ = program;
  std::size_t num_elements_ = 0;
  bool started_ = false;
  std::uint64_t user_data_ = 0;
  const char* noun_;
  std::vector<Slab> slabs_;
};

}  // namespace pydoca

#pragma GCC visibility pop
