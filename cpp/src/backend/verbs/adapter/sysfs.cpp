#include "backend/verbs/adapter/sysfs.hpp"

#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <ifaddrs.h>
#include <locale>
#include <memory>
#include <net/if_arp.h>
#include <netinet/in.h>
#include <sstream>

namespace pydoca::verbs {

namespace fs = std::filesystem;

namespace {

/// The first line, or nothing.
std::string read_line(const fs::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

template <class T, class... Base>
std::optional<T> to_number(const std::string& text, Base... base) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base...);
  return error == std::errc{} ? std::optional(value) : std::nullopt;
}

/// The socket address's bytes at offset, as an array.
template <class Bytes>
Bytes take(const sockaddr* address, std::size_t offset) noexcept {
  Bytes bytes{};
  std::memcpy(bytes.data(), reinterpret_cast<const char*>(address) + offset, bytes.size());
  return bytes;
}

}  // namespace

std::string Sysfs::read(const std::string& name) const { return read_line(fs::path(path_) / name); }

std::string Sysfs::pci_addr() const {
  std::error_code none;
  fs::path device = fs::canonical(fs::path(path_) / "device", none);
  // A subfunction is an auxiliary device below its parent.
  for (; device.has_relative_path(); device = device.parent_path()) {
    if (const auto address = parse_pci_addr(device.filename().string())) {
      return *address;
    }
  }
  return {};
}

PciFuncType Sysfs::func_type() const {
  std::error_code none;
  if (sf_index().has_value()) {
    return PciFuncType::sf;
  }
  return fs::exists(fs::path(path_) / "device/physfn", none) ? PciFuncType::vf : PciFuncType::pf;
}

std::optional<std::uint32_t> Sysfs::sf_index() const { return to_number<std::uint32_t>(read("device/sfnum")); }

std::string Sysfs::iface_name() const {
  std::string name = read_port("gid_attrs/ndevs/0");
  if (name.empty()) {
    std::error_code none;
    const fs::directory_iterator first(fs::path(path_) / "device/net", none);
    name = none || first == fs::directory_iterator() ? "" : first->path().filename().string();
  }
  return name;
}

std::uint64_t Sysfs::rate() const {
  std::istringstream text(read_port("rate"));  // "2.5 Gb/sec (1X SDR)"
  text.imbue(std::locale::classic());
  double gigabits = 0.0;
  text >> gigabits;
  return static_cast<std::uint64_t>(gigabits * 1e9);
}

std::string Sysfs::model() const {
  std::string model = read("hca_type");
  if (model.empty()) {
    model = read("receive_queue_id");
  }
  return model.empty() && pci_addr().empty() ? "software" : model;
}

bool Sysfs::is_roce_v2(unsigned gid_index) const {
  return read_port("gid_attrs/types/" + std::to_string(gid_index)) == "RoCE v2";
}

std::optional<std::array<std::uint8_t, 6>> mac_addr_of(const std::string& iface) {
  const fs::path path = fs::path("/sys/class/net") / iface;
  const std::string text = read_line(path / "address");  // "02:00:00:00:00:01"
  std::array<std::uint8_t, 6> mac{};
  if (iface.empty() || to_number<int>(read_line(path / "type")) != ARPHRD_ETHER || text.size() != 17) {
    return std::nullopt;
  }
  for (std::size_t i = 0; i < mac.size(); ++i) {
    mac[i] = to_number<std::uint8_t>(text.substr(3 * i, 2), 16).value_or(0);
  }
  return mac;
}

IpAddresses ip_addresses_of(const std::string& iface) {
  IpAddresses found;
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) {
    return found;
  }
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner(list, &::freeifaddrs);
  for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
    if (entry->ifa_addr == nullptr || iface != entry->ifa_name) {
      continue;
    }
    if (entry->ifa_addr->sa_family == AF_INET && !found.ipv4) {
      found.ipv4 = take<std::array<std::uint8_t, 4>>(entry->ifa_addr, offsetof(sockaddr_in, sin_addr));
    } else if (entry->ifa_addr->sa_family == AF_INET6 && !found.ipv6) {
      found.ipv6 = take<std::array<std::uint8_t, 16>>(entry->ifa_addr, offsetof(sockaddr_in6, sin6_addr));
    }
  }
  return found;
}

}  // namespace pydoca::verbs
