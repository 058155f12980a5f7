/// Everything that an owner can answer to each kind of import: the import is made, or fails with an error that says
/// why, and nothing is left of it.

#include "pydoca/backend/counter.hpp"
#include "pydoca/backend/device.hpp"
#include "pydoca/backend/memory.hpp"
#include "pydoca/import.hpp"
#include "pydoca/mmap.hpp"
#include "pydoca/sim.hpp"
#include "pydoca/sync_event.hpp"

#include "backend/sim/fabric/fabric.hpp"
#include "backend/sim/fabric/wakes.hpp"
#include "backend/sim/memory/blob.hpp"
#include "backend/sim/memory/import_protocol.hpp"
#include "backend/sim/message/fd_message.hpp"
#include "rig/expect_error.hpp"
#include "rig/process/descriptors.hpp"
#include "rig/process/owners_place.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <optional>
#include <string>
#include <sys/mman.h>
#include <sys/socket.h>
#include <tuple>
#include <unistd.h>
#include <vector>

namespace pydoca::owner_answers {
namespace {

enum class Kind : std::uint8_t { mapped, foreign, net, words, event };
constexpr std::array all_kinds{Kind::mapped, Kind::foreign, Kind::net, Kind::words, Kind::event};
constexpr std::array names_of_kinds{"Mapped", "Foreign", "Net", "Words", "Event"};

enum class Answer : std::uint8_t {
  good,
  wrong_protocol,
  short_message,
  long_message,
  nothing,
  end,
  silence,
  refusal,
  refusal_with_text,
  refusal_without_sense,  ///< a status that does not exist
  other_base,
  other_length,
  mapped_twice,
  other_reach,  ///< memory that is mapped, where it cannot be, and the other way round
  no_files,
  a_file_less,
  a_file_more,
  open_revocation_page,   ///< a file that could shrink
  short_revocation_page,  ///< a file without the page
  no_revocation_page,     ///< a socket
  open_memory,            ///< the second file
  short_memory,
  frozen_memory,  ///< sealed against writing
  no_memory,
  open_doorbell,  ///< the third, of an event
  no_wakes,       ///< the fourth
  twice,
};
constexpr std::array all_answers{Answer::good,
                                 Answer::wrong_protocol,
                                 Answer::short_message,
                                 Answer::long_message,
                                 Answer::nothing,
                                 Answer::end,
                                 Answer::silence,
                                 Answer::refusal,
                                 Answer::refusal_with_text,
                                 Answer::refusal_without_sense,
                                 Answer::other_base,
                                 Answer::other_length,
                                 Answer::mapped_twice,
                                 Answer::other_reach,
                                 Answer::no_files,
                                 Answer::a_file_less,
                                 Answer::a_file_more,
                                 Answer::open_revocation_page,
                                 Answer::short_revocation_page,
                                 Answer::no_revocation_page,
                                 Answer::open_memory,
                                 Answer::short_memory,
                                 Answer::frozen_memory,
                                 Answer::no_memory,
                                 Answer::open_doorbell,
                                 Answer::no_wakes,
                                 Answer::twice};

constexpr int sealed = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

detail::Fd make_file(int seals, off_t size = 4096) {
  detail::Fd file(::memfd_create("owner's", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  EXPECT_EQ(::ftruncate(file.get(), size), 0);
  EXPECT_EQ(::fcntl(file.get(), F_ADD_SEALS, seals), 0);
  return file;
}

detail::Fd make_socket() { return detail::Fd(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)); }

/// An export of that kind, whose importers find this test in the owner's place.
class Owner {
 public:
  Owner(const std::shared_ptr<Device>& host, Kind kind) : kind_(kind), memory_(Memory::allocate(size)) {
    if (kind == Kind::event) {
      event_ = host->backend().create_counter(nullptr);
      take_place_of(event_->export_to_remote_pci());
      return;
    }
    const bool is_foreign = kind == Kind::foreign || kind == Kind::words;
    std::byte* const start = is_foreign ? heap_.data() : memory_->data();
    const bool is_net = kind == Kind::net || kind == Kind::words;
    const Access access =
        is_net ? Access::rdma_read | Access::rdma_write | Access::rdma_atomic : Access::pci_read_write;
    region_ =
        host->backend().register_memory({start, size, find_memory(start, size)}, access | Access::local_read_write);
    take_place_of(is_net ? region_->export_rdma(access) : region_->export_pci(access));
  }

  const std::vector<std::byte>& blob() const noexcept { return bytes_; }

  /// The importer's next connection.
  void accept() {
    Status status = Status::success;
    importers_.push_back(sim::accept_peer(listener_.fd.get(), status));
    ASSERT_EQ(status, Status::success);
  }
  void answer(Answer what) {
    if (what == Answer::end) {
      importers_.back().reset();
    } else if (what != Answer::silence) {
      send(what);
      if (what == Answer::twice) send(what);
    }
  }

 private:
  static constexpr std::size_t size = 4096;

  void take_place_of(const std::vector<std::byte>& bytes) {
    ASSERT_EQ(sim::parse(bytes, blob_), Status::success);
    listener_ = take_place_of_owner(blob_);
    const auto encoded = sim::encode(blob_);
    bytes_.assign(encoded.begin(), encoded.end());
  }

  sim::ImportReply reply_of(Answer what) const {
    sim::ImportReply reply{.mapped = is_mapped(), .epoch = blob_.epoch, .base = blob_.base, .length = blob_.length};
    switch (what) {
      case Answer::wrong_protocol:
        ++reply.protocol;
        break;
      case Answer::refusal_with_text:
        std::strncpy(reply.reason.data(), "it \x1b[31m is\nbusy", reply.reason.size());
        [[fallthrough]];
      case Answer::refusal:
        reply.status = Status::driver;
        break;
      case Answer::refusal_without_sense:
        reply.status = static_cast<Status>(4711);
        break;
      case Answer::other_base:
        reply.base += size;
        break;
      case Answer::other_length:
        reply.length += size;
        break;
      case Answer::mapped_twice:
        reply.mapped = 2;
        break;
      case Answer::other_reach:
        reply.mapped = 1 - reply.mapped;
        break;
      default:
        break;
    }
    return reply;
  }
  std::uint32_t is_mapped() const noexcept { return kind_ == Kind::foreign || kind_ == Kind::words ? 0 : 1; }

  std::vector<detail::Fd> files_of(Answer what) const {
    std::vector<detail::Fd> files;
    files.push_back(what == Answer::open_revocation_page    ? make_file(0)
                    : what == Answer::short_revocation_page ? make_file(sealed, 0)
                    : what == Answer::no_revocation_page    ? make_socket()
                                                            : make_file(sealed));
    if (is_mapped() != 0) {
      files.push_back(what == Answer::open_memory     ? make_file(0)
                      : what == Answer::short_memory  ? make_file(sealed, 0)
                      : what == Answer::frozen_memory ? make_file(sealed | F_SEAL_WRITE)
                      : what == Answer::no_memory     ? make_socket()
                                                      : make_file(sealed));
    }
    if (kind_ == Kind::event) {
      files.push_back(make_file(what == Answer::open_doorbell ? 0 : sealed));
      files.push_back(what == Answer::no_wakes ? make_file(sealed) : sim::create_wake_sockets().first);
    }
    if (what == Answer::no_files) files.clear();
    if (what == Answer::a_file_less) files.pop_back();
    if (what == Answer::a_file_more) files.push_back(make_socket());
    return files;
  }

  void send(Answer what) const {
    std::array<std::byte, sizeof(sim::ImportReply) + 1> bytes{};
    const sim::ImportReply reply = reply_of(what);
    std::memcpy(bytes.data(), &reply, sizeof reply);
    const std::size_t length = what == Answer::nothing         ? 0
                               : what == Answer::short_message ? sizeof reply - 1
                               : what == Answer::long_message  ? sizeof reply + 1
                                                               : sizeof reply;
    std::vector<int> numbers;
    const std::vector<detail::Fd> files = files_of(what);
    for (const detail::Fd& file : files) numbers.push_back(file.get());
    ASSERT_EQ(sim::send_message(importers_.back().get(), std::span(bytes).first(length), numbers), Status::success);
  }

  const Kind kind_;
  const std::shared_ptr<Memory> memory_;
  std::array<std::byte, size> heap_{};
  std::unique_ptr<backend::MemoryRegion> region_;
  std::unique_ptr<backend::Counter> event_;
  sim::Blob blob_;
  std::vector<std::byte> bytes_;
  sim::ListeningSocket listener_;
  std::vector<detail::Fd> importers_;
};

/// Whether the answer has a file of memory. An import of foreign memory reaches into a process that is there: the
/// answer has one file, and its memory is not sent.
bool has_memory_file(Kind kind) { return kind != Kind::foreign && kind != Kind::words; }

Status expected(Kind kind, Answer what) {
  switch (what) {
    case Answer::good:
    case Answer::twice:
      return Status::success;
    case Answer::silence:
      return Status::time_out;
    case Answer::refusal:
    case Answer::refusal_with_text:
      return Status::driver;
    case Answer::refusal_without_sense:
      return Status::unknown;
    case Answer::open_revocation_page:
    case Answer::short_revocation_page:
    case Answer::no_revocation_page:
      return kind == Kind::words ? Status::success
                                 : Status::not_permitted;  // it has a revocation page from its first answer
    case Answer::open_memory:
    case Answer::short_memory:
    case Answer::no_memory:
      return has_memory_file(kind) ? Status::not_permitted : Status::success;
    case Answer::open_doorbell:
    case Answer::no_wakes:
      return kind == Kind::event ? Status::not_permitted : Status::success;
    case Answer::frozen_memory:
      return has_memory_file(kind) ? Status::no_memory : Status::success;
    default:
      return Status::not_connected;
  }
}

class OwnerAnswers : public testing::TestWithParam<Kind> {
 protected:
  static std::string use_fabric() {
    std::string fabric = "test-" + std::to_string(::getpid());
    sim::set_fabric(fabric);
    return fabric;
  }

  template <class Object>
  Status import_with(const std::shared_ptr<Device>& card, Owner& owner, Answer what, std::string& reason) {
    constexpr std::chrono::milliseconds patience{20};
    const auto import = Import<Object>::begin(
        engine_, card, owner.blob(),
        what == Answer::silence ? std::chrono::nanoseconds(patience) : PendingImport::default_limit);
    owner.accept();
    if (GetParam() == Kind::words) {  // the second question is the one that is answered so
      owner.answer(Answer::good);
      progress_until([&] { return import->is_over() || has_asked_again(owner); });
    }
    owner.answer(what);
    progress_until([&] { return import->is_over(); });
    try {
      static_cast<void>(import->take());
      return Status::success;
    } catch (const Error& error) {
      reason = error.what();
      return error.status();
    }
  }
  void try_answer(Answer what) {
    asked_again_ = false;
    Owner owner(host_, GetParam());
    ASSERT_FALSE(HasFatalFailure());
    std::string reason;
    const Status status = GetParam() == Kind::event ? import_with<SyncEvent>(card_, owner, what, reason)
                                                    : import_with<Mmap>(card_, owner, what, reason);
    EXPECT_EQ(status, expected(GetParam(), what)) << reason;
    EXPECT_EQ(reason.find_first_of("\n\x1b"), std::string::npos) << reason;
  }
  bool has_asked_again(Owner& owner) {
    if (asked_again_) return true;
    engine_->progress();
    owner.accept();
    return asked_again_ = true;
  }
  template <class Condition>
  void progress_until(Condition condition) {
    for (int i = 0; i < 10'000 && !condition(); ++i) {
      engine_->wait(1);
      engine_->progress();
    }
  }

  const std::string fabric_ = use_fabric();  // initialized before the devices
  std::shared_ptr<Device> host_ = Device::open(find_device("pf0", Side::host));
  std::shared_ptr<Device> card_ = Device::open(find_device("p0"));
  std::shared_ptr<ProgressEngine> engine_ = ProgressEngine::create();
  bool asked_again_ = false;
};

TEST_P(OwnerAnswers, MakeTheImportOrFailIt) {
  try_answer(Answer::good);  // opens what stays open, once
  for (const Answer what : all_answers) {
    SCOPED_TRACE(static_cast<int>(what));
    const std::size_t before = count_descriptors();
    try_answer(what);
    EXPECT_EQ(count_descriptors(), before);
  }
}

INSTANTIATE_TEST_SUITE_P(All, OwnerAnswers, testing::ValuesIn(all_kinds),
                         [](const auto& test) { return names_of_kinds.at(static_cast<std::size_t>(test.param)); });

}  // namespace
}  // namespace pydoca::owner_answers
