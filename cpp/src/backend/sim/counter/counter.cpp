#include "backend/sim/counter/counter.hpp"

#include "backend/sim/counter/bell.hpp"
#include "backend/sim/fabric/shared_page.hpp"
#include "backend/sim/memory/exporter.hpp"
#include "backend/sim/memory/imported_region.hpp"
#include "backend/sim/memory/importer.hpp"
#include "backend/sim/memory/local_region.hpp"
#include "detail/concat.hpp"
#include "detail/crash_point.hpp"
#include "detail/system_reason.hpp"

#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <sys/eventfd.h>
#include <utility>

namespace pydoca::sim {

namespace {

constexpr std::array sides{CounterSide::owner, CounterSide::importer};

/// Which sides sleep on a counter, and the event files that wake them. Shared with importers.
class Alarm {
 public:
  explicit Alarm(bool silent) : page_(SharedPage<AlarmPage>::create(page_file_)) {
    (*page_)->silent.store(silent ? 1 : 0, std::memory_order_relaxed);
    for (detail::Fd& file : files_) {
      file = detail::Fd(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
      if (!file) {
        throw Error(Status::operating_system,
                    detail::concat("create a counter: eventfd: ", detail::system_reason(errno)));
      }
    }
  }
  explicit Alarm(std::array<detail::Fd, 3> files)
      : page_file_(std::move(files[0])),
        files_{std::move(files[1]), std::move(files[2])},
        page_(SharedPage<AlarmPage>::map(page_file_.get())) {}

  void arm(CounterSide side) noexcept { (*page_)->bell.arm(side); }
  /// The counter was changed.
  void ring() noexcept {
    for (const CounterSide side : sides) {
      if ((*page_)->bell.take(side)) [[unlikely]] {
        detail::crash_point();
        wake(side);
      }
    }
  }
  /// Watched edge-triggered: no process reads it, and its count never gets full.
  void wake(CounterSide side) noexcept { ::eventfd_write(file(side), 1); }
  bool silent() const noexcept { return (*page_)->silent.load(std::memory_order_relaxed) != 0; }
  int file(CounterSide side) const noexcept { return files_[static_cast<std::size_t>(side)].get(); }
  std::vector<int> files() const { return {page_file_.get(), file(CounterSide::owner), file(CounterSide::importer)}; }

 private:
  detail::Fd page_file_;
  std::array<detail::Fd, 2> files_;
  std::unique_ptr<SharedPage<AlarmPage>> page_;
};

std::uint64_t load_word(std::uint64_t& word) noexcept { return std::atomic_ref(word).load(std::memory_order_seq_cst); }
void store_word(std::uint64_t& word, std::uint64_t value) noexcept {
  std::atomic_ref(word).store(value, std::memory_order_seq_cst);
}
std::uint64_t add_word(std::uint64_t& word, std::uint64_t increment) noexcept {
  return std::atomic_ref(word).fetch_add(increment, std::memory_order_seq_cst);
}

detail::Fd duplicate(int fd) {
  detail::Fd copy = detail::Fd::duplicate_of(fd);
  if (!copy) {
    throw Error(Status::operating_system, detail::concat("export a sync event: ", detail::system_reason(errno)));
  }
  return copy;
}

/// Tells the owner of a counter when its importers go.
class Losses final : public Exporter::Attachment {
 public:
  explicit Losses(bool silent) : alarm(silent) {}

  std::vector<detail::Fd> admit(Service::Id /*importer*/) override {
    std::vector<detail::Fd> files;
    for (const int file : alarm.files()) {
      files.push_back(duplicate(file));
    }
    ++present_;
    abandoned_.store(false, std::memory_order_release);
    return files;
  }
  void gone(Service::Id /*importer*/, End how) noexcept override {
    had_importers_ = had_importers_ || how != End::failed;
    --present_;
    abandoned_.store(had_importers_ && present_ == 0, std::memory_order_release);
    if (how == End::died) {
      died_.fetch_add(1, std::memory_order_release);
      alarm.wake(CounterSide::importer);  // it may have cleared the flag, and died before it woke the side
    }
    alarm.wake(CounterSide::owner);
  }
  void withdrawn() noexcept override { alarm.wake(CounterSide::importer); }
  std::uint32_t told() const noexcept { return told_.load(std::memory_order_acquire); }
  /// Whether more importers have died than told. The caller tells of them: they count as told from now on.
  bool tell(std::uint32_t told) noexcept {
    const std::uint32_t died = died_.load(std::memory_order_acquire);
    std::uint32_t others = told_.load(std::memory_order_relaxed);
    while (others < died && !told_.compare_exchange_weak(others, died, std::memory_order_release)) {
    }
    return died != told;
  }
  bool is_abandoned() const noexcept { return abandoned_.load(std::memory_order_acquire); }

  Alarm alarm;

 private:
  std::atomic<std::uint32_t> died_{0};
  std::atomic<std::uint32_t> told_{0};
  std::atomic<bool> abandoned_{false};
  // Under the service's lock:
  std::size_t present_ = 0;
  bool had_importers_ = false;
};

/// A counter in memory of this process.
class LocalCounter final : public backend::Counter {
 public:
  LocalCounter(const Place& place, const backend::MemoryRange* memory)
      : own_(memory == nullptr ? Memory::allocate(own_size) : nullptr),
        range_(memory != nullptr ? *memory : backend::MemoryRange{own_->data(), sizeof(std::uint64_t), {{own_, 0}}}),
        region_(place, range_, Access::local_read_write),
        word_(*reinterpret_cast<std::uint64_t*>(range_.addr)) {}

  std::uint64_t load() const noexcept override { return load_word(word_); }
  Status store(std::uint64_t value) noexcept override {
    store_word(word_, value);
    detail::crash_point();
    losses_->alarm.ring();
    return Status::success;
  }
  Status fetch_add(std::uint64_t increment, std::uint64_t& previous) noexcept override {
    previous = add_word(word_, increment);
    losses_->alarm.ring();
    return Status::success;
  }
  std::uint32_t losses_told() const noexcept override { return losses_->told(); }
  Status failure(std::uint32_t told) noexcept override {
    return losses_->tell(told) ? Status::connection_reset : Status::success;
  }
  bool is_abandoned() const noexcept override { return losses_->is_abandoned(); }
  bool may_change_silently(bool /*by_peers*/) const noexcept override { return own_ == nullptr; }
  void arm() noexcept override { losses_->alarm.arm(CounterSide::owner); }
  int wake_fd() const noexcept override { return losses_->alarm.file(CounterSide::owner); }

  std::vector<std::byte> export_to_remote_pci() override { return export_as(BlobType::pci_counter); }
  std::vector<std::byte> export_to_remote_net() override { return export_as(BlobType::net_counter); }
  Status withdraw() noexcept override { return region_.withdraw(); }

 private:
  static constexpr std::size_t own_size = 4096;

  std::vector<std::byte> export_as(BlobType type) {
    if (!range_.location.has_value() || range_.location->memory->future_writes_sealed()) {
      throw Error(Status::not_supported,
                  "export a sync event: other processes cannot map its memory for writing; let the event allocate it, "
                  "or allocate it with pydoca.alloc and do not export it read-only");
    }
    return region_.export_as(type, Access::pci_read_write, losses_);
  }

  const std::shared_ptr<Memory> own_;
  const backend::MemoryRange range_;
  const std::shared_ptr<Losses> losses_ = std::make_shared<Losses>(own_ == nullptr);
  LocalRegion region_;
  std::uint64_t& word_;
};

/// Another process's counter.
class ImportedCounter final : public backend::Counter {
 public:
  explicit ImportedCounter(ImportedCounterMemory memory)
      : origin(memory.origin),
        region_(std::move(memory.region)),
        word_(*reinterpret_cast<std::uint64_t*>(region_->at(memory.addr))),
        gate_(*region_->gate()),
        alarm_(std::move(memory.files)) {}

  std::uint64_t load() const noexcept override { return load_word(word_); }
  Status store(std::uint64_t value) noexcept override {
    return pass([&] { store_word(word_, value); });
  }
  Status fetch_add(std::uint64_t increment, std::uint64_t& previous) noexcept override {
    return pass([&] { previous = add_word(word_, increment); });
  }
  Status failure(std::uint32_t /*told*/) noexcept override {
    switch (gate_.reason()) {
      case Gate::open:
        return Status::success;
      case Gate::withdrawn:
        return Status::bad_state;
      default:
        return Status::connection_reset;
    }
  }
  bool may_change_silently(bool /*by_peers*/) const noexcept override { return alarm_.silent(); }
  void arm() noexcept override { alarm_.arm(CounterSide::importer); }
  int wake_fd() const noexcept override { return alarm_.file(CounterSide::importer); }

  std::vector<std::byte> export_to_remote_pci() override { refuse(); }
  std::vector<std::byte> export_to_remote_net() override { refuse(); }
  Status withdraw() noexcept override {
    region_->leave();
    return Status::success;
  }

  const std::uint64_t origin;

 private:
  template <class Change>
  Status pass(Change change) noexcept {
    if (!gate_.enter()) [[unlikely]] {
      return failure(0);
    }
    change();
    gate_.leave();
    detail::crash_point();
    alarm_.ring();
    return Status::success;
  }
  [[noreturn]] static void refuse() {
    throw Error(Status::not_permitted, "export a sync event: it was imported; only its exporter can export it");
  }

  const std::unique_ptr<ImportedRegion> region_;
  std::uint64_t& word_;
  Gate& gate_;
  Alarm alarm_;
};

}  // namespace

std::unique_ptr<backend::Counter> create_counter(const Place& place, const backend::MemoryRange* memory) {
  return std::make_unique<LocalCounter>(place, memory);
}

std::unique_ptr<backend::Counter> import_counter(const Place& place, std::span<const std::byte> blob,
                                                 backend::CounterScope scope) {
  const BlobType type = scope == backend::CounterScope::remote_pci ? BlobType::pci_counter : BlobType::net_counter;
  return std::make_unique<ImportedCounter>(import_counter_memory(place, blob, type));
}

std::uint64_t origin_of(const backend::Counter& counter) noexcept {
  const auto* const imported = dynamic_cast<const ImportedCounter*>(&counter);
  return imported != nullptr ? imported->origin : 0;
}

}  // namespace pydoca::sim
