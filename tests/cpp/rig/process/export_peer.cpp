#include "rig/process/export_peer.hpp"

#include "pydoca/backend/device.hpp"

#include "rig/bytes.hpp"
#include "rig/process/descriptors.hpp"

#include <algorithm>
#include <csignal>
#include <cstring>
#include <optional>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <unistd.h>

namespace pydoca {
namespace {

std::shared_ptr<Device> open(const char* name) { return Device::open(find_device(name)); }

class Server {
 public:
  PeerMessage answer(const PeerMessage& request) {
    try {
      return handle(request);
    } catch (const Error& error) {
      return {.op = request.op, .a = static_cast<std::uint64_t>(error.status()), .payload = error.what()};
    }
  }

 private:
  PeerMessage handle(const PeerMessage& request) {
    PeerMessage reply{.op = request.op, .payload = {}};
    switch (request.op) {
      case peer_op::make:
        make(request, reply);
        break;
      case peer_op::withdraw:
        reply.a = static_cast<std::uint64_t>(exported_->withdraw());
        break;
      case peer_op::drop:
        exported_.reset();
        imported_.reset();
        break;
      case peer_op::peek:
        reply.b = std::to_integer<std::uint64_t>(exported_->bytes()[request.a]);
        break;
      case peer_op::count_fds:
        reply.a = count_descriptors();
        break;
      case peer_op::fork:
        reply.a = static_cast<std::uint64_t>(fork_sleeper());
        break;
      default:
        handle_import(request, reply);
    }
    return reply;
  }

  void handle_import(const PeerMessage& request, PeerMessage& reply) {
    std::byte value{};
    switch (request.op) {
      case peer_op::import:
        imported_.emplace(bytes_of(request.payload));
        break;
      case peer_op::enter:
        reply.a = imported_->revocation_page().enter() ? 1 : 0;
        break;
      case peer_op::leave:
        imported_->revocation_page().leave();
        break;
      case peer_op::read:
        reply.a = static_cast<std::uint64_t>(imported_->read(request.a, value));
        reply.b = std::to_integer<std::uint64_t>(value);
        break;
      case peer_op::write:
        reply.a = static_cast<std::uint64_t>(imported_->write(request.a, static_cast<std::byte>(request.b)));
        break;
      default:
        throw Error(Status::invalid_value, "a peer knows no such operation");
    }
  }

  void make(const PeerMessage& request, PeerMessage& reply) {
    const auto source = request.payload == "foreign" ? ExportedMemory::Source::foreign : ExportedMemory::Source::pydoca;
    exported_.emplace(source, request.b, static_cast<Access>(request.a));
    reply.payload.assign(reinterpret_cast<const char*>(exported_->blob().data()), exported_->blob().size());
  }

  static pid_t fork_sleeper() {
    const pid_t child = ::fork();
    if (child == 0) {
      for (;;) {
        ::pause();
      }
    }
    return child;
  }

  std::optional<ExportedMemory> exported_;
  std::optional<ImportedMemory> imported_;
};

}  // namespace

ExportedMemory::ExportedMemory(Source source, std::size_t size, Access access, const char* device)
    : device_(open(device), DeviceUser::memory_map) {
  if (source == Source::pydoca) {
    memory_ = Memory::allocate(size);
    bytes_ = {memory_->data(), size};
  } else {
    heap_.resize(size);
    bytes_ = heap_;
  }
  for (std::size_t i = 0; i < size; ++i) {
    bytes_[i] = static_cast<std::byte>(i * 7 + 1);
  }
  region_ = device_->backend().register_memory({bytes_.data(), size, find_memory(bytes_.data(), size)},
                                               access | Access::local_read_write);
  blob_ = region_->export_pci(access);
}

ImportedMemory::ImportedMemory(std::span<const std::byte> blob, const char* device)
    : device_(open(device), DeviceUser::memory_map) {
  backend::ImportedRegion imported = device_->backend().import_memory(blob, nullptr);
  region_.reset(dynamic_cast<sim::Region*>(imported.region.release()));
  base_ = imported.addr;
  size_ = imported.len;
  access_ = imported.access;
}

Status ImportedMemory::read(std::uint64_t offset, std::byte& value) {
  if (!revocation_page().enter()) {
    return Status::io_failed;
  }
  bool done = true;
  if (region_->reach() == sim::Region::Reach::mapped) {
    value = *region_->at(base_ + offset);
  } else {
    const iovec here{.iov_base = &value, .iov_len = 1};
    const iovec there{.iov_base = reinterpret_cast<void*>(base_ + offset), .iov_len = 1};
    done = ::process_vm_readv(region_->owner_pid(), &here, 1, &there, 1, 0) == 1;
  }
  revocation_page().leave();
  return done ? Status::success : Status::io_failed;
}

Status ImportedMemory::write(std::uint64_t offset, std::byte value) {
  if (!region_->writable() || !revocation_page().enter()) {
    return Status::io_failed;
  }
  bool done = true;
  if (region_->reach() == sim::Region::Reach::mapped) {
    *region_->at(base_ + offset) = value;
  } else {
    const iovec here{.iov_base = &value, .iov_len = 1};
    const iovec there{.iov_base = reinterpret_cast<void*>(base_ + offset), .iov_len = 1};
    done = ::process_vm_writev(region_->owner_pid(), &here, 1, &there, 1, 0) == 1;
  }
  revocation_page().leave();
  return done ? Status::success : Status::io_failed;
}

void serve_as_export_peer(int socket) {
  Server server;
  for (PeerMessage request = receive_message_from(socket); request.op != peer_op::quit;
       request = receive_message_from(socket)) {
    send_message_to(socket, server.answer(request));
  }
}

}  // namespace pydoca
