#include "backend/sim/trace/member.hpp"

#include "pydoca/log.hpp"

#include "backend/sim/fabric/fabric.hpp"
#include "backend/sim/fabric/lobby.hpp"
#include "backend/sim/fabric/service.hpp"
#include "backend/sim/memory/process.hpp"
#include "backend/sim/message/fd_message.hpp"
#include "backend/sim/trace/members.hpp"
#include "backend/sim/trace/trace_protocol.hpp"
#include "detail/concat.hpp"
#include "detail/thread/per_process.hpp"
#include "detail/trace/recorder.hpp"

#include <bit>
#include <chrono>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <utility>

namespace pydoca::sim {

namespace {

/// A tracer's connection: one request, then nothing until it ends, which ends this process's part.
class TracerConnection final : public Service::Connection {
 public:
  bool readable(Service& /*service*/, Service::Id /*id*/, int fd) noexcept override {
    TraceRequest request;
    ReceivedFds unwanted;
    const Status status = receive_message(fd, std::as_writable_bytes(std::span(&request, 1)), unwanted);
    if (status == Status::again) {
      return true;
    }
    if (status != Status::success || unwanted.count != 0 || request.protocol != trace_protocol || share_ ||
        !is_capacity(request.capacity)) {
      return false;
    }
    return answer(request.capacity, fd);
  }
  void ended(Service& /*service*/, Service::Id /*id*/) noexcept override {}

 private:
  static bool is_capacity(std::uint32_t value) noexcept {
    return std::has_single_bit(value) && value >= detail::trace::min_capacity && value <= detail::trace::max_capacity;
  }

  bool answer(std::uint32_t capacity, int fd) noexcept {
    TraceReply reply;
    try {
      share_ = detail::trace::Share(capacity);
    } catch (const std::exception& error) {
      log::engine(log::Level::info, "trace", error.what());
      reply.status = Status::no_memory;
    }
    const int file = share_.file();
    return send_message(fd, std::as_bytes(std::span(&reply, 1)), std::span(&file, share_ ? 1 : 0)) == Status::success;
  }

  detail::trace::Share share_;
};

class MemberListener final : public Service::Connection {
 public:
  explicit MemberListener(ListeningSocket socket) : lobby_("trace", [](int, Status) {}) {
    lobby_.add(std::move(socket));
  }

  detail::Fd events() const {
    detail::Fd copy = detail::Fd::duplicate_of(lobby_.fd());
    if (!copy) {
      throw Error(Status::operating_system, "no descriptor is left");
    }
    return copy;
  }
  bool readable(Service& service, Service::Id /*id*/, int /*fd*/) noexcept override {
    if (detail::Fd peer = lobby_.next()) {
      try {
        service.add(std::move(peer), std::make_unique<TracerConnection>());
      } catch (...) {  // out of memory, or of watches
        lobby_.dismiss(peer.get(), Status::no_memory);
      }
    }
    return true;
  }
  void ended(Service& /*service*/, Service::Id /*id*/) noexcept override {}
  void leave_to_parent() noexcept override { lobby_.leave_to_parent(); }

 private:
  Lobby lobby_;
};

/// The members, one for each fabric. A forked child is a member of none.
struct Members {
  std::mutex mutex;
  std::map<std::string, std::weak_ptr<Member>> by_fabric;
};

/// The first events of a process belong to a trace that runs already.
void wait_for_recording() {
  constexpr std::chrono::milliseconds patience(2000);
  constexpr std::chrono::microseconds pause(100);
  const auto end = std::chrono::steady_clock::now() + patience;
  while (!detail::trace::is_recording() && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(pause);
  }
}

std::shared_ptr<Member> find_or_make(const std::string& fabric) {
  auto& members = detail::PerProcess<Members>::instance();
  const std::lock_guard lock(members.mutex);
  std::erase_if(members.by_fabric, [](const auto& known) { return known.second.expired(); });
  if (const auto known = members.by_fabric.find(fabric); known != members.by_fabric.end()) {
    if (std::shared_ptr<Member> member = known->second.lock()) {
      return member;
    }
  }
  auto member = std::make_shared<Member>(fabric);
  members.by_fabric.insert_or_assign(fabric, member);
  return member;
}

}  // namespace

std::shared_ptr<Member> Member::of(const std::string& fabric) noexcept {
  try {
    return find_or_make(fabric);
  } catch (const std::exception& error) {
    log::engine(log::Level::info, "trace",
                [&] { return detail::concat("other processes cannot trace this one: ", error.what()); });
    return nullptr;
  }
}

Member::Member(const std::string& fabric) {
  const Key key = random_key();
  const std::string_view text(reinterpret_cast<const char*>(key.data()), key.size());
  auto listener =
      std::make_unique<MemberListener>(listen_at_new(fabric_address(fabric, member_purpose, text), Lobby::backlog));
  detail::Fd events = listener->events();
  {
    const Service::Lock lock = service_.lock();
    listener_ = service_.add(std::move(events), std::move(listener));
  }
  call_tracers(fabric);
}

Member::~Member() {
  if (service_.is_current()) {
    const Service::Lock lock = service_.lock();
    service_.remove(listener_);
  }
}

/// Tells the tracers that began before; they ask as they ask those that they have found. If that fails, the process is
/// still a member of later traces.
void Member::call_tracers(const std::string& fabric) {
  try {
    bool called = false;
    for (const Address& address : addresses_of(fabric, tracer_purpose)) {
      Status status = Status::success;
      if (detail::Fd tracer = connect_to(address, status)) {
        const Service::Lock lock = service_.lock();
        service_.add(std::move(tracer), std::make_unique<TracerConnection>());
        called = true;
      }
    }
    if (called) {
      wait_for_recording();
    }
  } catch (const std::exception& error) {
    log::engine(log::Level::info, "trace",
                [&] { return detail::concat("a trace that runs cannot have this process: ", error.what()); });
  }
}

}  // namespace pydoca::sim
