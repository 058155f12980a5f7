#include "backend/sim/memory/importer.hpp"

#include "backend/sim/fabric/fabric.hpp"
#include "backend/sim/fabric/lobby.hpp"
#include "backend/sim/memory/blob.hpp"
#include "backend/sim/memory/import_protocol.hpp"
#include "backend/sim/memory/imported_region.hpp"
#include "backend/sim/memory/process.hpp"
#include "backend/sim/message/fd_message.hpp"
#include "detail/concat.hpp"
#include "detail/system_reason.hpp"
#include "detail/thread/crash_point.hpp"
#include "detail/wait_limit.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <string>
#include <unistd.h>

namespace pydoca::sim {

namespace {

template <class... Pieces>
[[noreturn]] void refuse(Status status, const Pieces&... why) {
  throw Error(status, detail::concat("import: ", why...));
}

std::string_view pci_addr_of(const Blob& blob) noexcept { return {blob.pci_addr.data(), blob.pci_addr.size()}; }

/// A process's number means something in its own PID namespace only.
std::string owner_of(const Blob& blob) {
  return blob.pid_namespace == pid_namespace() ? detail::concat("process ", blob.owner_pid)
                                               : std::string("a process in another PID namespace");
}

/// A peer's text, as far as it can be shown.
std::string shown(std::span<const char> text) {
  std::string copy(text.begin(), std::ranges::find(text, '\0'));
  std::ranges::replace_if(copy, [](char c) { return c < ' ' || c > '~'; }, '?');
  return copy;
}

Blob read(std::span<const std::byte> bytes, BlobType type) {
  Blob blob;
  switch (parse(bytes, blob)) {
    case Status::success:
      if (blob.type != type) {
        refuse(Status::invalid_value, "the blob is of ", name_of(blob.type), ", and ", name_of(type), " is expected");
      }
      return blob;
    case Status::unsupported_version:
      refuse(Status::unsupported_version, "the blob is of another version of pydoca; use the same one on both sides");
    default:
      refuse(Status::invalid_value, "these ", bytes.size(), " bytes are not an export of pydoca (", blob_size,
             " bytes), or were damaged on the way");
  }
}

void require_same_place(const Place& place, const Blob& blob) {
  if (blob.boot_id != boot_id()) {
    refuse(Status::not_connected, "the blob was made on another machine, or before this one booted");
  }
  if (blob.owner_uid != ::geteuid()) {
    refuse(Status::not_permitted, "the memory belongs to user ", blob.owner_uid, ", and this is user ", ::geteuid());
  }
  if (blob.fabric_hash != fabric_hash(place.fabric())) {
    refuse(Status::not_permitted, "the blob is of another fabric than \"", place.fabric(),
           "\"; set PYDOCA_FABRIC to the same name on both sides");
  }
}

void require_parent(const Place& place, const Blob& blob) {
  const std::string_view address = pci_addr_of(blob);
  const auto exporter = host_function_at(address);
  if (!exporter.has_value()) {
    refuse(Status::not_permitted, "it was exported through ", address,
           ", which is not a host function of this topology");
  }
  if (exporter->parent != place.properties().name) {
    refuse(Status::not_permitted, "it was exported through ", exporter->properties.name, " (", address, "), which ",
           exporter->parent.empty() ? "no device" : exporter->parent, " can reach and ", place.properties().name,
           " cannot");
  }
}

/// From either side of the PCIe link.
void require_link(const Place& place, const Blob& blob) {
  if (place.properties().side == Side::dpu) {
    require_parent(place, blob);
  } else if (address_of(place.parent()) != pci_addr_of(blob)) {
    refuse(Status::not_permitted, "it was exported through ", pci_addr_of(blob), ", and ", place.properties().name,
           place.parent().empty() ? " is linked to no function of the DPU" : " is linked to ", place.parent());
  }
}

[[noreturn]] void refuse_silence(Status status, const Blob& blob) {
  if (status == Status::again) {
    refuse(status, "a signal ended the wait for its owner, ", owner_of(blob), "; import it again");
  }
  refuse(Status::time_out, "its owner, ", owner_of(blob), ", does not answer");
}

[[noreturn]] void refuse_absence(const Address& address, const Blob& blob) {
  const bool elsewhere = blob.pid_namespace != pid_namespace() || ::kill(static_cast<pid_t>(blob.owner_pid), 0) == 0;
  refuse(Status::not_connected, "its owner, ", owner_of(blob), ", is gone",
         elsewhere ? detail::concat(", or listens in another directory than ", address.directory.path(),
                                    "; set PYDOCA_FABRIC_DIR to the same directory on both sides")
                   : "");
}

detail::Fd connect_owner(const Place& place, const Blob& blob, detail::WaitLimit& limit) {
  const std::string_view key(reinterpret_cast<const char*>(blob.socket_key.data()), blob.socket_key.size());
  Status status = Status::success;
  const Address address = fabric_address(place.fabric(), "memory", key);
  detail::Fd fd = connect_within(address, limit, status);
  const int error = errno;
  switch (status) {
    case Status::success:
      return fd;
    case Status::not_found:
      refuse_absence(address, blob);
    case Status::time_out:
    case Status::again:
      refuse_silence(status, blob);
    case Status::not_permitted:
      address.directory.open();  // says why, if the directory is another user's
      refuse(status, "another user's process answers for ", owner_of(blob));
    default:
      refuse(status, "cannot reach its owner, ", owner_of(blob), ": ", detail::system_reason(error));
  }
}

/// Repeats a call while it answers again, which means that one slice has passed.
template <class Call>
Status repeat(Call call, const Blob& blob, detail::WaitLimit& limit) {
  Status status = call();
  while (status == Status::again) {
    if (const Status waiting = limit.check(); waiting != Status::success) {
      refuse_silence(waiting, blob);
    }
    status = call();
  }
  return status;
}

ImportReply exchange(int fd, const Blob& blob, ReceivedFds& files, detail::WaitLimit& limit) {
  const ImportRequest request{.epoch = blob.epoch,
                              .nonce = blob.nonce,
                              .slot = blob.slot,
                              .access = blob.access,
                              .type = static_cast<std::uint32_t>(blob.type),
                              .function = blob.pci_addr};
  ImportReply reply;
  const auto send = [&] { return send_message(fd, std::as_bytes(std::span(&request, 1)), {}); };
  const auto receive = [&] { return receive_message(fd, std::as_writable_bytes(std::span(&reply, 1)), files); };
  Status status = repeat(send, blob, limit);
  if (status == Status::success || status == Status::connection_reset) {  // an owner may have answered and gone
    status = repeat(receive, blob, limit);
  }
  if (status == Status::full) {
    refuse(Status::operating_system, "no descriptor is left for it: ", detail::system_reason(EMFILE));
  }
  if (status != Status::success || reply.protocol != import_protocol) {
    refuse(Status::not_connected, "its owner, ", owner_of(blob), ", is gone, or its answer is not understood");
  }
  return reply;
}

void require_granted(const ImportReply& reply, const Blob& blob) {
  switch (reply.status) {
    case Status::success:
      return;
    case Status::bad_state:
      refuse(Status::bad_state, "what was exported is gone: its owner has stopped, closed or dropped it since (epoch ",
             reply.epoch, ", the blob's is ", blob.epoch,
             "); the owner keeps it as long as peers need it, and exports it again");
    case Status::in_use:
      refuse(Status::in_use, "another process reads foreign memory of its owner, ", owner_of(blob),
             ", and this system permits one (kernel.yama.ptrace_scope); allocate the memory with pydoca.alloc and "
             "export it as a whole");
    case Status::full:
    case Status::time_out:
    case Status::no_memory:
      refuse(reply.status, "its owner is ", owner_of(blob), ", and ", turned_away_reason(reply.status));
    default: {
      const std::string reason = shown(reply.reason);
      refuse(static_cast<std::uint32_t>(reply.status) < status_count ? reply.status : Status::unknown, "its owner, ",
             owner_of(blob), ", refuses: ", reason.empty() ? error_descr(reply.status) : reason);
    }
  }
}

/// The files: of the gate, of memory that can be mapped, and of what belongs to a counter.
std::size_t expected_files(const ImportReply& reply, BlobType type) noexcept {
  const std::size_t memory = reply.mapped != 0 ? 2 : 1;
  switch (type) {
    case BlobType::memory:
    case BlobType::net_memory:
      return memory;
    default:
      return memory + 2;
  }
}

bool may_be_foreign(BlobType type) noexcept { return type == BlobType::memory || type == BlobType::net_memory; }

void require_expected(const ImportReply& reply, const Blob& blob, std::size_t num_files) {
  if (num_files != expected_files(reply, blob.type) || (!may_be_foreign(blob.type) && reply.mapped == 0) ||
      reply.mapped > 1 || reply.base != blob.base || reply.length != blob.length) {
    refuse(Status::not_connected, "its owner, ", owner_of(blob),
           ", answers with something else than the blob describes");
  }
}

/// The owner's reply to a request, with its files.
struct Granted {
  detail::Fd connection;
  ImportReply reply;
  ReceivedFds files;
};

Granted request(const Place& place, const Blob& blob) {
  Granted granted;
  detail::WaitLimit limit(owner_timeout);
  granted.connection = connect_owner(place, blob, limit);
  detail::crash_point();
  granted.reply = exchange(granted.connection.get(), blob, granted.files, limit);
  detail::crash_point();
  require_granted(granted.reply, blob);
  require_expected(granted.reply, blob, granted.files.count);
  return granted;
}

std::unique_ptr<ImportedRegion> make_region(const Blob& blob, const Granted& granted) {
  const bool writable = allows(blob.access, Access::pci_read_write | Access::rdma_write | Access::rdma_atomic);
  std::shared_ptr<SharedPage<Gate>> gate = SharedPage<Gate>::map(granted.files.fds[0].get());
  auto region = std::make_unique<ImportedRegion>(blob.base, blob.length, writable, std::move(gate));
  if (granted.reply.mapped != 0) {
    region->map(granted.files.fds[1].get());
  } else {
    region->set_owner(peer_pid(granted.connection.get()));
  }
  return region;
}

detail::Fd duplicate(const detail::Fd& file) {
  detail::Fd copy = detail::Fd::duplicate_of(file.get());
  if (!copy) {
    refuse(Status::operating_system, detail::system_reason(errno));
  }
  return copy;
}

}  // namespace

backend::ImportedRegion import_region(const Place& place, std::span<const std::byte> bytes, BlobType type) {
  const Blob blob = read(bytes, type);
  require_same_place(place, blob);
  if (type == BlobType::memory) {
    require_parent(place, blob);
  }
  Granted granted = request(place, blob);
  std::unique_ptr<ImportedRegion> region = make_region(blob, granted);
  if (type == BlobType::net_memory) {
    region->set_network(blob.access, origin_of(blob));
    if (region->reach() == Region::Reach::foreign && allows(blob.access, Access::rdma_atomic)) {
      region->set_word_channel(request(place, blob).connection);
    }
  }
  region->watch(std::move(granted.connection));
  return {.region = std::move(region), .addr = blob.base, .len = blob.length, .access = blob.access};
}

ImportedCounterMemory import_counter_memory(const Place& place, std::span<const std::byte> bytes, BlobType type,
                                            OwnersEnd owners_end) {
  const Blob blob = read(bytes, type);
  require_same_place(place, blob);
  if (type == BlobType::pci_counter) {
    require_link(place, blob);
  }
  if (blob.length != sizeof(std::uint64_t) || blob.access != Access::pci_read_write ||
      blob.base % sizeof(std::uint64_t) != 0) {
    refuse(Status::invalid_value, "a sync event has 8 aligned bytes that can be written; the blob says otherwise (",
           blob.length, " bytes)");
  }
  Granted granted = request(place, blob);
  auto& files = granted.files.fds;
  ImportedCounterMemory memory{.region = make_region(blob, granted),
                               .addr = blob.base,
                               .origin = origin_of(blob),
                               .files = {std::move(files[2]), std::move(files[3])},
                               .connection = duplicate(granted.connection)};
  memory.region->watch(std::move(granted.connection), std::move(owners_end));
  return memory;
}

ImportedInbox import_inbox(const Place& place, std::span<const std::byte> bytes, OwnersEnd owners_end) {
  const Blob blob = read(bytes, BlobType::queue_pair);
  require_same_place(place, blob);
  Granted granted = request(place, blob);
  auto& files = granted.files.fds;
  ImportedInbox inbox{.region = make_region(blob, granted),
                      .addr = blob.base,
                      .size = blob.length,
                      .origin = origin_of(blob),
                      .files = {std::move(files[2]), std::move(files[3])}};
  inbox.region->watch(std::move(granted.connection), std::move(owners_end));
  return inbox;
}

}  // namespace pydoca::sim
