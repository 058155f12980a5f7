/// Every state of an importer's connection × every message: the owner answers or ends that connection, and serves the
/// others.

#include "pydoca/backend/counter.hpp"
#include "pydoca/backend/device.hpp"
#include "pydoca/backend/memory.hpp"
#include "pydoca/device.hpp"
#include "pydoca/memory.hpp"
#include "pydoca/sim.hpp"

#include "backend/sim/fabric/shared_page.hpp"
#include "backend/sim/memory/revocation_page.hpp"
#include "rig/cell_name.hpp"
#include "rig/process/export_peer.hpp"
#include "rig/process/raw_importer.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <unistd.h>
#include <vector>

namespace pydoca {
namespace {

enum class At : std::uint8_t {
  fresh,     ///< nothing was sent
  refused,   ///< a request with a wrong number was
  mapped,    ///< pydoca's memory was imported
  foreign,   ///< other memory
  words,     ///< other memory, for atomic operations too
  counter,   ///< a sync event
  withdrawn  ///< memory, whose owner waits for the importer to leave
};
constexpr std::array all_states{At::fresh, At::refused, At::mapped, At::foreign, At::words, At::counter, At::withdrawn};
constexpr std::array names_of_states{"Fresh", "Refused", "Mapped", "Foreign", "Words", "Counter", "Withdrawn"};

enum class Sent : std::uint8_t {
  request,
  stale_request,
  wrong_number,
  wrong_slot,
  wrong_kind,
  wrong_function,
  wrong_access,
  wrong_protocol,
  with_descriptor,
  long_request,
  word,
  swap,
  word_outside,
  word_at_odd_place,
  wake_byte,
  wrong_byte,
  two_wake_bytes,
  nothing,
  end,
};
constexpr std::array all_sent{Sent::request,         Sent::stale_request,     Sent::wrong_number, Sent::wrong_slot,
                              Sent::wrong_kind,      Sent::wrong_function,    Sent::wrong_access, Sent::wrong_protocol,
                              Sent::with_descriptor, Sent::long_request,      Sent::word,         Sent::swap,
                              Sent::word_outside,    Sent::word_at_odd_place, Sent::wake_byte,    Sent::wrong_byte,
                              Sent::two_wake_bytes,  Sent::nothing,           Sent::end};
constexpr std::array names_of_sent{
    "Request",       "StaleRequest",   "WrongNumber", "WrongSlot", "WrongKind", "WrongFunction", "WrongAccess",
    "WrongProtocol", "WithDescriptor", "LongRequest", "Word",      "Swap",      "WordOutside",   "WordAtOddPlace",
    "Note",          "WrongNote",      "TwoNotes",    "Nothing",   "End"};

/// What the importer sees.
enum class Seen : std::uint8_t { granted, stale, refused, word_changed, word_refused, silence, closed };

Seen on_request(Sent what) {
  switch (what) {
    case Sent::request:
      return Seen::granted;
    case Sent::stale_request:
      return Seen::stale;
    case Sent::wrong_number:
    case Sent::wrong_slot:
    case Sent::wrong_kind:
    case Sent::wrong_function:
    case Sent::wrong_access:
      return Seen::refused;
    default:
      return Seen::closed;
  }
}

/// Until it leaves, an importer that breaks the protocol may be inside the memory: its connection tells of its end.
Seen expected(At state, Sent what) {
  const bool is_change = what == Sent::word || what == Sent::swap;
  if (what == Sent::end || what == Sent::nothing) {  // an empty message looks as an end
    return Seen::closed;
  }
  if (state == At::fresh) {
    return on_request(what);
  }
  if (state == At::counter) {
    return what == Sent::wake_byte ? Seen::silence : Seen::closed;
  }
  if (is_change || what == Sent::word_outside || what == Sent::word_at_odd_place) {
    return state == At::words && is_change ? Seen::word_changed : Seen::word_refused;
  }
  return Seen::silence;
}

class ImportStates : public testing::TestWithParam<std::tuple<At, Sent>> {
 protected:
  ImportStates() { sim::set_fabric("test-" + std::to_string(::getpid())); }

  static constexpr std::size_t size = 4096;
  static constexpr Access network = Access::rdma_read | Access::rdma_write | Access::rdma_atomic;

  void bring_to(At state) {
    device = Device::open(find_device("pf0", Side::host));  // the device is in the test's fabric
    if (state == At::counter) {
      event = device->backend().create_counter(nullptr);
      blob = event->export_to_remote_pci();
    } else {
      const bool is_foreign = state == At::foreign || state == At::words;
      std::byte* const start = is_foreign ? foreign.data() : memory->data();
      const Access access = state == At::words ? network : Access::pci_read_write;
      region =
          device->backend().register_memory({start, size, find_memory(start, size)}, access | Access::local_read_write);
      blob = state == At::words ? region->export_rdma(access) : region->export_pci(access);
    }
    importer.emplace(blob);
    const std::byte difference{state == At::refused ? std::uint8_t{1} : std::uint8_t{0}};
    if (state != At::fresh) {
      importer->request.nonce[0] ^= difference;
      ASSERT_EQ(importer->ask(), Status::success);
      ASSERT_EQ(importer->reply.status, state == At::refused ? Status::invalid_value : Status::success);
      importer->request.nonce[0] ^= difference;
    }
    if (state == At::withdrawn) {
      revocation_page = sim::SharedPage<sim::RevocationPage>::map(importer->files.fds[0].get());
      ASSERT_TRUE((*revocation_page)->enter());
      ASSERT_EQ(region->withdraw(), Status::again);
    }
  }

  void send_bytes(std::span<const std::byte> bytes, std::span<const int> fds = {}) const {
    static_cast<void>(sim::send_message(importer->socket.get(), bytes, fds));
  }
  void send_word(std::uint64_t addr, bool swaps = false) const {
    const sim::WordChange change{.addr = addr, .operand = 1, .swaps = swaps ? 1U : 0U};
    send_bytes(std::as_bytes(std::span(&change, 1)));
  }
  void send_request(const sim::ImportRequest& request, std::span<const int> fds = {}) const {
    send_bytes(std::as_bytes(std::span(&request, 1)), fds);
  }

  void send(Sent what) {
    sim::ImportRequest request = importer->request;
    const std::array one_descriptor{importer->socket.get()};
    std::array<std::byte, sizeof request + 1> longer{};
    std::memcpy(longer.data(), &request, sizeof request);
    const std::array wake_bytes{what == Sent::wrong_byte ? std::byte{1} : sim::wake_byte, sim::wake_byte};
    switch (what) {
      case Sent::stale_request:
        ++request.epoch;
        break;
      case Sent::wrong_number:
        request.nonce[0] ^= std::byte{1};
        break;
      case Sent::wrong_slot:
        request.slot += 1000;
        break;
      case Sent::wrong_kind:
        ++request.type;
        break;
      case Sent::wrong_function:
        request.function[0] ^= 1;
        break;
      case Sent::wrong_access:
        request.access = Access::pci_read_only;
        break;
      case Sent::wrong_protocol:
        ++request.protocol;
        break;
      case Sent::with_descriptor:
        return send_request(request, one_descriptor);
      case Sent::long_request:
        return send_bytes(longer);
      case Sent::word:
      case Sent::swap:
        return send_word(importer->base, what == Sent::swap);
      case Sent::word_outside:
        return send_word(importer->base + size);
      case Sent::word_at_odd_place:
        return send_word(importer->base + 1);
      case Sent::wake_byte:
      case Sent::wrong_byte:
        return send_bytes(std::span(wake_bytes).first(1));
      case Sent::two_wake_bytes:
        return send_bytes(wake_bytes);
      case Sent::nothing:
        return send_bytes({});
      case Sent::end:
        ::shutdown(importer->socket.get(), SHUT_WR);
        return;
      default:
        break;
    }
    send_request(request);
  }

  /// The owner has one thread: what was sent before an honest import has been read when that is answered.
  void require_service() {
    ExportedMemory other(ExportedMemory::Source::pydoca, size, Access::pci_read_only);
    RawImporter honest(other.blob());
    EXPECT_EQ(honest.ask(), Status::success);
    EXPECT_EQ(honest.reply.status, Status::success);
  }

  Seen look() const {
    std::array<std::byte, sizeof(sim::ImportReply)> bytes{};
    const ssize_t length = ::recv(importer->socket.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (length < 0) {
      return errno == EAGAIN ? Seen::silence : Seen::closed;
    }
    if (length == sizeof(sim::WordReply)) {
      sim::WordReply reply;
      std::memcpy(&reply, bytes.data(), sizeof reply);
      return reply.status == Status::success ? Seen::word_changed : Seen::word_refused;
    }
    if (length != sizeof(sim::ImportReply)) {
      return Seen::closed;
    }
    sim::ImportReply reply;
    std::memcpy(&reply, bytes.data(), sizeof reply);
    return reply.status == Status::success     ? Seen::granted
           : reply.status == Status::bad_state ? Seen::stale
                                               : Seen::refused;
  }

  /// When the importer has gone, nothing keeps the owner from letting the memory go.
  void require_end() {
    importer.reset();
    require_service();
    EXPECT_EQ(event != nullptr ? event->withdraw() : region->withdraw(), Status::success);
  }

  std::shared_ptr<Device> device;
  const std::shared_ptr<Memory> memory = Memory::allocate(size);
  std::array<std::byte, size> foreign{};
  std::unique_ptr<backend::MemoryRegion> region;
  std::unique_ptr<backend::Counter> event;
  std::vector<std::byte> blob;
  std::optional<RawImporter> importer;
  std::shared_ptr<sim::SharedPage<sim::RevocationPage>> revocation_page;
};

TEST_P(ImportStates, AnswerOrEnd) {
  const auto [state, what] = GetParam();
  ASSERT_NO_FATAL_FAILURE(bring_to(state));
  send(what);
  require_service();
  EXPECT_EQ(look(), expected(state, what));
  require_end();
}

INSTANTIATE_TEST_SUITE_P(All, ImportStates,
                         testing::Combine(testing::ValuesIn(all_states), testing::ValuesIn(all_sent)),
                         [](const auto& test) { return cell_name(test, names_of_states, names_of_sent); });

}  // namespace
}  // namespace pydoca
