#include "pydoca/representor.hpp"

#include "detail/concat.hpp"

#include <algorithm>
#include <vector>

namespace pydoca {

namespace {

std::string describe(const std::vector<RepresentorProperties>& list) {
  std::string text;
  for (const RepresentorProperties& properties : list) {
    text += detail::concat(text.empty() ? "" : ", ", properties.name, " (", properties.pci_addr, ")");
  }
  return text.empty() ? "none" : text;
}

bool is_pci_addr_of(const RepresentorProperties& properties, std::string_view selector) {
  try {
    return canonical_pci_addr(selector) == properties.pci_addr;
  } catch (const Error&) {
    return false;  // a name then
  }
}

}  // namespace

std::shared_ptr<Representor> Device::open_representor(std::string_view selector) {
  const std::vector<RepresentorProperties> list = representors();
  std::vector<RepresentorProperties> found;
  std::ranges::copy_if(list, std::back_inserter(found), [&](const RepresentorProperties& properties) {
    return properties.name == selector || properties.iface_name == selector || is_pci_addr_of(properties, selector);
  });
  if (found.empty()) {
    throw Error(Status::not_found,
                detail::concat(info_.name(), " has no representor \"", selector, "\"; it has: ", describe(list)));
  }
  if (found.size() > 1) {
    throw Error(Status::invalid_value, detail::concat("\"", selector, "\" names ", found.size(), " representors of ",
                                                      info_.name(), ": ", describe(found), "; use a name"));
  }
  return std::make_shared<Representor>(shared_from_this(), found.front());
}

std::shared_ptr<Representor> Device::open_representor(const RepresentorProperties& properties) {
  const std::vector<RepresentorProperties> list = representors();
  const auto is_it = [&](const RepresentorProperties& own) {
    return own.name == properties.name && own.pci_addr == properties.pci_addr;
  };
  if (std::ranges::none_of(list, is_it)) {
    throw Error(Status::not_found, detail::concat(info_.name(), " has no representor ", properties.name, " (",
                                                  properties.pci_addr, "); it has: ", describe(list)));
  }
  return std::make_shared<Representor>(shared_from_this(), properties);
}

Representor::Representor(std::shared_ptr<Device> device, RepresentorProperties properties)
    : device_(std::move(device)), properties_(std::move(properties)) {}

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
