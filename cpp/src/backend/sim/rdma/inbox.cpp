#include "backend/sim/rdma/inbox.hpp"

#include "pydoca/status.hpp"

#include "backend/sim/memory/importer.hpp"
#include "backend/sim/memory/process.hpp"

#include <bit>
#include <cstring>
#include <new>
#include <utility>

namespace pydoca::sim {

namespace {

/// The ring begins on a page of its own.
constexpr std::uint64_t ring_offset = 4096;
static_assert(sizeof(InboxPage) <= ring_offset);

class MailboxFiles final : public Exporter::Attachment {
 public:
  MailboxFiles(std::shared_ptr<Mailbox> mailbox, std::uint32_t number) noexcept
      : mailbox_(std::move(mailbox)), number_(number) {}
  std::vector<detail::Fd> admit(Service::Id /*importer*/) override {
    std::vector<detail::Fd> files;
    for (const int file : {mailbox_->file(), mailbox_->event_fd()}) {
      files.push_back(detail::Fd::duplicate_of(file));
      if (!files.back()) {
        throw Error(Status::operating_system, "rdma: out of file descriptors");
      }
    }
    return files;
  }
  void gone(Service::Id /*importer*/, End how) noexcept override {
    if (how != End::left) {
      mailbox_->tell_of_death(number_);
    }
  }
  void withdrawn() noexcept override {}

 private:
  const std::shared_ptr<Mailbox> mailbox_;
  const std::uint32_t number_;
};

std::uint64_t random_token() {
  std::uint64_t token = 0;
  const Key key = random_key();
  std::memcpy(&token, key.data(), sizeof token);
  return token | 1;
}

}  // namespace

Inbox::Inbox(const Place& place, std::shared_ptr<Mailbox> mailbox, std::uint32_t peer_number, Access permissions)
    : memory_(Memory::allocate(ring_offset + ring_size)),
      attachment_(std::make_shared<MailboxFiles>(std::move(mailbox), peer_number)),
      page_(new (memory_->data()) InboxPage),
      ring_(page_->ring, memory_->data() + ring_offset, ring_size),
      region_(place, {memory_->data(), memory_->size(), {{memory_, 0}}}, Access::local_read_write) {
  page_->token = random_token();
  page_->ring_size = ring_size;
  page_->peer_number = peer_number;
  page_->permissions = permissions;
}

std::vector<std::byte> Inbox::describe() {
  return region_.export_as(BlobType::queue_pair, Access::pci_read_write, attachment_);
}

PeerInbox::PeerInbox(const Place& place, std::span<const std::byte> blob, detail::Fd wakes) {
  ImportedInbox imported = import_inbox(place, blob, std::move(wakes));
  region_ = std::move(imported.region);
  origin_ = imported.origin;
  gate_ = region_->gate();
  mailbox_ = std::make_unique<Mailbox>(std::move(imported.files[0]), std::move(imported.files[1]));
  const auto require = [](bool sound) {
    if (!sound) {
      throw Error(Status::not_permitted, "connect: what the peer sent is not an inbox");
    }
  };
  require(imported.size >= ring_offset && imported.addr % ring_offset == 0);
  page_ = std::launder(reinterpret_cast<InboxPage*>(region_->at(imported.addr)));
  const std::uint64_t ring_size = page_->ring_size;
  number_ = page_->peer_number;
  permissions_ = page_->permissions;
  require(ring_size <= imported.size - ring_offset && ring_size >= MessageRing::alignment &&
          std::has_single_bit(ring_size) && number_ < max_peers);
  ring_ = {page_->ring, region_->at(imported.addr) + ring_offset, ring_size};
}

}  // namespace pydoca::sim
