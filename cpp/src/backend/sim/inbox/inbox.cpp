#include "backend/sim/inbox/inbox.hpp"

#include "pydoca/status.hpp"

#include "backend/sim/import/importer.hpp"
#include "backend/sim/memory/process.hpp"

#include <atomic>
#include <bit>
#include <cstring>
#include <new>
#include <utility>

namespace pydoca::sim {

namespace {

/// The ring begins on a page of its own.
constexpr std::uint64_t ring_offset = 4096;
static_assert(sizeof(InboxPage) <= ring_offset);

class PeersFiles final : public Exporter::Attachment {
 public:
  PeersFiles(std::shared_ptr<Mailbox> mailbox, std::shared_ptr<ReceiveQueueFile> receive_queue, int socket,
             std::uint32_t number)
      : mailbox_(std::move(mailbox)),
        receive_queue_(std::move(receive_queue)),
        socket_(detail::Fd::duplicate_of(socket)),
        number_(number) {}
  std::vector<detail::Fd> admit(Service::Id /*importer*/) override {
    std::vector<detail::Fd> files;
    for (const int file : {receive_queue_->file(), socket_.get()}) {
      files.push_back(detail::Fd::duplicate_of(file));
      if (!files.back()) {
        throw Error(Status::operating_system, "rdma: out of file descriptors");
      }
    }
    return files;
  }
  void gone(Service::Id /*importer*/, End how) noexcept override {
    if (how != End::left) {
      mailbox_->notify(number_);
    }
  }
  void withdrawn() noexcept override {}
  bool hear(Service::Id /*importer*/) noexcept override { return false; }

 private:
  const std::shared_ptr<Mailbox> mailbox_;
  const std::shared_ptr<ReceiveQueueFile> receive_queue_;
  const detail::Fd socket_;
  const std::uint32_t number_;
};

std::uint64_t random_token() {
  std::uint64_t token = 0;
  const Key key = random_key();
  std::memcpy(&token, key.data(), sizeof token);
  return token | 1;
}

}  // namespace

Inbox::Inbox(const Place& place, const std::shared_ptr<Mailbox>& mailbox,
             std::shared_ptr<ReceiveQueueFile> receive_queue, std::uint32_t peer_number, Access permissions)
    : memory_(Memory::allocate(ring_offset + ring_size)),
      sockets_(create_wake_sockets()),
      attachment_(std::make_shared<PeersFiles>(mailbox, std::move(receive_queue), sockets_.second.get(), peer_number)),
      token_(random_token()),
      page_(new (memory_->data()) InboxPage),
      ring_(page_->ring, memory_->data() + ring_offset, ring_size),
      region_(place, {memory_->data(), memory_->size(), {{memory_, 0}}}, Access::local_read_write) {
  page_->token = token_;
  page_->ring_size = ring_size;
  page_->peer_number = peer_number;
  page_->permissions = permissions;
  mailbox->watch(socket());
}

std::vector<std::byte> Inbox::describe() {
  return region_.export_as(BlobType::queue_pair, Access::pci_read_write, attachment_);
}

PeerInbox::PeerInbox(ImportedInbox imported)
    : region_(std::move(imported.region)), origin_(imported.origin), revocation_page_(region_->revocation_page()) {
  receive_queue_ = std::make_unique<ReceiveQueueFile>(std::move(imported.files[0]));
  socket_ = std::move(imported.files[1]);
  require_wake_socket(socket_.get());
  const auto require = [](bool sound) {
    if (!sound) {
      throw Error(Status::not_permitted, "connect: what the peer sent is not an inbox");
    }
  };
  require(imported.size >= ring_offset && imported.addr % ring_offset == 0);
  page_ = std::launder(reinterpret_cast<InboxPage*>(region_->at(imported.addr)));
  const std::uint64_t ring_size = std::atomic_ref(page_->ring_size).load();  // once: the peer may change it
  number_ = std::atomic_ref(page_->peer_number).load();
  token_ = std::atomic_ref(page_->token).load();
  permissions_ = std::atomic_ref(page_->permissions).load();
  require(ring_size <= imported.size - ring_offset && ring_size >= MessageRing::alignment &&
          std::has_single_bit(ring_size) && number_ < max_peers);
  ring_ = {page_->ring, region_->at(imported.addr) + ring_offset, ring_size};
}

}  // namespace pydoca::sim
