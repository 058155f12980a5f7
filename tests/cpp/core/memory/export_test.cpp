#include "pydoca/backend/device.hpp"
#include "pydoca/interrupt.hpp"
#include "pydoca/sim.hpp"

#include "backend/sim/fabric/fabric.hpp"
#include "backend/sim/fabric/shared_page.hpp"
#include "backend/sim/import/imported_region.hpp"
#include "backend/sim/memory/blob.hpp"
#include "backend/sim/memory/import_protocol.hpp"
#include "backend/sim/message/fd_message.hpp"
#include "rig/bytes.hpp"
#include "rig/expect_error.hpp"
#include "rig/process/descriptors.hpp"
#include "rig/process/export_peer.hpp"
#include "rig/process/no_descriptors.hpp"
#include "rig/process/raw_importer.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <string>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace pydoca {
namespace {

using ::testing::HasSubstr;
using Steady = std::chrono::steady_clock;
using Source = ExportedMemory::Source;

constexpr std::size_t memory_size = 3 * 4096 + 100;

// The program of a peer process.
TEST(Peer, DISABLED_Serve) {
  if (peer_socket() < 0) {
    GTEST_SKIP() << "only for processes that another test starts";
  }
  serve_as_export_peer(peer_socket());
}

std::byte byte_at(std::size_t i) { return static_cast<std::byte>(i * 7 + 1); }

Status status_of(const PeerMessage& message) { return static_cast<Status>(message.a); }

/// Whether the condition came true; the long limit is for a machine that is busy.
template <class Condition>
bool eventually(Condition condition, std::chrono::milliseconds patience = std::chrono::seconds(10)) {
  const auto deadline = Steady::now() + patience;
  while (!condition()) {
    if (Steady::now() > deadline) {
      return false;
    }
    std::this_thread::yield();
  }
  return true;
}

class Exports : public testing::Test {
 protected:
  // Tests that run at the same time must not meet. Peers take the fabric from the environment.
  void SetUp() override {
    const std::string fabric = "test-" + std::to_string(::getpid());
    sim::set_fabric(fabric);
    ::setenv("PYDOCA_FABRIC", fabric.c_str(), 1);
  }

  static std::string make(PeerProcess& peer, Source source, Access access) {
    return peer
        .ask({peer_op::make, static_cast<std::uint64_t>(access), memory_size,
              source == Source::foreign ? "foreign" : "pydoca"})
        .payload;
  }
  static PeerMessage import(PeerProcess& peer, const ExportedMemory& exported) {
    return peer.ask({.op = peer_op::import, .payload = text_of(exported.blob())});
  }
  static PeerMessage ask(PeerProcess& peer, char op, std::uint64_t a = 0, std::uint64_t b = 0) {
    return peer.ask({op, a, b, {}});
  }
};

class ExportSources : public Exports, public testing::WithParamInterface<Source> {};
INSTANTIATE_TEST_SUITE_P(Both, ExportSources, testing::Values(Source::pydoca, Source::foreign),
                         [](const auto& test) { return test.param == Source::pydoca ? "Pydoca" : "Foreign"; });

TEST_P(ExportSources, AreReadInAnotherProcess) {
  PeerProcess owner("Peer.DISABLED_Serve");
  const std::string blob = make(owner, GetParam(), Access::pci_read_only);
  EXPECT_LT(blob.size(), 512U);
  ImportedMemory imported(bytes_of(blob));
  EXPECT_EQ(imported.size(), memory_size);
  EXPECT_EQ(imported.access(), Access::pci_read_only);
  EXPECT_FALSE(imported.region().writable());
  EXPECT_EQ(imported.region().reach(),
            GetParam() == Source::pydoca ? sim::Region::Reach::mapped : sim::Region::Reach::foreign);
  for (const std::size_t offset : {std::size_t{0}, std::size_t{4095}, std::size_t{4096}, memory_size - 1}) {
    std::byte value{};
    EXPECT_EQ(imported.read(offset, value), Status::success);
    EXPECT_EQ(value, byte_at(offset)) << offset;
  }
  EXPECT_EQ(owner.quit(), 0);
}

TEST_P(ExportSources, AreWrittenInAnotherProcess) {
  PeerProcess owner("Peer.DISABLED_Serve");
  ImportedMemory imported(bytes_of(make(owner, GetParam(), Access::pci_read_write)));
  EXPECT_TRUE(imported.region().writable());
  ASSERT_EQ(imported.write(memory_size - 1, std::byte{0xaa}), Status::success);
  EXPECT_EQ(ask(owner, peer_op::peek, memory_size - 1).b, 0xaaU);
}

TEST_P(ExportSources, AreImportedInTheSameProcess) {
  ExportedMemory exported(GetParam(), memory_size, Access::pci_read_write);
  ImportedMemory imported(exported.blob());
  std::byte value{};
  EXPECT_EQ(imported.read(5000, value), Status::success);
  EXPECT_EQ(value, byte_at(5000));
  EXPECT_EQ(imported.write(5000, std::byte{1}), Status::success);
  EXPECT_EQ(exported.bytes()[5000], std::byte{1});
  EXPECT_EQ(exported.withdraw(), Status::success);
  EXPECT_EQ(imported.read(5000, value), Status::io_failed);
}

TEST_P(ExportSources, AreDescribedByOneBlobEachAccess) {
  ExportedMemory exported(GetParam(), memory_size, Access::pci_read_write);
  EXPECT_EQ(exported.region().export_pci(Access::pci_read_write), exported.blob());
  EXPECT_NE(exported.region().export_pci(Access::pci_read_only), exported.blob());
  EXPECT_EQ(thrown_by([&] { exported.region().export_pci(Access::local_read_write); }), Status::invalid_value);
}

TEST_P(ExportSources, OnceWithdrawnAreNeverSeenAgain) {
  PeerProcess importer("Peer.DISABLED_Serve");
  ExportedMemory exported(GetParam(), memory_size, Access::pci_read_write);
  ASSERT_EQ(status_of(import(importer, exported)), Status::success);
  ASSERT_EQ(ask(importer, peer_op::read, 0).b, std::to_integer<std::uint64_t>(byte_at(0)));
  ASSERT_EQ(exported.withdraw(), Status::success);
  fill(exported.bytes(), std::byte{0xdd});  // the poison
  const PeerMessage read = ask(importer, peer_op::read, 0);
  EXPECT_EQ(status_of(read), Status::io_failed);
  EXPECT_NE(read.b, 0xddU);
  EXPECT_EQ(status_of(ask(importer, peer_op::write, 0, 1)), Status::io_failed);
  EXPECT_EQ(exported.bytes()[0], std::byte{0xdd});
  EXPECT_EQ(exported.withdraw(), Status::success) << "a second withdrawal does nothing";
  EXPECT_EQ(importer.quit(), 0);
}

TEST_P(ExportSources, AStaleBlobSaysThatItsExportIsGone) {
  PeerProcess importer("Peer.DISABLED_Serve");
  ExportedMemory exported(GetParam(), memory_size, Access::pci_read_only);
  ASSERT_EQ(exported.withdraw(), Status::success);
  const PeerMessage refused = import(importer, exported);
  EXPECT_EQ(status_of(refused), Status::not_connected);
  EXPECT_THAT(refused.payload, HasSubstr("its owner has stopped, closed or dropped it since"));
}

TEST_P(ExportSources, AnOldBlobDoesNotReachANewExportInItsPlace) {
  PeerProcess importer("Peer.DISABLED_Serve");
  ExportedMemory old(GetParam(), memory_size, Access::pci_read_only);
  ASSERT_EQ(old.withdraw(), Status::success);
  ExportedMemory fresh(GetParam(), memory_size, Access::pci_read_only);
  EXPECT_EQ(status_of(import(importer, old)), Status::not_connected);
  EXPECT_EQ(status_of(import(importer, fresh)), Status::success);
}

TEST_P(ExportSources, ADeadOwnerIsNoticed) {
  PeerProcess owner("Peer.DISABLED_Serve");
  const std::string blob = make(owner, GetParam(), Access::pci_read_only);
  ImportedMemory imported(bytes_of(blob));
  ASSERT_FALSE(imported.revocation_page().is_closed());
  owner.kill();
  ASSERT_TRUE(eventually([&] { return imported.revocation_page().is_closed(); }));
  std::byte value{};
  EXPECT_EQ(imported.read(0, value), Status::io_failed);
  EXPECT_EQ(thrown_by([&] { ImportedMemory again(bytes_of(blob)); }), Status::not_connected);
  EXPECT_THAT(reason_of([&] { ImportedMemory again(bytes_of(blob)); }), HasSubstr(std::to_string(owner.pid())));
}

TEST_P(ExportSources, AForkedChildDoesNotHideItsParentsDeath) {
  PeerProcess owner("Peer.DISABLED_Serve");
  ImportedMemory imported(bytes_of(make(owner, GetParam(), Access::pci_read_only)));
  const auto child = static_cast<pid_t>(ask(owner, peer_op::fork).a);
  ASSERT_GT(child, 0);
  EXPECT_FALSE(imported.revocation_page().is_closed());
  owner.kill();
  EXPECT_TRUE(eventually([&] { return imported.revocation_page().is_closed(); }));
  EXPECT_EQ(::kill(child, SIGKILL), 0) << "the child had to outlive its parent";
}

TEST_P(ExportSources, WithdrawIsToBeRepeatedWhileAnImporterIsInside) {
  PeerProcess importer("Peer.DISABLED_Serve");
  ExportedMemory exported(GetParam(), memory_size, Access::pci_read_write);
  ASSERT_EQ(status_of(import(importer, exported)), Status::success);
  ASSERT_EQ(ask(importer, peer_op::enter).a, 1U);
  EXPECT_EQ(exported.withdraw(), Status::again);
  EXPECT_EQ(ask(importer, peer_op::enter).a, 0U) << "the export has ended in any case";
  PeerProcess late("Peer.DISABLED_Serve");
  EXPECT_EQ(status_of(import(late, exported)), Status::not_connected);
  ask(importer, peer_op::leave);
  EXPECT_EQ(exported.withdraw(), Status::success);
}

TEST_P(ExportSources, WithdrawEndsWhenTheImporterLeavesMeanwhile) {
  PeerProcess importer("Peer.DISABLED_Serve");
  ExportedMemory exported(GetParam(), memory_size, Access::pci_read_write);
  ASSERT_EQ(status_of(import(importer, exported)), Status::success);
  ASSERT_EQ(ask(importer, peer_op::enter).a, 1U);
  Status status = Status::unknown;
  std::thread withdrawer([&] {
    while ((status = exported.withdraw()) == Status::again) {
    }
  });
  // Once a new entry is refused, the withdrawal is under way.
  EXPECT_TRUE(eventually([&] {
    const bool inside = ask(importer, peer_op::enter).a == 1;
    if (inside) {
      ask(importer, peer_op::leave);
    }
    return !inside;
  }));
  ask(importer, peer_op::leave);
  withdrawer.join();
  EXPECT_EQ(status, Status::success);
}

/// Interrupts every wait.
class Interrupted {
 public:
  Interrupted() {
    questions() = 0;
    set_interrupt_check([]() noexcept {
      ++questions();
      return true;
    });
  }
  ~Interrupted() { set_interrupt_check(nullptr); }
  Interrupted(const Interrupted&) = delete;
  Interrupted& operator=(const Interrupted&) = delete;

  static int& questions() {
    static int count = 0;
    return count;
  }
};

TEST_P(ExportSources, ASignalEndsTheWaitForASilentOwner) {
  PeerProcess owner("Peer.DISABLED_Serve");
  const std::string blob = make(owner, GetParam(), Access::pci_read_only);
  ASSERT_EQ(::kill(owner.pid(), SIGSTOP), 0);
  int stopped = 0;
  ASSERT_EQ(::waitpid(owner.pid(), &stopped, WUNTRACED), owner.pid()) << "until it has stopped, it may answer";
  {
    const Interrupted signal;
    EXPECT_EQ(thrown_by([&] { ImportedMemory imported(bytes_of(blob)); }), Status::again);
    EXPECT_GE(signal.questions(), 1);
  }
  ASSERT_EQ(::kill(owner.pid(), SIGCONT), 0);
  ImportedMemory imported(bytes_of(blob));
  std::byte value{};
  EXPECT_EQ(imported.read(0, value), Status::success);
}

TEST_P(ExportSources, AllExportsOfARegionDieAtOnce) {
  PeerProcess importer("Peer.DISABLED_Serve");
  ExportedMemory exported(GetParam(), memory_size, Access::pci_read_write);
  ImportedMemory other(exported.region().export_pci(Access::pci_read_only));
  ASSERT_EQ(status_of(import(importer, exported)), Status::success);
  ASSERT_EQ(ask(importer, peer_op::enter).a, 1U);
  EXPECT_EQ(exported.withdraw(), Status::again);
  EXPECT_TRUE(other.revocation_page().is_closed());
}

TEST_P(ExportSources, AnImporterKilledInsideIsNotWaitedFor) {
  PeerProcess importer("Peer.DISABLED_Serve");
  ExportedMemory exported(GetParam(), memory_size, Access::pci_read_write);
  ASSERT_EQ(status_of(import(importer, exported)), Status::success);
  ASSERT_EQ(ask(importer, peer_op::enter).a, 1U);
  importer.kill();
  // The system may need a while to end the process.
  EXPECT_TRUE(eventually([&] { return exported.withdraw() == Status::success; }));
}

TEST_P(ExportSources, ServeSeveralImporters) {
  PeerProcess one("Peer.DISABLED_Serve");
  PeerProcess two("Peer.DISABLED_Serve");
  ExportedMemory exported(GetParam(), memory_size, Access::pci_read_only);
  ASSERT_EQ(status_of(import(one, exported)), Status::success);
  ASSERT_EQ(status_of(import(two, exported)), Status::success);
  EXPECT_EQ(ask(one, peer_op::drop).a, 0U);
  EXPECT_EQ(ask(two, peer_op::read, 9).b, std::to_integer<std::uint64_t>(byte_at(9)));
  EXPECT_EQ(exported.withdraw(), Status::success);
  EXPECT_EQ(status_of(ask(two, peer_op::read, 9)), Status::io_failed);
}

TEST_P(ExportSources, LeaveNoDescriptorBehind) {
  PeerProcess peer("Peer.DISABLED_Serve");
  const auto cycle = [&] {
    ExportedMemory exported(GetParam(), memory_size, Access::pci_read_write);
    EXPECT_EQ(status_of(import(peer, exported)), Status::success);
    ImportedMemory imported(bytes_of(make(peer, GetParam(), Access::pci_read_only)));
    EXPECT_EQ(exported.withdraw(), Status::success);
    EXPECT_EQ(status_of(ask(peer, peer_op::withdraw)), Status::success);
    ask(peer, peer_op::drop);
  };
  cycle();  // each process now has its service
  EXPECT_TRUE(eventually([] { return count_descriptors() > 0; }));
  const std::size_t here = count_descriptors();
  const std::uint64_t there = ask(peer, peer_op::count_fds).a;
  for (int i = 0; i < 20; ++i) {
    cycle();
  }
  EXPECT_TRUE(eventually([&] { return count_descriptors() <= here; })) << count_descriptors() << " instead of " << here;
  EXPECT_TRUE(eventually([&] { return ask(peer, peer_op::count_fds).a <= there; }));
  EXPECT_EQ(peer.quit(), 0);
}

// ---- Permission to import

TEST_F(Exports, GoToTheirParentDeviceOnly) {
  ExportedMemory exported(Source::pydoca, memory_size, Access::pci_read_only, "pf0vf1");
  EXPECT_EQ(thrown_by([&] { ImportedMemory wrong(exported.blob(), "p1"); }), Status::not_permitted);
  const std::string reason = reason_of([&] { ImportedMemory wrong(exported.blob(), "p1"); });
  EXPECT_THAT(reason, HasSubstr("pf0vf1"));
  EXPECT_THAT(reason, HasSubstr("p0 can reach and p1 cannot"));
  EXPECT_EQ(thrown_by([&] { ImportedMemory wrong(exported.blob(), "p0s0"); }), Status::not_permitted);
  EXPECT_EQ(thrown_by([&] { ImportedMemory wrong(exported.blob(), "pf1"); }), Status::not_supported);
  EXPECT_EQ(ImportedMemory(exported.blob(), "p0").size(), memory_size);
}

TEST_F(Exports, ComeFromTheHostOnly) {
  EXPECT_EQ(thrown_by([] { ExportedMemory exported(Source::pydoca, memory_size, Access::pci_read_only, "p0"); }),
            Status::not_supported);
}

TEST_F(Exports, StayInTheirFabric) {
  ExportedMemory exported(Source::pydoca, memory_size, Access::pci_read_only);
  sim::set_fabric("another");
  EXPECT_EQ(thrown_by([&] { ImportedMemory wrong(exported.blob()); }), Status::not_permitted);
  EXPECT_THAT(reason_of([&] { ImportedMemory wrong(exported.blob()); }), HasSubstr("another"));
}

TEST_F(Exports, AreRefusedFromAnotherBootOrUser) {
  ExportedMemory exported(Source::pydoca, memory_size, Access::pci_read_only);
  sim::Blob blob;
  ASSERT_EQ(sim::parse(exported.blob(), blob), Status::success);
  sim::Blob rebooted = blob;
  rebooted.boot_id[3] ^= std::byte{1};
  EXPECT_EQ(thrown_by([&] { ImportedMemory wrong(sim::encode(rebooted)); }), Status::not_connected);
  sim::Blob other_user = blob;
  ++other_user.owner_uid;
  EXPECT_EQ(thrown_by([&] { ImportedMemory wrong(sim::encode(other_user)); }), Status::not_permitted);
}

TEST_F(Exports, ForgedBlobsGetNothing) {
  ExportedMemory exported(Source::pydoca, memory_size, Access::pci_read_only);
  sim::Blob blob;
  ASSERT_EQ(sim::parse(exported.blob(), blob), Status::success);
  std::vector<sim::Blob> forged(7, blob);
  forged[0].nonce[0] ^= std::byte{1};
  forged[1].access = Access::pci_read_write;
  forged[2].slot = 1'000'000;
  forged[3].length *= 2;
  forged[4].base += 4096;
  forged[5].socket_key[0] ^= std::byte{1};
  forged[6].epoch += 5;
  const std::array expected{Status::invalid_value, Status::invalid_value, Status::invalid_value, Status::not_connected,
                            Status::not_connected, Status::not_connected, Status::not_connected};
  for (std::size_t i = 0; i < forged.size(); ++i) {
    EXPECT_EQ(thrown_by([&] { ImportedMemory wrong(sim::encode(forged[i])); }), expected[i]) << i;
  }
  EXPECT_EQ(exported.withdraw(), Status::success);
}

TEST_F(Exports, ABlobThatNamesAnotherDeviceOrKindIsRefusedByItsOwner) {
  ExportedMemory exported(Source::pydoca, memory_size, Access::pci_read_only);
  sim::Blob blob;
  ASSERT_EQ(sim::parse(exported.blob(), blob), Status::success);
  std::ranges::copy(std::string_view("0000:0b:00.2"), blob.pci_addr.begin());  // reachable for the importer as well
  EXPECT_THAT(reason_of([&] { ImportedMemory wrong(sim::encode(blob)); }),
              HasSubstr("refuses: it was exported through 0000:0b:00.0"));
  const auto network = exported.region().export_rdma(Access::rdma_read);
  ASSERT_EQ(sim::parse(network, blob), Status::success);
  blob.type = sim::BlobType::memory;
  blob.access = Access::pci_read_only;
  EXPECT_THAT(reason_of([&] { ImportedMemory wrong(sim::encode(blob)); }),
              HasSubstr("refuses: it exported a memory map, for a network peer"));
}

TEST_F(Exports, ABlobOfAnotherPidNamespaceNamesNoProcess) {
  ExportedMemory exported(Source::pydoca, memory_size, Access::pci_read_only);
  sim::Blob blob;
  ASSERT_EQ(sim::parse(exported.blob(), blob), Status::success);
  blob.nonce[0] ^= std::byte{1};
  EXPECT_THAT(reason_of([&] { ImportedMemory wrong(sim::encode(blob)); }),
              HasSubstr("process " + std::to_string(::getpid()) + ", refuses: it made no such export"));
  ++blob.pid_namespace;
  EXPECT_THAT(reason_of([&] { ImportedMemory wrong(sim::encode(blob)); }),
              HasSubstr("its owner, a process in another PID namespace, refuses"));
  blob.socket_key[0] ^= std::byte{1};
  EXPECT_THAT(reason_of([&] { ImportedMemory wrong(sim::encode(blob)); }),
              HasSubstr("or listens in another directory than"));
}

TEST_F(Exports, DamagedBlobsAreRefusedByTheDevice) {
  ExportedMemory exported(Source::pydoca, memory_size, Access::pci_read_only);
  std::vector<std::byte> damaged = exported.blob();
  damaged[40] ^= std::byte{4};
  EXPECT_EQ(thrown_by([&] { ImportedMemory wrong(damaged); }), Status::invalid_value);
  damaged = exported.blob();
  damaged[8] = std::byte{9};
  EXPECT_EQ(thrown_by([&] { ImportedMemory wrong(damaged); }), Status::unsupported_version);
  EXPECT_EQ(thrown_by([&] { ImportedMemory wrong(std::span<const std::byte>{}); }), Status::invalid_value);
}

// ---- Rules that the kernel enforces

using Hostile = RawImporter;

bool can_map_writable(int fd) {
  void* const address = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (address == MAP_FAILED) {
    return false;
  }
  ::munmap(address, 4096);
  return true;
}

TEST_F(Exports, AnImporterCannotChangeTheFileForTheOthers) {
  ExportedMemory exported(Source::pydoca, memory_size, Access::pci_read_write);
  Hostile hostile(exported.blob());
  ASSERT_EQ(hostile.ask(), Status::success);
  const int file = hostile.files.fds[1].get();
  for (const int seal : {F_SEAL_FUTURE_WRITE, F_SEAL_WRITE, F_SEAL_SEAL}) {
    EXPECT_NE(::fcntl(file, F_ADD_SEALS, seal), 0) << seal;
  }
  EXPECT_NE(::ftruncate(file, 0), 0);
  EXPECT_NE(::ftruncate(file, 1 << 20), 0);
  static_cast<void>(::fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4096));  // it writes zeros
  ImportedMemory imported(exported.blob());
  EXPECT_EQ(imported.region().reach(), sim::Region::Reach::mapped);
  std::byte value{};
  EXPECT_EQ(imported.read(0, value), Status::success);
}

/// The first importer fixes the file's seals.
TEST_F(Exports, MemoryThatAnImporterMayWriteIsNotMappedByTheNextOneReadOnly) {
  ExportedMemory exported(Source::pydoca, memory_size, Access::pci_read_write);
  ImportedMemory writer(exported.blob());
  ImportedMemory reader(exported.region().export_pci(Access::pci_read_only));
  EXPECT_EQ(writer.region().reach(), sim::Region::Reach::mapped);
  EXPECT_EQ(reader.region().reach(), sim::Region::Reach::foreign);
  std::byte value{};
  EXPECT_EQ(reader.read(9, value), Status::success);
  EXPECT_EQ(value, byte_at(9));
}

TEST_F(Exports, ReadOnlyMemoryCannotBeWrittenByAnyMeans) {
  ExportedMemory exported(Source::pydoca, memory_size, Access::pci_read_only);
  Hostile hostile(exported.blob());
  ASSERT_EQ(hostile.ask(), Status::success);
  ASSERT_EQ(hostile.files.count, 2U);
  const int file = hostile.files.fds[1].get();
  EXPECT_FALSE(can_map_writable(file));
  const std::string path = "/proc/self/fd/" + std::to_string(file);
  const detail::Fd reopened(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  EXPECT_FALSE(reopened && can_map_writable(reopened.get()));
  const char byte = 1;
  EXPECT_FALSE(reopened && ::pwrite(reopened.get(), &byte, 1, 0) == 1);
  EXPECT_NE(::pwrite(file, &byte, 1, 0), 1);
  EXPECT_NE(::ftruncate(file, 0), 0);
  EXPECT_NE(::fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4096), 0);
  void* const view = ::mmap(nullptr, 4096, PROT_READ, MAP_SHARED, file, 0);
  ASSERT_NE(view, MAP_FAILED);
  EXPECT_NE(::mprotect(view, 4096, PROT_READ | PROT_WRITE), 0);
  ::munmap(view, 4096);
  EXPECT_EQ(exported.bytes()[0], byte_at(0));
}

TEST_F(Exports, MemoryThatWasSealedIsExportedWritableAsForeign) {
  ExportedMemory exported(Source::pydoca, memory_size, Access::pci_read_only);
  const std::vector<std::byte> writable = exported.region().export_pci(Access::pci_read_write);
  ImportedMemory imported(writable);
  EXPECT_EQ(imported.region().reach(), sim::Region::Reach::foreign);
  EXPECT_EQ(imported.write(1, std::byte{0x55}), Status::success);
  EXPECT_EQ(exported.bytes()[1], std::byte{0x55});
}

TEST_F(Exports, APieceOfMemoryOpensNothingElse) {
  const auto memory = Memory::allocate(4 * 4096);
  const auto device = Device::open(find_device("pf0"));
  std::byte* const piece = memory->data() + 5000;
  piece[0] = std::byte{0x12};
  piece[6999] = std::byte{0x34};
  const auto region =
      device->backend().register_memory({piece, 7000, find_memory(piece, 7000)}, Access::pci_read_write);
  const auto blob = region->export_pci(Access::pci_read_write);
  ImportedMemory imported(blob);
  std::byte first{};
  std::byte last{};
  ASSERT_EQ(imported.read(0, first), Status::success);
  ASSERT_EQ(imported.read(6999, last), Status::success);
  EXPECT_EQ(first, std::byte{0x12});
  EXPECT_EQ(last, std::byte{0x34});
  EXPECT_EQ(imported.base(), reinterpret_cast<std::uint64_t>(piece));
  EXPECT_EQ(imported.region().reach(), sim::Region::Reach::foreign);
  Hostile hostile(blob);
  ASSERT_EQ(hostile.ask(), Status::success);
  EXPECT_EQ(hostile.files.count, 1U) << "only the revocation_page";
  struct stat handed{};
  struct stat whole{};
  ASSERT_EQ(::fstat(hostile.files.fds[0].get(), &handed), 0);
  ASSERT_EQ(::fstat(memory->fd(), &whole), 0);
  EXPECT_NE(handed.st_ino, whole.st_ino);
  const auto read_only =
      device->backend().register_memory({piece, 7000, find_memory(piece, 7000)}, Access::pci_read_only);
  EXPECT_FALSE(read_only->export_pci(Access::pci_read_only).empty());
  EXPECT_FALSE(memory->is_sealed_against_writes()) << "the rest is not read-only";
}

TEST_F(Exports, WholeMemoryIsMappedWhateverItsSize) {
  for (const std::size_t length : {std::size_t{1}, std::size_t{4095}, std::size_t{4097}, std::size_t{10000}}) {
    ExportedMemory exported(Source::pydoca, length, Access::pci_read_write);
    ImportedMemory imported(exported.blob());
    EXPECT_EQ(imported.region().reach(), sim::Region::Reach::mapped) << length;
  }
}

// ---- Peers that violate the protocol

TEST_F(Exports, SurvivePeersThatBreakTheProtocol) {
  ExportedMemory exported(Source::pydoca, memory_size, Access::pci_read_only);
  ImportedMemory good(exported.blob());
  const std::size_t before = count_descriptors();
  {
    Hostile wrong_version(exported.blob());
    wrong_version.request.protocol += 1;
    EXPECT_EQ(wrong_version.ask(), Status::connection_reset);
    Hostile with_fds(exported.blob());
    const std::array<int, 2> fds{0, 1};
    EXPECT_EQ(with_fds.ask(fds), Status::connection_reset);
    Hostile short_message(exported.blob());
    EXPECT_EQ(::send(short_message.socket.get(), "x", 1, MSG_NOSIGNAL), 1);
    char answer = 0;
    EXPECT_EQ(::recv(short_message.socket.get(), &answer, 1, 0), 0);
    Hostile silent(exported.blob());
  }
  EXPECT_TRUE(eventually([&] { return count_descriptors() <= before; }))
      << count_descriptors() << " instead of " << before;
  std::byte value{};
  EXPECT_EQ(good.read(0, value), Status::success);
}

TEST_F(Exports, AChattyImporterIsStillSeenInside) {
  ExportedMemory exported(Source::pydoca, memory_size, Access::pci_read_write);
  Hostile hostile(exported.blob());
  ASSERT_EQ(hostile.ask(), Status::success);
  const auto page = sim::SharedPage<sim::RevocationPage>::map(hostile.files.fds[0].get());
  ASSERT_TRUE((*page)->enter());
  EXPECT_EQ(::send(hostile.socket.get(), "nonsense", 8, MSG_NOSIGNAL), 8);
  EXPECT_EQ(::send(hostile.socket.get(), "more", 4, MSG_NOSIGNAL), 4);
  EXPECT_EQ(exported.withdraw(), Status::again);
  (*page)->leave();
  EXPECT_EQ(exported.withdraw(), Status::success);
}

TEST_F(Exports, TheReasonOfAnOwnerWithoutDescriptorsReachesTheImporter) {
  if (sanitizer_needs_descriptors) {
    GTEST_SKIP() << "the sanitizer itself needs descriptors";
  }
  ExportedMemory exported(Source::pydoca, memory_size, Access::pci_read_only);
  Hostile first(exported.blob());
  ASSERT_EQ(first.ask(), Status::success);
  const std::size_t before = count_descriptors();
  Hostile importer(exported.blob());
  ASSERT_TRUE(eventually([&] { return count_descriptors() == before + 2; })) << "both ends of its connection";
  const NoDescriptors none;
  EXPECT_EQ(importer.ask(), Status::success);
  EXPECT_EQ(importer.reply.status, Status::operating_system);
  EXPECT_THAT(importer.reply.reason.data(), HasSubstr("ulimit -n"));
}

TEST_F(Exports, AnImporterWithoutDescriptorsIsTold) {
  if (sanitizer_needs_descriptors) {
    GTEST_SKIP() << "the sanitizer itself needs descriptors";
  }
  std::array<int, 2> ends{};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()), 0);
  const detail::Fd sender(ends[0]);
  const detail::Fd receiver(ends[1]);
  const NoDescriptors none;
  std::byte byte{1};
  const std::array fds{0};
  ASSERT_EQ(sim::send_message(sender.get(), std::span(&byte, 1), fds), Status::success);
  sim::ReceivedFds files;
  EXPECT_EQ(sim::receive_message(receiver.get(), std::span(&byte, 1), files), Status::full);
}

TEST_F(Exports, AMessageWithTooManyDescriptorsLeavesNoneOpen) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()), 0);
  const detail::Fd sender(ends[0]);
  const detail::Fd receiver(ends[1]);
  const std::size_t before = count_descriptors();
  for (const std::size_t count :
       {sim::max_message_fds + 1, std::size_t{8}, std::size_t{9}, std::size_t{100}, std::size_t{253}}) {
    std::vector<int> fds(count, 0);
    std::vector<std::byte> control(CMSG_SPACE(fds.size() * sizeof(int)));
    char byte = 'x';
    iovec part{.iov_base = &byte, .iov_len = 1};
    msghdr header{};
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    header.msg_control = control.data();
    header.msg_controllen = control.size();
    cmsghdr* const rights = CMSG_FIRSTHDR(&header);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(fds.size() * sizeof(int));
    std::memcpy(CMSG_DATA(rights), fds.data(), fds.size() * sizeof(int));
    ASSERT_EQ(::sendmsg(sender.get(), &header, 0), 1);
    std::byte received{};
    sim::ReceivedFds files;
    EXPECT_EQ(sim::receive_message(receiver.get(), std::span(&received, 1), files), Status::invalid_value) << count;
    EXPECT_EQ(count_descriptors(), before) << count;
  }
}

detail::Fd file_of(std::size_t length, int seals) {
  detail::Fd fd(::memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  EXPECT_EQ(::ftruncate(fd.get(), static_cast<off_t>(length)), 0);
  EXPECT_EQ(::fcntl(fd.get(), F_ADD_SEALS, seals), 0);
  return fd;
}

TEST_F(Exports, FilesThatCouldShrinkAreRefused) {
  const detail::Fd revocation_page = file_of(4096, F_SEAL_SHRINK | F_SEAL_GROW);
  sim::ImportedRegion region(0x1000, 8192, false, sim::SharedPage<sim::RevocationPage>::map(revocation_page.get()));
  EXPECT_EQ(thrown_by([&] { region.map(file_of(8192, 0).get()); }), Status::not_permitted);
  EXPECT_EQ(thrown_by([&] { region.map(file_of(8192, F_SEAL_SHRINK).get()); }), Status::not_permitted);
  EXPECT_EQ(thrown_by([&] { region.map(file_of(8191, F_SEAL_SHRINK | F_SEAL_GROW).get()); }), Status::not_permitted);
  EXPECT_EQ(thrown_by([&] { region.map(0); }), Status::not_permitted);
  region.map(file_of(8192, F_SEAL_SHRINK | F_SEAL_GROW).get());
  EXPECT_EQ(region.reach(), sim::Region::Reach::mapped);
  EXPECT_EQ(thrown_by([] { sim::SharedPage<sim::RevocationPage>::map(file_of(4096, 0).get()); }),
            Status::not_permitted);
  EXPECT_EQ(
      thrown_by([] { sim::SharedPage<sim::RevocationPage>::map(file_of(16, F_SEAL_SHRINK | F_SEAL_GROW).get()); }),
      Status::not_permitted);
}

// ---- Regions that are destroyed too early

TEST_F(Exports, MemoryLeftWithAPeerInsideIsKeptUntilItLeaves) {
  PeerProcess importer("Peer.DISABLED_Serve");
  std::weak_ptr<Memory> memory;
  {
    ExportedMemory exported(Source::pydoca, memory_size, Access::pci_read_write);
    memory = exported.memory();
    ASSERT_EQ(status_of(import(importer, exported)), Status::success);
    ASSERT_EQ(ask(importer, peer_op::enter).a, 1U);
  }
  EXPECT_FALSE(memory.expired()) << "a peer may be writing into it";
  EXPECT_EQ(ask(importer, peer_op::enter).a, 0U);
  importer.kill();
  EXPECT_TRUE(eventually([&] { return memory.expired(); }));
}

TEST_F(Exports, DestroyedWhileTheRevocationPageIsEmptyLetGoAtOnce) {
  std::weak_ptr<Memory> memory;
  std::unique_ptr<ImportedMemory> imported;
  {
    ExportedMemory exported(Source::pydoca, memory_size, Access::pci_read_write);
    memory = exported.memory();
    imported = std::make_unique<ImportedMemory>(exported.blob());
  }
  EXPECT_TRUE(memory.expired());
  EXPECT_TRUE(imported->revocation_page().is_closed());
}

// ---- Registration

TEST_F(Exports, MemoryThatIsNotThereIsNotRegistered) {
  const auto device = Device::open(find_device("pf0"));
  const auto refused = [&](std::byte* addr, std::size_t len, Access access) {
    return thrown_by([&] { device->backend().register_memory({addr, len, {}}, access); });
  };
  EXPECT_EQ(refused(reinterpret_cast<std::byte*>(0x10), 16, Access::local_read_only), Status::invalid_value);
  EXPECT_EQ(refused(reinterpret_cast<std::byte*>(~std::uintptr_t{0} - 4096), 4096, Access::local_read_only),
            Status::invalid_value);
  auto* const pages =
      static_cast<std::byte*>(::mmap(nullptr, 3 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(pages, MAP_FAILED);
  EXPECT_EQ(refused(pages, 3 * 4096, Access::local_read_write), Status::success);
  ASSERT_EQ(::mprotect(pages + 4096, 4096, PROT_READ), 0);
  EXPECT_EQ(refused(pages, 3 * 4096, Access::local_read_only), Status::success);
  EXPECT_EQ(refused(pages, 3 * 4096, Access::local_read_write), Status::not_permitted);
  EXPECT_EQ(refused(pages, 3 * 4096, Access::pci_read_write), Status::not_permitted);
  ASSERT_EQ(::mprotect(pages + 4096, 4096, PROT_NONE), 0);
  EXPECT_EQ(refused(pages, 3 * 4096, Access::local_read_only), Status::invalid_value);
  ASSERT_EQ(::munmap(pages + 4096, 4096), 0);
  EXPECT_EQ(refused(pages, 3 * 4096, Access::local_read_only), Status::invalid_value);
  EXPECT_EQ(refused(pages, 4096, Access::local_read_write), Status::success);
  ::munmap(pages, 3 * 4096);
}

TEST_F(Exports, ASignalEndsARegistration) {
  const auto device = Device::open(find_device("pf0"));
  const std::unique_ptr<std::byte[]> bytes(new std::byte[std::size_t{32} << 20]);
  const backend::MemoryRange range{bytes.get(), std::size_t{32} << 20, std::nullopt};
  const auto register_it = [&] { return device->backend().register_memory(range, Access::local_read_write); };
  {
    const Interrupted signal;
    EXPECT_EQ(thrown_by(register_it), Status::again);
  }
  EXPECT_NE(register_it(), nullptr);
}

TEST_F(Exports, AFileThatEndsEarlierIsNotRegistered) {
  const auto device = Device::open(find_device("pf0"));
  const detail::Fd file(::memfd_create("test", MFD_CLOEXEC));
  ASSERT_EQ(::ftruncate(file.get(), 4096), 0);
  auto* const pages = static_cast<std::byte*>(::mmap(nullptr, 2 * 4096, PROT_READ, MAP_SHARED, file.get(), 0));
  ASSERT_NE(pages, MAP_FAILED);
  const backend::MemoryRange range{.addr = pages, .len = 2 * 4096, .location = {}};
  EXPECT_EQ(thrown_by([&] { device->backend().register_memory(range, Access::local_read_only); }),
            Status::invalid_value);
  ::munmap(pages, 2 * 4096);
}

// ---- fork

TEST_F(Exports, AChildHasNoPartInItsParentsExports) {
  PeerProcess peer("Peer.DISABLED_Serve");
  auto exported = std::make_unique<ExportedMemory>(Source::pydoca, memory_size, Access::pci_read_write);
  ASSERT_EQ(status_of(import(peer, *exported)), Status::success);
  auto imported = std::make_unique<ImportedMemory>(bytes_of(make(peer, Source::pydoca, Access::pci_read_only)));
  const pid_t child = ::fork();
  if (child == 0) {
    const bool fine = exported->withdraw() == Status::success;
    exported.reset();
    imported.reset();
    ::_exit(fine ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(status_of(ask(peer, peer_op::read, 3)), Status::success) << "the child must not have withdrawn it";
  std::byte value{};
  EXPECT_EQ(imported->read(0, value), Status::success);
  EXPECT_EQ(exported->withdraw(), Status::success);
}

TEST_F(Exports, AChildExportsByItself) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "ThreadSanitizer starts no threads after a fork of several";
#endif
  ExportedMemory parents(Source::pydoca, memory_size, Access::pci_read_only);
  // The thread that answers has started: AddressSanitizer's allocator is not usable in a child that is forked while
  // another thread is inside it, and a thread that starts is.
  EXPECT_EQ(ImportedMemory(parents.blob()).size(), memory_size);
  std::array<int, 2> ends{};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()), 0);
  detail::Fd here(ends[0]);
  detail::Fd there(ends[1]);
  const pid_t child = ::fork();
  if (child == 0) {
    here.reset();  // the child ends with its parent
    ExportedMemory own(Source::pydoca, memory_size, Access::pci_read_only);
    send_message_to(there.get(), {.op = 'b', .payload = text_of(own.blob())});
    receive_message_from(there.get());
    ::_exit(own.withdraw() == Status::success ? 0 : 1);
  }
  there.reset();
  const std::string blob = receive_message_from(here.get()).payload;
  ImportedMemory imported(bytes_of(blob));
  std::byte value{};
  EXPECT_EQ(imported.read(7, value), Status::success);
  EXPECT_EQ(value, byte_at(7));
  send_message_to(here.get(), {.op = 'q', .payload = {}});
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(eventually([&] { return imported.revocation_page().is_closed(); }));
  EXPECT_EQ(ImportedMemory(parents.blob()).size(), memory_size) << "the exports of the parent are unchanged";
}

}  // namespace
}  // namespace pydoca
