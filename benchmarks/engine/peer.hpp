#pragma once

#include "pydoca/memory.hpp"
#include "pydoca/sim.hpp"

#include "dma_loop.hpp"

#include <array>
#include <cstddef>
#include <cstring>
#include <memory>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace pydoca::benchmarks {

/// A host process that exports pydoca memory and foreign memory, until it is destroyed. It must be made before this
/// process has threads.
class Peer {
 public:
  struct Exported {
    std::vector<std::byte> blob;
    std::uint64_t addr = 0;
  };

  explicit Peer(std::size_t size) {
    std::array<int, 2> up{};
    std::array<int, 2> down{};
    if (::pipe(up.data()) != 0 || ::pipe(down.data()) != 0) {
      throw Error(Status::operating_system, "benchmark: no pipes");
    }
    child_ = ::fork();
    if (child_ == 0) {
      ::close(up[0]);
      ::close(down[1]);
      serve(size, up[1], down[0]);
      ::_exit(0);
    }
    ::close(up[1]);
    ::close(down[0]);
    keep_ = down[1];
    pydoca_memory = receive(up[0]);
    foreign_memory = receive(up[0]);
    ::close(up[0]);
  }
  ~Peer() {
    ::close(keep_);
    ::waitpid(child_, nullptr, 0);
  }
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;

  pid_t pid() const { return child_; }

  Exported pydoca_memory;
  Exported foreign_memory;

 private:
  static void serve(std::size_t size, int up, int down) {
    const auto device = Device::open(find_device("pf0", Side::host));
    const auto memory = Memory::allocate(size);
    const auto shared = mapped(device, memory->data(), size, memory, Access::pci_read_only);
    std::vector<std::byte> bytes(size, std::byte{1});
    const auto foreign = mapped(device, bytes.data(), size, nullptr, Access::pci_read_only);
    send(up, shared->export_pci(*device), shared->addr());
    send(up, foreign->export_pci(*device), foreign->addr());
    char byte = 0;
    static_cast<void>(!::read(down, &byte, 1));
  }
  static void send(int fd, const std::vector<std::byte>& blob, std::uint64_t addr) {
    std::array<std::byte, 1024> message{};
    const std::uint64_t size = blob.size();
    std::memcpy(message.data(), &addr, 8);
    std::memcpy(message.data() + 8, &size, 8);
    std::memcpy(message.data() + 16, blob.data(), size);
    static_cast<void>(!::write(fd, message.data(), message.size()));
  }
  static Exported receive(int fd) {
    std::array<std::byte, 1024> message{};
    std::size_t have = 0;
    while (have < message.size()) {
      const ssize_t got = ::read(fd, message.data() + have, message.size() - have);
      if (got <= 0) {
        throw Error(Status::connection_reset, "benchmark: the host process ended early");
      }
      have += static_cast<std::size_t>(got);
    }
    Exported exported;
    std::uint64_t size = 0;
    std::memcpy(&exported.addr, message.data(), 8);
    std::memcpy(&size, message.data() + 8, 8);
    exported.blob.assign(message.begin() + 16, message.begin() + 16 + static_cast<std::ptrdiff_t>(size));
    return exported;
  }

  pid_t child_ = -1;
  int keep_ = -1;
};

}  // namespace pydoca::benchmarks
