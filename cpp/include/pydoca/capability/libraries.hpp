#pragma once

#include "pydoca/capability/clock.hpp"
#include "pydoca/capability/comch.hpp"
#include "pydoca/capability/compress.hpp"
#include "pydoca/capability/dma.hpp"
#include "pydoca/capability/dpa.hpp"
#include "pydoca/capability/field.hpp"
#include "pydoca/capability/mmap_advise.hpp"
#include "pydoca/capability/rdma.hpp"
#include "pydoca/capability/sha.hpp"
#include "pydoca/capability/sync_event.hpp"

#include <optional>
#include <string>
#include <tuple>

#pragma GCC visibility push(default)

namespace pydoca {

/// Why a device lacks a library: the end of a sentence such as "pf0 is not suitable: ...". Empty: the backend has no
/// better reason than that the device lacks it.
struct LibraryRefusals {
  std::string dma;
  std::string sha;
  std::string compress;
  std::string sync_event;
  std::string mmap_advise;
  std::string clock;
  std::string dpa;  ///< also why sync events are not exported to it
};

/// What a device has of a library, as data. refusal and lack: why it lacks it, in its own words or in general; null
/// where more than the library's absence decides that.
template <class T, class Value>
struct LibraryField {
  constexpr LibraryField(const char* library, Value T::* place, const char* sentence,
                         std::string LibraryRefusals::* own_words = nullptr, const char* in_general = nullptr) noexcept
      : name(library), member(place), says(sentence), refusal(own_words), lack(in_general) {}

  const char* name;
  Value T::* member;
  const char* says;  ///< a sentence without its end
  std::string LibraryRefusals::* refusal;
  const char* lack;
};

/// What a device has of each library. A library that it lacks is an empty optional; queries on it throw not_supported.
struct LibraryCapabilities {
  std::optional<DmaCapabilities> dma;
  std::optional<ShaCapabilities> sha;
  std::optional<CompressCapabilities> compress;
  std::optional<ComchCapabilities> comch;
  std::optional<SyncEventCapabilities> sync_event;
  std::optional<RdmaCapabilities> rdma;
  std::optional<MmapAdviseCapabilities> mmap_advise;
  std::optional<ClockCapabilities> clock;
  std::optional<DpaCapabilities> dpa;

  static constexpr auto fields() noexcept {
    using T = LibraryCapabilities;
    using R = LibraryRefusals;
    return std::tuple{LibraryField{"dma", &T::dma, "The limits of its DMA engine", &R::dma, "it has no DMA engine"},
                      LibraryField{"sha", &T::sha, "The limits of its SHA engine", &R::sha, "it has no SHA engine"},
                      LibraryField{"compress", &T::compress, "The limits of its compression engine", &R::compress,
                                   "it has no compression engine"},
                      LibraryField{"comch", &T::comch, "The limits of its comch"},
                      LibraryField{"sync_event", &T::sync_event, "The limits of its sync events", &R::sync_event,
                                   "it has no sync events"},
                      LibraryField{"rdma", &T::rdma, "The limits of its RDMA"},
                      LibraryField{"mmap_advise", &T::mmap_advise, "The limits of the invalidation of its cache",
                                   &R::mmap_advise, "it invalidates no cache"},
                      LibraryField{"clock", &T::clock, "Its clocks", &R::clock, "it has no clock"},
                      LibraryField{"dpa", &T::dpa, "The limits of its DPA", &R::dpa, "it has no DPA"}};
  }
};

}  // namespace pydoca

#pragma GCC visibility pop
