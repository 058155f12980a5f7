#include "backend/sim/rdma/mailbox.hpp"

#include "pydoca/status.hpp"

#include "backend/sim/fabric/shared_page.hpp"
#include "detail/concat.hpp"
#include "detail/crash_point.hpp"
#include "detail/system_reason.hpp"

#include <bit>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <new>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace pydoca::sim {

namespace {

constexpr std::uint64_t size_for(std::uint64_t slots) noexcept {
  return sizeof(MailboxPage) + slots * sizeof(ReceiveSlot);
}

[[noreturn]] void refuse(std::string_view what) {
  throw Error(Status::operating_system,
              detail::concat("rdma: cannot create ", what, ": ", detail::system_reason(errno)));
}

detail::Fd create_file(std::uint64_t size) {
  detail::Fd file(::memfd_create("pydoca-mailbox", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!file || ::ftruncate(file.get(), static_cast<off_t>(size)) != 0 ||
      ::fcntl(file.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    refuse("a mailbox");
  }
  return file;
}

}  // namespace

Mailbox::Mailbox(std::uint32_t num_receives)
    : file_(create_file(size_for(num_receives))), event_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
  if (!event_) {
    refuse("an event file");
  }
  map(size_for(num_receives));
  page_ = new (address_) MailboxPage;
  page_->receives.slots.store(num_receives, std::memory_order_relaxed);
  receives_ = {page_->receives, {reinterpret_cast<ReceiveSlot*>(page_ + 1), num_receives}};
  for (std::uint32_t index = 0; index < num_receives; ++index) {
    receives_.close(index);
  }
}

Mailbox::Mailbox(detail::Fd file, detail::Fd event) : file_(std::move(file)), event_(std::move(event)) {
  struct stat info{};
  require_sealed(file_.get(), sizeof(MailboxPage));
  if (::fstat(file_.get(), &info) != 0 || info.st_size > (1 << 24)) {
    throw Error(Status::not_permitted, "connect: the peer sent a file that is not a mailbox");
  }
  map(static_cast<std::uint64_t>(info.st_size));
  page_ = std::launder(static_cast<MailboxPage*>(address_));
  const std::uint32_t slots = page_->receives.slots.load(std::memory_order_acquire);
  if ((slots != 0 && !std::has_single_bit(slots)) || size_for(slots) > size_) {
    ::munmap(address_, size_);
    throw Error(Status::not_permitted, "connect: the peer sent a file that is not a mailbox");
  }
  receives_ = {page_->receives, {reinterpret_cast<ReceiveSlot*>(page_ + 1), slots}};
}

Mailbox::~Mailbox() { ::munmap(address_, size_); }

void Mailbox::map(std::uint64_t size) {
  address_ = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, file_.get(), 0);
  if (address_ == MAP_FAILED) {
    throw Error(Status::no_memory, detail::concat("rdma: cannot map a mailbox: ", detail::system_reason(errno)));
  }
  size_ = size;
}

void Mailbox::tell(std::uint32_t peer) noexcept {
  detail::crash_point();
  page_->pending[peer / 64].fetch_or(std::uint64_t{1} << (peer % 64), std::memory_order_seq_cst);
  detail::crash_point();
  if (page_->asleep.load(std::memory_order_seq_cst) != 0 && page_->asleep.exchange(0, std::memory_order_seq_cst) != 0) {
    detail::crash_point();
    ::eventfd_write(event_.get(), 1);
  }
}

void Mailbox::tell_of_death(std::uint32_t peer) noexcept {
  page_->pending[peer / 64].fetch_or(std::uint64_t{1} << (peer % 64), std::memory_order_seq_cst);
  ::eventfd_write(event_.get(), 1);
}

bool Mailbox::wake_up() noexcept {
  page_->asleep.store(0, std::memory_order_relaxed);
  eventfd_t ignored = 0;
  return ::eventfd_read(event_.get(), &ignored) == 0;
}

bool Mailbox::has_pending() const noexcept {
  for (const auto& word : page_->pending) {
    if (word.load(std::memory_order_seq_cst) != 0) {
      return true;
    }
  }
  return false;
}

}  // namespace pydoca::sim
