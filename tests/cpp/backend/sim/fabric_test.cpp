#include "backend/sim/fabric/fabric.hpp"

#include "rig/expect_error.hpp"
#include "rig/process_rig.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sys/stat.h>

namespace pydoca::sim {
namespace {

namespace fs = std::filesystem;

/// A test with a runtime directory of its own.
class Fabric : public ::testing::Test {
 protected:
  Fabric() {
    std::array<char, 32> pattern{"/tmp/pydoca-test-XXXXXX"};
    root_ = ::mkdtemp(pattern.data());
    if (const char* old = std::getenv("XDG_RUNTIME_DIR")) {
      old_ = old;
    }
    ::setenv("XDG_RUNTIME_DIR", root_.c_str(), 1);
  }
  ~Fabric() override {
    old_ ? ::setenv("XDG_RUNTIME_DIR", old_->c_str(), 1) : ::unsetenv("XDG_RUNTIME_DIR");
    fs::remove_all(root_);
  }

  static mode_t mode_of(const fs::path& path) {
    struct stat info{};
    EXPECT_EQ(::lstat(path.c_str(), &info), 0) << path;
    return info.st_mode & 07777U;
  }

  fs::path root_;
  std::optional<std::string> old_;
};

TEST_F(Fabric, DirectoryIsMadeForThisUserOnly) {
  EXPECT_TRUE(open_fabric("lab"));
  EXPECT_EQ(fabric_path("lab"), (root_ / "pydoca/lab").string());
  EXPECT_EQ(mode_of(root_ / "pydoca"), 0700U);
  EXPECT_EQ(mode_of(root_ / "pydoca/lab"), 0700U);
  EXPECT_TRUE(open_fabric("lab")) << "the directory may exist already";
}

TEST_F(Fabric, DirectoryMayNotBeALink) {
  fs::create_directory(root_ / "elsewhere");
  ::chmod((root_ / "elsewhere").c_str(), 0700);
  fs::create_directory_symlink(root_ / "elsewhere", root_ / "pydoca");
  EXPECT_EQ(thrown_by([] { open_fabric("lab"); }), Status::not_permitted);
  EXPECT_TRUE(fs::is_empty(root_ / "elsewhere"));
}

TEST_F(Fabric, DirectoryMayNotBeAFile) {
  std::ofstream(root_ / "pydoca") << "x";
  EXPECT_EQ(thrown_by([] { open_fabric("lab"); }), Status::not_permitted);
}

TEST_F(Fabric, DirectoryMayNotBeOpenToOthers) {
  open_fabric("lab").reset();
  ::chmod((root_ / "pydoca/lab").c_str(), 0750);
  EXPECT_EQ(thrown_by([] { open_fabric("lab"); }), Status::not_permitted);
  ::chmod((root_ / "pydoca/lab").c_str(), 0700);
  ::chmod((root_ / "pydoca").c_str(), 0701);
  EXPECT_EQ(thrown_by([] { announce("lab"); }), Status::not_permitted);
}

TEST_F(Fabric, NameMayNotLeaveTheDirectory) {
  for (const std::string_view name : {"", ".", "..", "a/b", "/tmp"}) {
    EXPECT_EQ(thrown_by([&] { open_fabric(name); }), Status::invalid_value) << name;
  }
}

TEST_F(Fabric, AnUnusableRuntimeDirectoryMeansTmp) {
  const std::string fallback = "/tmp/pydoca-" + std::to_string(::geteuid()) + "/lab";
  ::setenv("XDG_RUNTIME_DIR", (root_ / "missing").c_str(), 1);
  EXPECT_EQ(fabric_path("lab"), fallback);
  ::setenv("XDG_RUNTIME_DIR", "relative", 1);
  EXPECT_EQ(fabric_path("lab"), fallback);
  ::unsetenv("XDG_RUNTIME_DIR");
  EXPECT_EQ(fabric_path("lab"), fallback);
}

std::string text_of(const Address& address) { return {reinterpret_cast<const char*>(address.get()), address.length}; }

TEST(FabricAddress, IsAbstractAndDiffersInEveryPart) {
  const Address address = fabric_address("lab", "comch", "key");
  EXPECT_EQ(address.name.sun_path[0], '\0');
  EXPECT_EQ(text_of(address), text_of(fabric_address("lab", "comch", "key")));
  EXPECT_NE(text_of(address), text_of(fabric_address("lab2", "comch", "key")));
  EXPECT_NE(text_of(address), text_of(fabric_address("lab", "memory", "key")));
  EXPECT_NE(text_of(address), text_of(fabric_address("lab", "comch", "kez")));
  EXPECT_NE(text_of(fabric_address("a", "comch", "bc")), text_of(fabric_address("ab", "comch", "c")));
}

TEST(FabricAddress, FitsAnyLength) {
  const std::string long_text(5000, 'x');
  const Address address = fabric_address(long_text, long_text, long_text);
  EXPECT_LE(address.length, sizeof(sockaddr_un));
  EXPECT_NE(text_of(address), text_of(fabric_address(long_text, long_text, long_text + "x")));
}

class FabricSocket : public FabricTest {
 protected:
  Address address_ = fabric_address(fabric_, "test", "key");
};

TEST_F(FabricSocket, TwoMeetAndKnowWhoTheOtherIs) {
  const detail::Fd listener = listen_at(address_, 8);
  Status status{};
  const detail::Fd client = connect_to(address_, status);
  EXPECT_EQ(status, Status::success);
  const detail::Fd server = accept_peer(listener.get(), status);
  EXPECT_EQ(status, Status::success);
  EXPECT_TRUE(peer_allowed(client.get()) && peer_allowed(server.get()));
  EXPECT_EQ(peer_pid(server.get()), ::getpid());
  EXPECT_FALSE(accept_peer(listener.get(), status));
  EXPECT_EQ(status, Status::again);
}

TEST_F(FabricSocket, AnAddressIsOneListenersUntilItGoes) {
  detail::Fd listener = listen_at(address_, 8);
  EXPECT_EQ(thrown_by([&] { listen_at(address_, 8); }), Status::already_exist);
  listener.reset();
  EXPECT_TRUE(listen_at(address_, 8));
}

TEST_F(FabricSocket, WithoutAListenerIsNotFound) {
  Status status{};
  EXPECT_FALSE(connect_to(address_, status));
  EXPECT_EQ(status, Status::not_found);
  detail::WaitLimit limit(std::chrono::milliseconds(10));
  EXPECT_FALSE(connect_within(address_, limit, status));
  EXPECT_EQ(status, Status::not_found);
}

TEST_F(FabricSocket, AFullBacklogIsAgainOrATimeOut) {
  const detail::Fd listener = listen_at(address_, 0);
  Status status{};
  const detail::Fd first = connect_to(address_, status);
  EXPECT_EQ(status, Status::success);
  EXPECT_FALSE(connect_to(address_, status));
  EXPECT_EQ(status, Status::again);
  detail::WaitLimit limit(std::chrono::milliseconds(10));
  EXPECT_FALSE(connect_within(address_, limit, status));
  EXPECT_EQ(status, Status::time_out);
}

TEST_F(FabricSocket, SomethingThatIsNoSocketHasNoPeer) {
  EXPECT_FALSE(peer_allowed(0));
  EXPECT_EQ(peer_pid(0), 0);
}

TEST_F(FabricSocket, AnAddressVanishesWithItsProcess) {
  std::array<int, 2> ready{};
  ASSERT_EQ(::pipe(ready.data()), 0);
  ChildProcess child([&] {
    const detail::Fd listener = listen_at(address_, 8);
    EXPECT_EQ(::write(ready[1], "x", 1), 1);
    ::pause();
    return 0;
  });
  char byte = 0;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  EXPECT_EQ(thrown_by([&] { listen_at(address_, 8); }), Status::already_exist);
  child.kill();
  EXPECT_TRUE(listen_at(address_, 8));
  ::close(ready[0]);
  ::close(ready[1]);
}

}  // namespace
}  // namespace pydoca::sim
