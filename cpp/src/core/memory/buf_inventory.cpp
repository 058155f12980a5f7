#include "pydoca/buf_inventory.hpp"

#include "core/memory/free_bufs.hpp"

namespace pydoca {

std::shared_ptr<BufInventory> BufInventory::create(std::size_t num_elements) {
  auto inventory = share(new BufInventory);
  inventory->add_descriptors(num_elements);
  return inventory;
}

void BufInventory::start() { allow_bufs(); }

void BufInventory::stop() { end_bufs(); }

void BufInventory::close() { release_descriptors(); }

void BufInventory::expand(std::size_t num_elements) {
  if (!is_started()) {
    throw Error(Status::bad_state, "expand buf inventory: start it first");
  }
  add_descriptors(num_elements);
}

/// Why no buf of such a range can be got.
Status BufInventory::refusal_of(const Mmap& mmap) const noexcept {
  return is_started() && mmap.is_started() ? Status::invalid_value : Status::bad_state;
}

/// Inline, as the siblings below need no check of the data section. The element does not wrap, so that one comparison
/// finds data on either side of it.
inline Status BufInventory::get(Mmap& mmap, std::uint64_t addr, std::size_t len, std::uint64_t data,
                                std::size_t data_len, Buf*& buf) noexcept {
  if (!is_started() || !allows_buf(mmap, addr, len) || data - addr > len || data_len > len - (data - addr))
      [[unlikely]] {
    return refusal_of(mmap);
  }
  Buf* const taken = take(mmap);
  if (taken == nullptr) {
    return Status::no_memory;
  }
  Segment& segment = segment_of(*taken);
  segment.regions = regions_of(mmap);
  segment.head = addr;
  segment.len = len;
  segment.data = data;
  segment.data_len = data_len;
  buf = taken;
  return Status::success;
}

Status BufInventory::get_by_args(const std::shared_ptr<Mmap>& mmap, std::uint64_t addr, std::size_t len,
                                 std::uint64_t data, std::size_t data_len, Buf*& buf) noexcept {
  return mmap == nullptr ? Status::invalid_value : get(*mmap, addr, len, data, data_len, buf);
}
Status BufInventory::get_by_addr(const std::shared_ptr<Mmap>& mmap, std::uint64_t addr, std::size_t len,
                                 Buf*& buf) noexcept {
  return mmap == nullptr ? Status::invalid_value : get(*mmap, addr, len, addr, 0, buf);
}
Status BufInventory::get_by_data(const std::shared_ptr<Mmap>& mmap, std::uint64_t data, std::size_t data_len,
                                 Buf*& buf) noexcept {
  return mmap == nullptr ? Status::invalid_value : get(*mmap, data, data_len, data, data_len, buf);
}

Status BufInventory::dup(const Buf& source, Buf*& buf) noexcept {
  if (!source.leads_list()) {
    return Status::not_permitted;
  }
  if (!is_started()) {
    return Status::bad_state;
  }
  if (source.num_elements() > num_free_elements()) {
    return Status::no_memory;
  }
  Buf* first = nullptr;
  for (const Buf* element = &source; element != nullptr; element = element->next()) {
    Buf* copy = nullptr;
    const Status status =
        get(map_of(*element), element->head(), element->len(), element->data(), element->data_len(), copy);
    if (status != Status::success) {
      if (first != nullptr) {
        static_cast<void>(first->dec_refcount());  // no task has it
      }
      return status;
    }
    if (first == nullptr) {
      first = copy;
    } else {
      static_cast<void>(first->chain(*copy));  // both are new
    }
  }
  buf = first;
  return Status::success;
}

}  // namespace pydoca
