#include "pydoca/buf_pool.hpp"

#include "core/memory/free_bufs.hpp"
#include "detail/concat.hpp"

#include <bit>

namespace pydoca {

namespace {

/// The places of a pool's elements: each begins stride bytes after the one before.
struct ElementPlaces {
  std::uint64_t first;
  std::uint64_t stride;
};

/// Whether count elements fit; never overflows.
bool place(const Mmap& mmap, std::size_t count, std::size_t size, std::size_t alignment, ElementPlaces& places) {
  const std::uint64_t gap = -mmap.addr() & (alignment - 1);
  std::uint64_t stride = 0;
  std::uint64_t needed = 0;
  if (__builtin_add_overflow(size, alignment - 1, &stride) || gap > mmap.len()) {
    return false;
  }
  stride &= ~std::uint64_t{alignment - 1};
  places = {mmap.addr() + gap, stride};
  return !__builtin_mul_overflow(stride, count, &needed) && needed <= mmap.len() - gap;
}

}  // namespace

std::shared_ptr<BufPool> BufPool::create(std::size_t num_elements, std::size_t element_size,
                                         std::shared_ptr<Mmap> mmap) {
  if (mmap == nullptr || mmap->len() == 0) {
    throw Error(Status::invalid_value, mmap == nullptr ? "buf pool: the memory map is null; give one"
                                                       : "buf pool: the memory map has no range; set it first");
  }
  if (element_size == 0) {
    throw Error(Status::invalid_value, "buf pool: elements of 0 bytes; give 1 or more");
  }
  auto pool = share(new BufPool(element_size, std::move(mmap)));
  pool->add_descriptors(num_elements);
  return pool;
}

void BufPool::require_stopped(const char* what) const {
  if (is_started()) {
    throw Error(Status::bad_state, detail::concat(what, " of a buf pool: it is started; stop it first"));
  }
}

void BufPool::start() {
  if (is_started()) {
    return;
  }
  if (mmap_ != nullptr) {
    if (!mmap_->is_started()) {
      throw Error(Status::bad_state,
                  detail::concat("start buf pool: its ", mmap_->describe(), " is not started; start that first"));
    }
    place_elements();
  }
  allow_bufs();
}

void BufPool::place_elements() {
  ElementPlaces places{};
  if (!place(*mmap_, num_elements(), element_size_, alignment_, places)) {
    throw Error(Status::initialization,
                detail::concat("start buf pool: ", num_elements(), " elements of ", element_size_,
                               " bytes, at multiples of ", alignment_, ", do not fit into the ", mmap_->describe(),
                               "; make the map larger, or the pool smaller"));
  }
  std::uint64_t addr = places.first;
  each_descriptor([&](Buf& buf) {
    Segment& segment = segment_of(buf);
    segment.regions = regions_of(*mmap_);
    segment.head = addr;
    segment.len = element_size_;
    addr += places.stride;
  });
}

void BufPool::stop() {
  require_idle("stop");
  end_bufs();
}

void BufPool::close() {
  release_descriptors();
  mmap_.reset();
}

void BufPool::set_element_alignment(std::size_t alignment) {
  require_stopped("set the element alignment");
  if (!std::has_single_bit(alignment)) {
    throw Error(Status::invalid_value,
                detail::concat("buf pool: element alignment ", alignment, " is not a power of 2; give 1, 2, 4, ..."));
  }
  alignment_ = alignment;
}

void BufPool::set_user_data(std::uint64_t data) {
  require_stopped("set the user data");
  set_data_word(data);
}

Status BufPool::alloc(Buf*& buf) noexcept {
  if (!is_started() || !mmap_->is_started()) {
    return Status::bad_state;
  }
  Buf* const taken = take(*mmap_);
  if (taken == nullptr) {
    return Status::empty;
  }
  Segment& segment = segment_of(*taken);
  segment.data = segment.head;
  segment.data_len = 0;
  buf = taken;
  return Status::success;
}

}  // namespace pydoca
