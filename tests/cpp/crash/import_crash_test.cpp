#include "pydoca/buf_inventory.hpp"
#include "pydoca/dma.hpp"
#include "pydoca/mmap.hpp"

#include "crash/sweep.hpp"
#include "rig/bytes.hpp"
#include "rig/library/data_rig.hpp"

#include <gtest/gtest.h>

#include <bit>

namespace pydoca {
namespace {

using crash::CrashSweep;
using crash::Link;
using crash::Message;
using crash::run_until;

constexpr std::size_t shared_size = 256 * 1024;  // a copy of it goes to the device's workers

std::shared_ptr<Device> device_called(const char* name) { return Device::open(find_device(name)); }

/// Memory of this process on a device.
struct OwnMemory {
  std::shared_ptr<Memory> memory = Memory::allocate(shared_size);
  std::shared_ptr<Mmap> mmap = Mmap::create();

  OwnMemory(const std::shared_ptr<Device>& device, Access access) {
    mmap->add_device(device);
    mmap->set_memrange(memory->data(), shared_size);
    mmap->set_permissions(access | Access::local_read_write);
    mmap->start();
  }
  std::span<std::byte> bytes() const { return {memory->data(), shared_size}; }
};

/// Copies between two maps.
class Copier {
 public:
  explicit Copier(const std::shared_ptr<Device>& device) : dma_(Dma::create(device)) {
    dma_->set_memcpy_conf(completed, completed, 2);
    dma_->set_user_data(std::bit_cast<std::uint64_t>(this));
    engine->connect(dma_);
    inventory_->start();
  }
  ~Copier() {
    stop();
    dma_->close();
  }
  Copier(const Copier&) = delete;
  Copier& operator=(const Copier&) = delete;

  /// The status of the copy, by which the context may have stopped; it runs again with the next one.
  Status copy(const std::shared_ptr<Mmap>& src, const std::shared_ptr<Mmap>& dst, const Link& link) {
    if (dma_->state() == ContextState::idle) {
      EXPECT_EQ(dma_->start(), Status::success);
    }
    Buf* from = nullptr;
    Buf* to = nullptr;
    EXPECT_EQ(inventory_->get_by_data(src, src->addr(), shared_size, from), Status::success);
    EXPECT_EQ(inventory_->get_by_addr(dst, dst->addr(), shared_size, to), Status::success);
    const Status status = run(from, to, link);
    EXPECT_EQ(from->dec_refcount(), Status::success);
    EXPECT_EQ(to->dec_refcount(), Status::success);
    return status;
  }
  void stop() {
    static_cast<void>(dma_->stop());
    while (dma_->state() != ContextState::idle) {
      engine->progress();
    }
  }

  std::shared_ptr<ProgressEngine> engine = ProgressEngine::create();

 private:
  Status run(Buf* from, Buf* to, const Link& link) {
    DmaMemcpyTask* task = nullptr;
    EXPECT_EQ(dma_->memcpy(from, to, 0, task), Status::success);
    is_done_ = false;
    EXPECT_EQ(task->submit(), Status::success);
    run_until(*engine, link, [this] { return is_done_; });
    return status_;
  }
  static void completed(Task& task, std::uint64_t, std::uint64_t self) noexcept {
    auto& copier = *std::bit_cast<Copier*>(self);
    copier.status_ = task.status();
    copier.is_done_ = true;
    EXPECT_EQ(task.free(), Status::success);
  }

  std::shared_ptr<Dma> dma_;
  std::shared_ptr<BufInventory> inventory_ = BufInventory::create(4);
  Status status_ = Status::success;
  bool is_done_ = false;
};

/// What the owner's death may do to an import or to a copy.
bool is_end_of_owner(Status status) {
  return status == Status::not_connected || status == Status::bad_state || status == Status::io_failed ||
         status == Status::connection_reset;
}

/// Imports, reads and writes; throws an Error when the owner is gone.
Status use(Copier& copier, const std::shared_ptr<Device>& device, const Message& blob, const Link& owner) {
  const OwnMemory local(device, Access::local_read_write);
  const auto remote = Mmap::create_from_export(device, blob);
  const Status read = copier.copy(remote, local.mmap, owner);
  if (read != Status::success) {
    return read;
  }
  EXPECT_TRUE(same(local.bytes(), pattern(shared_size, 7)));
  return copier.copy(local.mmap, remote, owner);
}

/// The owner's side: lends the memory, and has it back when the importer is gone.
void lend(const std::shared_ptr<Device>& device, const Link& importer) {
  const OwnMemory memory(device, Access::pci_read_write);
  fill_pattern(memory.bytes(), 7);
  importer.send(memory.mmap->export_pci(*device));
  static_cast<void>(importer.receive());
  memory.mmap->stop();
}

TEST_F(CrashSweep, AnOwnerLosesAnImporter) {
  sweep({.victim =
             [](const Link& owner) {
               const auto device = device_called("p0");
               Copier copier(device);
               EXPECT_EQ(use(copier, device, owner.receive(), owner), Status::success);
             },
         .survivor =
             [](const Link& doomed, const Link& successor) {
               const auto device = device_called("pf0");
               lend(device, doomed);
               lend(device, successor);
             }});
}

TEST_F(CrashSweep, AnImporterLosesTheOwner) {
  sweep({.victim = [](const Link& importer) { lend(device_called("pf0"), importer); },
         .survivor =
             [](const Link& doomed, const Link& successor) {
               const auto device = device_called("p0");
               Copier copier(device);
               if (const Message blob = doomed.receive(); !blob.empty()) {
                 try {
                   const Status status = use(copier, device, blob, doomed);
                   EXPECT_TRUE(status == Status::success || is_end_of_owner(status)) << error_name(status);
                 } catch (const Error& error) {
                   EXPECT_TRUE(is_end_of_owner(error.status())) << error.what();
                 }
                 doomed.send(Message(1));
               }
               EXPECT_EQ(use(copier, device, successor.receive(), successor), Status::success);
               successor.send(Message(1));
             }});
}

}  // namespace
}  // namespace pydoca
