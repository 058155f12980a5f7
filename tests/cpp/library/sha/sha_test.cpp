#include <pydoca/capabilities.hpp>
#include <pydoca/sha.hpp>
#include <pydoca/sim.hpp>

#include "library/sha/sha_fixture.hpp"
#include "rig/expect_error.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace pydoca {
namespace {

using testing::Each;
using testing::Field;
using testing::HasSubstr;

constexpr std::string_view sha256_of_abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

TEST_F(ShaTest, TheDigestOfAListIsThatOfItsBytes) {
  std::mt19937 random(1);  // NOLINT(bugprone-random-generator-seed): each run must be the same
  for (const std::size_t size : {1U, 4096U, 8192U, 8193U, 300'000U, 3'000'000U}) {
    const std::string whole = digest_of(source(0, size), ShaAlgorithm::sha512);
    for (int round = 0; round < 5; ++round) {
      Buf* head = nullptr;
      std::size_t at = 0;
      for (int element = 0; element < 100 && at < size; ++element) {
        const std::size_t len = element == 99 ? size - at : 1 + random() % std::min<std::size_t>(size - at, 50'000);
        Buf* const next = bufs.by_data(src_memory, at, len);
        at += len;
        if (head == nullptr) {
          head = hold(next);
        } else {
          EXPECT_EQ(head->chain(*next), Status::success);
        }
      }
      if (at == size) {
        EXPECT_EQ(digest_of(head, ShaAlgorithm::sha512), whole) << size << " bytes, round " << round;
      }
    }
  }
}

TEST_F(ShaTest, WorkersHashWhileTheOwnerSleeps) {
  const std::string expected = digest_of(source(0, 1'000'000));
  fill(dst_memory.bytes, std::byte{0});
  rig.submitted(source(0, 1'000'000), target());
  rig.sleep_until(2);
  EXPECT_EQ(to_hex(std::span(dst_memory.bytes).first(32)), expected);
}

TEST_F(ShaTest, ManyOfAllAlgorithmsAndSizesAreInFlight) {
  std::mt19937 random(2);  // NOLINT(bugprone-random-generator-seed): each run must be the same
  const std::string small = digest_of(source(0, 3));
  EXPECT_EQ(small, sha256_of_abc);
  for (std::size_t round = 0; round < 10; ++round) {
    const std::size_t before = rig.completions.size();
    for (std::size_t i = 0; i < 64; ++i) {
      const std::size_t len = i % 2 == 0 ? 3 : random() % 200'000;
      rig.submitted(source(0, len), target(i * 64), i % 2 == 0 ? ShaAlgorithm::sha256 : ShaAlgorithm::sha1, i);
    }
    rig.progress_until(before + 64);
    for (std::size_t i = 0; i < 64; i += 2) {
      EXPECT_EQ(to_hex(std::span(dst_memory.bytes).subspan(i * 64, 32)), small) << i;
    }
    free_held();
  }
  EXPECT_THAT(rig.completions, Each(Field(&ShaRig::Completion::status, Status::success)));
}

TEST_F(ShaTest, ATaskIsUsedAgainWithOtherOperands) {
  rig.free_tasks = false;
  Buf* const dst = target(0, 200);
  ShaHashTask& task = rig.submitted(source(0, 3), dst);
  EXPECT_EQ(task.set_src(nullptr), Status::in_use);
  EXPECT_EQ(task.set_dst(nullptr), Status::in_use);
  EXPECT_EQ(task.set_algorithm(ShaAlgorithm::sha1), Status::in_use);
  EXPECT_EQ(task.submit(), Status::bad_state);
  EXPECT_EQ(task.free(), Status::in_use);
  rig.progress_until(1);
  EXPECT_EQ(task.set_algorithm(static_cast<ShaAlgorithm>(3)), Status::invalid_value);
  EXPECT_EQ(task.set_algorithm(ShaAlgorithm::sha512), Status::success);
  EXPECT_EQ(task.algorithm(), ShaAlgorithm::sha512);
  EXPECT_EQ(task.submit(), Status::success);
  rig.progress_until(2);
  EXPECT_EQ(dst->data_len(), 32U + 64U);
  EXPECT_EQ(task.free(), Status::success);
}

TEST_F(ShaTest, TwoTasksDoNotFillOneDestination) {
  Buf* const dst = target(0, 200);
  rig.submitted(source(0, 1'000'000), dst);
  ShaHashTask& second = rig.task(source(0, 3), dst);
  EXPECT_EQ(second.submit(), Status::in_use);
  EXPECT_EQ(second.free(), Status::success);
  rig.progress_until(1);
}

TEST_F(ShaTest, ABufThatWasGivenBackIsNotTaken) {
  Buf* const src = source(0, 64);
  Buf* const dst = target();
  Buf* const freed = bufs.by_data(src_memory, 0, 64);
  Bufs::free({freed});
  rig.expect_not_taken(rig.task(freed, dst), "src");
  rig.expect_not_taken(rig.task(src, freed), "dst");
}

// ---- What is refused --------------------------------------------------------------------------------------------

/// One way to get a task wrong.
struct ShaMisuse {
  const char* name;
  const char* reason;  ///< what the task says of it; for a local permission, once it has failed
  void (*arrange)(ShaTest& test, ShaHashTask& task);
};

class ShaMisuseTest : public ShaTest, public testing::WithParamInterface<ShaMisuse> {
 public:
  fake::Backend other_backend;
  MappedBytes unreachable{other_backend.open_device(), 64};
  MappedBytes read_only{device, 64, Access::local_read_only};
};

ShaMisuseTest& of(ShaTest& test) { return static_cast<ShaMisuseTest&>(test); }

TEST_P(ShaMisuseTest, TrySubmitRefusesSubmitFailsAtCompletion) {
  ShaHashTask& task = rig.task(source(0, 64), target(), ShaAlgorithm::sha256, 1);
  GetParam().arrange(*this, task);
  rig.expect_refused(task, GetParam().reason, std::string_view(GetParam().name) == "ReadOnlyDestination");
}

constexpr ShaMisuse sha_misuses[] = {
    {"NoSource", "src is missing; set it before the task is submitted",
     [](ShaTest&, ShaHashTask& task) { static_cast<void>(task.set_src(nullptr)); }},
    {"NoDestination", "dst is missing; set it before the task is submitted",
     [](ShaTest&, ShaHashTask& task) { static_cast<void>(task.set_dst(nullptr)); }},
    {"SmallDestination", "dst has 31 bytes of tailroom, and a digest of sha256 has 32",
     [](ShaTest&, ShaHashTask& task) { static_cast<void>(task.dst()->set_data_len(33)); }},
    {"SmallDestinationForAnotherAlgorithm", "dst has 63 bytes of tailroom, and a digest of sha512 has 64",
     [](ShaTest&, ShaHashTask& task) {
       static_cast<void>(task.set_algorithm(ShaAlgorithm::sha512));
       static_cast<void>(task.dst()->set_data_len(1));
     }},
    {"LongSourceList", "src is a list of 129 bufs, and max_list_buf_num_elem is 128",
     [](ShaTest& test, ShaHashTask& task) {
       static_cast<void>(task.set_src(test.hold(test.bufs.list(test.src_memory, 129, true))));
     }},
    {"DestinationList", "dst is a list of 2 bufs, and the limit for a digest is 1",
     [](ShaTest& test, ShaHashTask& task) {
       static_cast<void>(task.set_dst(test.hold(test.bufs.list(test.dst_memory, 2, false))));
     }},
    {"UnreachableSource", "src lies in a memory map that p0 was not added to; map the memory with that device",
     [](ShaTest& test, ShaHashTask& task) {
       static_cast<void>(task.set_src(test.hold(test.bufs.by_data(of(test).unreachable, 0, 64))));
     }},
    {"UnreachableDestination", "dst lies in a memory map that p0 was not added to; map the memory with that device",
     [](ShaTest& test, ShaHashTask& task) {
       static_cast<void>(task.set_dst(test.hold(test.bufs.by_addr(of(test).unreachable, 0, 64))));
     }},
    {"ReadOnlyDestination", "dst's memory map does not permit local_read_write; map the memory with that access",
     [](ShaTest& test, ShaHashTask& task) {
       static_cast<void>(task.set_dst(test.hold(test.bufs.by_addr(of(test).read_only, 0, 64))));
     }},
};

INSTANTIATE_TEST_SUITE_P(Each, ShaMisuseTest, testing::ValuesIn(sha_misuses),
                         [](const auto& test) { return std::string(test.param.name); });

/// p0 of a card whose engine has less.
std::shared_ptr<Device> open_limited() {
  sim::Topology topology = sim::default_topology("bluefield2");
  for (sim::Function& function : topology.functions) {
    ShaCapabilities& sha = *function.properties.capabilities.sha;
    sha.sha512 = false;
    sha.max_src_buf_size = 100;
  }
  sim::set_topology(std::move(topology));
  return Device::open(find_device("p0", Side::dpu));
}

TEST(Sha, KeepsToTheLimitsOfItsDevice) {
  const auto device = open_limited();
  const auto pe = ProgressEngine::create();
  ShaRig rig(device, pe, 4);
  MappedBytes memory(device, 1024);
  Bufs bufs(8);
  Buf* const src = bufs.by_data(memory, 0, 101);
  Buf* const dst = bufs.by_addr(memory, 512, 64);
  EXPECT_EQ(rig.sha->start(), Status::success);
  ShaHashTask& task = rig.task(src, dst);
  EXPECT_EQ(task.try_submit(), Status::invalid_value);
  EXPECT_EQ(task.explain(Status::invalid_value),
            "src has 101 bytes of data, and p0 takes at most 100 in one task (max_src_buf_size)");
  EXPECT_EQ(src->set_data_len(100), Status::success);
  EXPECT_EQ(task.set_algorithm(ShaAlgorithm::sha512), Status::success);
  EXPECT_EQ(task.try_submit(), Status::invalid_value);
  EXPECT_EQ(task.explain(Status::invalid_value), "p0 does not compute sha512; use another algorithm");
  EXPECT_EQ(task.submit(), Status::success);
  rig.progress_until_idle();
  EXPECT_EQ(rig.completions.back().status, Status::io_failed);
  EXPECT_FALSE(Sha::is_algorithm_supported(device->info(), ShaAlgorithm::sha512));
  EXPECT_EQ(thrown_by([&] { static_cast<void>(Sha::min_dst_buf_size(device->info(), ShaAlgorithm::sha512)); }),
            Status::not_supported);
  Bufs::free({src, dst});
}

TEST(Sha, TellsItsDevicesLimits) {
  const DeviceInfo info = open_bluefield2()->info();
  EXPECT_TRUE(Sha::is_supported(info));
  EXPECT_EQ(Sha::max_src_buf_size(info), (std::uint64_t{1} << 31) - 1);
  EXPECT_EQ(Sha::max_list_buf_num_elem(info), 128U);
  EXPECT_EQ(Sha::max_num_tasks(info), 65536U);
  EXPECT_EQ(Sha::min_dst_buf_size(info, ShaAlgorithm::sha1), 20U);
  EXPECT_EQ(Sha::min_dst_buf_size(info, ShaAlgorithm::sha256), 32U);
  EXPECT_EQ(Sha::min_dst_buf_size(info, ShaAlgorithm::sha512), 64U);
  EXPECT_FALSE(Sha::is_algorithm_supported(info, static_cast<ShaAlgorithm>(3)));
}

TEST(Sha, NeedsADeviceWithAnEngine) {
  const auto device = Device::open(find_device("p0", Side::dpu));
  EXPECT_FALSE(Sha::is_supported(device->info()));
  EXPECT_FALSE(Sha::is_algorithm_supported(device->info(), ShaAlgorithm::sha1));
  EXPECT_EQ(find_capability("sha").of(device->info()).reason, "only a BlueField-2 has a SHA engine");
  EXPECT_THAT(reason_of([&] { Sha::create(device); }), HasSubstr("only a BlueField-2 has a SHA engine"));
  EXPECT_EQ(thrown_by([&] { Sha::create(device); }), Status::not_supported);
  EXPECT_EQ(thrown_by([&] { Sha::create(nullptr); }), Status::invalid_value);
  EXPECT_EQ(thrown_by([&] { static_cast<void>(Sha::max_src_buf_size(device->info())); }), Status::not_supported);
  EXPECT_EQ(device->num_users(), 0U);
}

TEST(Sha, RefusesABadConfiguration) {
  const auto sha = Sha::create(open_bluefield2());
  const auto pe = ProgressEngine::create();
  const auto callback = [](Task&, std::uint64_t, std::uint64_t) noexcept {};
  EXPECT_EQ(thrown_by([&] { sha->set_hash_conf(callback, callback, 0); }), Status::invalid_value);
  EXPECT_EQ(thrown_by([&] { sha->set_hash_conf(callback, callback, 65537); }), Status::invalid_value);
  EXPECT_EQ(thrown_by([&] { sha->set_hash_conf(nullptr, callback, 1); }), Status::invalid_value);
  EXPECT_EQ(thrown_by([&] { return sha->start(); }), Status::not_connected);
  pe->connect(sha);
  EXPECT_THAT(reason_of([&] { return sha->start(); }), HasSubstr("set_hash_conf"));
  ShaHashTask* task = nullptr;
  EXPECT_EQ(sha->hash(nullptr, nullptr, ShaAlgorithm::sha1, 0, task), Status::bad_state);
  EXPECT_EQ(sha->hash(nullptr, nullptr, static_cast<ShaAlgorithm>(3), 0, task), Status::invalid_value);
  sha->set_hash_conf(callback, callback, 1);
  EXPECT_EQ(sha->start(), Status::success);
  EXPECT_EQ(thrown_by([&] { sha->set_hash_conf(callback, callback, 1); }), Status::bad_state);
  EXPECT_EQ(thrown_by([&] { return sha->start(); }), Status::bad_state);
  EXPECT_EQ(thrown_by([&] { sha->close(); }), Status::in_use);
  EXPECT_EQ(sha->stop(), Status::success);
}

// ---- Ends -------------------------------------------------------------------------------------------------------

TEST_F(ShaTest, TasksInFlightFailWhenTheDeviceIsRemoved) {
  for (std::size_t i = 0; i < 16; ++i) {
    rig.submitted(source(0, memory_size), target(i * 64));
  }
  sim::remove_device("p0");
  rig.progress_until_idle();
  EXPECT_EQ(rig.completions.size(), 16U);
  EXPECT_EQ(rig.sha->failure(), Status::driver);
  EXPECT_NE(rig.completions.back().status, Status::success);
  sim::restore_device("p0");
}

TEST_F(ShaTest, AStopDuringLargeHashesWritesNothingAfterwards) {
  for (std::size_t round = 0; round < 10; ++round) {
    for (std::size_t i = 0; i < 8; ++i) {
      rig.submitted(source(0, memory_size), target(i * 64));
    }
    for (std::size_t steps = 0; steps < round * 100; ++steps) {
      pe->progress();
    }
    EXPECT_EQ(rig.sha->stop(), Status::in_progress);
    rig.progress_until_idle();
    fill(dst_memory.bytes, std::byte{0xAB});
    ASSERT_EQ(rig.sha->start(), Status::success);
    EXPECT_THAT(dst_memory.bytes, Each(std::byte{0xAB}));
  }
}

TEST_F(ShaTest, AContextThatIsDestroyedWhileItRunsTakesItsTasksBack) {
  {
    ShaRig other(device, pe, 8);
    EXPECT_EQ(other.sha->start(), Status::success);
    for (std::size_t i = 0; i < 8; ++i) {
      other.submitted(source(0, memory_size), target(i * 64));
    }
  }
  for (Buf* const buf : held) {
    EXPECT_FALSE(buf->in_flight());
  }
}

// ---- Memory of others -------------------------------------------------------------------------------------------

TEST_F(ShaTest, HashesMemoryOfTheHostUntilItIsWithdrawn) {
  const auto host = Device::open(find_device("pf0", Side::host));
  MappedBytes theirs(host, 1'000'000, Access::pci_read_only);
  std::ranges::copy(std::span(src_memory.bytes).first(1'000'000), theirs.bytes.begin());
  const auto imported = Mmap::create_from_export(device, theirs.mmap->export_pci(*host));
  Buf* src = nullptr;
  ASSERT_EQ(bufs.inventory->get_by_data(imported, imported->addr(), imported->len(), src), Status::success);
  hold(src);
  EXPECT_EQ(digest_of(src), digest_of(source(0, 1'000'000)));

  theirs.mmap->stop();
  std::string reason;
  rig.in_callback = [&](const ShaHashTask& failed) { reason = failed.explain(failed.status()); };
  rig.submitted(src, target());
  rig.progress_until_idle();
  EXPECT_EQ(rig.completions.back().status, Status::io_failed);
  EXPECT_THAT(reason, HasSubstr("src"));
}

}  // namespace
}  // namespace pydoca
