#pragma once

#include "backend/sim/gate.hpp"
#include "detail/fd.hpp"

#include <memory>

namespace pydoca::sim {

/// A mapping of the page that the owner of an export shares with one importer.
class GatePage {
 public:
  /// A new page with an open gate; file receives its sealed memfd, for the importer. Throws operating_system.
  static std::unique_ptr<GatePage> create(detail::Fd& file);
  /// The page that an owner sent. Throws not_permitted when the file's size could change under us.
  static std::unique_ptr<GatePage> map(int file);

  ~GatePage();
  GatePage(const GatePage&) = delete;
  GatePage& operator=(const GatePage&) = delete;

  Gate& gate() const noexcept { return *gate_; }

 private:
  explicit GatePage(Gate* gate) noexcept : gate_(gate) {}

  Gate* gate_;
};

/// Throws not_permitted unless file is a memfd that cannot shrink or grow, with at least size bytes.
void require_sealed(int file, std::uint64_t size);

}  // namespace pydoca::sim
