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
  --num_free_;
  mmap.hold_for_buf();
  buf->Segment::next = nullptr;
  buf->standing_ = Buf::head_bit + 1;
  buf->mmap_ = &mmap;
  return buf;
}

inline backend::MemoryRegion* const* BufSource::regions_of(const Mmap& mmap) noexcept {
  return mmap.regions_by_ordinal_.data();
}

inline void BufSource::put_back(Buf& buf) noexcept {
  Mmap* const mmap = buf.mmap_;
  buf.Segment::next = free_;
  free_ = &buf;
  const bool ends = ++num_free_ == num_elements_ && abandoned_;
  const bool map_ends = mmap->let_go_of(Mmap::one_buf);
  if (ends || map_ends) [[unlikely]] {
    end(ends ? this : nullptr, map_ends ? mmap : nullptr);
  }
}

}  // namespace pydoca
