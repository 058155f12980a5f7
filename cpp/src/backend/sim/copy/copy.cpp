#include "backend/sim/copy/copy.hpp"

#include "backend/sim/memory/region.hpp"
#include "detail/copy_bytes.hpp"
#include "detail/system/guarded_copy.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace pydoca::sim {

namespace {

/// Copies between two pieces of memory that only system calls access go through a buffer of this size on the stack.
constexpr std::size_t bounce_size = 16 * 1024;

/// Holds the revocation pages of both ends for the time of one access.
class Passage {
 public:
  Passage(const Region& src, const Region& dst) noexcept : src_(src.revocation_page()), dst_(dst.revocation_page()) {
    src_open_ = src_ == nullptr || src_->enter();
    dst_open_ = src_open_ && (dst_ == nullptr || dst_->enter());
  }
  ~Passage() {
    if (src_ != nullptr && src_open_) {
      src_->leave();
    }
    if (dst_ != nullptr && dst_open_) {
      dst_->leave();
    }
  }
  Passage(const Passage&) = delete;
  Passage& operator=(const Passage&) = delete;

  bool open() const noexcept { return src_open_ && dst_open_; }

 private:
  RevocationPage* src_;
  RevocationPage* dst_;
  bool src_open_;
  bool dst_open_;
};

/// Whether only system calls access it: those to the owner's process, or those that a file which is cut short survives.
bool needs_calls(const Region& region) noexcept {
  return region.reach() == Region::Reach::foreign || region.reach() == Region::Reach::file;
}

Status copy_guarded(std::byte* to, const std::byte* from, std::uint64_t size) noexcept {
  return detail::copy_guarded(to, from, size) ? Status::success : Status::io_failed;
}

Status read_by_calls(const Region& src, std::uint64_t from, std::byte* to, std::uint64_t size) noexcept {
  return src.owner() != nullptr ? src.owner()->read(from, to, size) : copy_guarded(to, src.at(from), size);
}

Status write_by_calls(const Region& dst, std::uint64_t to, const std::byte* from, std::uint64_t size) noexcept {
  return dst.owner() != nullptr ? dst.owner()->write(to, from, size) : copy_guarded(dst.at(to), from, size);
}

Status bounce(const Region& src, std::uint64_t from, const Region& dst, std::uint64_t to, std::uint64_t size) noexcept {
  std::array<std::byte, bounce_size> buffer;
  for (std::uint64_t done = 0; done < size;) {
    const std::uint64_t count = std::min<std::uint64_t>(buffer.size(), size - done);
    Status status = read_by_calls(src, from + done, buffer.data(), count);
    if (status == Status::success) {
      status = write_by_calls(dst, to + done, buffer.data(), count);
    }
    if (status != Status::success) {
      return status;
    }
    done += count;
  }
  return Status::success;
}

void copy_local(const Region& src, std::uint64_t from, const Region& dst, std::uint64_t to, std::uint64_t size,
                bool streaming) noexcept {
  if (streaming) {
    detail::copy_streaming(dst.at(to), src.at(from), size);
  } else {
    std::memcpy(dst.at(to), src.at(from), size);
  }
}

/// A run with an end that another process owns, or that is a file.
Status copy_carefully(const Region& src, std::uint64_t from, const Region& dst, std::uint64_t to, std::uint64_t size,
                      bool streaming) noexcept {
  const Passage passage(src, dst);
  if (!passage.open()) {
    return Status::io_failed;
  }
  const bool reads = needs_calls(src);
  const bool writes = needs_calls(dst);
  if (reads && writes) {
    return bounce(src, from, dst, to, size);
  }
  if (reads || writes) {
    return reads ? read_by_calls(src, from, dst.at(to), size) : write_by_calls(dst, to, src.at(from), size);
  }
  copy_local(src, from, dst, to, size, streaming);
  return Status::success;
}

}  // namespace

Status copy_run(const Region& src, std::uint64_t from, const Region& dst, std::uint64_t to, std::uint64_t size,
                bool streaming) noexcept {
  if (src.reach() != Region::Reach::local || dst.reach() != Region::Reach::local) {
    return copy_carefully(src, from, dst, to, size, streaming);
  }
  copy_local(src, from, dst, to, size, streaming);
  return Status::success;
}

Status check_copy(const backend::DataOperation& operation, const CopyLimits& limits) noexcept {
  if (operation.length == 0 || operation.length > limits.max_size || operation.target == nullptr) {
    return Status::io_failed;
  }
  std::uint32_t elements = 0;
  for (const Segment* src = operation.source; src != nullptr; src = src->next) {
    if (++elements > limits.max_list_len || !readable(*src, limits.ordinal)) {
      return Status::io_failed;
    }
  }
  elements = 0;
  std::uint64_t room = 0;
  for (const Segment* dst = operation.target; dst != nullptr; dst = dst->next) {
    if (++elements > limits.max_list_len || !writable(*dst, limits.ordinal)) {
      return Status::io_failed;
    }
    room += dst->tailroom();
  }
  return operation.length <= room ? Status::success : Status::io_failed;
}

Status copy_plain(const backend::DataOperation& operation, const CopyLimits& limits) noexcept {
  const Segment& src = *operation.source;
  const Segment& dst = *operation.target;
  const std::uint64_t size = operation.length;
  if (size == 0 || size > limits.max_size || size > dst.tailroom() || !readable(src, limits.ordinal) ||
      !writable(dst, limits.ordinal)) {
    return Status::io_failed;
  }
  return copy_run(*region_of(src, limits.ordinal), src.data, *region_of(dst, limits.ordinal), dst.tail(), size, false);
}

Status copy_piece(const backend::DataOperation& operation, std::size_t ordinal, std::uint64_t offset,
                  std::uint64_t size, bool streaming) noexcept {
  const Segment* src = operation.source;
  const Segment* dst = operation.target;
  std::uint64_t src_skip = offset;
  std::uint64_t dst_skip = offset;
  while (size > 0) {
    for (; src_skip >= src->data_len; src = src->next) {
      src_skip -= src->data_len;
    }
    for (; dst_skip >= dst->tailroom(); dst = dst->next) {
      dst_skip -= dst->tailroom();
    }
    const std::uint64_t run = std::min({size, src->data_len - src_skip, dst->tailroom() - dst_skip});
    const Status status = copy_run(*region_of(*src, ordinal), src->data + src_skip, *region_of(*dst, ordinal),
                                   dst->tail() + dst_skip, run, streaming);
    if (status != Status::success) {
      return status;
    }
    src_skip += run;
    dst_skip += run;
    size -= run;
  }
  return Status::success;
}

}  // namespace pydoca::sim
