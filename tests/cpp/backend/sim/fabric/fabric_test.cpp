#include "backend/sim/fabric/fabric.hpp"

#include "rig/expect_error.hpp"
#include "rig/process/process_rig.hpp"
#include "rig/temporary_directory.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <thread>
#include <vector>

namespace pydoca::sim {
namespace {

namespace fs = std::filesystem;

/// A test with a runtime directory of its own.
class Fabric : public ::testing::Test {
 protected:
  Fabric() {
    if (const char* old = std::getenv("XDG_RUNTIME_DIR")) {
      old_ = old;
    }
    ::setenv("XDG_RUNTIME_DIR", root_.c_str(), 1);
  }
  ~Fabric() override { old_ ? ::setenv("XDG_RUNTIME_DIR", old_->c_str(), 1) : ::unsetenv("XDG_RUNTIME_DIR"); }

  static mode_t mode_of(const fs::path& path) {
    struct stat info{};
    EXPECT_EQ(::lstat(path.c_str(), &info), 0) << path;
    return info.st_mode & 07777U;
  }

  const TemporaryDirectory directory_;
  const fs::path root_ = directory_.path();
  std::optional<std::string> old_;
};

TEST_F(Fabric, DirectoryIsMadeForThisUserOnly) {
  EXPECT_TRUE(FabricDirectory("lab").open());
  EXPECT_EQ(FabricDirectory("lab").path(), (root_ / "pydoca/lab").string());
  EXPECT_EQ(mode_of(root_ / "pydoca"), 0700U);
  EXPECT_EQ(mode_of(root_ / "pydoca/lab"), 0700U);
  EXPECT_TRUE(FabricDirectory("lab").open()) << "the directory may exist already";
}

TEST_F(Fabric, DirectoryMayNotBeALink) {
  fs::create_directory(root_ / "elsewhere");
  ::chmod((root_ / "elsewhere").c_str(), 0700);
  fs::create_directory_symlink(root_ / "elsewhere", root_ / "pydoca");
  EXPECT_EQ(thrown_by([] { FabricDirectory("lab").open(); }), Status::not_permitted);
  EXPECT_TRUE(fs::is_empty(root_ / "elsewhere"));
}

TEST_F(Fabric, DirectoryMayNotBeAFile) {
  std::ofstream(root_ / "pydoca") << "x";
  EXPECT_EQ(thrown_by([] { FabricDirectory("lab").open(); }), Status::not_permitted);
}

TEST_F(Fabric, DirectoryMayNotBeOpenToOthers) {
  FabricDirectory("lab").open().reset();
  ::chmod((root_ / "pydoca/lab").c_str(), 0750);
  EXPECT_EQ(thrown_by([] { FabricDirectory("lab").open(); }), Status::not_permitted);
  ::chmod((root_ / "pydoca/lab").c_str(), 0700);
  ::chmod((root_ / "pydoca").c_str(), 0701);
  EXPECT_EQ(thrown_by([] { FabricDirectory("lab").announce(); }), Status::not_permitted);
}

TEST_F(Fabric, NameMayNotLeaveTheDirectory) {
  for (const std::string_view name : {"", ".", "..", "a/b", "/tmp"}) {
    EXPECT_EQ(thrown_by([&] { FabricDirectory{name}; }), Status::invalid_value) << name;
  }
}

TEST_F(Fabric, AnUnusableRuntimeDirectoryMeansTmp) {
  const std::string fallback = "/tmp/pydoca-" + std::to_string(::geteuid()) + "/lab";
  ::setenv("XDG_RUNTIME_DIR", (root_ / "missing").c_str(), 1);
  EXPECT_EQ(FabricDirectory("lab").path(), fallback);
  ::setenv("XDG_RUNTIME_DIR", "relative", 1);
  EXPECT_EQ(FabricDirectory("lab").path(), fallback);
  ::unsetenv("XDG_RUNTIME_DIR");
  EXPECT_EQ(FabricDirectory("lab").path(), fallback);
}

TEST(FabricAddress, DiffersInEveryPart) {
  const std::string path = fabric_address("lab", "comch", "key").path();
  EXPECT_EQ(path, fabric_address("lab", "comch", "key").path());
  EXPECT_NE(path, fabric_address("lab2", "comch", "key").path());
  EXPECT_NE(path, fabric_address("lab", "memory", "key").path());
  EXPECT_NE(path, fabric_address("lab", "comch", "kez").path());
  EXPECT_NE(fabric_address("a", "comch", "bc").file, fabric_address("ab", "comch", "c").file);
}

TEST(FabricAddress, FitsAnyLength) {
  const std::string long_text(5000, 'x');
  const Address address = fabric_address("lab", long_text, long_text);
  EXPECT_LE(address.file.size(), 64U);
  EXPECT_NE(address.file, fabric_address("lab", long_text, long_text + "x").file);
}

class FabricSocket : public FabricTest {
 protected:
  Address address_ = fabric_address(fabric_, "test", "key");
};

TEST_F(FabricSocket, TwoMeetAndKnowWhoTheOtherIs) {
  const ListeningSocket listener = listen_at(address_, 8);
  Status status{};
  const detail::Fd client = connect_to(address_, status);
  EXPECT_EQ(status, Status::success);
  const detail::Fd server = accept_peer(listener.fd.get(), status);
  EXPECT_EQ(status, Status::success);
  EXPECT_TRUE(peer_allowed(client.get()) && peer_allowed(server.get()));
  EXPECT_EQ(peer_pid(server.get()), ::getpid());
  EXPECT_FALSE(accept_peer(listener.fd.get(), status));
  EXPECT_EQ(status, Status::again);
}

TEST_F(FabricSocket, AnAddressIsOneListenersUntilItGoes) {
  {
    const ListeningSocket listener = listen_at(address_, 8);
    EXPECT_EQ(thrown_by([&] { listen_at(address_, 8); }), Status::already_exist);
    EXPECT_EQ(thrown_by([&] { listen_at(address_, 8); }), Status::already_exist) << "an attempt takes nothing away";
  }
  EXPECT_FALSE(fs::exists(address_.directory.path()));
  EXPECT_TRUE(listen_at(address_, 8).fd);
}

TEST_F(FabricSocket, WithoutAListenerIsNotFound) {
  Status status{};
  EXPECT_FALSE(connect_to(address_, status));
  EXPECT_EQ(status, Status::not_found);
}

TEST_F(FabricSocket, AFullBacklogIsAgain) {
  const ListeningSocket listener = listen_at(address_, 0);
  Status status{};
  const detail::Fd first = connect_to(address_, status);
  EXPECT_EQ(status, Status::success);
  EXPECT_FALSE(connect_to(address_, status));
  EXPECT_EQ(status, Status::again);
}

TEST_F(FabricSocket, SomethingThatIsNoSocketHasNoPeer) {
  EXPECT_FALSE(peer_allowed(0));
  EXPECT_EQ(peer_pid(0), 0);
}

/// A child with a listening socket, which has told that it listens.
class ListeningChild {
 public:
  explicit ListeningChild(const Address& address)
      : child_([&] {
          const ListeningSocket socket = listen_at(address, 8);
          EXPECT_EQ(::write(ready_.ends[1], "x", 1), 1);
          ::pause();
          return 0;
        }) {
    char byte = 0;
    EXPECT_EQ(::read(ready_.ends[0], &byte, 1), 1);
  }
  void kill() { child_.kill(); }

 private:
  struct Pipe {
    Pipe() { EXPECT_EQ(::pipe(ends.data()), 0); }
    ~Pipe() {
      ::close(ends[0]);
      ::close(ends[1]);
    }
    std::array<int, 2> ends{};
  };
  Pipe ready_;
  ChildProcess child_;
};

TEST_F(FabricSocket, TheFileOfAKilledProcessIsReplaced) {
  ListeningChild child(address_);
  EXPECT_EQ(thrown_by([&] { listen_at(address_, 8); }), Status::already_exist);
  child.kill();
  EXPECT_TRUE(fs::exists(address_.path()));
  EXPECT_TRUE(listen_at(address_, 8).fd);
}

TEST_F(FabricSocket, TheFileOfAKilledProcessGoesWithTheFirstThatConnects) {
  const Address other = fabric_address(fabric_, "test", "other");
  ListeningChild living(other);
  ListeningChild child(address_);
  child.kill();
  Status status{};
  EXPECT_FALSE(connect_to(address_, status));
  EXPECT_EQ(status, Status::not_found);
  EXPECT_FALSE(fs::exists(address_.path()));
  EXPECT_TRUE(connect_to(other, status)) << "its process lives";
  living.kill();
  EXPECT_FALSE(connect_to(other, status));
  EXPECT_FALSE(fs::exists(address_.directory.path()));
}

/// A socket that is bound, and does not listen yet, answers as that of a dead process does.
TEST_F(FabricSocket, TheFileOfAProcessThatIsAboutToListenStays) {
  address_.directory.open().reset();
  const detail::Fd early(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  ASSERT_EQ(::bind(early.get(), SocketName(address_).get(), SocketName::length), 0);
  Status status{};
  EXPECT_FALSE(connect_to(address_, status));
  EXPECT_EQ(status, Status::not_found);
  ASSERT_EQ(::listen(early.get(), 1), 0);
  EXPECT_TRUE(connect_to(address_, status));
  fs::remove_all(address_.directory.path());
}

TEST_F(FabricSocket, OneThatExitsRemovesTheFileOfItsKilledPeer) {
  ChildProcess child([&] {
    ListeningChild peer(address_);
    Status status{};
    const detail::Fd connection = connect_to(address_, status);
    peer.kill();
    std::exit(connection && fs::exists(address_.path()) ? 0 : 1);
    return 0;
  });
  EXPECT_EQ(child.wait(), 0);
  EXPECT_FALSE(fs::exists(address_.directory.path()));
}

TEST_F(FabricSocket, FilesOfKilledProcessesAreSwept) {
  const Address other = fabric_address(fabric_, "test", "other");
  const Address third = fabric_address(fabric_, "test", "third");
  ListeningChild first(address_);
  ListeningChild second(other);
  first.kill();
  {
    const ListeningSocket listener = listen_at(third, 8);
    EXPECT_FALSE(fs::exists(address_.path())) << "by one that comes";
    EXPECT_TRUE(fs::exists(other.path())) << "its process lives";
    second.kill();
  }
  EXPECT_FALSE(fs::exists(address_.directory.path())) << "by one that leaves";
}

TEST_F(FabricSocket, StartersTogetherReplaceAFileOnce) {
  for (int round = 0; round < 20; ++round) {
    ListeningChild(address_).kill();
    int winners = 0;
    std::vector<ListeningSocket> sockets(4);
    {
      std::atomic<int> won{0};
      std::vector<std::jthread> starters;
      for (ListeningSocket& socket : sockets) {
        starters.emplace_back([&] {
          try {
            socket = listen_at(address_, 8);
            ++won;
          } catch (const Error& error) {
            EXPECT_EQ(error.status(), Status::already_exist);
          }
        });
      }
      starters.clear();
      winners = won;
    }
    ASSERT_EQ(winners, 1);
    sockets.clear();
    wait_until_other_threads_sleep();
  }
}

TEST_F(FabricSocket, LeaversAndComersDoNotDisturbOneAnother) {
  std::vector<std::jthread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([this, thread] {
      const Address own = fabric_address(fabric_, "test", std::to_string(thread));
      for (int i = 0; i < 300; ++i) {
        const ListeningSocket listener = listen_at(own, 8);
        Status status{};
        ASSERT_TRUE(connect_to(own, status)) << error_name(status);
      }
    });
  }
}

TEST_F(FabricSocket, AForkedChildLeavesTheFileToItsParent) {
  ListeningSocket listener = listen_at(address_, 8);
  ChildProcess child([&] {
    listener = {};
    SocketFile::remove_all(address_.directory);
    return 0;
  });
  EXPECT_EQ(child.wait(), 0);
  Status status{};
  EXPECT_TRUE(connect_to(address_, status));
}

TEST_F(FabricSocket, AFileThatIsNotASocketStays) {
  const detail::Fd directory = address_.directory.open();
  std::ofstream(address_.path()) << "x";
  EXPECT_EQ(thrown_by([&] { listen_at(address_, 8); }), Status::already_exist);
  EXPECT_TRUE(fs::exists(address_.path()));
  fs::remove_all(address_.directory.path());
}

TEST_F(FabricSocket, AFileThatTookItsPlaceStays) {
  ListeningSocket first = listen_at(address_, 8);
  fs::remove_all(address_.directory.path());
  const ListeningSocket second = listen_at(address_, 8);
  first = {};
  Status status{};
  EXPECT_TRUE(connect_to(address_, status));
}

TEST_F(FabricSocket, OnlyThisUserMayConnect) {
  const ListeningSocket listener = listen_at(address_, 8);
  struct stat info{};
  ASSERT_EQ(::lstat(address_.path().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0600U);
}

TEST_F(FabricSocket, ALockThatAStoppedProcessKeepsIsNotWaitedForLong) {
  const detail::Fd directory = address_.directory.open();
  ASSERT_EQ(::flock(directory.get(), LOCK_EX), 0);
  EXPECT_EQ(thrown_by([&] { listen_at(address_, 8); }), Status::time_out);
  ::flock(directory.get(), LOCK_UN);
  leave(address_.directory);
}

TEST_F(Fabric, ALongDirectoryIsReachedThroughProc) {
  fs::path deep = root_;
  for (int i = 0; i < 6; ++i) {
    deep /= std::string(60, 'd');
  }
  fs::create_directories(deep);
  ::setenv("XDG_RUNTIME_DIR", deep.c_str(), 1);
  const Address address = fabric_address("lab", "test", "key");
  Status status{};
  EXPECT_FALSE(connect_to(address, status));
  EXPECT_EQ(status, Status::not_found);
  {
    const ListeningSocket listener = listen_at(address, 8);
    EXPECT_TRUE(connect_to(address, status)) << error_name(status);
    EXPECT_TRUE(fs::exists(address.path()));
    EXPECT_EQ(thrown_by([&] { listen_at(address, 8); }), Status::already_exist);
  }
  EXPECT_FALSE(fs::exists(address.directory.path()));
}

}  // namespace
}  // namespace pydoca::sim
