#include "backend/sim/import/importer.hpp"

#include "pydoca/device_properties.hpp"

#include "backend/sim/fabric/fabric.hpp"
#include "backend/sim/memory/process.hpp"
#include "detail/concat.hpp"
#include "detail/system_reason.hpp"

#include <cerrno>
#include <string_view>
#include <unistd.h>

namespace pydoca::sim {

namespace {

std::string_view pci_addr_of(const Blob& blob) noexcept { return {blob.pci_addr.data(), blob.pci_addr.size()}; }

Blob read(std::span<const std::byte> bytes, BlobType type) {
  Blob blob;
  switch (parse(bytes, blob)) {
    case Status::success:
      if (blob.type != type) {
        refuse_import(Status::invalid_value, "the blob is of ", name_of(blob.type), ", and ", name_of(type),
                      " is expected");
      }
      return blob;
    case Status::unsupported_version:
      refuse_import(Status::unsupported_version,
                    "the blob is of another version of pydoca; use the same one on both sides");
    default:
      refuse_import(Status::invalid_value, "these ", bytes.size(), " bytes are not an export of pydoca (", blob_size,
                    " bytes), or were damaged on the way");
  }
}

void require_same_place(const Place& place, const Blob& blob) {
  if (blob.boot_id != boot_id()) {
    refuse_import(Status::not_connected, "the blob was made on another machine, or before this one booted");
  }
  if (blob.owner_uid != ::geteuid()) {
    refuse_import(Status::not_permitted, "the memory belongs to user ", blob.owner_uid, ", and this is user ",
                  ::geteuid());
  }
  if (blob.fabric_hash != fabric_hash(place.fabric())) {
    refuse_import(Status::not_permitted, "the blob is of another fabric than \"", place.fabric(),
                  "\"; set PYDOCA_FABRIC to the same name on both sides");
  }
}

void require_parent(const Place& place, const Blob& blob) {
  const std::string_view address = pci_addr_of(blob);
  const auto exporter = host_function_at(address);
  if (!exporter.has_value()) {
    refuse_import(Status::not_permitted, "it was exported through ", address,
                  ", which is not a host function of this topology");
  }
  if (exporter->parent != place.properties().name) {
    refuse_import(Status::not_permitted, "it was exported through ", exporter->properties.name, " (", address,
                  "), which ", exporter->parent.empty() ? "no device" : exporter->parent, " can reach and ",
                  place.properties().name, " cannot");
  }
}

/// The blob comes from the other side of the PCIe link, whichever side this is.
void require_link(const Place& place, const Blob& blob) {
  if (place.properties().side == Side::dpu) {
    require_parent(place, blob);
  } else if (address_of(place.parent()) != pci_addr_of(blob)) {
    refuse_import(Status::not_permitted, "it was exported through ", pci_addr_of(blob), ", and ",
                  place.properties().name,
                  place.parent().empty() ? " is linked to no function of the DPU" : " is linked to ", place.parent());
  }
}

std::unique_ptr<ImportedRegion> make_region(const Blob& blob, const Granted& granted) {
  const bool writable = allows(blob.access, Access::pci_read_write | Access::rdma_write | Access::rdma_atomic);
  std::shared_ptr<SharedPage<RevocationPage>> revocation_page =
      SharedPage<RevocationPage>::map(granted.files.fds[0].get());
  auto region = std::make_unique<ImportedRegion>(blob.base, blob.length, writable, std::move(revocation_page));
  if (granted.reply.mapped != 0) {
    region->map(granted.files.fds[1].get());
  } else {
    const int connection = granted.connection.get();
    region->set_owner(
        std::make_unique<OwnerProcess>(peer_pid(connection), blob.owner_start_time, connection, writable));
  }
  return region;
}

detail::Fd duplicate(const detail::Fd& file) {
  detail::Fd copy = detail::Fd::duplicate_of(file.get());
  if (!copy) {
    refuse_import(Status::operating_system, detail::system_reason(errno));
  }
  return copy;
}

void require_word(const Blob& blob) {
  if (blob.length != sizeof(std::uint64_t) || blob.access != Access::pci_read_write ||
      blob.base % sizeof(std::uint64_t) != 0) {
    refuse_import(Status::invalid_value,
                  "a sync event has 8 aligned bytes that can be written; the blob says otherwise (", blob.length,
                  " bytes)");
  }
}

/// What can be checked without the owner.
Blob read_importable(const Place& place, std::span<const std::byte> bytes, BlobType type) {
  const Blob blob = read(bytes, type);
  require_same_place(place, blob);
  if (type == BlobType::memory) {
    require_parent(place, blob);
  } else if (type == BlobType::pci_counter) {
    require_link(place, blob);
  }
  if (type == BlobType::pci_counter || type == BlobType::net_counter) {
    require_word(blob);
  }
  return blob;
}

/// asked: made by one of the functions that ask, or null.
std::shared_ptr<OwnerAnswer> asked_or_ask(const std::shared_ptr<backend::ImportAnswer>& asked, const Place& place,
                                          const Blob& blob) {
  return asked != nullptr ? std::static_pointer_cast<OwnerAnswer>(asked)
                          : std::make_shared<OwnerAnswer>(place.fabric(), blob);
}

std::shared_ptr<OwnerAnswer> complete(const std::shared_ptr<backend::ImportAnswer>& asked, const Place& place,
                                      const Blob& blob) {
  auto answer = asked_or_ask(asked, place, blob);
  answer->wait();
  return answer;
}

}  // namespace

std::shared_ptr<OwnerAnswer> ask_owner(const Place& place, std::span<const std::byte> blob, BlobType type) {
  return std::make_shared<OwnerAnswer>(place.fabric(), read_importable(place, blob, type));
}

backend::ImportedRegion import_region(const Place& place, std::span<const std::byte> bytes, BlobType type,
                                      const std::shared_ptr<backend::ImportAnswer>& gathered) {
  const Blob blob = read_importable(place, bytes, type);
  const auto answer = complete(gathered, place, blob);
  Granted granted = answer->take();
  std::unique_ptr<ImportedRegion> region = make_region(blob, granted);
  if (type == BlobType::net_memory) {
    region->set_network(blob.access, origin_of(blob));
    if (detail::Fd words = answer->take_word_connection()) {
      region->open_word_channel(std::move(words));
    }
  }
  region->watch(std::move(granted.connection));
  return {.region = std::move(region), .addr = blob.base, .len = blob.length, .access = blob.access};
}

ImportedCounterMemory import_counter_memory(const Place& place, std::span<const std::byte> bytes, BlobType type,
                                            const std::shared_ptr<backend::ImportAnswer>& answer,
                                            OwnersEnd owners_end) {
  const Blob blob = read_importable(place, bytes, type);
  Granted granted = complete(answer, place, blob)->take();
  auto& files = granted.files.fds;
  ImportedCounterMemory memory{.region = make_region(blob, granted),
                               .addr = blob.base,
                               .origin = origin_of(blob),
                               .files = {std::move(files[2]), std::move(files[3])},
                               .connection = duplicate(granted.connection)};
  memory.region->watch(std::move(granted.connection), std::move(owners_end));
  return memory;
}

std::shared_ptr<OwnerAnswer> ask_inbox_owner(const Place& place, std::span<const std::byte> bytes,
                                             const std::shared_ptr<backend::ImportAnswer>& asked) {
  const Blob blob = read(bytes, BlobType::queue_pair);
  require_same_place(place, blob);
  return asked_or_ask(asked, place, blob);
}

ImportedInbox import_inbox(OwnerAnswer& answer, OwnersEnd owners_end) {
  answer.wait();
  const Blob& blob = answer.blob();
  Granted granted = answer.take();
  auto& files = granted.files.fds;
  ImportedInbox inbox{.region = make_region(blob, granted),
                      .addr = blob.base,
                      .size = blob.length,
                      .origin = origin_of(blob),
                      .files = {std::move(files[2]), std::move(files[3])}};
  inbox.region->watch(std::move(granted.connection), std::move(owners_end));
  return inbox;
}

}  // namespace pydoca::sim
