#include "pydoca/backend/device.hpp"
#include "pydoca/device.hpp"
#include "pydoca/memory.hpp"
#include "pydoca/sim.hpp"

#include "backend/sim/fabric/fabric.hpp"
#include "backend/sim/memory/blob.hpp"
#include "backend/sim/memory/import_protocol.hpp"
#include "backend/sim/message/fd_message.hpp"
#include "fuzz/targets/sim_targets.hpp"

#include <array>
#include <memory>
#include <sched.h>
#include <string_view>

namespace pydoca::fuzz {

namespace {

constexpr std::size_t max_importers = 4;

enum class ImportAct : std::uint8_t {
  connect,    ///< an importer
  request,    ///< an importer
  word,       ///< an importer asks for an atomic operation
  wake_byte,  ///< an importer
  bytes,      ///< an importer: anything
  close,      ///< an importer
  read,       ///< an importer takes a reply, and drops its files
  renew,      ///< the owner exports again
  withdraw,   ///< the owner
  count,
};

/// Exports of pydoca memory and of other memory, with importers that send what the input says.
class Imports {
 public:
  Imports() : device_(Device::open(find_device("pf0", Side::host))), memory_(Memory::allocate(4096)) {}

  void run(Input parts) {
    foreign_ = false;
    export_again();
    while (!parts.is_empty()) {
      act(parts);
    }
    for (auto& importer : importers_) importer.reset();
    region_.reset();
  }

 private:
  void act(Input& parts) {
    const auto act = static_cast<ImportAct>(parts.number<std::uint8_t>() % static_cast<std::uint8_t>(ImportAct::count));
    const auto which = parts.number<std::uint8_t>();
    detail::Fd& importer = importers_[which % max_importers];
    Status status = Status::success;
    switch (act) {
      case ImportAct::connect: {
        const std::string_view key(reinterpret_cast<const char*>(blob_.socket_key.data()), blob_.socket_key.size());
        importer = sim::connect_to(sim::fabric_address(sim::fabric(), "memory", key), status);
        return;
      }
      case ImportAct::close:
        importer.reset();
        return;
      case ImportAct::read:
        return take_reply(importer.get());
      case ImportAct::renew:
        return export_again();
      case ImportAct::withdraw:
        static_cast<void>(region_->withdraw());
        return;
      default:
        if (importer) send(importer.get(), act, which, parts);
    }
  }
  void export_again() {
    static std::array<std::byte, 4096> other;
    foreign_ = !foreign_;
    const backend::MemoryRange range{foreign_ ? other.data() : memory_->data(), 4096,
                                     find_memory(foreign_ ? other.data() : memory_->data(), 4096)};
    const Access access = Access::rdma_read | Access::rdma_write | Access::rdma_atomic;
    region_ = device_->backend().register_memory(range, access | Access::local_read_write);
    require(sim::parse(region_->export_rdma(access), blob_) == Status::success, "what is exported can be read");
  }
  static void take_reply(int importer) {
    sim::ImportReply reply;
    sim::ReceivedFds files;
    if (importer < 0 ||
        sim::receive_message(importer, std::as_writable_bytes(std::span(&reply, 1)), files) != Status::success) {
      ::sched_yield();
      return;
    }
    require(reply.status == Status::success || files.count == 0, "a refusal hands no file over");
  }
  void send(int importer, ImportAct act, std::uint8_t which, Input& parts) const {
    const auto odd = parts.number<std::uint8_t>();
    sim::ImportRequest request{.epoch = blob_.epoch + (odd == 1 ? 1 : 0),
                               .nonce = blob_.nonce,
                               .slot = blob_.slot + (odd == 2 ? 1000U : 0U),
                               .access = blob_.access,
                               .type = static_cast<std::uint32_t>(blob_.type) + (odd == 3 ? 1U : 0U),
                               .function = blob_.pci_addr};
    if (odd == 4) request.nonce[0] ^= std::byte{1};
    const sim::WordChange change{.addr = blob_.base + odd * 8ULL * (which < 200 ? 1 : 1000), .operand = 1};
    constexpr std::byte byte = sim::wake_byte;
    const auto fds = odd == 5 ? std::span<const int>(&importer, 1) : std::span<const int>();
    const auto bytes = act == ImportAct::request     ? std::as_bytes(std::span(&request, 1))
                       : act == ImportAct::word      ? std::as_bytes(std::span(&change, 1))
                       : act == ImportAct::wake_byte ? std::span<const std::byte>(&byte, 1)
                                                     : parts.take(odd);
    static_cast<void>(sim::send_message(importer, bytes, fds));
  }

  const std::shared_ptr<Device> device_;
  const std::shared_ptr<Memory> memory_;
  std::unique_ptr<backend::MemoryRegion> region_;
  sim::Blob blob_;
  bool foreign_ = false;
  std::array<detail::Fd, max_importers> importers_;
};

}  // namespace

void run_import(std::span<const std::byte> input) {
  use_own_fabric();
  static Imports imports;
  imports.run(Input(input));
}

std::vector<Bytes> import_seeds() {
  using Act = ImportAct;
  return {
      sequence<Act>({{Act::connect, {}},
                     {Act::request, {0}},
                     {Act::read, {}},
                     {Act::word, {1}},
                     {Act::read, {}},
                     {Act::renew, {}},
                     {Act::connect, {}},
                     {Act::request, {0}},
                     {Act::read, {}},
                     {Act::wake_byte, {0}},
                     {Act::withdraw, {}},
                     {Act::close, {}}}),
      sequence<Act>({{Act::connect, {}},
                     {Act::word, {1}},
                     {Act::request, {1}},
                     {Act::read, {}},
                     {Act::request, {0}},
                     {Act::bytes, {2, 1, 2}}}),
  };
}

}  // namespace pydoca::fuzz
