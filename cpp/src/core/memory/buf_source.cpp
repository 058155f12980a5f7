#include "pydoca/buf_source.hpp"

#include "pydoca/mmap.hpp"

#include "detail/concat.hpp"

#include <limits>
#include <new>

namespace pydoca {

void BufSource::add_descriptors(std::size_t count) {
  if (count == 0 || count > std::numeric_limits<std::uint32_t>::max()) {
    throw Error(Status::invalid_value, detail::concat(noun_, ": ", count, " elements; give 1..2^32-1"));
  }
  try {
    slabs_.reserve(slabs_.size() + 1);
    slabs_.push_back({std::unique_ptr<Buf[], Delete>(new Buf[count]), count});
  } catch (const std::bad_alloc&) {
    throw Error(Status::no_memory, detail::concat(noun_, ": no memory for ", count, " descriptors"));
  }
  for (std::size_t i = count; i-- > 0;) {
    Buf& buf = slabs_.back().bufs[i];
    buf.source_ = this;
    buf.Segment::next = free_;
    free_ = &buf;
  }
  num_elements_ += count;
}

void BufSource::allow_bufs() {
  if (num_elements_ == 0) {
    throw Error(Status::bad_state, detail::concat("start ", noun_, ": it is closed; make another"));
  }
  started_ = true;
}

void BufSource::require_idle(const char* what) const {
  if (num_out() != 0) {
    throw Error(Status::in_use, detail::concat(what, " ", noun_, ": ", num_out(), " of ", num_elements_,
                                               " buf(s) are out; release them first"));
  }
}

void BufSource::release_descriptors() {
  require_idle("close");
  started_ = false;
  slabs_.clear();
  free_ = nullptr;
  num_elements_ = 0;
}

void BufSource::end() noexcept { delete this; }
void BufSource::end(Mmap& mmap) noexcept { delete &mmap; }

void BufSource::let_go() noexcept {
  holds_ -= program;
  if (holds_ == 0) {
    end();
  }
}

}  // namespace pydoca
