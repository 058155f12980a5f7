#include "backend/sim/rdma/connection_manager.hpp"

#include "pydoca/device_properties.hpp"
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

/// A requester that finds the listener's backlog full tries again after this time; and an importer its owner's.
constexpr std::uint64_t retry_time_ns = 2'000'000;
/// The import of the peer's inbox may take this time.
constexpr auto import_time_ns = static_cast<std::uint64_t>(std::chrono::nanoseconds(owner_timeout).count());
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

/// -1: there is no import, or its owner has no room for it.
int import_fd(const Handshake& handshake) noexcept {
  return handshake.import() != nullptr ? handshake.import()->fd() : -1;
}

/// Whether the import of the peer's inbox has to be tried again.
bool waits_for_room(const Handshake& handshake) noexcept {
  return handshake.import() != nullptr && import_fd(handshake) < 0;
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

Address rdma_address(const std::string& fabric, const Gid& gid, std::uint16_t port) {
  const std::string_view raw(reinterpret_cast<const char*>(gid.data()), gid.size());
  return fabric_address(fabric, "rdma", concat(raw, '\0', port));
}

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

/// Lets go of the descriptor before another part of the process gets it.
void ConnectionManager::unwatch(int fd) noexcept { ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr); }

void ConnectionManager::watch_import(QueuePair& pair) {
  Handshake& handshake = *pair.handshake();
  handshake.set_deadline(std::min(handshake.deadline(), detail::now() + import_time_ns));
  if (handshake.import()->fd() >= 0) {
    watch(handshake.import()->fd());
  }
  set_timer();
}

void ConnectionManager::listen(std::uint16_t port) {
  const Place& place = shared_.place();
  if (lobby_ == nullptr) {
    lobby_ = std::make_unique<Lobby>("rdma", &turn_away, epoll_.get());
  }
  std::vector<ListeningSocket> sockets;
  for (const Gid& gid : place.capabilities().rdma->gids) {
    try {
      sockets.push_back(listen_at(rdma_address(place.fabric(), gid, port), Lobby::backlog));
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
                                               rdma_address(place.fabric(), gid_of(address), address.port), request);
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
  if (QueuePair* const pair = find_pair([fd](const Handshake& handshake) { return handshake.fd() == fd; })) {
    return serve_handshake(*pair, event);
  }
  if (QueuePair* const pair = find_pair([fd](const Handshake& handshake) { return import_fd(handshake) == fd; })) {
    return serve_import(*pair, event);
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

template <class Step>
Status ConnectionManager::attempt(Step step) noexcept {
  try {
    return step();
  } catch (const Error& error) {
    log::engine(log::Level::warning, "rdma", error.what());
    return error.status();
  } catch (const std::exception&) {
    return Status::no_memory;
  }
}

bool ConnectionManager::serve_handshake(QueuePair& pair, RdmaEvent& event) noexcept {
  HandshakeMessage message;
  Status status = pair.handshake()->receive(message);
  if (status == Status::success && pair.handshake()->role() == Handshake::Role::requester) {
    status = attempt([&] { return take_answer(pair, message); });
  }
  return status != Status::again && conclude(pair, status, event);
}

Status ConnectionManager::take_answer(QueuePair& pair, const HandshakeMessage& answer) {
  if (answer.status != Status::success) {
    if (answer.status != Status::connection_aborted) tell_turned_away(answer.status);
    return Status::connection_aborted;
  }
  pair.handshake()->keep_answer(answer);
  return pair.begin_import(answer.blob);
}

bool ConnectionManager::serve_import(QueuePair& pair, RdmaEvent& event) noexcept {
  const int fd = import_fd(*pair.handshake());
  const Status status = attempt([&] {
    const Status step = pair.continue_import();
    if (step == Status::again && fd < 0 && import_fd(*pair.handshake()) >= 0) {
      watch(import_fd(*pair.handshake()));
    }
    return step;
  });
  if (status == Status::again) {
    return false;
  }
  unwatch(fd);
  if (status == Status::success && pair.handshake()->role() == Handshake::Role::answerer) {
    pair.handshake()->set_deadline(detail::never);
    set_timer();
    return false;
  }
  return conclude(pair, status, event);
}

bool ConnectionManager::conclude(QueuePair& pair, Status status, RdmaEvent& event) noexcept {
  event.type = status == Status::success ? RdmaEvent::Type::established : RdmaEvent::Type::failed;
  event.status = status;
  event.queue_pair = &pair;
  if (pair.handshake()->role() == Handshake::Role::requester) {
    take_private_data(event, pair.handshake()->answer());
  }
  pair.set_handshake(nullptr);
  return true;
}

bool ConnectionManager::expire(RdmaEvent& event) noexcept {
  const bool concluded = fail_one(event) || retry_imports(event);
  set_timer();
  return concluded;
}

bool ConnectionManager::retry_imports(RdmaEvent& event) noexcept {
  bool concluded = false;
  shared_.for_each_pair([&](QueuePair& pair) {
    if (!concluded && pair.handshake() != nullptr && waits_for_room(*pair.handshake())) {
      concluded = serve_import(pair, event);
    }
  });
  return concluded;
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
  return conclude(*failed, status, event);
}

void ConnectionManager::set_timer() noexcept {
  std::uint64_t next = detail::never;
  static_cast<void>(find_pair([&next](const Handshake& handshake) {
    const std::uint64_t retry = detail::now() + retry_time_ns;
    const bool retries = !handshake.is_connected() || waits_for_room(handshake);
    next = std::min({next, handshake.deadline(), retries ? retry : next});
    return false;
  }));
  timer_.set(next);
}

}  // namespace pydoca::sim
