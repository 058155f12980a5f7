#include "backend/sim/importer.hpp"

#include "backend/sim/blob.hpp"
#include "backend/sim/fabric.hpp"
#include "backend/sim/fd_message.hpp"
#include "backend/sim/import_protocol.hpp"
#include "backend/sim/imported_region.hpp"
#include "backend/sim/process.hpp"
#include "detail/concat.hpp"
#include "detail/wait_limit.hpp"

#include <cerrno>
#include <chrono>
#include <cstring>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

namespace pydoca::sim {

namespace {

constexpr std::chrono::milliseconds owner_timeout(2000);

template <class... Pieces>
[[noreturn]] void refuse(Status status, const Pieces&... why) {
  throw Error(status, detail::concat("import memory: ", why...));
}

std::string_view pci_addr_of(const Blob& blob) noexcept { return {blob.pci_addr.data(), blob.pci_addr.size()}; }

Blob read(std::span<const std::byte> bytes) {
  Blob blob;
  switch (parse(bytes, blob)) {
    case Status::success:
      return blob;
    case Status::unsupported_version:
      refuse(Status::unsupported_version, "the blob is of another version of pydoca; use the same one on both sides");
    default:
      refuse(Status::invalid_value, "these ", bytes.size(), " bytes are no export of pydoca (", blob_size,
             " bytes), or were damaged on the way");
  }
}

void require_same_place(const Device& device, const Blob& blob) {
  if (blob.boot_id != boot_id()) {
    refuse(Status::not_connected, "the blob was made on another machine, or before this one booted");
  }
  if (blob.owner_uid != ::geteuid()) {
    refuse(Status::not_permitted, "the memory belongs to user ", blob.owner_uid, ", and this is user ", ::geteuid());
  }
  if (blob.fabric_hash != fabric_hash(device.fabric())) {
    refuse(Status::not_permitted, "the blob is of another fabric than \"", device.fabric(),
           "\"; set PYDOCA_FABRIC to the same name on both sides");
  }
}

void require_parent(const Device& device, const Blob& blob) {
  const std::string_view address = pci_addr_of(blob);
  const auto exporter = host_function_at(address);
  if (!exporter.has_value()) {
    refuse(Status::not_permitted, "it was exported through ", address, ", which is no host function of this topology");
  }
  if (exporter->parent != device.properties().name) {
    refuse(Status::not_permitted, "it was exported through ", exporter->properties.name, " (", address, "), which ",
           exporter->parent.empty() ? "no device" : exporter->parent, " can reach and ", device.properties().name,
           " cannot");
  }
}

[[noreturn]] void refuse_silence(Status status, const Blob& blob) {
  if (status == Status::again) {
    refuse(status, "a signal ended the wait for its owner, process ", blob.owner_pid, "; import it again");
  }
  refuse(Status::time_out, "its owner, process ", blob.owner_pid, ", does not answer");
}

detail::Fd connect_owner(const Device& device, const Blob& blob, detail::WaitLimit& limit) {
  const std::string_view key(reinterpret_cast<const char*>(blob.socket_key.data()), blob.socket_key.size());
  Status status = Status::success;
  detail::Fd fd = connect_within(fabric_address(device.fabric(), "memory", key), limit, status);
  switch (status) {
    case Status::success:
      return fd;
    case Status::not_found:
      refuse(Status::not_connected, "its owner, process ", blob.owner_pid, ", is gone");
    case Status::time_out:
    case Status::again:
      refuse_silence(status, blob);
    case Status::not_permitted:
      refuse(status, "another user's process answers for process ", blob.owner_pid);
    default:
      refuse(status, "cannot reach its owner, process ", blob.owner_pid, ": ", std::strerror(errno));
  }
}

/// Repeats what answers again, which means that a slice has passed.
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
  const ImportRequest request{.epoch = blob.epoch, .nonce = blob.nonce, .slot = blob.slot, .access = blob.access};
  ImportReply reply;
  const auto send = [&] { return send_message(fd, std::as_bytes(std::span(&request, 1)), {}); };
  const auto receive = [&] { return receive_message(fd, std::as_writable_bytes(std::span(&reply, 1)), files); };
  Status status = repeat(send, blob, limit);
  if (status == Status::success) {
    status = repeat(receive, blob, limit);
  }
  if (status != Status::success || reply.protocol != import_protocol) {
    refuse(Status::not_connected, "its owner, process ", blob.owner_pid, ", is gone or answers nonsense");
  }
  return reply;
}

void require_granted(const ImportReply& reply, const Blob& blob) {
  switch (reply.status) {
    case Status::success:
      return;
    case Status::bad_state:
      refuse(Status::bad_state, "the export was stopped: epoch ", reply.epoch, ", blob has ", blob.epoch);
    case Status::invalid_value:
      refuse(Status::invalid_value, "process ", blob.owner_pid, " made no such export");
    case Status::in_use:
      refuse(Status::in_use, "another process reads foreign memory of process ", blob.owner_pid,
             ", and this system permits one (kernel.yama.ptrace_scope); allocate the memory with pydoca.alloc");
    default:
      refuse(static_cast<std::uint32_t>(reply.status) < status_count ? reply.status : Status::unknown, "process ",
             blob.owner_pid, " could not hand it over");
  }
}

void require_expected(const ImportReply& reply, const Blob& blob, std::size_t num_files) {
  const std::size_t expected = reply.mapped != 0 ? 2 : 1;
  if (num_files != expected || reply.mapped > 1 || reply.base != blob.base || reply.length != blob.length) {
    refuse(Status::not_connected, "process ", blob.owner_pid, " answers something else than the blob promises");
  }
}

}  // namespace

backend::ImportedRegion import_region(const Device& device, std::span<const std::byte> bytes) {
  const Blob blob = read(bytes);
  require_same_place(device, blob);
  require_parent(device, blob);
  detail::WaitLimit limit(owner_timeout);
  detail::Fd fd = connect_owner(device, blob, limit);
  ReceivedFds files;
  const ImportReply reply = exchange(fd.get(), blob, files, limit);
  require_granted(reply, blob);
  require_expected(reply, blob, files.count);
  const bool writable = blob.access == Access::pci_read_write;
  std::shared_ptr<GatePage> page = GatePage::map(files.fds[0].get());
  auto region = std::make_unique<ImportedRegion>(blob.base, blob.length, writable, page);
  if (reply.mapped != 0) {
    region->map(files.fds[1].get(), reply.offset);
  } else {
    region->reach(peer_pid(fd.get()));
  }
  region->watch(std::move(fd));
  return {.region = std::move(region), .addr = blob.base, .len = blob.length, .access = blob.access};
}

}  // namespace pydoca::sim
