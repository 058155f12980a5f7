#include "backend/sim/import/import_attempt.hpp"

#include "backend/sim/fabric/fabric.hpp"
#include "backend/sim/fabric/lobby.hpp"
#include "backend/sim/memory/process.hpp"
#include "backend/sim/message/peer_text.hpp"
#include "detail/system_reason.hpp"
#include "detail/thread/crash_point.hpp"
#include "detail/wait_limit.hpp"

#include <cerrno>
#include <chrono>
#include <csignal>
#include <poll.h>
#include <span>
#include <string_view>
#include <thread>
#include <unistd.h>

namespace pydoca::sim {

namespace {

/// A process's number means something in its own PID namespace only.
std::string owner_of(const Blob& blob) {
  return blob.pid_namespace == pid_namespace() ? detail::concat("process ", blob.owner_pid)
                                               : std::string("a process in another PID namespace");
}

[[noreturn]] void refuse_silence(Status status, const Blob& blob) {
  if (status == Status::again) {
    refuse_import(status, "a signal ended the wait for its owner, ", owner_of(blob), "; import it again");
  }
  refuse_import(Status::time_out, "its owner, ", owner_of(blob), ", does not answer");
}

[[noreturn]] void refuse_absence(const Address& address, const Blob& blob) {
  const bool elsewhere = blob.pid_namespace != pid_namespace() || ::kill(static_cast<pid_t>(blob.owner_pid), 0) == 0;
  refuse_import(Status::not_connected, "its owner, ", owner_of(blob), ", is gone",
                elsewhere ? detail::concat(", or listens in another directory than ", address.directory.path(),
                                           "; set PYDOCA_FABRIC_DIR to the same directory on both sides")
                          : "");
}

/// Waits until more steps may be possible, for a slice at most.
void wait_for_owner(int fd) noexcept {
  if (fd < 0) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));  // an owner that has room again does not say so
    return;
  }
  pollfd answer{.fd = fd, .events = POLLIN, .revents = 0};
  ::poll(&answer, 1, static_cast<int>(interrupt_slice.count()));
}

void require_granted(const ImportReply& reply, const Blob& blob) {
  switch (reply.status) {
    case Status::success:
      return;
    case Status::bad_state:
      refuse_import(Status::not_connected,
                    "what was exported is gone: its owner has stopped, closed or dropped it since; the owner keeps it "
                    "as long as peers need it, and exports it again");
    case Status::in_use:
      refuse_import(
          Status::in_use, "another process reads foreign memory of its owner, ", owner_of(blob),
          ", and this system permits one (kernel.yama.ptrace_scope); export shared memory (in Python of pydoca.alloc), "
          "as a whole");
    case Status::full:
    case Status::time_out:
    case Status::no_memory:
      if (reply.reason.front() != '\0') {
        break;
      }
      refuse_import(reply.status, "its owner is ", owner_of(blob), ", and ", turned_away_reason(reply.status));
    default:
      break;
  }
  const std::string reason = peer_text({reply.reason.data(), reply.reason.size()});
  refuse_import(static_cast<std::uint32_t>(reply.status) < status_count ? reply.status : Status::unknown, "its owner, ",
                owner_of(blob), ", refuses: ", reason.empty() ? error_descr(reply.status) : reason);
}

/// The files: of the revocation page, of memory that can be mapped, and of what belongs to a counter.
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
    refuse_import(Status::not_connected, "its owner, ", owner_of(blob),
                  ", answers with something else than the blob describes");
  }
}

}  // namespace

Status ImportAttempt::advance() {
  Status status = fd() < 0 ? connect() : Status::success;
  if (status == Status::success && !asked_) {
    status = ask();
  }
  if (status == Status::again) {
    return status;
  }
  if (status != Status::success) {
    refuse_import(status, "cannot ask its owner, ", owner_of(blob_), ": ", detail::system_reason(errno));
  }
  return receive();
}

Status ImportAttempt::connect() {
  const std::string_view key(reinterpret_cast<const char*>(blob_.socket_key.data()), blob_.socket_key.size());
  const Address address = fabric_address(fabric_, "memory", key);
  Status status = Status::success;
  granted_.connection = connect_to(address, status);
  const int error = errno;
  switch (status) {
    case Status::success:
      detail::crash_point();
      return status;
    case Status::again:
      return status;
    case Status::not_found:
      refuse_absence(address, blob_);
    case Status::not_permitted:
      address.directory.open();  // says why, if the directory is another user's
      refuse_import(status, "another user's process answers for ", owner_of(blob_));
    default:
      refuse_import(status, "cannot reach its owner, ", owner_of(blob_), ": ", detail::system_reason(error));
  }
}

Status ImportAttempt::ask() noexcept {
  const ImportRequest request{.epoch = blob_.epoch,
                              .nonce = blob_.nonce,
                              .slot = blob_.slot,
                              .access = blob_.access,
                              .type = static_cast<std::uint32_t>(blob_.type),
                              .function = blob_.pci_addr};
  const Status status = send_message(fd(), std::as_bytes(std::span(&request, 1)), {});
  asked_ = status != Status::again;
  return status == Status::connection_reset ? Status::success : status;  // the owner may have answered and gone
}

Status ImportAttempt::receive() {
  const Status status = receive_message(fd(), std::as_writable_bytes(std::span(&granted_.reply, 1)), granted_.files);
  if (status == Status::again) {
    return status;
  }
  if (status == Status::full) {
    refuse_import(Status::operating_system, "no descriptor is left for it: ", detail::system_reason(EMFILE));
  }
  if (status != Status::success || granted_.reply.protocol != import_protocol) {
    refuse_import(Status::not_connected, "its owner, ", owner_of(blob_), ", is gone, or its answer is not understood");
  }
  detail::crash_point();
  require_granted(granted_.reply, blob_);
  require_expected(granted_.reply, blob_, granted_.files.count);
  return status;
}

Status OwnerAnswer::advance() {
  if (is_there_) {
    return Status::success;
  }
  if (!first_is_there_) {
    if (first_.advance() == Status::again) {
      return Status::again;
    }
    first_is_there_ = true;
    const Blob& blob = first_.blob();
    if (blob.type == BlobType::net_memory && first_.is_foreign() && allows(blob.access, Access::rdma_atomic)) {
      words_.emplace(fabric_, blob);
    }
  }
  if (words_.has_value() && words_->advance() == Status::again) {
    return Status::again;
  }
  is_there_ = true;
  return Status::success;
}

void OwnerAnswer::give_up() const { refuse_silence(Status::time_out, first_.blob()); }

void OwnerAnswer::wait() {
  for (detail::WaitLimit limit(owner_timeout); advance() == Status::again; wait_for_owner(fd())) {
    if (const Status waiting = limit.check(); waiting != Status::success) {
      refuse_silence(waiting, first_.blob());
    }
  }
}

detail::Fd OwnerAnswer::take_word_connection() noexcept {
  return words_.has_value() ? words_->take().connection : detail::Fd();
}

}  // namespace pydoca::sim
