/// The two steps of every buf, inline: out of its inventory or pool, and back.
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
  buf->tail_ = buf;
  buf->list_len_ = 1;
  buf->in_flight_ = 0;
  buf->filling_ = false;
  buf->refcount_ = 1;
  buf->is_head_ = true;
  buf->mmap_ = &mmap;
  return buf;
}

inline void BufSource::put_back(Buf& buf) noexcept {
  Mmap* const mmap = buf.mmap_;
  buf.refcount_ = 0;
  buf.Segment::next = free_;
  free_ = &buf;
  const bool last = ++num_free_ == num_elements_ && abandoned_;
  // Both may end here, now that all is in order.
  mmap->let_go_of(Mmap::one_buf);
  if (last) [[unlikely]] {
    delete this;
  }
}

}  // namespace pydoca
