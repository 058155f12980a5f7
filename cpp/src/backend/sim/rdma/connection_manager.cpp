#include "backend/sim/rdma/connection_manager.hpp"

#include "pydoca/log.hpp"
#include "pydoca/status.hpp"

#include "backend/sim/fabric/fabric.hpp"
#include "backend/sim/message/frame.hpp"
#include "backend/sim/place/gids.hpp"
#include "detail/concat.hpp"
#include "detail/system_reason.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <string>
#include <sys/epoll.h>
#include <utility>

namespace pydoca::sim {

namespace {

using backend::RdmaEvent;
using detail::concat;

/// A requester that finds the listener's backlog full tries again after this time.
constexpr std::uint64_t retry_time_ns = 2'000'000;
/// Events that one next_event() looks at: a storm of them must not keep the caller's thread.
constexpr int max_looks = 64;

/// One GID for an IPv4 address, whether it was given as IPv4 or as a mapped IPv6 address.
Gid gid_of(const backend::RdmaAddress& address) noexcept {
  if (address.type != RdmaAddressType::ipv4) {
    return address.raw;
  }
  return mapped_gid({address.raw[12], address.raw[13], address.raw[14], address.raw[15]});
}

bool is_mapped(const Gid& gid) noexcept { return gid == mapped_gid({gid[12], gid[13], gid[14], gid[15]}); }

/// A peer that is reached by IPv4 sees this side's IPv4 address, whichever GID the context uses.
const Gid& source_for(const backend::RdmaAddress& peer, const std::vector<Gid>& gids, std::uint32_t index) {
  const auto mapped = is_mapped(gid_of(peer)) ? std::ranges::find_if(gids, is_mapped) : gids.end();
  return mapped != gids.end() ? *mapped : gids.at(index);
}

backend::RdmaAddress address_from(const Gid& gid, std::uint32_t port) noexcept {
  backend::RdmaAddress address{.type = RdmaAddressType::ipv6, .raw = gid, .port = static_cast<std::uint16_t>(port)};
  if (is_mapped(gid)) {
    address.type = RdmaAddressType::ipv4;
    std::fill_n(address.raw.begin(), 12, std::uint8_t{0});
  }
  return address;
}

Address socket_address(const std::string& fabric, const Gid& gid, std::uint16_t port) {
  const std::string_view raw(reinterpret_cast<const char*>(gid.data()), gid.size());
  return fabric_address(fabric, "rdma", concat(raw, '\0', port));
}

/// Tells a requester that there is no place for it.
void turn_away(int requester, Status why) noexcept {
  const HandshakeMessage answer{.step = HandshakeMessage::Step::answer, .status = why};
  static_cast<void>(send_frame(requester, FrameType::handshake, std::as_bytes(std::span(&answer, 1))));
}

void tell_turned_away(Status why) noexcept {
  log::engine(log::Level::warning, "rdma",
              [why] { return concat("connect: a process listens, and ", turned_away_reason(why)); });
}

std::string absence(const std::string& fabric) {
  return concat("connect: no process listens there, in ", FabricDirectory(fabric).path(),
                "; if one does in another container, set PYDOCA_FABRIC_DIR to the same directory on both sides");
}

void take_private_data(RdmaEvent& event, const HandshakeMessage& message) noexcept {
  event.private_data = message.private_data;
  event.private_data_len = std::min<std::size_t>(message.private_data_len, event.private_data.size());
}

}  // namespace

ConnectionManager::ConnectionManager(RdmaShared& shared) : shared_(shared), epoll_(::epoll_create1(EPOLL_CLOEXEC)) {
  if (!epoll_ || !timer_) {
    throw Error(Status::operating_system, concat("rdma: cannot watch connections: ", detail::system_reason(errno)));
  }
  watch(timer_.fd());
}

ConnectionManager::~ConnectionManager() = default;

template <class Condition>
QueuePair* ConnectionManager::find_pair(Condition condition) const noexcept {
  QueuePair* found = nullptr;
  shared_.for_each_pair([&](QueuePair& pair) {
    if (found == nullptr && pair.handshake() != nullptr && condition(*pair.handshake())) {
      found = &pair;
    }
  });
  return found;
}

void ConnectionManager::watch(int fd) {
  epoll_event event{.events = EPOLLIN, .data = {.fd = fd}};
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0) {
    throw Error(Status::operating_system, concat("rdma: cannot watch a connection: ", detail::system_reason(errno)));
  }
}

void ConnectionManager::listen(std::uint16_t port) {
  const Place& place = shared_.place();
  if (lobby_ == nullptr) {
    lobby_ = std::make_unique<Lobby>("rdma", &turn_away, epoll_.get());
  }
  std::vector<ListeningSocket> sockets;
  for (const Gid& gid : place.capabilities().rdma->gids) {
    try {
      sockets.push_back(listen_at(socket_address(place.fabric(), gid, port), Lobby::backlog));
    } catch (const Error& error) {
      throw Error(error.status(), concat("listen to port ", port, " of ", place.properties().name, ": ",
                                         std::string_view(error.what())));
    }
  }
  try {
    for (ListeningSocket& socket : sockets) {
      listeners_[port].push_back(socket.fd.get());
      lobby_->add(std::move(socket));
    }
  } catch (...) {
    stop_listening(port);
    throw;
  }
}

void ConnectionManager::stop_listening(std::uint16_t port) noexcept {
  if (const auto known = listeners_.find(port); known != listeners_.end()) {
    for (const int listener : known->second) {
      lobby_->remove(listener);
    }
    listeners_.erase(known);
  }
  if (listeners_.empty()) {
    lobby_.reset();
  }
}

std::unique_ptr<QueuePair> ConnectionManager::connect_to(const backend::RdmaAddress& address,
                                                         std::span<const std::byte> private_data) {
  const Place& place = shared_.place();
  HandshakeMessage request = request_with(private_data);
  std::unique_ptr<QueuePair> pair = shared_.make_pair();
  std::ranges::copy(pair->describe(), request.blob.begin());
  request.from = source_for(address, place.capabilities().rdma->gids, shared_.options().gid_index);
  request.port = 0xc000 + pair->number();
  auto handshake = std::make_unique<Handshake>(num_handshakes_,
                                               socket_address(place.fabric(), gid_of(address), address.port), request);
  const std::chrono::nanoseconds timeout = shared_.options().connection_request_timeout;
  handshake->set_deadline(detail::now() + static_cast<std::uint64_t>(timeout.count()));
  const Status status = begin(*handshake);
  if (status == Status::not_found) {
    log::engine(log::Level::info, "rdma", [&] { return absence(place.fabric()); });
  }
  if (status == Status::success || status == Status::again) {
    pair->set_handshake(std::move(handshake));
    set_timer();
  } else {
    shared_.report(*pair, RdmaEvent::Type::failed, status);
  }
  return pair;
}

Status ConnectionManager::begin(Handshake& requester) noexcept {
  const Status status = requester.connect();
  try {
    if (requester.is_connected()) watch(requester.fd());
    return status;
  } catch (const Error& error) {
    log::engine(log::Level::error, "rdma", error.what());
    return error.status();
  } catch (const std::exception&) {
    return Status::no_memory;
  }
}

bool ConnectionManager::next_event(RdmaEvent& event) noexcept {
  event.private_data_len = 0;
  event.status = Status::success;
  for (int i = 0; i < max_looks && is_active(); ++i) {
    epoll_event ready{};
    if (::epoll_wait(epoll_.get(), &ready, 1, 0) != 1) {
      return false;
    }
    if (ready.data.fd == timer_.fd() ? expire(event) : serve(ready.data.fd, event)) {
      return true;
    }
  }
  return false;
}

bool ConnectionManager::serve(int fd, RdmaEvent& event) noexcept {
  QueuePair* const pair = find_pair([fd](const Handshake& handshake) { return handshake.fd() == fd; });
  if (pair != nullptr) {
    return serve_handshake(*pair, event);
  }
  return lobby_ != nullptr && serve_newcomer(lobby_->serve(fd), event);
}

bool ConnectionManager::serve_newcomer(detail::Fd socket, RdmaEvent& event) noexcept {
  HandshakeMessage request;
  return socket && receive_message(socket.get(), HandshakeMessage::Step::request, request) == Status::success &&
         take_request(std::move(socket), request, event);
}

bool ConnectionManager::take_request(detail::Fd socket, const HandshakeMessage& request, RdmaEvent& event) noexcept {
  auto handshake = std::unique_ptr<Handshake>();
  try {
    handshake = std::make_unique<Handshake>(num_handshakes_, std::move(socket));
    watch(handshake->fd());
    handshake->set_peer_blob(request.blob);
    std::unique_ptr<QueuePair> pair = shared_.make_pair();
    pair->set_handshake(std::move(handshake));
    event.incoming = std::move(pair);
  } catch (const std::exception& error) {
    log::engine(log::Level::warning, "rdma", error.what());
    return false;
  }
  event.type = RdmaEvent::Type::request;
  event.queue_pair = event.incoming.get();
  event.peer = address_from(request.from, request.port);
  take_private_data(event, request);
  return true;
}

bool ConnectionManager::serve_handshake(QueuePair& pair, RdmaEvent& event) noexcept {
  const bool requested = pair.handshake()->role() == Handshake::Role::requester;
  HandshakeMessage message;
  Status status = pair.handshake()->receive(message);
  if (status == Status::again) {
    return false;
  }
  if (status == Status::success && requested) {
    status = take_answer(pair, message);
    take_private_data(event, message);
  }
  event.type = status == Status::success ? RdmaEvent::Type::established : RdmaEvent::Type::failed;
  event.status = status;
  event.queue_pair = &pair;
  pair.set_handshake(nullptr);
  return true;
}

Status ConnectionManager::take_answer(QueuePair& pair, const HandshakeMessage& answer) noexcept {
  if (answer.status != Status::success) {
    if (answer.status != Status::connection_aborted) tell_turned_away(answer.status);
    return Status::connection_aborted;
  }
  try {
    pair.connect(answer.blob);
  } catch (const Error& error) {
    log::engine(log::Level::warning, "rdma", error.what());
    return error.status();
  } catch (const std::exception&) {
    return Status::no_memory;
  }
  return pair.handshake()->send({.step = HandshakeMessage::Step::ready});
}

bool ConnectionManager::expire(RdmaEvent& event) noexcept {
  const bool failed = fail_one(event);
  set_timer();
  return failed;
}

bool ConnectionManager::fail_one(RdmaEvent& event) noexcept {
  const std::uint64_t now = detail::now();
  Status status = Status::success;
  QueuePair* const failed = find_pair([&](Handshake& handshake) {
    if (handshake.deadline() <= now) {
      status = Status::time_out;
    } else if (!handshake.is_connected()) {
      status = begin(handshake);
    }
    return status != Status::success && status != Status::again;
  });
  if (failed == nullptr) {
    return false;
  }
  failed->set_handshake(nullptr);
  event.type = RdmaEvent::Type::failed;
  event.status = status;
  event.queue_pair = failed;
  return true;
}

void ConnectionManager::set_timer() noexcept {
  std::uint64_t next = detail::never;
  static_cast<void>(find_pair([&next](const Handshake& handshake) {
    const std::uint64_t retry = detail::now() + retry_time_ns;
    next = std::min({next, handshake.deadline(), handshake.is_connected() ? next : retry});
    return false;
  }));
  timer_.set(next);
}

}  // namespace pydoca::sim
