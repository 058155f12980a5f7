#include "backend/sim/copy/segment_runs.hpp"

#include "backend/sim/copy/copy.hpp"
#include "backend/sim/copy/segment_copy.hpp"

#include <algorithm>

namespace pydoca::sim {

namespace {

bool is_local(const Region& region) noexcept { return region.reach() == Region::Reach::local; }

}  // namespace

Status ReadRuns::next(std::span<const std::byte>& run) noexcept {
  if (left_ == 0) {
    run = {};
    return Status::success;
  }
  for (; done_ == segment_->data_len; segment_ = segment_->next) {
    done_ = 0;
  }
  const Region& region = *region_of(*segment_, ordinal_);
  const std::uint64_t addr = segment_->data + done_;
  const std::uint64_t most = is_local(region) ? max_run : bounce_.size();
  const std::uint64_t size = std::min({segment_->data_len - done_, left_, most});
  done_ += size;
  left_ -= size;
  if (is_local(region)) {
    run = {region.at(addr), size};
    return Status::success;
  }
  run = std::span(bounce_).first(size);
  const Bytes bytes(bounce_.data(), bounce_.size());
  return copy_run(region, addr, bytes, bytes.addr(), size, false);
}

std::span<std::byte> WriteRuns::next() noexcept {
  for (; segment_ != nullptr && done_ == segment_->tailroom(); segment_ = segment_->next) {
    done_ = 0;
  }
  if (segment_ == nullptr) {
    return {};
  }
  const Region& region = *region_of(*segment_, ordinal_);
  const std::uint64_t room = segment_->tailroom() - done_;
  if (is_local(region)) {
    return {region.at(segment_->tail() + done_), std::min(room, ReadRuns::max_run)};
  }
  return std::span(bounce_).first(std::min<std::uint64_t>(room, bounce_.size()));
}

Status WriteRuns::write(std::size_t count) noexcept {
  if (count == 0) {
    return Status::success;
  }
  const Region& region = *region_of(*segment_, ordinal_);
  const std::uint64_t addr = segment_->tail() + done_;
  done_ += count;
  if (is_local(region)) {
    return Status::success;
  }
  const Bytes bytes(bounce_.data(), bounce_.size());
  return copy_run(bytes, bytes.addr(), region, addr, count, false);
}

}  // namespace pydoca::sim
