/// A peer that maps what every peer maps, and writes anything to the shared pages and uses the shared files against all
/// rules. The owner must serve the others meanwhile, and end.

#include "rig/library/rdma_rig.hpp"
#include "rig/library/sync_event_rig.hpp"
#include "rig/process/peer_process.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

namespace pydoca::hostile {
namespace {

using Clock = std::chrono::steady_clock;

/// The operations of the hostile peer.
namespace op {
constexpr char join = 'j';     ///< payload: fabric. Answers with the details of its RDMA connection
constexpr char event = 'e';    ///< payload: blob of a sync event
constexpr char own = 'o';      ///< answers with the blob of a sync event of its own
constexpr char connect = 'c';  ///< payload: details of an RDMA connection
constexpr char attack = 'a';   ///< a: seed of the first, b: writes. Answers when it has made them
}  // namespace op

constexpr std::uint64_t default_writes = 20'000;

std::uint64_t writes_per_test() {
  const char* const text = std::getenv("PYDOCA_HOSTILE_WRITES");
  return text != nullptr ? std::strtoull(text, nullptr, 10) : default_writes;
}

std::uint64_t fresh_seed() {
  const char* const text = std::getenv("PYDOCA_HOSTILE_SEED");
  return text != nullptr ? std::strtoull(text, nullptr, 10) : std::random_device{}();
}

std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}
std::vector<std::byte> bytes_of(const std::string& text) {
  const auto* const begin = reinterpret_cast<const std::byte*>(text.data());
  return {begin, begin + text.size()};
}

/// Memory of pydoca's that this process shares with others and may write to, in mappings of its own: pydoca unmaps some
/// when the connection ends.
std::vector<std::span<std::uint32_t>> shared_mappings() {
  std::vector<std::span<std::uint32_t>> found;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    if (line.find("memfd:pydoca") == std::string::npos || line.find(" rw-s ") == std::string::npos) {
      continue;
    }
    std::uintptr_t begin = 0;
    std::uintptr_t end = 0;
    const auto dash = line.find('-');
    std::from_chars(line.data(), line.data() + dash, begin, 16);
    std::from_chars(line.data() + dash + 1, line.data() + line.find(' '), end, 16);
    void* const again = ::mremap(reinterpret_cast<void*>(begin), 0, end - begin, MREMAP_MAYMOVE);
    if (again != MAP_FAILED) {
      found.emplace_back(static_cast<std::uint32_t*>(again), (end - begin) / sizeof(std::uint32_t));
    }
  }
  return found;
}

std::set<int> open_files() {
  std::set<int> files;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    files.insert(std::stoi(entry.path().filename()));
  }
  return files;
}

class Attack {
 public:
  Attack(std::uint64_t seed, const std::set<int>& files_before) : random_(seed), pages_(shared_mappings()) {
    for (const int file : open_files()) {
      std::error_code gone;
      const std::string target = std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(file), gone);
      if (!files_before.contains(file) && (target.starts_with("socket:") || target.starts_with("/memfd:pydoca"))) {
        keep(file);
      }
    }
  }

  bool has_targets() const { return !pages_.empty() && !files_.empty(); }
  void write_page() {
    const std::span<std::uint32_t> page = pages_[below(pages_.size())];
    // What matters is at the beginnings.
    const std::size_t most = std::min<std::size_t>(page.size(), below(4) == 0 ? page.size() : 96);
    const std::size_t at = below(most);
    std::atomic_ref(page[at]).store(word());
    if (below(3) == 0 && at % 2 == 0) {
      std::atomic_ref(page[at + 1]).store(0);  // a plausible number of 64 bits
    }
  }
  void use_file() {
    const int file = files_[below(files_.size())];
    std::array<std::uint32_t, 64> words{};
    std::ranges::generate(words, [this] { return word(); });
    const std::size_t size = 1 + below(sizeof words);
    switch (below(16)) {
      case 0:
        ::fcntl(file, F_SETFL, below(2) == 0 ? 0 : O_NONBLOCK | O_ASYNC);
        break;
      case 1:
        static_cast<void>(!::ftruncate(file, static_cast<off_t>(below(8192))));
        break;
      case 2:
        if (below(200) == 0) ::shutdown(file, static_cast<int>(below(3)));
        break;
      case 3:
        for (int i = 0; i < 1000 && ::send(file, words.data(), 1, MSG_DONTWAIT | MSG_NOSIGNAL) == 1; ++i) {
        }
        break;
      case 4:
      case 5:
        static_cast<void>(::recv(file, words.data(), size, MSG_DONTWAIT));
        break;
      default:
        static_cast<void>(::send(file, words.data(), below(3) == 0 ? size : 1, MSG_DONTWAIT | MSG_NOSIGNAL));
    }
  }
  std::uint64_t below(std::uint64_t end) { return random_() % end; }

 private:
  /// Keeps a descriptor of its own, as the engine of this process closes its ones at any time. A plain system call:
  /// ThreadSanitizer would take the engine's close for a race with it.
  void keep(int file) {
    const auto own = ::syscall(SYS_dup, file);
    if (own >= 0) {
      files_.push_back(static_cast<int>(own));
    }
  }
  std::uint32_t word() {
    switch (below(4)) {
      case 0:
        return static_cast<std::uint32_t>(below(3));
      case 1:
        return static_cast<std::uint32_t>(below(64)) << (below(2) * 16);
      case 2:
        return ~static_cast<std::uint32_t>(below(2));
      default:
        return static_cast<std::uint32_t>(random_());
    }
  }

  std::mt19937_64 random_;
  std::vector<std::span<std::uint32_t>> pages_;
  std::vector<int> files_;
};

/// The peer's side, which runs in its process.
class HostilePeer {
 public:
  explicit HostilePeer(int socket) : socket_(socket) {}

  void serve() {
    for (;;) {
      const PeerMessage request = receive_message_from(socket_);
      PeerMessage reply{.op = request.op, .payload = {}};
      handle(request, reply);
      send_message_to(socket_, reply);
    }
  }

 private:
  void handle(const PeerMessage& request, PeerMessage& reply) {
    switch (request.op) {
      case op::join:
        sim::set_fabric(request.payload);
        files_before_ = open_files();
        rig_ = std::make_unique<RdmaRig>("p1");
        EXPECT_EQ(rig_->rdma->start(), Status::success);
        connection_ = rig_->rdma->export_connection();
        reply.payload = text_of(connection_->details());
        break;
      case op::event:
        event_ = SyncEvent::create_from_export(open_function("p0"), bytes_of(request.payload));
        event_->start();
        break;
      case op::own:
        own(reply);
        break;
      case op::connect:
        rig_->rdma->connect(bytes_of(request.payload), *connection_);
        break;
      default:
        attack(request.a, request.b);
    }
  }

  void own(PeerMessage& reply) {
    const auto device = open_function("pf0");
    event_ = exported_event(device);
    event_->start();
    reply.payload = text_of(event_->export_to_remote_pci(*device));
  }

  void attack(std::uint64_t seed, std::uint64_t writes) {
    if (attack_ == nullptr) {
      attack_ = std::make_unique<Attack>(seed, files_before_);
      EXPECT_TRUE(attack_->has_targets());
    }
    for (std::uint64_t done = 0; done < writes; ++done) {
      attack_->below(3) == 0 ? attack_->use_file() : attack_->write_page();
      if (attack_->below(500) == 0) {
        std::this_thread::sleep_for(std::chrono::microseconds(attack_->below(2000)));
      }
    }
  }

  int socket_;
  std::set<int> files_before_;
  std::unique_ptr<RdmaRig> rig_;
  std::shared_ptr<RdmaConnection> connection_;
  std::shared_ptr<SyncEvent> event_;
  std::unique_ptr<Attack> attack_;
};

TEST(HostilePeerProcess, DISABLED_Serve) {
  if (peer_socket() < 0) {
    GTEST_SKIP() << "a test's peer, started by that test";
  }
  try {
    HostilePeer(peer_socket()).serve();
  } catch (const std::exception&) {  // the test has ended
  }
  ::_exit(0);  // its own memory is spoilt
}

/// The hostile process, and a thread that waits for the end of its attack.
class Hostile {
 public:
  explicit Hostile(const std::string& fabric)
      : process_("HostilePeerProcess.DISABLED_Serve"),
        details_(bytes_of(process_.ask({.op = op::join, .payload = fabric}).payload)) {}
  ~Hostile() {
    process_.kill();
    if (thread_.joinable()) {
      thread_.join();
    }
  }

  const std::vector<std::byte>& details() const { return details_; }
  std::vector<std::byte> own_event() { return bytes_of(process_.ask({.op = op::own, .payload = {}}).payload); }
  void import(const std::vector<std::byte>& blob) { process_.ask({.op = op::event, .payload = text_of(blob)}); }
  void connect(std::span<const std::byte> details) { process_.ask({.op = op::connect, .payload = text_of(details)}); }
  void attack() {
    const std::uint64_t seed = fresh_seed();
    const std::uint64_t writes = writes_per_test();
    std::cout << writes << " writes; to repeat them: PYDOCA_HOSTILE_SEED=" << seed << '\n';
    thread_ = std::thread([this, seed, writes] {
      try {
        for (std::uint64_t left = writes; left > 0; left -= std::min(left, default_writes)) {
          process_.ask({.op = op::attack, .a = seed, .b = std::min(left, default_writes), .payload = {}});
        }
      } catch (const std::exception&) {  // it has spoilt itself; the owner is what is tested
        std::cout << "the hostile process has ended itself\n";
      }
      over_ = true;
    });
  }
  bool is_over() const { return over_; }

 private:
  PeerProcess process_;
  std::vector<std::byte> details_;
  std::atomic<bool> over_{false};
  std::thread thread_;
};

class HostilePeerTest : public testing::Test {
 protected:
  HostilePeerTest() : fabric_("test-" + std::to_string(::getpid())) { sim::set_fabric(fabric_); }

  std::string fabric_;
};

/// An event that is waited for on both ends, by sleeping engines.
class SharedEvent {
 public:
  SharedEvent() {
    event_->set_outlives_importers(true);
    owner_ = std::make_unique<EventRig>(event_, ProgressEngine::create());
    blob_ = event_->export_to_remote_pci(*device_);
    far_ =
        std::make_unique<EventRig>(SyncEvent::create_from_export(open_function("p0"), blob_), ProgressEngine::create());
  }
  const std::vector<std::byte>& blob() const { return blob_; }
  /// Each end waits for a change by the other.
  void exchange() {
    await_change(*far_, *owner_);
    EXPECT_EQ(far_->completions.back().status, Status::success);
    await_change(*owner_, *far_);
  }

 private:
  void await_change(EventRig& sleeper, EventRig& changer) {
    const std::size_t before = sleeper.completions.size();
    sleeper.submit(SyncEventOperation::wait_neq, last_);
    const auto end = Clock::now() + std::chrono::seconds(20);
    while (sleeper.completions.size() == before) {
      ASSERT_LT(Clock::now(), end) << "a wait that was not served";
      const std::size_t changed = changer.completions.size();
      changer.submit(SyncEventOperation::notify_add, 1);
      changer.progress_until(changed + 1);
      if (sleeper.pe->wait(100)) {
        sleeper.pe->drain(100);
      }
    }
    last_ = sleeper.completions.back().result;
  }

  std::shared_ptr<Device> device_ = open_function("pf0");
  std::shared_ptr<SyncEvent> event_ = exported_event(device_);
  std::unique_ptr<EventRig> owner_;
  std::vector<std::byte> blob_;
  std::unique_ptr<EventRig> far_;
  std::uint64_t last_ = 0;
};

TEST_F(HostilePeerTest, OfASyncEventDisturbsNeitherTheOwnerNorTheOtherImporter) {
  Hostile hostile(fabric_);
  SharedEvent event;
  hostile.import(event.blob());
  hostile.attack();
  while (!hostile.is_over() && !HasFatalFailure()) {
    event.exchange();
  }
  event.exchange();
}

TEST_F(HostilePeerTest, OwningASyncEventBlocksNoImporter) {
  Hostile hostile(fabric_);
  const auto blob = hostile.own_event();
  const auto event = SyncEvent::create_from_export(open_function("p0"), blob);
  EventRig importer(SyncEvent::create_from_export(open_function("p0"), blob), ProgressEngine::create());
  event->start();
  hostile.attack();
  std::uint64_t before = 0;
  for (std::uint64_t i = 1; !hostile.is_over(); ++i) {
    static_cast<void>(event->update_add(1, before));
    static_cast<void>(event->wait_eq(i, all_bits, WaitMode::yield, std::chrono::milliseconds(1)));
    importer.submit(SyncEventOperation::notify_add, 1);
    importer.progress_until(i);
    static_cast<void>(importer.pe->wait(1));
  }
  event->close();
}

/// A context with an honest peer in this process, which sends it messages, and a place for a hostile one.
class Messages {
 public:
  Messages() {
    server_.rdma->set_max_num_connections(2);
    EXPECT_EQ(server_.rdma->start(), Status::success);
    EXPECT_EQ(honest_.rdma->start(), Status::success);
    connect_by_details(honest_, server_, there_, back_);
    for (std::uint64_t i = 0; i < num_receives; ++i) {
      receive(i);
    }
    server_.on_completion = [this](RdmaTask& task) { completed(task); };
    from_hostile_ = server_.rdma->export_connection();
  }
  std::span<const std::byte> details_for_hostile() const { return from_hostile_->details(); }
  void connect_hostile(const std::vector<std::byte>& details) { server_.rdma->connect(details, *from_hostile_); }

  /// One message of the honest peer arrives intact.
  void exchange() {
    out_.fill(++sent_);
    honest_.submit(&Rdma::send, *there_, honest_.data(out_, 0, message_size));
    ASSERT_TRUE(run_until({&server_, &honest_}, [this] { return arrived_ == sent_; })) << "message " << sent_;
    ASSERT_TRUE(run_until({&server_, &honest_}, [this] { return honest_.completions.size() == sent_; }));
    EXPECT_EQ(honest_.completions.back().status, Status::success);
    honest_.free_bufs();
  }
  bool hostile_was_ended() const { return std::ranges::find(server_.downs, from_hostile_) != server_.downs.end(); }
  void expect_honest() const {
    EXPECT_EQ(server_.rdma->state(), ContextState::running);
    EXPECT_TRUE(honest_.downs.empty());
    EXPECT_EQ(back_->state(), RdmaConnection::State::established);
  }

 private:
  static constexpr std::uint64_t num_receives = 8;
  static constexpr std::size_t message_size = 1000;
  static constexpr std::size_t room_size = 1024;

  void receive(std::uint64_t place) {
    RdmaTask* task = nullptr;
    Buf* const buf = server_.room(in_, place * room_size, room_size);
    ASSERT_EQ(server_.rdma->receive(buf, place, task), Status::success);
    ASSERT_EQ(task->submit(), Status::success);
  }
  void completed(RdmaTask& task) {
    if (task.status() == Status::success && task.connection() == back_) {
      const auto bytes = in_.bytes.subspan(task.user_data() * room_size, message_size);
      EXPECT_TRUE(same(bytes, out_.bytes.first(message_size)));
      ++arrived_;
    }
    if (task.status() != Status::shutdown) {
      Buf* const buf = task.dst_buf();
      ASSERT_EQ(buf->reset_data_len(), Status::success);
      RdmaTask* next = nullptr;
      ASSERT_EQ(server_.rdma->receive(buf, task.user_data(), next), Status::success);
      ASSERT_EQ(next->submit(), Status::success);
    }
  }

  RdmaRig server_{"pf0"};
  RdmaRig honest_{"p1"};
  NetMemory in_{server_.device, num_receives * room_size, Access::local_read_write};
  NetMemory out_{honest_.device, message_size, Access::local_read_write};
  std::shared_ptr<RdmaConnection> there_;
  std::shared_ptr<RdmaConnection> back_;
  std::shared_ptr<RdmaConnection> from_hostile_;
  std::uint64_t sent_ = 0;
  std::uint64_t arrived_ = 0;
};

TEST_F(HostilePeerTest, OfAnRdmaContextIsEndedAloneAndTheOtherIsServed) {
  Hostile hostile(fabric_);
  Messages messages;
  messages.connect_hostile(hostile.details());
  hostile.connect(messages.details_for_hostile());
  messages.exchange();
  hostile.attack();
  while (!hostile.is_over() && !HasFatalFailure()) {
    messages.exchange();
  }
  messages.exchange();
  messages.expect_honest();
  EXPECT_TRUE(messages.hostile_was_ended());
}

}  // namespace
}  // namespace pydoca::hostile
