#include "pydoca/backend/device.hpp"
#include "pydoca/backend/memory.hpp"
#include "pydoca/import.hpp"
#include "pydoca/memory.hpp"
#include "pydoca/mmap.hpp"
#include "pydoca/sim.hpp"

#include "backend/sim/fabric/fabric.hpp"
#include "backend/sim/fabric/notified.hpp"
#include "backend/sim/fabric/shared_page.hpp"
#include "backend/sim/import/word_channel.hpp"
#include "backend/sim/memory/blob.hpp"
#include "backend/sim/memory/import_protocol.hpp"
#include "backend/sim/message/fd_message.hpp"
#include "fuzz/targets/sim_targets.hpp"
#include "rig/process/owners_place.hpp"

#include <array>
#include <memory>
#include <sched.h>
#include <string_view>
#include <sys/socket.h>

namespace pydoca::fuzz {

namespace {

constexpr std::size_t max_imports = 4;

enum class OwnerAct : std::uint8_t {
  begin,     ///< the importer begins an import
  progress,  ///< the importer's engine
  take,      ///< the importer takes the map, or the error
  drop,      ///< the importer
  ask,       ///< the importer asks for an atomic operation
  collect,   ///< the importer looks for its answer
  forget,    ///< the importer
  accept,    ///< the owner takes the next connection
  answer,    ///< the owner, to an import
  word,      ///< the owner, to an atomic operation
  bytes,     ///< the owner: anything
  close,     ///< the owner
  count,
};

/// An importer, and an owner that answers what the input says. One engine serves all inputs.
class Owners {
 public:
  Owners()
      : host_(Device::open(find_device("pf0", Side::host))),
        card_(Device::open(find_device("p0"))),
        engine_(ProgressEngine::create()),
        memory_(Memory::allocate(size)) {
    const backend::MemoryRange own{memory_->data(), size, find_memory(memory_->data(), size)};
    const backend::MemoryRange foreign{heap_.data(), size, find_memory(heap_.data(), size)};
    regions_[0] = host_->backend().register_memory(own, Access::pci_read_write | Access::local_read_write);
    regions_[1] = host_->backend().register_memory(foreign, network | Access::local_read_write);
    read(regions_[0]->export_pci(Access::pci_read_write), blobs_[0]);
    read(regions_[1]->export_rdma(network), blobs_[1]);
    listener_ = take_place_of_owner(blobs_[0], static_cast<int>(max_imports));
    blobs_[1].socket_key = blobs_[0].socket_key;
  }

  void run(Input parts) {
    std::array<int, 2> ends{};
    require(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends.data()) == 0, "sockets");
    words_ = detail::Fd(ends[0]);
    channel_ = std::make_unique<sim::WordChannel>(detail::Fd(ends[1]));
    while (!parts.is_empty()) {
      act(parts);
    }
    end();
  }

 private:
  static constexpr std::size_t size = 4096;
  static constexpr Access network = Access::rdma_read | Access::rdma_write | Access::rdma_atomic;

  struct Asker final : sim::Notified {
    void notify(std::uint32_t /*number*/) noexcept override {}
  };

  static void read(const std::vector<std::byte>& bytes, sim::Blob& blob) {
    require(sim::parse(bytes, blob) == Status::success, "what is exported can be read");
  }

  void act(Input& parts) {
    const auto act = static_cast<OwnerAct>(parts.number<std::uint8_t>() % static_cast<std::uint8_t>(OwnerAct::count));
    const auto which = parts.number<std::uint8_t>();
    const std::size_t index = which % max_imports;
    std::uint64_t before = 0;
    switch (act) {
      case OwnerAct::begin:
        return begin(index, blobs_[parts.number<std::uint8_t>() % 2]);
      case OwnerAct::progress:
        engine_->progress();
        ::sched_yield();
        return;
      case OwnerAct::take:
        return take(index);
      case OwnerAct::drop:
        imports_[index].reset();
        maps_[index].reset();
        return;
      case OwnerAct::ask:
        last_ticket_ = channel_->ask({}, asker_, which);
        return;
      case OwnerAct::collect:
        static_cast<void>(channel_->answer(last_ticket_ - which % 4, before));
        return;
      case OwnerAct::forget:
        return channel_->forget(last_ticket_ - which % 4);
      case OwnerAct::accept: {
        Status status = Status::success;
        connections_[index] = sim::accept_peer(listener_.fd.get(), status);
        return;
      }
      case OwnerAct::close:
        (which < 128 ? connections_[index] : words_).reset();
        return;
      default:
        send(act, act == OwnerAct::word || which >= 128 ? words_.get() : connections_[index].get(), parts);
    }
  }

  void begin(std::size_t index, const sim::Blob& blob) {
    imports_[index].reset();
    imports_[index] = Import<Mmap>::begin(engine_, card_, sim::encode(blob), std::chrono::seconds(60));
  }
  void take(std::size_t index) {
    if (imports_[index] == nullptr || !imports_[index]->is_over()) {
      return;
    }
    try {
      maps_[index] = imports_[index]->take();
      require(maps_[index]->len() == size, "an import is what its blob says");
    } catch (const Error& error) {
      require(error.status() != Status::unknown || std::string_view(error.what()).find("refuses") != std::string::npos,
              "an error says what the owner did");
    }
    imports_[index].reset();
  }

  void send(OwnerAct act, int to, Input& parts) const {
    const auto odd = parts.number<std::uint8_t>();
    const sim::Blob& blob = blobs_[odd / 128];
    const sim::WordReply word{.protocol = sim::import_protocol + (odd % 16 == 1 ? 1 : 0),
                              .status = odd % 16 == 2 ? static_cast<Status>(odd) : Status::success};
    const sim::ImportReply reply{.protocol = sim::import_protocol + (odd % 16 == 1 ? 1 : 0),
                                 .status = odd % 16 == 2 ? static_cast<Status>(odd) : Status::success,
                                 .mapped = (odd < 128 ? 1U : 0U) + (odd % 16 == 3 ? 1U : 0U),
                                 .base = blob.base + (odd % 16 == 4 ? size : 0),
                                 .length = blob.length - (odd % 16 == 5 ? 1 : 0)};
    const std::array files{page_.get(), odd % 16 == 6 ? listener_.fd.get() : page_.get(), page_.get()};
    const std::size_t count = act == OwnerAct::answer ? (odd < 128 ? 2U : 1U) + (odd % 16 == 7 ? 1U : 0U)
                              : odd % 16 == 7         ? 1U
                                                      : 0U;
    const auto bytes = act == OwnerAct::answer ? std::as_bytes(std::span(&reply, 1))
                       : act == OwnerAct::word ? std::as_bytes(std::span(&word, 1))
                                               : parts.take(odd);
    if (to >= 0) {
      static_cast<void>(sim::send_message(to, bytes, std::span(files).first(count)));
    }
  }

  /// Whatever the owner did, nothing is left in the engine.
  void end() {
    channel_.reset();
    for (auto& import : imports_) import.reset();
    for (auto& map : maps_) map.reset();
    for (auto& connection : connections_) connection.reset();
    for (Status status = Status::success; sim::accept_peer(listener_.fd.get(), status);) {
    }
    require(engine_->progress() == 0, "nothing is left in the engine");
  }

  const std::shared_ptr<Device> host_;
  const std::shared_ptr<Device> card_;
  const std::shared_ptr<ProgressEngine> engine_;
  const std::shared_ptr<Memory> memory_;
  std::array<std::byte, size> heap_{};
  std::array<std::unique_ptr<backend::MemoryRegion>, 2> regions_;
  std::array<sim::Blob, 2> blobs_;
  sim::ListeningSocket listener_;
  const detail::Fd page_ = sim::create_page_file();
  std::array<std::unique_ptr<Import<Mmap>>, max_imports> imports_;
  std::array<std::shared_ptr<Mmap>, max_imports> maps_;
  std::array<detail::Fd, max_imports> connections_;
  detail::Fd words_;  ///< the owner's end
  std::unique_ptr<sim::WordChannel> channel_;
  const std::shared_ptr<Asker> asker_ = std::make_shared<Asker>();
  sim::WordChannel::Ticket last_ticket_ = 0;
};

}  // namespace

void run_owner(std::span<const std::byte> input) {
  use_own_fabric();
  static Owners owners;
  owners.run(Input(input));
}

std::vector<Bytes> owner_seeds() {
  using Act = OwnerAct;
  return {
      sequence<Act>({{Act::begin, {0}},
                     {Act::accept, {}},
                     {Act::answer, {0}},
                     {Act::progress, {}},
                     {Act::take, {}},
                     {Act::bytes, {2, 1, 2}},
                     {Act::drop, {}},
                     {Act::close, {}}}),
      sequence<Act>({{Act::begin, {1}},
                     {Act::accept, {}},
                     {Act::answer, {128}},
                     {Act::progress, {}},
                     {Act::accept, {}},
                     {Act::answer, {128}},
                     {Act::progress, {}},
                     {Act::take, {}}}),
      sequence<Act>({{Act::ask, {}},
                     {Act::ask, {}},
                     {Act::forget, {}},
                     {Act::word, {0}},
                     {Act::collect, {}},
                     {Act::word, {2}},
                     {Act::close, {}}}),
  };
}

}  // namespace pydoca::fuzz
