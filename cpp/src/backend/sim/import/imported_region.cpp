#include "backend/sim/import/imported_region.hpp"

#include "pydoca/status.hpp"

#include "backend/sim/fabric/process_end.hpp"
#include "detail/concat.hpp"
#include "detail/system_reason.hpp"
#include "detail/thread/crash_point.hpp"
#include "detail/thread/looks.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>

namespace pydoca::sim {

namespace {

/// Another thread of this process may be inside, for a few instructions. The owner may have written to the revocation
/// page.
constexpr int leave_looks = 1000;
constexpr std::string_view owner_ended = "the process that owns it has ended";

/// The connection to the owner after the import: it carries no messages, and its end is the owner's.
class OwnerWatch final : public Service::Connection {
 public:
  OwnerWatch(std::shared_ptr<SharedPage<RevocationPage>> revocation_page, OwnersEnd owners_end) noexcept
      : revocation_page_(std::move(revocation_page)), owners_end_(std::move(owners_end)) {}

  bool readable(Service& /*service*/, Service::Id /*id*/, int fd) noexcept override {
    std::array<std::byte, 64> unexpected;
    return ::recv(fd, unexpected.data(), unexpected.size(), MSG_DONTWAIT) > 0 || errno == EAGAIN;
  }
  void ended(Service& /*service*/, Service::Id /*id*/) noexcept override {
    (*revocation_page_)->close(RevocationPage::owner_died);
    if (owners_end_) {
      owners_end_();
    }
  }

 private:
  std::shared_ptr<SharedPage<RevocationPage>> revocation_page_;
  OwnersEnd owners_end_;
};

/// Huge pages can be mapped from multiples of their size only, which is what the file reports as its block size.
std::uint64_t alignment_of(int file) noexcept {
  struct stat info{};
  constexpr std::uint64_t page = 4096;
  return ::fstat(file, &info) == 0 ? std::max(page, static_cast<std::uint64_t>(info.st_blksize)) : page;
}

}  // namespace

ImportedRegion::ImportedRegion(std::uint64_t base, std::uint64_t length, bool writable,
                               std::shared_ptr<SharedPage<RevocationPage>> revocation_page)
    : shared_revocation_page_(std::move(revocation_page)) {
  reach_ = Reach::foreign;
  readable_ = true;
  writable_ = writable;
  base_ = base;
  len_ = length;
  revocation_page_ = &**shared_revocation_page_;
}

ImportedRegion::~ImportedRegion() {
  leave();
  if (mapping_ != nullptr) {  // a thread that is inside has a reference to this
    ::munmap(mapping_, mapping_size_);
  }
}

void ImportedRegion::leave() noexcept {
  if (service_ == nullptr || !service_->is_current()) {
    return;  // a forked child leaves its parent's connections alone
  }
  revocation_page_->close(RevocationPage::withdrawn);
  detail::Looks looks(leave_looks);
  while (!revocation_page_->is_empty() && looks.wait_for_next()) {
  }
  detail::crash_point();
  revocation_page_->say_goodbye();
  detail::crash_point();
  const Service::Lock lock = service_->lock();
  service_->remove(connection_);
}

std::string_view ImportedRegion::lost() const noexcept {
  switch (revocation_page_->reason()) {
    case RevocationPage::open:
      break;
    case RevocationPage::withdrawn:
      return "its owner has withdrawn the export; ask it for another";
    case RevocationPage::owner_died:
      return owner_ended;
  }
  return has_ended(owner_pid()) ? owner_ended : std::string_view();
}

void ImportedRegion::map(int file) {
  require_sealed(file, len_);
  const std::uint64_t alignment = alignment_of(file);
  // The kernel rounds up by itself when it maps huge pages, but not when it unmaps them.
  const std::uint64_t size = (len_ + alignment - 1) / alignment * alignment;
  const int protection = writable_ ? PROT_READ | PROT_WRITE : PROT_READ;
  void* const address = ::mmap(nullptr, size, protection, MAP_SHARED | MAP_POPULATE, file, 0);
  if (address == MAP_FAILED) {
    throw Error(Status::no_memory,
                detail::concat("import: cannot map ", len_, " bytes: ", detail::system_reason(errno)));
  }
  reach_ = Reach::mapped;
  mapping_ = address;
  mapping_size_ = size;
  local_ = static_cast<std::byte*>(address);
}

void ImportedRegion::set_network(Access access, std::uint64_t origin) noexcept {
  readable_ = writable_ = false;
  network_access_ = access;
  origin_ = origin;
}

void ImportedRegion::watch(detail::Fd connection, OwnersEnd owners_end) {
  Service& service = Service::instance();
  const Service::Lock lock = service.lock();
  connection_ =
      service.add(std::move(connection), std::make_unique<OwnerWatch>(shared_revocation_page_, std::move(owners_end)));
  service_ = &service;
  detail::crash_point();
  revocation_page_->say_hello();
  detail::crash_point();
}

}  // namespace pydoca::sim
