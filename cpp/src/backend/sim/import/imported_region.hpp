#pragma once

#include "pydoca/status.hpp"

#include "backend/sim/fabric/service.hpp"
#include "backend/sim/fabric/shared_page.hpp"
#include "backend/sim/import/word_channel.hpp"
#include "backend/sim/memory/region.hpp"
#include "detail/fd.hpp"

#include <functional>
#include <memory>
#include <string_view>
#include <utility>

namespace pydoca::sim {

/// Called by the service's thread, under its lock, when the owner has withdrawn what was imported or has died.
using OwnersEnd = std::function<void()>;

/// Another process's memory. Its revocation page closes when the owner withdraws it or dies.
class ImportedRegion final : public Region {
 public:
  ImportedRegion(std::uint64_t base, std::uint64_t length, bool writable,
                 std::shared_ptr<SharedPage<RevocationPage>> revocation_page);
  ~ImportedRegion() override;

  std::string_view lost() const noexcept override;
  /// Maps the owner's file, which is the memory. Throws not_permitted when it is not sealed or too short, no_memory.
  void map(int file);
  /// Makes it memory of a network peer, which only a queue pair reaches.
  void set_network(Access access, std::uint64_t origin) noexcept;
  /// Reaches into the owner's process.
  void set_owner(std::unique_ptr<const OwnerProcess> owner) noexcept { owner_ = std::move(owner); }
  /// connection: a second one, for the atomic operations on foreign memory, which the owner does. Throws
  /// operating_system.
  void open_word_channel(detail::Fd connection) {
    word_channel_ = std::make_unique<WordChannel>(std::move(connection));
  }
  /// Null: the owner does no atomic operations on it.
  WordChannel* word_channel() const noexcept { return word_channel_.get(); }
  /// Keeps the connection and closes the revocation page when it ends; then calls owners_end, which must not throw.
  /// Throws operating_system.
  void watch(detail::Fd connection, OwnersEnd owners_end = {});
  /// Ends the import in order: no access through this region follows, and the owner knows that this process leaves.
  void leave() noexcept;

 private:
  std::shared_ptr<SharedPage<RevocationPage>> shared_revocation_page_;
  void* mapping_ = nullptr;
  std::size_t mapping_size_ = 0;
  std::unique_ptr<WordChannel> word_channel_;
  Service* service_ = nullptr;
  Service::Id connection_ = 0;
};

}  // namespace pydoca::sim
