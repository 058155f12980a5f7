#pragma once

#include "backend/verbs/verbs_subject.hpp"
#include "rig/library/rdma_rig.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <stdexcept>
#include <string>

namespace pydoca::verbs {

inline constexpr std::uint16_t port = 18515;

inline std::vector<std::byte> bytes_of(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

/// Two contexts in one process: on the device under test and on its peer, which may be the same one.
class VerbsRdma : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string reason = why_absent(); !reason.empty()) {
      GTEST_SKIP() << reason;
    }
    ::setenv("PYDOCA_BACKEND", "verbs", 1);
    const char* const peer = std::getenv("PYDOCA_TEST_PEER");
    a = std::make_unique<RdmaRig>(pydoca::Device::open(find_subject()), ProgressEngine::create());
    const DeviceInfo other = peer != nullptr && *peer != '\0' ? find_device(peer) : find_subject();
    b = std::make_unique<RdmaRig>(pydoca::Device::open(other), ProgressEngine::create());
  }

  bool run(const std::function<bool()>& done) { return run_until({a.get(), b.get()}, done, std::chrono::seconds(50)); }
  bool run(std::size_t of_a, std::size_t of_b) {
    return run([&] { return a->completions.size() >= of_a && b->completions.size() >= of_b; });
  }
  void start() const {
    ASSERT_EQ(a->rdma->start(), Status::success);
    ASSERT_EQ(b->rdma->start(), Status::success);
  }
  void connect_by_details() {
    ab = a->rdma->export_connection();
    ba = b->rdma->export_connection();
    a->rdma->connect(ba->details(), *ab);
    b->rdma->connect(ab->details(), *ba);
  }
  RdmaAddress address(std::uint16_t to = port) const {
    const std::array<std::uint8_t, 4> ip = b->device->info().ipv4_addr();
    std::string text;
    for (const std::uint8_t byte : ip) {
      text += (text.empty() ? "" : ".") + std::to_string(byte);
    }
    return RdmaAddress::create(RdmaAddressType::ipv4, text, to);
  }
  void connect_by_address() {
    start();
    b->rdma->start_listen_to_port(port);
    b->on_request = [](RdmaConnection& connection) { connection.accept(bytes_of("welcome")); };
    ab = a->rdma->connect_to_addr(address(), 7, bytes_of("hello"));
    if (!run([&] { return a->ups.size() == 1 && b->ups.size() == 1; })) {
      throw std::runtime_error("the connection did not come about");  // an assertion would end only this function
    }
    ba = b->requests.at(0);
  }
  std::shared_ptr<Mmap> imported(const NetMemory& memory) const {
    return Mmap::create_from_export(a->device, memory.blob);
  }

  std::unique_ptr<RdmaRig> a;
  std::unique_ptr<RdmaRig> b;
  std::shared_ptr<RdmaConnection> ab;
  std::shared_ptr<RdmaConnection> ba;
};

}  // namespace pydoca::verbs
