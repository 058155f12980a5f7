#pragma once

#include "pydoca/status.hpp"

#include "backend/sim/fabric/service.hpp"
#include "backend/sim/fabric/shared_page.hpp"
#include "backend/sim/memory/import_protocol.hpp"
#include "backend/sim/memory/region.hpp"
#include "detail/fd.hpp"

#include <functional>
#include <memory>
#include <string_view>
#include <utility>

namespace pydoca::sim {

/// Called by the service's thread, under its lock, when the owner has withdrawn what was imported or has died.
using OwnersEnd = std::function<void()>;

/// Another process's memory. Its gate closes when the owner withdraws it or dies.
class ImportedRegion final : public Region {
 public:
  ImportedRegion(std::uint64_t base, std::uint64_t length, bool writable, std::shared_ptr<SharedPage<Gate>> gate);
  ~ImportedRegion() override;

  std::string_view lost() const noexcept override;
  /// Maps the owner's file, which is the memory. Throws not_permitted when it is not sealed or too short, no_memory.
  void map(int file);
  /// Makes it memory of a network peer, which only a queue pair reaches.
  void set_network(Access access, std::uint64_t origin) noexcept;
  /// Reaches into the owner's process. Throws not_permitted when the system forbids it, not_connected.
  void set_owner(pid_t owner);
  /// Opens a second connection for the atomic operations of foreign memory, which the owner does.
  void set_word_channel(detail::Fd channel) noexcept { word_channel_ = std::move(channel); }
  /// io_failed: the owner refuses, is gone, or does not answer in time.
  Status ask_owner(const WordChange& change, std::uint64_t& before) const noexcept;
  /// Keeps the connection and closes the gate when it ends; then calls owners_end, which must not throw. Throws
  /// operating_system.
  void watch(detail::Fd connection, OwnersEnd owners_end = {});
  /// Ends the import in order: no access through this region follows, and the owner knows that this process leaves.
  void leave() noexcept;

 private:
  std::shared_ptr<SharedPage<Gate>> shared_gate_;
  void* mapping_ = nullptr;
  std::size_t mapping_size_ = 0;
  detail::Fd word_channel_;
  Service* service_ = nullptr;
  Service::Id connection_ = 0;
};

}  // namespace pydoca::sim
