#include "backend/sim/import/word_channel.hpp"

#include "backend/sim/message/fd_message.hpp"

#include <array>
#include <span>
#include <utility>

namespace pydoca::sim {

/// Guarded by the service's lock.
struct WordChannel::Questions {
  struct Question {
    Ticket ticket = 0;  ///< 0: the place is free
    Status status = Status::again;
    std::uint64_t before = 0;
    std::shared_ptr<Notified> asker;  ///< null: forgotten
    std::uint32_t number = 0;
  };

  Question& place_of(Ticket ticket) noexcept { return all[ticket % max_outstanding]; }
  /// The oldest question without an answer ends.
  void end_oldest(Status status, std::uint64_t before) noexcept {
    Question& question = place_of(next_answer++);
    if (const std::shared_ptr<Notified> asker = std::exchange(question.asker, nullptr)) {
      question.status = status;
      question.before = before;
      asker->notify(question.number);
    } else {
      question = {};
    }
  }

  std::array<Question, max_outstanding> all;
  Ticket next_question = 1;
  Ticket next_answer = 1;
  bool ended = false;
};

/// The owner's end of the connection, as the service sees it.
class WordChannel::Answers final : public Service::Connection {
 public:
  explicit Answers(std::shared_ptr<Questions> questions) noexcept : questions_(std::move(questions)) {}

  bool readable(Service& /*service*/, Service::Id /*id*/, int fd) noexcept override {
    WordReply reply;
    ReceivedFds unwanted;
    const Status status = receive_message(fd, std::as_writable_bytes(std::span(&reply, 1)), unwanted);
    if (status == Status::again) {
      return true;
    }
    const bool sound = status == Status::success && unwanted.count == 0 && reply.protocol == import_protocol &&
                       questions_->next_answer != questions_->next_question;
    if (sound) {
      questions_->end_oldest(reply.status == Status::success ? Status::success : Status::io_failed, reply.before);
    }
    return sound;
  }

  void ended(Service& /*service*/, Service::Id /*id*/) noexcept override {
    questions_->ended = true;
    while (questions_->next_answer != questions_->next_question) {
      questions_->end_oldest(Status::io_failed, 0);
    }
  }

 private:
  const std::shared_ptr<Questions> questions_;
};

WordChannel::WordChannel(detail::Fd connection)
    : service_(Service::instance()), socket_(connection.get()), questions_(std::make_shared<Questions>()) {
  const Service::Lock lock = service_.lock();
  connection_ = service_.add(std::move(connection), std::make_unique<Answers>(questions_));
}

WordChannel::~WordChannel() {
  if (service_.is_current()) {  // a forked child leaves its parent's connections alone
    const Service::Lock lock = service_.lock();
    service_.remove(connection_);
  }
}

WordChannel::Ticket WordChannel::ask(const WordChange& change, const std::shared_ptr<Notified>& asker,
                                     std::uint32_t number) noexcept {
  if (!service_.is_current()) {
    return 0;
  }
  const Service::Lock lock = service_.lock();
  const Ticket ticket = questions_->next_question;
  Questions::Question& question = questions_->place_of(ticket);
  // Once the connection has ended, its descriptor may be another's.
  if (questions_->ended || question.ticket != 0 ||
      send_message(socket_, std::as_bytes(std::span(&change, 1)), {}) != Status::success) {
    return 0;
  }
  question = {.ticket = ticket, .asker = asker, .number = number};
  ++questions_->next_question;
  return ticket;
}

Status WordChannel::answer(Ticket ticket, std::uint64_t& before) noexcept {
  if (!service_.is_current()) {
    return Status::io_failed;
  }
  const Service::Lock lock = service_.lock();
  Questions::Question& question = questions_->place_of(ticket);
  const Status status = question.ticket == ticket ? question.status : Status::io_failed;
  if (status != Status::again && question.ticket == ticket) {
    before = question.before;
    question = {};
  }
  return status;
}

void WordChannel::forget(Ticket ticket) noexcept {
  if (!service_.is_current()) {
    return;
  }
  const Service::Lock lock = service_.lock();
  Questions::Question& question = questions_->place_of(ticket);
  if (question.ticket != ticket) {
    return;
  }
  if (question.status == Status::again) {
    question.asker = nullptr;  // keeps its place until its answer comes
  } else {
    question = {};
  }
}

}  // namespace pydoca::sim
