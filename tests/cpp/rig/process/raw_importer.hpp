#pragma once

#include "backend/sim/fabric/fabric.hpp"
#include "backend/sim/memory/blob.hpp"
#include "backend/sim/memory/import_protocol.hpp"
#include "backend/sim/message/fd_message.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <fcntl.h>
#include <span>
#include <string_view>
#include <sys/socket.h>

namespace pydoca {

/// An importer's connection to the owner of an export, for tests that break the protocol or misuse what they get.
struct RawImporter {
  explicit RawImporter(std::span<const std::byte> bytes) {
    sim::Blob blob;
    EXPECT_EQ(sim::parse(bytes, blob), Status::success);
    Status status = Status::unknown;
    const std::string_view key(reinterpret_cast<const char*>(blob.socket_key.data()), blob.socket_key.size());
    socket = sim::connect_to(sim::fabric_address(sim::fabric(), "memory", key), status);
    EXPECT_EQ(status, Status::success);
    EXPECT_EQ(::fcntl(socket.get(), F_SETFL, 0), 0);  // it waits for replies
    constexpr timeval patience{.tv_sec = 10, .tv_usec = 0};
    EXPECT_EQ(::setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience), 0);
    base = blob.base;
    request = {.epoch = blob.epoch,
               .nonce = blob.nonce,
               .slot = blob.slot,
               .access = blob.access,
               .type = static_cast<std::uint32_t>(blob.type),
               .function = blob.pci_addr};
  }

  Status ask(std::span<const int> fds = {}) {
    static_cast<void>(sim::send_message(socket.get(), std::as_bytes(std::span(&request, 1)), fds));
    return sim::receive_message(socket.get(), std::as_writable_bytes(std::span(&reply, 1)), files);
  }

  detail::Fd socket;
  std::uint64_t base = 0;  ///< the address of the export's memory, in its owner
  sim::ImportRequest request;
  sim::ImportReply reply;
  sim::ReceivedFds files;
};

}  // namespace pydoca
