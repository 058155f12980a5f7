#include "pydoca/rdma.hpp"

#include "crash/sweep.hpp"
#include "rig/library/rdma_rig.hpp"

#include <gtest/gtest.h>

#include <utility>

namespace pydoca {
namespace {

using crash::CrashSweep;
using crash::Link;
using crash::Message;
using crash::run_until;

constexpr std::size_t memory_size = 64 * 1024;
constexpr std::uint16_t crash_port = 13577;

/// A context that meets one peer after another: it exchanges memory, writes, reads, adds, sends and receives.
class Party {
 public:
  explicit Party(const char* function) : rig_(function), memory_(rig_.device, memory_size) {
    EXPECT_EQ(rig_.rdma->start(), Status::success);
    rig_.on_request = [this](RdmaConnection& connection) { accept(connection); };
  }

  /// Connects by exchanging details. False: the peer is gone.
  bool meet(const Link& peer) {
    begin();
    connection_ = rig_.rdma->export_connection();
    peer.send(connection_->details());
    const Message details = peer.receive();
    return !details.empty() && connect([&] { rig_.rdma->connect(details, *connection_); }) && work(peer);
  }
  void listen() { rig_.rdma->start_listen_to_port(crash_port); }
  /// A peer that connects by address.
  bool meet_caller(const Link& peer) {
    begin();
    peer.send(Message(1));
    run_until(*rig_.pe, peer, [&] { return connection_ != nullptr || peer.is_gone(); });
    return connection_ != nullptr && work(peer);
  }
  bool call_listener(const Link& peer) {
    begin();
    if (peer.receive().empty()) {
      return false;
    }
    return connect([&] { connection_ = rig_.rdma->connect_to_addr(address_of(*open_function("pf0"), crash_port)); }) &&
           work(peer);
  }
  void part(const Link& peer) {
    peer.send(Message(1));
    connection_.reset();
    rig_.stop();
    rig_.free_bufs();
    EXPECT_EQ(rig_.rdma->start(), Status::success);
  }

 private:
  void begin() {
    rig_.completions.clear();
    rig_.ups.clear();
    rig_.downs.clear();
    rig_.failures.clear();
  }
  void accept(RdmaConnection& connection) {
    try {
      connection.accept();
      connection_ = connection.shared_from_this();
    } catch (const Error& error) {
      EXPECT_TRUE(is_end_of_peer(error.status())) << error.what();
    }
  }
  static bool is_end_of_peer(Status status) {
    return status == Status::not_connected || status == Status::connection_reset || status == Status::bad_state ||
           status == Status::connection_aborted || status == Status::io_failed || status == Status::shutdown ||
           status == Status::time_out;
  }
  static bool connect(const std::function<void()>& attempt) {
    try {
      attempt();
      return true;
    } catch (const Error& error) {
      EXPECT_TRUE(is_end_of_peer(error.status())) << error.what();
      return false;
    }
  }

  bool is_lost() const { return !rig_.downs.empty() || !rig_.failures.empty(); }
  /// True when every task has succeeded. All of them end in any case.
  bool work(const Link& peer) {
    run_until(*rig_.pe, peer, [&] { return !rig_.ups.empty() || is_lost(); });
    if (is_lost()) {
      return false;
    }
    peer.send(memory_.blob);
    const Message blob = peer.receive();
    if (blob.empty()) {
      return false;
    }
    try {
      return exchange(Mmap::create_from_export(rig_.device, blob), peer);
    } catch (const Error& error) {
      EXPECT_TRUE(is_end_of_peer(error.status())) << error.what();
      return false;
    }
  }
  bool exchange(const std::shared_ptr<Mmap>& remote, const Link& peer) {
    NetMemory local(rig_.device, memory_size, Access::local_read_write);
    local.fill(5);
    const std::size_t half = memory_size / 2;
    submit(&Rdma::receive, rig_.room(memory_, 0, half));
    submit(&Rdma::write, *connection_, rig_.data(local, 0, half), rig_.room(remote, remote->addr() + half, half));
    submit(&Rdma::read, *connection_, rig_.data(remote, remote->addr() + half, 64), rig_.room(local, half, 64));
    submit(&Rdma::send, *connection_, rig_.data(local, 0, half));
    const std::size_t submitted = std::exchange(submitted_, 0);
    run_until(*rig_.pe, peer, [&] { return rig_.completions.size() == submitted || is_lost(); });
    const bool all = std::ranges::all_of(rig_.completions,
                                         [](const RdmaRig::Completion& one) { return one.status == Status::success; });
    return all && rig_.completions.size() == submitted;
  }
  template <class Call, class... Args>
  void submit(Call call, Args&&... args) {
    RdmaTask* task = nullptr;
    if (((*rig_.rdma).*call)(std::forward<Args>(args)..., 0, task) == Status::success &&
        task->submit() == Status::success) {
      ++submitted_;
    } else if (task != nullptr) {
      EXPECT_EQ(task->free(), Status::success);
    }
  }

  RdmaRig rig_;
  NetMemory memory_;
  std::shared_ptr<RdmaConnection> connection_;
  std::size_t submitted_ = 0;
};

/// Meets, works, and waits until the peer has finished as well: a side that leaves early would fail the other's tasks.
bool finish(Party& party, bool met, const Link& peer) {
  peer.send(Message(1));
  static_cast<void>(peer.receive());
  party.part(peer);
  return met;
}

TEST_F(CrashSweep, ARdmaConnectionLosesItsPeer) {
  sweep({.victim =
             [](const Link& peer) {
               Party party("p1");
               EXPECT_TRUE(finish(party, party.meet(peer), peer));
             },
         .survivor =
             [](const Link& doomed, const Link& successor) {
               Party party("pf0");
               finish(party, party.meet(doomed), doomed);
               EXPECT_TRUE(finish(party, party.meet(successor), successor));
             }});
}

TEST_F(CrashSweep, ARdmaListenerLosesACaller) {
  sweep({.victim =
             [](const Link& peer) {
               Party party("p1");
               EXPECT_TRUE(finish(party, party.call_listener(peer), peer));
             },
         .survivor =
             [](const Link& doomed, const Link& successor) {
               Party party("pf0");
               party.listen();
               finish(party, party.meet_caller(doomed), doomed);
               party.listen();
               EXPECT_TRUE(finish(party, party.meet_caller(successor), successor));
             }});
}

TEST_F(CrashSweep, ARdmaCallerLosesTheListener) {
  sweep({.victim =
             [](const Link& peer) {
               Party party("pf0");
               party.listen();
               EXPECT_TRUE(finish(party, party.meet_caller(peer), peer));
             },
         .survivor =
             [](const Link& doomed, const Link& successor) {
               Party party("p1");
               finish(party, party.call_listener(doomed), doomed);
               EXPECT_TRUE(finish(party, party.call_listener(successor), successor));
             }});
}

}  // namespace
}  // namespace pydoca
