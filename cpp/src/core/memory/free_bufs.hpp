/// The two steps of every buf, inline: out of its inventory or pool, and back. A free one is a list of itself alone, as
/// it is when it is out: only next has another use.
#pragma once

#include "pydoca/buf_source.hpp"
#include "pydoca/mmap.hpp"

namespace pydoca {

inline Buf* BufSource::take(Mmap& mmap) noexcept {
  Buf* const buf = free_;
  if (buf == nullptr) {
    return nullptr;
  }
  free_ = buf->next();
  holds_ += one_buf;
  mmap.hold_for_buf();
  buf->Segment::next = nullptr;
  buf->standing_ = Buf::head_bit + 1;
  buf->mmap_ = &mmap;
  return buf;
}

inline bool BufSource::allows_buf(const Mmap& mmap, std::uint64_t addr, std::uint64_t len) noexcept {
  return mmap.allows_buf(addr, len);
}

inline backend::MemoryRegion* const* BufSource::regions_of(const Mmap& mmap) noexcept {
  return mmap.regions_by_ordinal_.data();
}

inline void BufSource::put_back(Buf& buf) noexcept {
  Mmap* const mmap = buf.mmap_;
  buf.Segment::next = free_;
  free_ = &buf;
  if (mmap->let_go_of(Mmap::one_buf)) [[unlikely]] {
    end(*mmap);
  }
  holds_ -= one_buf;
  if (holds_ == 0) [[unlikely]] {
    end();
  }
}

}  // namespace pydoca
