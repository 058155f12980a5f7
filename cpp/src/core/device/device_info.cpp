#include "pydoca/backend/device.hpp"
#include "pydoca/device.hpp"
#include "pydoca/device_properties.hpp"

#include "core/device/visible_backends.hpp"
#include "core/faults/environment.hpp"
#include "detail/concat.hpp"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <utility>

namespace pydoca {

namespace {

constexpr std::string_view name_of(Side side) noexcept { return side_names[static_cast<std::size_t>(side)]; }

std::optional<Side> visible_side() {
  const char* const text = std::getenv("PYDOCA_SIDE");
  if (text == nullptr || *text == '\0') {
    return std::nullopt;
  }
  for (const Side side : {Side::host, Side::dpu}) {
    if (name_of(side) == text) {
      return side;
    }
  }
  throw Error(Status::invalid_value,
              detail::concat("PYDOCA_SIDE is \"", text, "\"; set it to \"host\" or \"dpu\", or unset it"));
}

/// "0000:03:00.0", or that a virtual device has none.
std::string_view describe_pci_addr(const DeviceInfo& info) {
  return info.pci_addr().empty() ? "no PCI address" : std::string_view(info.pci_addr());
}

/// The first of them, as there may be thousands.
std::string describe(std::span<const DeviceInfo> infos) {
  constexpr std::size_t most = 16;
  std::string text;
  for (const DeviceInfo& info : infos.first(std::min(most, infos.size()))) {
    text += detail::concat(text.empty() ? "" : ", ", info.name(), " (", describe_pci_addr(info), ", ",
                           name_of(info.properties().side), ")");
  }
  if (infos.size() > most) {
    text += detail::concat(", and ", infos.size() - most, " more");
  }
  return text.empty() ? "none" : text;
}

bool is_visible(const DeviceProperties& properties, std::optional<Side> visible, std::optional<Side> wanted) noexcept {
  return properties.side == visible.value_or(properties.side) && properties.side == wanted.value_or(properties.side);
}

std::vector<DeviceInfo> devices_on(std::optional<Side> side) {
  std::vector<DeviceInfo> infos = devices();
  if (side.has_value()) {
    std::erase_if(infos, [&](const DeviceInfo& info) { return info.properties().side != *side; });
  }
  return infos;
}

std::string side_note(std::optional<Side> side) {
  std::string note = side.has_value() ? detail::concat(" on side ", name_of(*side)) : "";
  if (const auto visible = visible_side()) {
    note += detail::concat(" (PYDOCA_SIDE=", name_of(*visible), " limits the choice)");
  }
  return note;
}

/// An SF shares its parent's address, which names the parent when it is there.
void leave_out_sfs(std::vector<DeviceInfo>& found) {
  const auto is_sf = [](const DeviceInfo& info) { return info.properties().func_type == PciFuncType::sf; };
  if (!std::ranges::all_of(found, is_sf)) {
    std::erase_if(found, is_sf);
  }
}

std::vector<DeviceInfo> matches(std::string_view selector, std::optional<Side> side) {
  detail::load_fault_environment();
  const auto address = parse_pci_addr(selector);
  const std::optional<Side> visible = visible_side();
  std::vector<DeviceInfo> found;
  for (backend::Backend* const backend : detail::visible_backends()) {
    std::vector<backend::SharedProperties> listed = backend->find(address ? std::string_view(*address) : selector);
    backend::misreport(listed);
    for (backend::SharedProperties& properties : listed) {
      if (is_visible(*properties, visible, side)) {
        found.emplace_back(*backend, std::move(properties));
      }
    }
  }
  if (address.has_value()) {
    leave_out_sfs(found);
  }
  return found;
}

template <class T>
T value_or_throw(const std::optional<T>& value, Status status, const DeviceInfo& info, std::string_view what) {
  if (!value.has_value()) {
    throw Error(status, detail::concat(info.name(), " (", describe_pci_addr(info), ") has no ", what));
  }
  return *value;
}

}  // namespace

DeviceInfo::DeviceInfo(backend::Backend& backend, DeviceProperties properties)
    : backend_(&backend), properties_(std::make_shared<const DeviceProperties>(std::move(properties))) {}

const Capabilities& DeviceInfo::capabilities() const noexcept { return properties_->capabilities; }

const std::string& DeviceInfo::name() const noexcept { return properties_->name; }

const std::string& DeviceInfo::pci_addr() const noexcept { return properties_->pci_addr; }

bool DeviceInfo::is_equal_pci_addr(std::string_view address) const { return canonical_pci_addr(address) == pci_addr(); }

std::array<std::uint8_t, 6> DeviceInfo::mac_addr() const {
  return value_or_throw(properties_->mac_addr, Status::not_supported, *this, "MAC address: its port is InfiniBand");
}

std::array<std::uint8_t, 4> DeviceInfo::ipv4_addr() const {
  return value_or_throw(properties_->ipv4_addr, Status::not_found, *this, "IPv4 address");
}

std::array<std::uint8_t, 16> DeviceInfo::ipv6_addr() const {
  return value_or_throw(properties_->ipv6_addr, Status::not_found, *this, "IPv6 address");
}

std::uint16_t DeviceInfo::lid() const {
  return value_or_throw(properties_->lid, Status::not_supported, *this, "LID: its port is not InfiniBand");
}

std::uint32_t DeviceInfo::sf_index() const {
  return value_or_throw(properties_->sf_index, Status::not_supported, *this, "SF index: it is not an SF");
}

std::vector<DeviceInfo> devices() {
  detail::load_fault_environment();
  const std::optional<Side> side = visible_side();
  std::vector<DeviceInfo> infos;
  for (backend::Backend* const backend : detail::visible_backends()) {
    std::vector<backend::SharedProperties> listed = backend->list();
    backend::misreport(listed);
    for (backend::SharedProperties& properties : listed) {
      if (is_visible(*properties, side, std::nullopt)) {
        infos.emplace_back(*backend, std::move(properties));
      }
    }
  }
  if (infos.empty()) {
    throw Error(Status::not_found,
                detail::concat("there is no device", side_note(std::nullopt), detail::absent_note()));
  }
  return infos;
}

DeviceInfo find_device(std::string_view selector, std::optional<Side> side) {
  std::vector<DeviceInfo> found = matches(selector, side);
  if (found.empty()) {
    throw Error(Status::not_found, detail::concat("no device is called \"", selector, "\"", side_note(side),
                                                  "; there are: ", describe(devices_on(side))));
  }
  if (found.size() > 1) {
    throw Error(Status::invalid_value, detail::concat("\"", selector, "\" names ", found.size(), " devices: ",
                                                      describe(found), "; use a name, or say which side"));
  }
  return found.front();
}

DeviceInfo detail::find_device_if(bool (*accepts)(const void* by, const DeviceInfo& info), const void* by,
                                  std::optional<Side> side) {
  const std::vector<DeviceInfo> infos = devices_on(side);
  const auto found = std::ranges::find_if(infos, [&](const DeviceInfo& info) { return accepts(by, info); });
  if (found == infos.end()) {
    throw Error(Status::not_found, detail::concat("no device fits", side_note(side), "; there are: ", describe(infos)));
  }
  return *found;
}

}  // namespace pydoca
