#include "backend/verbs/rdma/counter.hpp"

#include "pydoca/memory.hpp"

#include "backend/verbs/adapter/place.hpp"
#include "backend/verbs/library/failure.hpp"
#include "backend/verbs/memory/region.hpp"
#include "detail/fd.hpp"

#include <atomic>
#include <cerrno>
#include <sys/eventfd.h>

namespace pydoca::verbs {

namespace {

constexpr const char* create_event = "create a sync event";

/// 8 registered bytes of this process. Peers on the network change them without waking this process, so a wait reads
/// them by timer.
class LocalCounter final : public backend::Counter {
 public:
  LocalCounter(Place& place, const backend::MemoryRange* memory)
      : place_(place),
        own_(memory == nullptr ? Memory::allocate(sizeof(std::uint64_t)) : nullptr),
        word_(*reinterpret_cast<std::uint64_t*>(memory != nullptr ? memory->addr : own_->data())),
        region_(register_range(place, &word_, sizeof word_, IBV_ACCESS_LOCAL_WRITE, create_event)),
        wakes_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
    if (!wakes_) {
      fail(errno, create_event, ": eventfd");
    }
  }

  std::uint64_t load() const noexcept override { return std::atomic_ref(word_).load(std::memory_order_seq_cst); }
  Status store(std::uint64_t value) noexcept override {
    std::atomic_ref(word_).store(value, std::memory_order_seq_cst);
    wake();
    return Status::success;
  }
  Status fetch_add(std::uint64_t increment, std::uint64_t& previous) noexcept override {
    previous = std::atomic_ref(word_).fetch_add(increment, std::memory_order_seq_cst);
    wake();
    return Status::success;
  }
  Status failure(std::uint32_t /*told*/) noexcept override { return Status::success; }
  bool may_change_silently(bool by_peers) const noexcept override { return own_ == nullptr || by_peers; }
  void arm() noexcept override { armed_.store(true, std::memory_order_seq_cst); }
  int wake_fd() const noexcept override { return wakes_.get(); }

  std::vector<std::byte> export_to_remote_pci() override {
    throw Error(Status::not_supported,
                detail::concat("export a sync event: ", place_.adapter().name(), " cannot export over PCIe"));
  }
  std::vector<std::byte> export_to_remote_net() override;
  Status withdraw() noexcept override {
    region_.reset();  // the device refuses its key from now on
    exported_ = false;
    return Status::success;
  }

 private:
  void wake() noexcept {
    if (armed_.load(std::memory_order_seq_cst) && armed_.exchange(false, std::memory_order_seq_cst)) {
      ::eventfd_write(wakes_.get(), 1);
    }
  }

  Place& place_;
  const std::shared_ptr<Memory> own_;
  std::uint64_t& word_;
  OwnedRegion region_;
  const detail::Fd wakes_;
  std::atomic<bool> armed_{false};
  bool exported_ = false;
};

std::vector<std::byte> LocalCounter::export_to_remote_net() {
  if (!exported_) {  // no peer needs access before the export
    constexpr int flags =
        IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC;
    region_ = register_range(place_, &word_, sizeof word_, flags, "export a sync event");
    exported_ = true;
  }
  return encode(CounterBlob{.address = reinterpret_cast<std::uint64_t>(&word_),
                            .rkey = region_->rkey,
                            .gid = place_.adapter().gid(place_.gid_index())});
}

}  // namespace

std::vector<std::byte> RemoteCounter::export_to_remote_pci() { return export_to_remote_net(); }

std::vector<std::byte> RemoteCounter::export_to_remote_net() {
  throw Error(Status::not_permitted, "export a sync event: it was imported; only its exporter can export it");
}

std::unique_ptr<backend::Counter> create_counter(Place& place, const backend::MemoryRange* memory) {
  return std::make_unique<LocalCounter>(place, memory);
}

std::unique_ptr<backend::Counter> import_counter(std::span<const std::byte> blob, backend::CounterScope scope) {
  if (scope == backend::CounterScope::remote_pci) {
    throw Error(Status::not_supported, "import a sync event: a device on a network imports none over PCIe");
  }
  CounterBlob fields;
  if (const Status status = parse(blob, fields); status != Status::success) {
    throw Error(status, status == Status::unsupported_version
                            ? "import a sync event: the blob is of another version of pydoca"
                            : "import a sync event: the blob is not an export to the network of an RDMA device, or was "
                              "changed");
  }
  return std::make_unique<RemoteCounter>(fields);
}

}  // namespace pydoca::verbs
