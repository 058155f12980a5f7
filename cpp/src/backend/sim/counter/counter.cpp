#include "backend/sim/counter/counter.hpp"

#include "backend/sim/counter/importer_doorbell.hpp"
#include "backend/sim/counter/owner_doorbells.hpp"
#include "backend/sim/fabric/wakes.hpp"
#include "backend/sim/import/imported_region.hpp"
#include "backend/sim/import/importer.hpp"
#include "backend/sim/memory/exporter.hpp"
#include "backend/sim/memory/local_region.hpp"
#include "detail/thread/crash_point.hpp"

#include <atomic>
#include <utility>

namespace pydoca::sim {

namespace {

std::uint64_t load_word(std::uint64_t& word) noexcept { return std::atomic_ref(word).load(std::memory_order_seq_cst); }
void store_word(std::uint64_t& word, std::uint64_t value) noexcept {
  std::atomic_ref(word).store(value, std::memory_order_seq_cst);
}
std::uint64_t add_word(std::uint64_t& word, std::uint64_t increment) noexcept {
  return std::atomic_ref(word).fetch_add(increment, std::memory_order_seq_cst);
}

/// The importers of a counter, as its owner knows them.
class Importers final : public Exporter::Attachment {
 public:
  explicit Importers(bool silent) : doorbells(silent) {}

  std::vector<detail::Fd> admit(Service::Id importer) override {
    std::vector<detail::Fd> files = doorbells.add(importer);
    ++present_;
    abandoned_.store(false, std::memory_order_release);
    return files;
  }
  void gone(Service::Id importer, End how) noexcept override {
    had_importers_ = had_importers_ || how != End::failed;
    --present_;
    if (how == End::died) {
      died_.fetch_add(1, std::memory_order_release);
    }
    // This comes after the death: a wait that finds the event abandoned looks for a death then, and reports that one
    // first.
    abandoned_.store(had_importers_ && present_ == 0, std::memory_order_release);
    doorbells.remove(importer);
  }
  void withdrawn() noexcept override { doorbells.wake_all(); }
  bool hear(Service::Id importer) noexcept override {
    doorbells.hear(importer);
    return true;
  }

  bool is_abandoned() const noexcept { return abandoned_.load(std::memory_order_acquire); }
  std::uint32_t told() const noexcept { return told_.load(std::memory_order_acquire); }
  /// Whether more importers have died than told. The caller tells of them: they count as told from now on.
  bool tell(std::uint32_t told) noexcept {
    const std::uint32_t died = died_.load(std::memory_order_acquire);
    std::uint32_t others = told_.load(std::memory_order_relaxed);
    while (others < died && !told_.compare_exchange_weak(others, died, std::memory_order_release)) {
    }
    return died != told;
  }

  OwnerDoorbells doorbells;

 private:
  std::atomic<std::uint32_t> died_{0};
  std::atomic<std::uint32_t> told_{0};
  std::atomic<bool> abandoned_{false};
  // The service's lock guards these:
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
    importers_->doorbells.ring();
    return Status::success;
  }
  Status fetch_add(std::uint64_t increment, std::uint64_t& previous) noexcept override {
    previous = add_word(word_, increment);
    importers_->doorbells.ring();
    return Status::success;
  }
  std::uint32_t losses_told() const noexcept override { return importers_->told(); }
  Status failure(std::uint32_t told) noexcept override {
    return importers_->tell(told) ? Status::connection_reset : Status::success;
  }
  bool is_abandoned() const noexcept override { return importers_->is_abandoned(); }
  bool may_change_silently(bool /*by_peers*/) const noexcept override { return own_ == nullptr; }
  bool may_change_elsewhere(Cpus here) noexcept override { return importers_->doorbells.may_change_elsewhere(here); }
  void arm() noexcept override { importers_->doorbells.arm(); }
  int wake_fd() const noexcept override { return importers_->doorbells.wake_fd(); }

  std::vector<std::byte> export_to_remote_pci() override { return export_as(BlobType::pci_counter); }
  std::vector<std::byte> export_to_remote_net() override { return export_as(BlobType::net_counter); }
  Status withdraw() noexcept override { return region_.withdraw(); }

 private:
  static constexpr std::size_t own_size = sizeof(std::uint64_t);

  std::vector<std::byte> export_as(BlobType type) {
    if (!can_be_mapped(range_, Access::pci_read_write)) {
      throw Error(Status::not_supported,
                  "export a sync event: other processes cannot map its memory for writing; let the event allocate it, "
                  "or give it shared memory of its own (in Python pydoca.alloc(8)), which is not exported read-only");
    }
    return region_.export_as(type, Access::pci_read_write, importers_);
  }

  const std::shared_ptr<Memory> own_;
  const backend::MemoryRange range_;
  const std::shared_ptr<Importers> importers_ = std::make_shared<Importers>(own_ == nullptr);
  LocalRegion region_;
  std::uint64_t& word_;
};

/// Another process's counter.
class ImportedCounter final : public backend::Counter {
 public:
  ImportedCounter(ImportedCounterMemory memory, std::shared_ptr<Wakes> wakes)
      : origin(memory.origin),
        region_(std::move(memory.region)),
        word_(*reinterpret_cast<std::uint64_t*>(region_->at(memory.addr))),
        revocation_page_(*region_->revocation_page()),
        doorbell_(std::move(memory.files[0]), std::move(memory.files[1]), std::move(memory.connection),
                  std::move(wakes)) {}

  std::uint64_t load() const noexcept override { return load_word(word_); }
  Status store(std::uint64_t value) noexcept override {
    return pass([&] { store_word(word_, value); });
  }
  Status fetch_add(std::uint64_t increment, std::uint64_t& previous) noexcept override {
    return pass([&] { previous = add_word(word_, increment); });
  }
  Status failure(std::uint32_t /*told*/) noexcept override {
    switch (revocation_page_.reason()) {
      case RevocationPage::open:
        return Status::success;
      case RevocationPage::withdrawn:
        return Status::not_connected;
      default:
        return Status::connection_reset;
    }
  }
  bool may_change_silently(bool /*by_peers*/) const noexcept override { return doorbell_.is_silent(); }
  bool may_change_elsewhere(Cpus here) noexcept override { return doorbell_.may_change_elsewhere(here); }
  void arm() noexcept override { doorbell_.arm(); }
  int wake_fd() const noexcept override { return doorbell_.wake_fd(); }

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
    if (!revocation_page_.enter()) [[unlikely]] {
      return failure(0);
    }
    change();
    revocation_page_.leave();
    detail::crash_point();
    doorbell_.ring();
    return Status::success;
  }
  [[noreturn]] static void refuse() {
    throw Error(Status::not_permitted, "export a sync event: it was imported; only its exporter can export it");
  }

  const std::unique_ptr<ImportedRegion> region_;
  std::uint64_t& word_;
  RevocationPage& revocation_page_;
  ImporterDoorbell doorbell_;
};

}  // namespace

std::unique_ptr<backend::Counter> create_counter(const Place& place, const backend::MemoryRange* memory) {
  return std::make_unique<LocalCounter>(place, memory);
}

BlobType blob_type_of(backend::CounterScope scope) noexcept {
  return scope == backend::CounterScope::remote_pci ? BlobType::pci_counter : BlobType::net_counter;
}

std::unique_ptr<backend::Counter> import_counter(const Place& place, std::span<const std::byte> blob, BlobType type,
                                                 const std::shared_ptr<backend::ImportAnswer>& answer) {
  const auto wakes = std::make_shared<Wakes>();
  return std::make_unique<ImportedCounter>(import_counter_memory(place, blob, type, answer, [wakes] { wakes->wake(); }),
                                           wakes);
}

std::uint64_t origin_of(const backend::Counter& counter) noexcept {
  const auto* const imported = dynamic_cast<const ImportedCounter*>(&counter);
  return imported != nullptr ? imported->origin : 0;
}

}  // namespace pydoca::sim
