/// Imports that an engine progresses. The exporter is this process: a thread of the engine's answers.

#include "pydoca/import.hpp"

#include "pydoca/mmap.hpp"
#include "pydoca/sim.hpp"
#include "pydoca/sync_event.hpp"

#include "backend/sim/fabric/fabric.hpp"
#include "backend/sim/memory/blob.hpp"
#include "rig/expect_error.hpp"
#include "rig/process/descriptors.hpp"
#include "rig/process/export_peer.hpp"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <span>
#include <string_view>
#include <thread>

namespace pydoca {
namespace {

/// Takes the connections of importers, and does not answer.
class SilentOwner {
 public:
  explicit SilentOwner(std::span<const std::byte> bytes) {
    EXPECT_EQ(sim::parse(bytes, blob_), Status::success);
    blob_.socket_key.fill(std::byte{7});
    const std::string_view key(reinterpret_cast<const char*>(blob_.socket_key.data()), blob_.socket_key.size());
    listener_ = sim::listen_at(sim::fabric_address(sim::fabric(), "memory", key), 4);
  }
  std::array<std::byte, sim::blob_size> blob() const { return sim::encode(blob_); }

 private:
  sim::Blob blob_;
  sim::ListeningSocket listener_;
};

class Imports : public testing::Test {
 protected:
  std::unique_ptr<Import<Mmap>> begin(std::chrono::nanoseconds limit = PendingImport::default_limit) {
    return Import<Mmap>::begin(pe, card, memory.blob(), limit);
  }
  void progress_until_over(const PendingImport& import) const {
    while (!import.is_over()) {
      pe->progress();
    }
  }

  std::shared_ptr<ProgressEngine> pe = ProgressEngine::create();
  std::shared_ptr<Device> card = Device::open(find_device("p0"));
  ExportedMemory memory{ExportedMemory::Source::pydoca, 4096, Access::pci_read_write};
};

TEST_F(Imports, GiveTheMapThatTheCallThatWaitsGives) {
  const auto import = begin();
  progress_until_over(*import);
  const auto map = import->take();
  const auto same = Mmap::create_from_export(card, memory.blob());
  EXPECT_EQ(map->addr(), same->addr());
  EXPECT_EQ(map->len(), same->len());
  EXPECT_EQ(map->permissions(), same->permissions());
  EXPECT_TRUE(map->is_from_export());
}

TEST_F(Imports, AreTakenOnce) {
  const auto import = begin();
  if (!import->is_over()) {
    EXPECT_EQ(thrown_by([&] { import->take(); }), Status::in_progress);
  }
  progress_until_over(*import);
  import->take();
  EXPECT_EQ(thrown_by([&] { import->take(); }), Status::bad_state);
}

TEST_F(Imports, TellTheirEndOnce) {
  auto import = begin(std::chrono::nanoseconds(0));  // fails with time_out unless the answer is there already
  int ends = import->is_over() ? 1 : 0;
  import->set_callback([&] {
    ++ends;
    import.reset();
  });
  for (int i = 0; i < 10'000 && ends == 0; ++i) {
    pe->wait(1);
    pe->progress();
  }
  pe->progress();
  EXPECT_EQ(ends, 1);
}

TEST_F(Imports, ThatAreGivenUpLeaveNothing) {
  progress_until_over(*begin());
  const std::size_t before = count_descriptors();
  for (int i = 0; i < 100; ++i) {
    begin();
  }
  EXPECT_EQ(count_descriptors(), before);
  EXPECT_EQ(pe->progress(), 0);
}

TEST_F(Imports, OfWhatWasWithdrawnFail) {
  const auto blob = memory.blob();
  ASSERT_EQ(memory.withdraw(), Status::success);
  const auto import = Import<Mmap>::begin(pe, card, blob);
  progress_until_over(*import);
  EXPECT_EQ(thrown_by([&] { import->take(); }), Status::not_connected);
}

TEST_F(Imports, RefuseBadArguments) {
  EXPECT_EQ(thrown_by([&] { Import<Mmap>::begin(nullptr, card, memory.blob()); }), Status::invalid_value);
  EXPECT_EQ(thrown_by([&] { Import<Mmap>::begin(pe, nullptr, memory.blob()); }), Status::invalid_value);
  EXPECT_EQ(thrown_by([&] { Import<Mmap>::begin(pe, card, {}); }), Status::invalid_value);
  EXPECT_EQ(thrown_by([&] { Import<SyncEvent>::begin(pe, card, memory.blob()); }), Status::invalid_value);
  EXPECT_EQ(thrown_by([&] { Import<SyncEventRemoteNet>::begin(pe, card, memory.blob()); }), Status::invalid_value);
}

TEST_F(Imports, RefuseAClosedEngineAndAnothersEngine) {
  EXPECT_EQ(pe->check_thread(), Status::success);
  std::thread([&] { EXPECT_EQ(thrown_by([&] { begin(); }), Status::not_permitted); }).join();
  pe->close();
  EXPECT_EQ(thrown_by([&] { begin(); }), Status::bad_state);
}

TEST_F(Imports, EndWithTheirEngine) {
  const SilentOwner silent(memory.blob());
  auto import = Import<Mmap>::begin(pe, card, silent.blob());
  ASSERT_FALSE(import->is_over());
  EXPECT_EQ(thrown_by([&] { pe->release_thread(); }), Status::in_use);
  int ends = 0;
  import->set_callback([&] { ++ends; });
  pe->close();
  EXPECT_EQ(ends, 1);
  EXPECT_EQ(thrown_by([&] { import->take(); }), Status::shutdown);
}

TEST_F(Imports, WaitForWhatAnAnswerStillLacks) {
  const auto blob = memory.blob();
  const auto answer = Mmap::ask_for_export(card, blob);  // nothing has advanced it
  EXPECT_EQ(Mmap::create_from_export(card, blob, answer)->len(), 4096U);
}

}  // namespace
}  // namespace pydoca
