/// Everything that an importer, or a hostile owner, can have written into the page that they share × what happens then.

#include "pydoca/device.hpp"
#include "pydoca/sim.hpp"

#include "backend/sim/fabric/service.hpp"
#include "backend/sim/fabric/shared_page.hpp"
#include "backend/sim/memory/revocation_page.hpp"
#include "detail/concat.hpp"
#include "rig/process/export_peer.hpp"
#include "rig/process/raw_importer.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <unistd.h>

namespace pydoca::revocation_page_states {
namespace {

/// Words of a revocation page, in their order. The first is the owner's, the others are the importer's.
struct Words {
  std::uint32_t closed;
  std::uint32_t inside;
  std::uint32_t hello;
  std::uint32_t goodbye;
};
static_assert(sizeof(sim::RevocationPage) == sizeof(Words));

void write(sim::RevocationPage& revocation_page, const Words& words) {
  const std::array values{words.closed, words.inside, words.hello, words.goodbye};
  auto* const places = reinterpret_cast<std::atomic<std::uint32_t>*>(&revocation_page);
  for (std::size_t i = 0; i < values.size(); ++i) {
    places[i].store(values[i]);
  }
}

constexpr std::uint32_t nonsense = 0xdead'beef;

/// A test for each word of the owner: beside a busy machine each cell waits for the owner's thread several times.
class RevocationPageStates : public testing::TestWithParam<std::uint32_t> {
 protected:
  template <class Check>
  void each_cell(Check check) {
    sim::set_fabric("test-" + std::to_string(::getpid()));
    const std::uint32_t closed = GetParam();
    for (const std::uint32_t inside : {0U, 1U, nonsense}) {
      for (const std::uint32_t hello : {0U, 1U, nonsense}) {
        for (const std::uint32_t goodbye : {0U, 1U, nonsense}) {
          SCOPED_TRACE(detail::concat("inside ", inside, ", hello ", hello, ", goodbye ", goodbye));
          check(Words{.closed = closed, .inside = inside, .hello = hello, .goodbye = goodbye});
        }
      }
    }
  }
};

INSTANTIATE_TEST_SUITE_P(Closed, RevocationPageStates,
                         testing::Values(sim::RevocationPage::open + 0U, sim::RevocationPage::withdrawn + 0U,
                                         sim::RevocationPage::owner_died + 0U, nonsense));

/// Only `inside` keeps the owner, and only until the importer's connection ends.
TEST_P(RevocationPageStates, KeepTheOwnerNoLongerThanTheImporterIsThere) {
  each_cell([](const Words& words) {
    ExportedMemory memory(ExportedMemory::Source::pydoca, 4096, Access::pci_read_write);
    std::optional<RawImporter> importer(memory.blob());
    ASSERT_EQ(importer->ask(), Status::success);
    ASSERT_EQ(importer->reply.status, Status::success);
    write(**sim::SharedPage<sim::RevocationPage>::map(importer->files.fds[0].get()), words);
    ASSERT_EQ(RawImporter(memory.blob()).ask(), Status::success) << "the owner serves others";
    EXPECT_EQ(memory.withdraw(), words.inside == 0 ? Status::success : Status::again);
    importer.reset();
    sim::Service::settle();
    EXPECT_EQ(memory.withdraw(), Status::success);
  });
}

/// A closed revocation page lets no access pass, whatever it gives as the reason.
TEST_P(RevocationPageStates, LetTheImporterPassOnlyWhileOpen) {
  each_cell([](const Words& words) {
    ExportedMemory memory(ExportedMemory::Source::pydoca, 4096, Access::pci_read_write);
    ImportedMemory import(memory.blob());
    write(import.revocation_page(), words);
    const Status expected = words.closed == sim::RevocationPage::open ? Status::success : Status::io_failed;
    std::byte value{};
    EXPECT_EQ(import.read(7, value), expected);
    EXPECT_EQ(import.write(7, std::byte{1}), expected);
  });
}

}  // namespace
}  // namespace pydoca::revocation_page_states
