#include "pydoca/representor.hpp"

#include "pydoca/backend/device.hpp"
#include "pydoca/device_properties.hpp"

#include "detail/concat.hpp"

#include <algorithm>
#include <span>
#include <string>
#include <vector>

namespace pydoca {

namespace {

/// The first of them, as there may be thousands.
std::string describe(std::span<const RepresentorProperties> list) {
  constexpr std::size_t most = 16;
  std::string text;
  for (const RepresentorProperties& properties : list.first(std::min(most, list.size()))) {
    text += detail::concat(text.empty() ? "" : ", ", properties.name, " (", properties.pci_addr, ")");
  }
  if (list.size() > most) {
    text += detail::concat(", and ", list.size() - most, " more");
  }
  return text.empty() ? "none" : text;
}

}  // namespace

std::shared_ptr<Representor> Device::open_representor(std::string_view selector) {
  require_open("open a representor");
  const auto address = parse_pci_addr(selector);
  const std::vector<RepresentorProperties> found =
      backend_->find_representors(address ? std::string_view(*address) : selector);
  if (found.empty()) {
    throw Error(Status::not_found, detail::concat(info_.name(), " has no representor \"", selector,
                                                  "\"; it has: ", describe(representors())));
  }
  if (found.size() > 1) {
    throw Error(Status::invalid_value, detail::concat("\"", selector, "\" names ", found.size(), " representors of ",
                                                      info_.name(), ": ", describe(found), "; use a name"));
  }
  return std::make_shared<Representor>(shared_from_this(), found.front());
}

std::shared_ptr<Representor> Device::open_representor(const RepresentorProperties& properties) {
  require_open("open a representor");
  const auto is_it = [&](const RepresentorProperties& own) {
    return own.name == properties.name && own.pci_addr == properties.pci_addr;
  };
  if (std::ranges::none_of(backend_->find_representors(properties.name), is_it)) {
    throw Error(Status::not_found, detail::concat(info_.name(), " has no representor ", properties.name, " (",
                                                  properties.pci_addr, "); it has: ", describe(representors())));
  }
  return std::make_shared<Representor>(shared_from_this(), properties);
}

Representor::Representor(std::shared_ptr<Device> device, RepresentorProperties properties)
    : device_(std::in_place, std::move(device), DeviceUser::representor), properties_(std::move(properties)) {}

void Representor::close() {
  if (!is_open()) {
    throw Error(Status::bad_state, detail::concat("close representor ", properties_.name, ": it is closed already"));
  }
  if (users_ != 0) {
    throw Error(Status::in_use, detail::concat("close representor ", properties_.name, ": ", users_.load(),
                                               " server(s) use it; close them first"));
  }
  device_.reset();
}

const std::shared_ptr<Device>& Representor::device() const {
  if (!is_open()) {
    throw Error(Status::bad_state, detail::concat("representor ", properties_.name, " is closed; open it again"));
  }
  return device_->shared();
}

bool Representor::is_equal_pci_addr(std::string_view address) const {
  return canonical_pci_addr(address) == properties_.pci_addr;
}

}  // namespace pydoca
