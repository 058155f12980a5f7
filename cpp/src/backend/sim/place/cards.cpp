#include "pydoca/device_properties.hpp"
#include "pydoca/sim.hpp"
#include "pydoca/status.hpp"
#include "pydoca/types.hpp"

#include "backend/sim/place/gids.hpp"
#include "backend/sim/place/profile.hpp"
#include "detail/concat.hpp"

#include <array>
#include <charconv>
#include <optional>
#include <utility>

namespace pydoca::sim {

namespace {

constexpr std::uint32_t num_domains = 65536;
constexpr std::uint32_t functions_per_slot = 8;

[[noreturn]] void refuse(const Cards& cards, std::string_view why) {
  throw Error(Status::invalid_value, detail::concat("topology: cards \"", cards.name, "\" ", why));
}

/// A text with at most one place for the card's number: {}, or {:03} for at least three digits.
struct Pattern {
  std::string_view before;
  std::size_t digits = 0;
  std::string_view after;
  bool has_place = false;

  std::string of(std::uint32_t number) const {
    const std::string text = has_place ? std::to_string(number) : std::string();
    const std::string zeros(text.size() < digits ? digits - text.size() : 0, '0');
    return detail::concat(before, zeros, text, after);
  }
};

/// The digits that a format between the braces asks for: nothing, or :0N. Empty for anything else.
std::optional<std::size_t> digits_of(std::string_view format) {
  std::size_t digits = 0;
  if (format.empty()) {
    return digits;
  }
  if (!format.starts_with(":0")) {
    return std::nullopt;
  }
  const char* const end = format.data() + format.size();
  const auto [rest, error] = std::from_chars(format.data() + 2, end, digits);
  return error == std::errc() && rest == end && digits <= 9 ? std::optional(digits) : std::nullopt;
}

Pattern pattern_of(const Cards& cards, std::string_view key, std::string_view text) {
  const auto open = text.find('{');
  const auto close = text.find('}');
  if (open == std::string_view::npos && close == std::string_view::npos) {
    if (cards.count > 1) {
      refuse(cards, detail::concat("has the ", key, " \"", text, "\" for each of ", cards.count,
                                   "; put {} where the number of the card belongs"));
    }
    return {.before = text, .after = {}};
  }
  const auto digits = open < close && close != std::string_view::npos
                          ? digits_of(text.substr(open + 1, close - open - 1))
                          : std::nullopt;
  const std::string_view after = close == std::string_view::npos ? std::string_view() : text.substr(close + 1);
  if (!digits.has_value() || after.find_first_of("{}") != std::string_view::npos) {
    refuse(cards, detail::concat("has the ", key, " \"", text,
                                 "\"; the number of the card is {}, or {:03} for at least three digits, and "
                                 "stands there once"));
  }
  return {.before = text.substr(0, open), .digits = *digits, .after = after, .has_place = true};
}

void require_at_most(const Cards& cards, std::string_view key, std::uint32_t value, std::uint32_t least,
                     std::uint32_t most) {
  if (value < least || value > most) {
    refuse(cards, detail::concat("has ", key, " = ", value, ", which is not in ", least, "..", most));
  }
}

void check(const Cards& cards) {
  require_at_most(cards, "ports", cards.ports, 1, 2);
  require_at_most(cards, "vfs", cards.vfs, 0, 120);  // two ports' functions, as many as 30 slots of a bus hold
  require_at_most(cards, "sfs", cards.sfs, 0, 1000);
  require_at_most(cards, "count", cards.count, 1, num_domains);
  if (cards.first > num_domains - cards.count) {
    refuse(cards, detail::concat("has the numbers ", cards.first, "..", std::uint64_t{cards.first} + cards.count - 1,
                                 "; a card's number is its PCI domain, and 65535 is the last one"));
  }
}

/// What a process can make and look through within seconds.
constexpr std::uint64_t max_functions = std::uint64_t{1} << 16;

/// Makes the functions of one card after another.
class CardMaker {
 public:
  CardMaker(const Cards& cards, Topology& topology)
      : cards_(cards),
        topology_(topology),
        name_(pattern_of(cards, "name", cards.name)),
        serial_(pattern_of(cards, "serial", cards.serial)) {
    for (const Function& function : topology.functions) {
      ++(function.properties.side == Side::host ? host_ibdevs_ : dpu_ibdevs_);
    }
  }

  void add(std::uint32_t number) {
    number_ = number;
    vhca_id_ = 0;
    prefix_ = name_.of(number);
    if (!prefix_.empty()) {
      prefix_ += '-';
    }
    vuid_ = serial_.of(number);
    add_side(cards_.vfs, [this](std::uint32_t port, auto vf) { add_host(port, vf); });
    add_side(cards_.sfs, [this](std::uint32_t port, auto sf) { add_dpu(port, sf); });
  }

 private:
  /// The ports, then the functions that each of them carries.
  template <class Add>
  void add_side(std::uint32_t carried, const Add& add_function) {
    for (std::uint32_t port = 0; port < cards_.ports; ++port) {
      add_function(port, std::optional<std::uint32_t>());
    }
    for (std::uint32_t port = 0; port < cards_.ports; ++port) {
      for (std::uint32_t index = 0; index < carried; ++index) {
        add_function(port, std::optional(index));
      }
    }
  }

  /// The guide's slots: PFs in the first one of their bus, VFs behind them.
  static std::string address(std::uint32_t domain, std::string_view bus, std::uint32_t function) {
    const auto hex = [](std::uint32_t value, std::size_t digits) {
      std::string text(digits, '0');
      for (std::size_t i = digits; i-- > 0; value /= 16) {
        text[i] = "0123456789abcdef"[value % 16];
      }
      return text;
    };
    return detail::concat(hex(domain, 4), ':', bus, ':', hex(function / functions_per_slot, 2), '.',
                          function % functions_per_slot);
  }

  void add_host(std::uint32_t port, std::optional<std::uint32_t> vf) {
    Function function = cards_.host;
    DeviceProperties& properties = function.properties;
    const std::uint32_t slot = vf ? functions_per_slot + port * cards_.vfs + *vf : port;
    const std::string tail = vf ? detail::concat("vf", *vf) : std::string();
    properties.name = detail::concat(prefix_, "pf", port, tail);
    properties.pci_addr = address(number_, "0b", slot);
    properties.iface_name =
        detail::concat("enP", number_, "p11s", slot / functions_per_slot, 'f', slot % functions_per_slot);
    properties.ibdev_name = detail::concat("mlx5_", host_ibdevs_++);
    properties.vuid = detail::concat(vuid_, "S0D0F", port, vf ? detail::concat("VF", *vf + 1) : std::string());
    function.parent = detail::concat(prefix_, 'p', port);
    function.representor = detail::concat("hpf", port, tail);
    finish(std::move(function), Side::host, port, vf ? PciFuncType::vf : PciFuncType::pf);
  }

  void add_dpu(std::uint32_t port, std::optional<std::uint32_t> sf) {
    Function function = cards_.dpu;
    DeviceProperties& properties = function.properties;
    const std::string tail = sf ? detail::concat('s', *sf) : std::string();
    properties.name = detail::concat(prefix_, 'p', port, tail);
    properties.pci_addr = address(number_, "03", port);
    properties.iface_name = detail::concat("enP", number_, "p3s0f", port, tail);
    properties.ibdev_name = detail::concat("mlx5_", dpu_ibdevs_++);
    properties.vuid = detail::concat(vuid_, "ECS0D0F", port, sf ? detail::concat("SF", *sf) : std::string());
    properties.sf_index = sf;
    if (sf.has_value()) {
      function.parent = detail::concat(prefix_, 'p', port);
      function.representor = detail::concat("pf", port, "sf", *sf);
    }
    finish(std::move(function), Side::dpu, port, sf ? PciFuncType::sf : PciFuncType::pf);
  }

  void finish(Function&& function, Side side, std::uint32_t port, PciFuncType type) {
    DeviceProperties& properties = function.properties;
    const auto high = static_cast<std::uint8_t>(number_ / 256);
    const auto low = static_cast<std::uint8_t>(number_ % 256);
    const auto index = static_cast<std::uint8_t>(vhca_id_ % 256);
    properties.side = side;
    properties.func_type = type;
    properties.vhca_id = static_cast<std::uint16_t>(vhca_id_++);
    // Locally administered (02:...): no vendor has it. 50:44 is the guide's machine.
    properties.mac_addr = {0x02, 0x51, static_cast<std::uint8_t>(properties.vhca_id / 256), high, low, index};
    if (type == PciFuncType::pf) {
      properties.ipv4_addr = {10, high, low, static_cast<std::uint8_t>(1 + 2 * port + (side == Side::dpu ? 1 : 0))};
      properties.ipv6_addr = gids_of(properties).front();
    } else {
      Capabilities& can = properties.capabilities;
      can.rep_filter_all = can.rep_filter_net = can.rep_filter_emulated = false;
    }
    topology_.functions.push_back(std::move(function));
  }

  const Cards& cards_;
  Topology& topology_;
  const Pattern name_;
  const Pattern serial_;
  std::uint32_t number_ = 0;
  std::uint32_t vhca_id_ = 0;
  std::uint32_t host_ibdevs_ = 0;
  std::uint32_t dpu_ibdevs_ = 0;
  std::string prefix_;
  std::string vuid_;
};

Function usual_function(std::string_view profile, Side side) {
  Function function;
  function.properties.side = side;
  function.properties.profile = profile;
  function.properties.active_rate = profile_rate(profile);
  function.properties.capabilities = profile_capabilities(profile, side);
  return function;
}

}  // namespace

Cards::Cards(std::string_view profile)
    : host(usual_function(profile, Side::host)), dpu(usual_function(profile, Side::dpu)) {}

void add_cards(Topology& topology, const Cards& cards) {
  check(cards);
  const std::uint64_t functions = cards.count * std::uint64_t{cards.ports} * (2 + cards.vfs + cards.sfs);
  if (topology.functions.size() + functions > max_functions) {
    refuse(cards, detail::concat("makes ", functions, " functions; with the ", topology.functions.size(),
                                 " before them that is more than the ", max_functions, " that a topology may have"));
  }
  CardMaker maker(cards, topology);
  topology.functions.reserve(topology.functions.size() + functions);
  for (std::uint32_t number = cards.first; number < cards.first + cards.count; ++number) {
    maker.add(number);
  }
}

}  // namespace pydoca::sim
