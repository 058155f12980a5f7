#include "backend/sim/memory/exporter.hpp"

#include "backend/sim/fabric/fabric.hpp"
#include "backend/sim/fabric/lobby.hpp"
#include "backend/sim/fabric/process_end.hpp"
#include "backend/sim/memory/process.hpp"
#include "backend/sim/memory/word.hpp"
#include "detail/concat.hpp"
#include "detail/system_reason.hpp"
#include "detail/thread/crash_point.hpp"
#include "detail/thread/looks.hpp"
#include "detail/time/turn_point.hpp"

#include <algorithm>
#include <cerrno>
#include <string>
#include <string_view>
#include <sys/resource.h>
#include <sys/socket.h>

namespace pydoca::sim {

namespace {

/// An importer of good will is inside for one piece of a copy. A thread that shares its core runs it by yielding; at
/// worst, alone on a core, this takes some milliseconds.
constexpr int withdraw_looks = 4000;
constexpr int looks_per_process = 100;  ///< at revocation pages, for one at the process

bool is_read_only(Access access) noexcept {
  return !allows(access, Access::pci_read_write | Access::rdma_write | Access::rdma_atomic);
}

bool is_whole(const backend::MemoryRange& range) noexcept {
  return range.location.has_value() && range.len == range.location->memory->size();
}

/// Sets as much of the reason as fits.
void set_reason(ImportReply& reply, std::string_view reason) noexcept {
  reason.substr(0, reply.reason.size() - 1).copy(reply.reason.data(), reply.reason.size() - 1);
}

/// Why a request with the export's own number is refused; empty: it is not.
std::string objection_to(const ImportRequest& request, const Exporter::Terms& terms) {
  const auto type = static_cast<std::uint32_t>(terms.type);
  if (request.type != type) {
    return detail::concat("it exported ", name_of(terms.type), ", which the blob does not say");
  }
  if (request.function != terms.function) {
    return detail::concat("it was exported through ", std::string_view(terms.function.data(), terms.function.size()),
                          ", which the blob does not say");
  }
  return request.access != terms.access ? "it was exported with other permissions than the blob says" : "";
}

detail::Fd duplicate(int fd) {
  detail::Fd copy = detail::Fd::duplicate_of(fd);
  if (!copy) {
    throw Error(Status::operating_system, detail::concat("export memory: ", detail::system_reason(errno)));
  }
  return copy;
}

/// Tells an importer that there is no place for it.
void turn_away(int importer, Status why) noexcept {
  const ImportReply reply{.status = why};
  static_cast<void>(send_message(importer, std::as_bytes(std::span(&reply, 1)), {}));
}

}  // namespace

bool can_be_mapped(const backend::MemoryRange& range, Access access) noexcept {
  return is_whole(range) && is_read_only(access) == range.location->memory->is_sealed_against_writes();
}

/// An importer's connection: one request, and then nothing until it ends, or wake bytes, or atomic operations.
class Exporter::Importer final : public Service::Connection {
 public:
  explicit Importer(Exporter& exporter) noexcept : exporter_(exporter) {}

  bool readable(Service& /*service*/, Service::Id id, int fd) noexcept override {
    if (!answered_) {
      return take_request(id, fd);
    }
    return attachment_ != nullptr ? take_wake_byte(id, fd) : change_word(id, fd);
  }

  void ended(Service& /*service*/, Service::Id id) noexcept override { exporter_.forget(id); }

 private:
  bool take_request(Service::Id id, int fd) noexcept {
    ImportRequest request;
    ReceivedFds unwanted;
    const Status status = receive_message(fd, std::as_writable_bytes(std::span(&request, 1)), unwanted);
    if (status == Status::again) {
      return true;
    }
    if (status != Status::success || unwanted.count != 0 || request.protocol != import_protocol) {
      return false;
    }
    answered_ = true;
    detail::crash_point();
    return answer(request, id, fd);
  }

  /// The connection of a peer that breaks the protocol stays open while the peer may be inside: only its end shows that
  /// the peer is gone.
  bool change_word(Service::Id id, int fd) noexcept {
    WordChange change;
    ReceivedFds unwanted;
    const Status status = receive_message(fd, std::as_writable_bytes(std::span(&change, 1)), unwanted);
    if (status == Status::success && change.protocol == import_protocol) {
      const WordReply reply = exporter_.change_word(change, id);
      static_cast<void>(send_message(fd, std::as_bytes(std::span(&reply, 1)), {}));
    }
    return status != Status::connection_reset;
  }

  bool take_wake_byte(Service::Id id, int fd) noexcept {
    std::array<std::byte, 2> bytes{};
    const ssize_t size = ::recv(fd, bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (size < 0) {
      return errno == EAGAIN || errno == EINTR;
    }
    return size == 1 && bytes[0] == wake_byte && attachment_->hear(id);
  }

  bool answer(const ImportRequest& request, Service::Id id, int fd) noexcept {
    ReceivedFds files;
    ImportReply reply;
    try {
      reply = exporter_.grant(request, id, peer_pid(fd), files);
      attachment_ = reply.status == Status::success ? exporter_.attachment_of(request.slot) : nullptr;
    } catch (const Error& error) {
      reply.status = error.status();
      set_reason(reply, error.what());
    } catch (...) {
      reply.status = Status::no_memory;
    }
    detail::crash_point();
    std::array<int, max_message_fds> numbers{};
    std::ranges::transform(files.fds, numbers.begin(), &detail::Fd::get);
    return send_message(fd, std::as_bytes(std::span(&reply, 1)), std::span(numbers).first(files.count)) ==
           Status::success;
  }

  Exporter& exporter_;
  std::shared_ptr<Attachment> attachment_;  ///< keeps what it has imported
  bool answered_ = false;
};

class Exporter::Listener final : public Service::Connection {
 public:
  Listener(Exporter& exporter, ListeningSocket socket) : exporter_(exporter), lobby_("memory", &turn_away) {
    lobby_.add(std::move(socket));
  }

  detail::Fd events() const { return duplicate(lobby_.fd()); }

  bool readable(Service& service, Service::Id /*id*/, int /*fd*/) noexcept override {
    if (detail::Fd peer = lobby_.next()) {
      try {
        service.add(std::move(peer), std::make_unique<Importer>(exporter_));
      } catch (...) {  // out of memory, or of watches
        lobby_.dismiss(peer.get(), Status::no_memory);
      }
    }
    return true;
  }

  void ended(Service& /*service*/, Service::Id /*id*/) noexcept override {}
  void leave_to_parent() noexcept override { lobby_.leave_to_parent(); }

 private:
  Exporter& exporter_;
  Lobby lobby_;
};

Exporter& Exporter::instance() { return detail::PerProcess<Exporter>::instance(); }

const Key* Exporter::find_key(const std::string& fabric) const noexcept {
  const auto known = std::ranges::find(addresses_, fabric, &Address::fabric);
  return known != addresses_.end() ? &known->key : nullptr;
}

Key Exporter::listen(const std::string& fabric) {
  {
    const Service::Lock lock = service_.lock();
    if (const Key* const known = find_key(fabric)) {
      return *known;
    }
  }
  const Key key = random_key();
  const std::string_view text(reinterpret_cast<const char*>(key.data()), key.size());
  auto listener =
      std::make_unique<Listener>(*this, listen_at_new(fabric_address(fabric, "memory", text), Lobby::backlog));
  detail::Fd events = listener->events();
  const Service::Lock lock = service_.lock();
  if (const Key* const known = find_key(fabric)) {
    return *known;  // another thread was faster
  }
  service_.add(std::move(events), std::move(listener));
  addresses_.push_back({fabric, key});
  return key;
}

std::uint32_t Exporter::free_slot() {
  const auto found =
      std::ranges::find_if(entries_, [](const Entry& entry) { return !entry.live && entry.grants.empty(); });
  const auto slot = static_cast<std::uint32_t>(found - entries_.begin());
  if (found == entries_.end()) {
    entries_.emplace_back();
  }
  return slot;
}

Exporter::Export Exporter::add(const Terms& terms, const backend::MemoryRange& range,
                               std::shared_ptr<Attachment> attachment) {
  if (is_read_only(terms.access) && is_whole(range)) {
    range.location->memory->seal(true);
  }
  const Key nonce = random_key();
  const Service::Lock lock = service_.lock();
  const std::uint32_t slot = free_slot();
  Entry& entry = entries_[slot];
  detail::crash_point();
  entry.live = true;
  entry.nonce = nonce;
  entry.terms = terms;
  entry.range = range;
  entry.attachment = std::move(attachment);
  return {.slot = slot, .epoch = entry.epoch, .nonce = nonce};
}

void Exporter::end(Entry& entry) noexcept {
  entry.live = false;
  entry.epoch += detail::is_planted(detail::Mistake::epoch_not_bumped) ? 0U : 1U;
  detail::crash_point();
  for (const Grant& grant : entry.grants) {
    (*grant.revocation_page)->close(RevocationPage::withdrawn);
  }
  if (entry.attachment != nullptr) {
    entry.attachment->withdrawn();
  }
}

/// Each import keeps a descriptor open here. No process may take more than half of them.
void Exporter::require_quota(pid_t importer) const {
  rlimit descriptors{};
  const std::size_t most = ::getrlimit(RLIMIT_NOFILE, &descriptors) == 0 ? descriptors.rlim_cur / 2 : 0;
  std::size_t imports = 0;
  for (const Entry& entry : entries_) {
    imports += static_cast<std::size_t>(std::ranges::count(entry.grants, importer, &Grant::importer));
  }
  if (imports >= most) {
    throw Error(Status::full, detail::concat("it gives one process ", most,
                                             " imports at most, half of its descriptors (ulimit -n); drop some"));
  }
}

void Exporter::revoke(const Grant& grant) noexcept {
  if (grant.foreign) {
    tracer_.disallow(grant.importer);
  }
}

/// Ends the connections of the importers that are outside. True when no importer is left; then the memory is free.
bool Exporter::retire(Entry& entry, bool looks_at_processes) noexcept {
  std::erase_if(entry.grants, [&](const Grant& grant) {
    // The end of a process is known here before the service hears of the end of its connection.
    const bool outside = (*grant.revocation_page)->is_empty() || (looks_at_processes && has_ended(grant.importer));
    if (outside) {
      revoke(grant);
      service_.remove(grant.connection);
    }
    return outside;
  });
  if (!entry.grants.empty()) {
    return false;
  }
  entry.range = {};
  entry.attachment.reset();
  return true;
}

Status Exporter::withdraw(const Export& what) noexcept {
  Service::Lock lock = service_.lock();
  if (entries_[what.slot].live && entries_[what.slot].epoch == what.epoch) {
    end(entries_[what.slot]);
  }
  detail::Looks looks(withdraw_looks);
  // When another export uses the slot, this one has ended.
  while (!entries_[what.slot].live && !retire(entries_[what.slot], looks.count() % looks_per_process == 0)) {
    lock.unlock();
    const bool more = looks.wait_for_next();  // an importer that leaves notifies nothing, which keeps leaving cheap
    lock.lock();
    if (!more) {
      return Status::again;
    }
  }
  return Status::success;
}

void Exporter::abandon(const Export& what) noexcept {
  const Service::Lock lock = service_.lock();
  Entry& entry = entries_[what.slot];
  if (entry.live && entry.epoch == what.epoch) {
    end(entry);
  }
  if (!entry.live) {
    retire(entry);
  }
}

ImportReply Exporter::judge(const ImportRequest& request) const {
  ImportReply reply;
  const bool known = request.slot < entries_.size();
  if (known && (!entries_[request.slot].live || request.epoch != entries_[request.slot].epoch)) {
    reply.status = Status::bad_state;
    reply.epoch = entries_[request.slot].epoch;
    return reply;
  }
  const std::string reason = !known || request.nonce != entries_[request.slot].nonce
                                 ? "it made no such export"
                                 : objection_to(request, entries_[request.slot].terms);
  if (!reason.empty()) {
    reply.status = Status::invalid_value;
    set_reason(reply, reason);
  }
  return reply;
}

ImportReply Exporter::grant(const ImportRequest& request, Service::Id connection, pid_t importer, ReceivedFds& files) {
  ImportReply reply = judge(request);
  if (reply.status != Status::success) {
    return reply;
  }
  require_quota(importer);
  Entry& entry = entries_[request.slot];
  const bool mapped = can_be_mapped(entry.range, entry.terms.access);
  ReceivedFds sent;
  Grant grant{.connection = connection,
              .revocation_page = SharedPage<RevocationPage>::create(sent.fds[0]),
              .importer = importer,
              .foreign = !mapped};
  sent.count = 1;
  if (mapped) {
    entry.range.location->memory->seal(false);
    sent.fds[sent.count++] = duplicate(entry.range.location->memory->fd());
  }
  entry.grants.reserve(entry.grants.size() + 1);
  if (!mapped && (reply.status = tracer_.allow(importer)) != Status::success) {
    return reply;
  }
  if (entry.attachment != nullptr) {
    for (detail::Fd& file : entry.attachment->admit(connection)) {
      sent.fds[sent.count++] = std::move(file);
    }
  }
  reply.mapped = mapped ? 1 : 0;
  reply.base = reinterpret_cast<std::uint64_t>(entry.range.addr);
  reply.length = entry.range.len;
  detail::crash_point();
  entry.grants.push_back(std::move(grant));
  files = std::move(sent);
  return reply;
}

WordReply Exporter::change_word(const WordChange& change, Service::Id connection) noexcept {
  const auto entry = std::ranges::find_if(entries_, [&](const Entry& candidate) {
    return candidate.live &&
           std::ranges::find(candidate.grants, connection, &Grant::connection) != candidate.grants.end();
  });
  WordReply reply{.status = Status::io_failed};
  if (entry == entries_.end() || !allows(entry->terms.access, Access::rdma_atomic) ||
      entry->range.len < sizeof reply.before) {
    return reply;
  }
  const std::uint64_t offset = change.addr - reinterpret_cast<std::uint64_t>(entry->range.addr);
  if (change.addr % sizeof reply.before == 0 && offset <= entry->range.len - sizeof reply.before) {
    auto& word = *reinterpret_cast<std::uint64_t*>(entry->range.addr + offset);
    reply.status = change_word_here(word, change, reply.before);
  }
  return reply;
}

void Exporter::tell_of_end(const Entry& entry, const Grant& grant) noexcept {
  using End = Attachment::End;
  if (entry.attachment != nullptr) {
    const End how = (*grant.revocation_page)->said_goodbye() ? End::left : End::died;
    entry.attachment->gone(grant.connection, (*grant.revocation_page)->said_hello() ? how : End::failed);
  }
}

void Exporter::forget(Service::Id connection) noexcept {
  for (Entry& entry : entries_) {
    std::erase_if(entry.grants, [&](const Grant& grant) {
      const bool gone = grant.connection == connection;
      if (gone) {
        revoke(grant);
        tell_of_end(entry, grant);
      }
      return gone;
    });
    if (!entry.live && entry.grants.empty()) {
      entry.range = {};
      entry.attachment.reset();
    }
  }
}

}  // namespace pydoca::sim
