#include "backend/sim/inbox/receive_queue_file.hpp"

#include "pydoca/status.hpp"

#include "backend/sim/fabric/shared_page.hpp"
#include "detail/concat.hpp"
#include "detail/system_reason.hpp"

#include <bit>
#include <cerrno>
#include <fcntl.h>
#include <new>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace pydoca::sim {

namespace {

constexpr off_t largest_receive_queue = 1 << 24;

constexpr std::uint64_t size_for(std::uint64_t slots) noexcept {
  return sizeof(ReceiveQueueState) + slots * sizeof(ReceiveSlot);
}

detail::Fd create_receive_queue(std::uint64_t size) {
  detail::Fd file(::memfd_create("pydoca-receive_queue", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!file || ::ftruncate(file.get(), static_cast<off_t>(size)) != 0 ||
      ::fcntl(file.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    throw Error(Status::operating_system,
                detail::concat("rdma: cannot create a receive receive_queue: ", detail::system_reason(errno)));
  }
  return file;
}

std::span<ReceiveSlot> slots_after(ReceiveQueueState* state, std::uint32_t count) noexcept {
  return {reinterpret_cast<ReceiveSlot*>(state + 1), count};
}

}  // namespace

ReceiveQueueFile::ReceiveQueueFile(std::uint32_t num_receives) : file_(create_receive_queue(size_for(num_receives))) {
  map(size_for(num_receives));
  auto* const state = new (address_) ReceiveQueueState;
  state->slots.store(num_receives, std::memory_order_relaxed);
  receive_queue_ = {*state, slots_after(state, num_receives)};
  for (std::uint32_t index = 0; index < num_receives; ++index) {
    receive_queue_.close(index);
  }
}

ReceiveQueueFile::ReceiveQueueFile(detail::Fd file) : file_(std::move(file)) {
  struct stat info{};
  require_sealed(file_.get(), sizeof(ReceiveQueueState));
  if (::fstat(file_.get(), &info) != 0 || info.st_size > largest_receive_queue) {
    throw Error(Status::not_permitted, "connect: the peer sent a file that is not a receive receive_queue");
  }
  map(static_cast<std::uint64_t>(info.st_size));
  auto* const state = std::launder(static_cast<ReceiveQueueState*>(address_));
  const std::uint32_t slots = state->slots.load(std::memory_order_acquire);
  if ((slots != 0 && !std::has_single_bit(slots)) || size_for(slots) > size_) {
    ::munmap(address_, size_);
    throw Error(Status::not_permitted, "connect: the peer sent a file that is not a receive receive_queue");
  }
  receive_queue_ = {*state, slots_after(state, slots)};
}

ReceiveQueueFile::~ReceiveQueueFile() { ::munmap(address_, size_); }

void ReceiveQueueFile::map(std::uint64_t size) {
  address_ = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, file_.get(), 0);
  if (address_ == MAP_FAILED) {
    throw Error(Status::no_memory,
                detail::concat("rdma: cannot map a receive receive_queue: ", detail::system_reason(errno)));
  }
  size_ = size;
}

}  // namespace pydoca::sim
