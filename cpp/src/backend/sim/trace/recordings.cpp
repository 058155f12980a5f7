#include "backend/sim/trace/recordings.hpp"

#include "backend/sim/fabric/fabric.hpp"
#include "backend/sim/fabric/lobby.hpp"
#include "backend/sim/fabric/service.hpp"
#include "backend/sim/memory/process.hpp"
#include "backend/sim/message/fd_message.hpp"
#include "backend/sim/trace/members.hpp"
#include "backend/sim/trace/trace_protocol.hpp"

#include <algorithm>
#include <chrono>
#include <memory>
#include <poll.h>
#include <span>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

namespace pydoca::sim {

namespace {

constexpr std::size_t max_members = 255;
/// How long a tracer waits for answers. A process whose answer comes later records from then on.
constexpr std::chrono::milliseconds patience(2000);

/// What the connections bring, under the service's lock.
struct Collected {
  std::vector<detail::Fd> files;
  std::vector<Service::Id> connections;
  std::size_t unanswered = 0;
};

/// A process that was asked. Its end leaves the file, with what it recorded.
class MemberConnection final : public Service::Connection {
 public:
  explicit MemberConnection(std::shared_ptr<Collected> into) : into_(std::move(into)) { ++into_->unanswered; }
  ~MemberConnection() override { answered(); }

  bool readable(Service& /*service*/, Service::Id /*id*/, int fd) noexcept override {
    TraceReply reply;
    ReceivedFds files;
    const Status status = receive_message(fd, std::as_writable_bytes(std::span(&reply, 1)), files);
    if (status == Status::again) {
      return true;
    }
    if (status != Status::success || reply.protocol != trace_protocol || files.count != 1 || is_answered_) {
      return false;
    }
    answered();
    try {
      into_->files.push_back(std::move(files.fds[0]));
    } catch (const std::bad_alloc&) {
      return false;
    }
    return true;
  }
  void ended(Service& /*service*/, Service::Id /*id*/) noexcept override {}

 private:
  void answered() noexcept { into_->unanswered -= std::exchange(is_answered_, true) ? 0U : 1U; }

  const std::shared_ptr<Collected> into_;
  bool is_answered_ = false;
};

/// Asks a process to record. The caller has the service's lock.
void ask(Service& service, detail::Fd member, const std::shared_ptr<Collected>& into, std::uint32_t capacity) {
  const TraceRequest request{.capacity = capacity};
  if (peer_pid(member.get()) == ::getpid() || into->connections.size() >= max_members ||
      send_message(member.get(), std::as_bytes(std::span(&request, 1)), {}) != Status::success) {
    return;
  }
  into->connections.reserve(into->connections.size() + 1);
  into->connections.push_back(service.add(std::move(member), std::make_unique<MemberConnection>(into)));
}

/// Processes that join the fabric later call here. They say nothing before they are asked.
class TracerListener final : public Service::Connection {
 public:
  TracerListener(SocketFile file, std::shared_ptr<Collected> into, std::uint32_t capacity)
      : file_(std::move(file)), into_(std::move(into)), capacity_(capacity) {}

  bool readable(Service& service, Service::Id /*id*/, int fd) noexcept override {
    Status status = Status::success;
    detail::Fd member = accept_peer(fd, status);
    try {
      if (member) {
        ask(service, std::move(member), into_, capacity_);
      }
    } catch (...) {  // out of memory, or of watches
      status = Status::no_memory;
    }
    // If no descriptor is free, it would be readable for ever; those that come later then are not recorded.
    return status == Status::success || status == Status::again || status == Status::not_permitted;
  }
  void ended(Service& /*service*/, Service::Id /*id*/) noexcept override {}

 private:
  SocketFile file_;
  const std::shared_ptr<Collected> into_;
  const std::uint32_t capacity_;
};

class FabricRecordings final : public backend::Recordings {
 public:
  FabricRecordings(const std::string& fabric, std::uint32_t capacity) {
    listen(fabric, capacity);
    try {
      for (const Address& address : addresses_of(fabric, member_purpose)) {
        Status status = Status::success;
        if (detail::Fd member = connect_to(address, status)) {
          const Service::Lock lock = service_.lock();
          ask(service_, std::move(member), collected_, capacity);
        }
      }
    } catch (...) {
      end();
      throw;
    }
    wait_for_answers();
  }
  ~FabricRecordings() override { end(); }
  FabricRecordings(const FabricRecordings&) = delete;
  FabricRecordings& operator=(const FabricRecordings&) = delete;

  std::vector<int> stop() override {
    if (service_.is_current()) {
      wait_for_answers();  // a process that came late records before its answer is read
    }
    end();
    std::vector<int> numbers;
    const Service::Lock lock = service_.lock();
    for (const detail::Fd& file : collected_->files) {
      numbers.push_back(file.get());
    }
    return numbers;
  }

 private:
  void listen(const std::string& fabric, std::uint32_t capacity) {
    const Key key = random_key();
    const std::string_view text(reinterpret_cast<const char*>(key.data()), key.size());
    ListeningSocket socket = listen_at_new(fabric_address(fabric, tracer_purpose, text), Lobby::backlog);
    auto listener = std::make_unique<TracerListener>(std::move(socket.file), collected_, capacity);
    const Service::Lock lock = service_.lock();
    listener_ = service_.add(std::move(socket.fd), std::move(listener));
  }

  /// The service's thread takes them.
  void wait_for_answers() {
    constexpr std::chrono::microseconds pause(100);
    const auto end = std::chrono::steady_clock::now() + patience;
    const auto is_waiting = [&] {
      const Service::Lock lock = service_.lock();
      return collected_->unanswered != 0;
    };
    while (is_waiting() && std::chrono::steady_clock::now() < end) {
      std::this_thread::sleep_for(pause);
    }
  }

  void end() noexcept {
    if (!service_.is_current()) {
      return;  // a forked child: the parent records
    }
    const Service::Lock lock = service_.lock();
    service_.remove(std::exchange(listener_, 0));
    for (const Service::Id id : std::exchange(collected_->connections, {})) {
      service_.remove(id);
    }
  }

  Service& service_ = Service::instance();
  const std::shared_ptr<Collected> collected_ = std::make_shared<Collected>();
  Service::Id listener_ = 0;
};

}  // namespace

std::unique_ptr<backend::Recordings> record_fabric(const std::string& fabric, std::uint32_t capacity) {
  return std::make_unique<FabricRecordings>(fabric, capacity);
}

}  // namespace pydoca::sim
