#pragma once

#include "pydoca/status.hpp"

#include "backend/sim/fabric/notified.hpp"
#include "backend/sim/fabric/service.hpp"
#include "backend/sim/memory/import_protocol.hpp"
#include "detail/fd.hpp"

#include <cstdint>
#include <memory>

namespace pydoca::sim {

/// The atomic operations on one import of foreign memory, which the owner does: it answers them in order, over a
/// connection of their own. Nothing waits for an answer: the process's service takes it, and tells the connection that
/// asked. Any thread may use it.
class WordChannel {
 public:
  /// One operation; 0: none. It is the asker's until answer() gives its end, or forget().
  using Ticket = std::uint64_t;
  static constexpr std::size_t max_outstanding = 64;

  /// connection: to the owner, which has granted the import. Throws operating_system.
  explicit WordChannel(detail::Fd connection);
  ~WordChannel();
  WordChannel(const WordChannel&) = delete;
  WordChannel& operator=(const WordChannel&) = delete;

  /// Asks; asker is notified of number once there is an answer. 0: the owner is gone, or leaves max_outstanding
  /// operations without an answer.
  Ticket ask(const WordChange& change, const std::shared_ptr<Notified>& asker, std::uint32_t number) noexcept;
  /// again: there is no answer yet. io_failed: the owner refuses, or is gone.
  Status answer(Ticket ticket, std::uint64_t& before) noexcept;
  /// The asker does not wait any more.
  void forget(Ticket ticket) noexcept;

 private:
  struct Questions;
  class Answers;

  Service& service_;
  const int socket_;
  const std::shared_ptr<Questions> questions_;
  Service::Id connection_ = 0;
};

}  // namespace pydoca::sim
