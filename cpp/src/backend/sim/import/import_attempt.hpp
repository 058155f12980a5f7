#pragma once

#include "pydoca/backend/import.hpp"
#include "pydoca/status.hpp"

#include "backend/sim/memory/blob.hpp"
#include "backend/sim/memory/import_protocol.hpp"
#include "backend/sim/message/fd_message.hpp"
#include "detail/concat.hpp"
#include "detail/fd.hpp"

#include <optional>
#include <string>

namespace pydoca::sim {

template <class... Pieces>
[[noreturn]] void refuse_import(Status status, const Pieces&... why) {
  throw Error(status, detail::concat("import: ", why...));
}

/// The owner's reply to a request, with its files.
struct Granted {
  detail::Fd connection;
  ImportReply reply;
  ReceivedFds files;
};

/// One request to an export's owner, from the connection to the reply. No step waits.
class ImportAttempt {
 public:
  ImportAttempt(std::string fabric, const Blob& blob) : fabric_(std::move(fabric)), blob_(blob) {}

  /// Takes the steps that are possible now. success: take() gives the reply. again: more are possible once fd() is
  /// readable. Throws as import_region() does, except time_out.
  Status advance();
  /// -1: the owner's backlog is full. No event tells when it has room: advance() finds out.
  int fd() const noexcept { return granted_.connection.get(); }
  const Blob& blob() const noexcept { return blob_; }
  bool is_foreign() const noexcept { return granted_.reply.mapped == 0; }  ///< known after success
  Granted take() noexcept { return std::move(granted_); }

 private:
  Status connect();
  Status ask() noexcept;
  Status receive();

  const std::string fabric_;
  const Blob blob_;
  bool asked_ = false;
  Granted granted_;
};

/// All that the owner has to say to one import: for atomic operations on memory that cannot be mapped, it grants a
/// second connection.
class OwnerAnswer final : public backend::ImportAnswer {
 public:
  OwnerAnswer(const std::string& fabric, const Blob& blob) : fabric_(fabric), first_(fabric, blob) {}

  Status advance() override;
  const Blob& blob() const noexcept { return first_.blob(); }
  int fd() const noexcept override { return words_.has_value() ? words_->fd() : first_.fd(); }
  [[noreturn]] void give_up() const override;
  /// Advances until the answer is there, at most for owner_timeout, or until a signal comes. It also throws time_out
  /// and again.
  void wait();

  // Once, when it is there.
  Granted take() noexcept { return first_.take(); }
  /// None unless atomic operations need it.
  detail::Fd take_word_connection() noexcept;

 private:
  const std::string fabric_;
  ImportAttempt first_;
  std::optional<ImportAttempt> words_;
  bool first_is_there_ = false;
  bool is_there_ = false;
};

}  // namespace pydoca::sim
