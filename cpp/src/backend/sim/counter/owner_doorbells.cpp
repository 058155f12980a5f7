#include "backend/sim/counter/owner_doorbells.hpp"

#include "pydoca/status.hpp"

#include "backend/sim/fabric/shared_page.hpp"
#include "detail/concat.hpp"
#include "detail/system_reason.hpp"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <utility>

namespace pydoca::sim {

namespace {

[[noreturn]] void refuse_importer() {
  throw Error(Status::operating_system,
              detail::concat("cannot admit an importer of a sync event: ", detail::system_reason(errno)));
}

/// Replaces what is mapped there in one step, as far as other threads can see.
bool map_over(void* address, std::size_t size, int file) noexcept {
  constexpr int access = PROT_READ | PROT_WRITE;
  const int kind = (file >= 0 ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS) | MAP_FIXED;
#ifdef __SANITIZE_THREAD__  // it takes mmap() for a write, which races with those who use the doorbell
  // All are whole words: syscall() has no prototype, and takes eight bytes of each from the registers and the stack.
  return ::syscall(SYS_mmap, address, size, long{access}, long{kind}, long{file}, 0L) != -1;
#else
  return ::mmap(address, size, access, kind, file, 0) != MAP_FAILED;
#endif
}

}  // namespace

OwnerDoorbells::~OwnerDoorbells() {
  if (pages_ == nullptr) {
    return;
  }
  for (const detail::Atomic<int>& socket : places_->sockets) {
    if (const int number = socket.load(); number >= 0) {
      ::close(number);
    }
  }
  ::munmap(pages_, max_importers * page_size_);
}

void OwnerDoorbells::reserve() {
  if (pages_ != nullptr) {
    return;
  }
  auto places = std::make_unique<Places>();
  for (detail::Atomic<int>& socket : places->sockets) {
    socket.store(-1, std::memory_order_relaxed);
  }
  page_size_ = std::max<std::size_t>(PageMapping::size, static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)));
  void* const pages = ::mmap(nullptr, max_importers * page_size_, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (pages == MAP_FAILED) {
    refuse_importer();
  }
  places_ = std::move(places);
  pages_ = static_cast<std::byte*>(pages);
}

std::size_t OwnerDoorbells::free_slot() const {
  const auto found = std::ranges::find(places_->importers, Service::Id{0});
  if (found == places_->importers.end()) {
    throw Error(Status::full, "a sync event has as many importers as it may have");
  }
  return static_cast<std::size_t>(found - places_->importers.begin());
}

std::size_t OwnerDoorbells::slot_of(Service::Id importer) const noexcept {
  const std::size_t count = count_.load(std::memory_order_relaxed);
  std::size_t slot = 0;
  while (slot < count && places_->importers[slot] != importer) {
    ++slot;
  }
  return slot;
}

bool OwnerDoorbells::has_sleepers() const noexcept {
  return std::ranges::find(places_->sleepers, true) != places_->sleepers.end();
}

void OwnerDoorbells::place(std::size_t slot, int page, detail::Fd socket) {
  detail::Atomic<int>& number = places_->sockets[slot];
  const int old = number.load(std::memory_order_relaxed);
  if (!map_over(&doorbell(slot), page_size_, page) || (old >= 0 && ::dup3(socket.get(), old, O_CLOEXEC) < 0)) {
    refuse_importer();
  }
  if (old < 0) {
    number.store(socket.release(), std::memory_order_relaxed);
  }
  wakes_.watch(number.load(std::memory_order_relaxed));
}

std::vector<detail::Fd> OwnerDoorbells::add(Service::Id importer) {
  reserve();
  const std::size_t slot = free_slot();
  std::vector<detail::Fd> files(2);
  files[0] = create_page_file();
  auto [here, there] = create_wake_sockets();
  files[1] = std::move(there);
  place(slot, files[0].get(), std::move(here));
  if (silent_) {
    doorbell(slot).set_silent();
  }
  if (has_sleepers()) {
    doorbell(slot).set_crowded();
  }
  doorbell(slot).owner_cpus().store(cpus_.load());
  doorbell(slot).arm_owner();  // the owner may sleep
  places_->importers[slot] = importer;
  count_.store(std::max(count_.load(), slot + 1), std::memory_order_seq_cst);
  return files;
}

void OwnerDoorbells::remove(Service::Id importer) noexcept {
  const std::size_t slot = slot_of(importer);
  if (slot == count_.load(std::memory_order_relaxed)) {
    return;
  }
  // Its last change may not have woken those who sleep.
  wakes_.wake();
  wake_others(slot, doorbell(slot).importer_cpus().load());
  places_->importers[slot] = 0;
  places_->sleepers[slot] = false;
  map_over(&doorbell(slot), page_size_, -1);
  ::dup3(wakes_.fd(), places_->sockets[slot].load(std::memory_order_relaxed), O_CLOEXEC);
  std::size_t count = count_.load(std::memory_order_relaxed);
  while (count > 0 && places_->importers[count - 1] == 0) {
    --count;
  }
  count_.store(count, std::memory_order_seq_cst);
}

void OwnerDoorbells::ring_owner() noexcept {
  if (armed_.exchange(0, std::memory_order_seq_cst) != 0) {
    waker_cpus_.store(own_cpus());
    wakes_.wake();
  }
}

void OwnerDoorbells::arm() noexcept {
  armed_.store(1, std::memory_order_seq_cst);
  const std::size_t count = count_.load(std::memory_order_seq_cst);
  const bool drain = ++arms_ % max_unread_wakes == 0;
  for (std::size_t slot = 0; slot < count; ++slot) {
    if (drain) {
      drain_wakes(places_->sockets[slot].load(std::memory_order_relaxed));
    }
    doorbell(slot).arm_owner();
  }
}

bool OwnerDoorbells::may_change_elsewhere(Cpus here) noexcept {
  const bool is_new = cpus_.load() != here;
  cpus_.store(here);
  bool elsewhere = silent_ || waker_cpus_.load().may_run_beside(here);
  const std::size_t count = count_.load(std::memory_order_seq_cst);
  for (std::size_t slot = 0; slot < count && (is_new || !elsewhere); ++slot) {
    if (is_new) {
      doorbell(slot).owner_cpus().store(here);
    }
    elsewhere = elsewhere || doorbell(slot).importer_cpus().load().may_run_beside(here);
  }
  return elsewhere;
}

void OwnerDoorbells::hear(Service::Id importer) noexcept {
  const std::size_t slot = slot_of(importer);
  const std::size_t count = count_.load(std::memory_order_relaxed);
  if (slot == count) {
    return;
  }
  const bool is_new = doorbell(slot).is_sleeper() && !std::exchange(places_->sleepers[slot], true);
  for (std::size_t other = 0; is_new && other < count; ++other) {
    if (other != slot) {
      doorbell(other).set_crowded();
    }
  }
  doorbell(slot).clear_relay();
  wake_others(slot, doorbell(slot).importer_cpus().load());
  if (is_new && count > 1) {
    wake_for(slot, Cpus());  // a change may have come before the others knew of this sleeper
  }
}

/// changer: of the thread whose change it is; not known: of none.
void OwnerDoorbells::wake_for(std::size_t slot, Cpus changer) noexcept {
  if (doorbell(slot).take_importer()) {
    if (changer != Cpus()) {
      doorbell(slot).owner_cpus().store(changer);
    }
    send_wake(places_->sockets[slot].load(std::memory_order_relaxed));
  }
}

void OwnerDoorbells::wake_others(std::size_t slot, Cpus changer) noexcept {
  const std::size_t count = count_.load(std::memory_order_relaxed);
  for (std::size_t other = 0; other < count; ++other) {
    if (other != slot) {
      wake_for(other, changer);
    }
  }
}

void OwnerDoorbells::wake_all() noexcept {
  wakes_.wake();
  wake_others(max_importers, Cpus());
}

}  // namespace pydoca::sim
