#include "pydoca/buf_inventory.hpp"

#include "detail/concat.hpp"

#include <limits>
#include <new>

namespace pydoca {

std::shared_ptr<BufInventory> BufInventory::create(std::size_t num_elements) {
  auto inventory = std::shared_ptr<BufInventory>(new BufInventory);
  inventory->add_slab(num_elements);
  return inventory;
}

void BufInventory::add_slab(std::size_t count) {
  if (count == 0 || count > std::numeric_limits<std::uint32_t>::max()) {
    throw Error(Status::invalid_value, detail::concat("buf inventory: ", count, " elements; give 1..2^32-1"));
  }
  try {
    slabs_.reserve(slabs_.size() + 1);
    slabs_.push_back({std::unique_ptr<Buf[]>(new Buf[count]), count});
  } catch (const std::bad_alloc&) {
    throw Error(Status::no_memory, detail::concat("buf inventory: no memory for ", count, " descriptors"));
  }
  for (std::size_t i = count; i-- > 0;) {
    Buf& buf = slabs_.back().bufs[i];
    buf.inventory_ = this;
    buf.Segment::next = free_;
    free_ = &buf;
  }
  num_elements_ += count;
  num_free_ += count;
}

void BufInventory::start() {
  if (num_elements_ == 0) {
    throw Error(Status::bad_state, "start buf inventory: it is closed; make another");
  }
  started_ = true;
}

void BufInventory::stop() { started_ = false; }

void BufInventory::close() {
  if (num_free_ != num_elements_) {
    throw Error(Status::in_use, detail::concat("close buf inventory: ", num_elements_ - num_free_, " of ",
                                               num_elements_, " buf(s) are out; release them first"));
  }
  started_ = false;
  slabs_.clear();
  free_ = nullptr;
  num_elements_ = num_free_ = 0;
}

void BufInventory::expand(std::size_t num_elements) {
  if (!started_) {
    throw Error(Status::bad_state, "expand buf inventory: start it first");
  }
  add_slab(num_elements);
}

Buf* BufInventory::take() noexcept {
  Buf* buf = free_;
  if (buf != nullptr) {
    if (num_free_ == num_elements_) {
      self_ = shared_from_this();
    }
    free_ = buf->next();
    --num_free_;
    buf->Segment::next = nullptr;
    buf->tail_ = buf;
    buf->list_len_ = 1;
    buf->in_flight_ = 0;
    buf->filling_ = false;
    buf->refcount_ = 1;
    buf->is_head_ = true;
  }
  return buf;
}

void BufInventory::put_back(Buf& buf) noexcept {
  // Both may go with the last reference, once all is in order here.
  const std::shared_ptr<Mmap> mmap = std::move(buf.mmap_);
  std::shared_ptr<BufInventory> self;
  mmap->num_bufs_.fetch_sub(1, std::memory_order_relaxed);
  buf.refcount_ = 0;
  buf.Segment::next = free_;
  free_ = &buf;
  if (++num_free_ == num_elements_) {
    self = std::move(self_);
  }
}

Status BufInventory::get_by_args(const std::shared_ptr<Mmap>& mmap, std::uint64_t addr, std::size_t len,
                                 std::uint64_t data, std::size_t data_len, Buf*& buf) noexcept {
  if (mmap == nullptr) {
    return Status::invalid_value;
  }
  if (!started_ || !mmap->is_started()) {
    return Status::bad_state;
  }
  if (len == 0 || !mmap->contains(addr, len) || data < addr || data - addr > len || data_len > len - (data - addr)) {
    return Status::invalid_value;
  }
  Buf* taken = take();
  if (taken == nullptr) {
    return Status::no_memory;
  }
  mmap->num_bufs_.fetch_add(1, std::memory_order_relaxed);
  taken->mmap_ = mmap;
  taken->regions = mmap->regions_by_ordinal_.data();
  taken->Segment::head = addr;
  taken->Segment::len = len;
  taken->Segment::data = data;
  taken->Segment::data_len = data_len;
  buf = taken;
  return Status::success;
}

Status BufInventory::dup(const Buf& source, Buf*& buf) noexcept {
  if (!source.is_head_) {
    return Status::not_permitted;
  }
  if (!started_) {
    return Status::bad_state;
  }
  if (source.list_len_ > num_free_) {
    return Status::no_memory;
  }
  Buf* first = nullptr;
  for (const Buf* element = &source; element != nullptr; element = element->next()) {
    Buf* copy = nullptr;
    const Status status =
        get_by_args(element->mmap_, element->head(), element->len(), element->data(), element->data_len(), copy);
    if (status != Status::success) {
      if (first != nullptr) {
        first->dec_refcount();
      }
      return status;
    }
    if (first == nullptr) {
      first = copy;
    } else {
      first->chain(*copy);
    }
  }
  buf = first;
  return Status::success;
}

}  // namespace pydoca
