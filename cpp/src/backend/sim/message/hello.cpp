#include "backend/sim/message/hello.hpp"

#include <algorithm>

namespace pydoca::sim {
namespace {

constexpr std::uint32_t channel_magic = 0x68636370;

class HelloWriter {
 public:
  explicit HelloWriter(HelloFrame& frame) noexcept : frame_(frame) {}

  void number(std::uint32_t value) noexcept { bytes(&value, sizeof value); }
  void text(std::string_view value) noexcept {
    value = value.substr(0, max_hello_text);
    number(static_cast<std::uint32_t>(value.size()));
    bytes(value.data(), value.size());
  }
  std::span<const std::byte> written() const noexcept { return std::span(frame_).first(size_); }

 private:
  void bytes(const void* data, std::size_t size) noexcept {
    std::copy_n(static_cast<const std::byte*>(data), size, frame_.data() + size_);
    size_ += size;
  }

  HelloFrame& frame_;
  std::size_t size_ = 0;
};

static_assert(sizeof(HelloFrame) >= 8 * sizeof(std::uint32_t) + 3 * (sizeof(std::uint32_t) + max_hello_text));

/// After one field is missing, every later field counts as missing.
class HelloReader {
 public:
  explicit HelloReader(std::span<const std::byte> bytes) noexcept : rest_(bytes) {}

  std::uint32_t number() noexcept {
    std::uint32_t value = 0;
    const auto bytes = take(sizeof value);
    std::copy(bytes.begin(), bytes.end(), reinterpret_cast<std::byte*>(&value));
    return value;
  }
  std::string_view text() noexcept {
    const std::uint32_t size = number();
    const auto bytes = take(std::min<std::size_t>(size, max_hello_text + 1));
    sound_ = sound_ && size <= max_hello_text;
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  /// Whether every field was found and no byte is left.
  bool complete() const noexcept { return sound_ && rest_.empty(); }

 private:
  std::span<const std::byte> take(std::size_t size) noexcept {
    sound_ = sound_ && size <= rest_.size();
    if (!sound_) {
      return {};
    }
    const auto taken = rest_.first(size);
    rest_ = rest_.subspan(size);
    return taken;
  }

  std::span<const std::byte> rest_;
  bool sound_ = true;
};

void write_opening(HelloWriter& writer, const backend::ChannelOptions& options) noexcept {
  writer.number(channel_magic);
  writer.number(channel_version);
  writer.number(options.max_msg_size);
  writer.number(options.recv_queue_size);
}

Status read_opening(HelloReader& reader, backend::ChannelOptions& options) noexcept {
  if (reader.number() != channel_magic) {
    return Status::invalid_value;
  }
  if (reader.number() != channel_version) {
    return Status::unsupported_version;
  }
  options.max_msg_size = reader.number();
  options.recv_queue_size = reader.number();
  return options.max_msg_size != 0 && options.recv_queue_size != 0 ? Status::success : Status::invalid_value;
}

/// Only the statuses that an answer can have: again from a peer would make this side wait for ever.
Status known_answer(std::uint32_t number) noexcept {
  const auto status = static_cast<Status>(number);
  const bool known = number < status_count && status != Status::again && status != Status::connection_reset;
  return known ? status : Status::connection_aborted;
}

}  // namespace

std::span<const std::byte> encode(const Hello& hello, HelloFrame& frame) noexcept {
  HelloWriter writer(frame);
  write_opening(writer, hello.options);
  writer.text(hello.fabric);
  writer.text(hello.pci_addr);
  writer.text(hello.service);
  return writer.written();
}

std::span<const std::byte> encode(const Answer& answer, HelloFrame& frame) noexcept {
  HelloWriter writer(frame);
  write_opening(writer, answer.options);
  writer.number(static_cast<std::uint32_t>(answer.status));
  writer.text(answer.reason);
  return writer.written();
}

Status decode(std::span<const std::byte> bytes, Hello& hello) noexcept {
  HelloReader reader(bytes);
  const Status status = read_opening(reader, hello.options);
  if (status != Status::success) {
    return status;
  }
  hello.fabric = reader.text();
  hello.pci_addr = reader.text();
  hello.service = reader.text();
  return reader.complete() ? Status::success : Status::invalid_value;
}

Status decode(std::span<const std::byte> bytes, Answer& answer) noexcept {
  HelloReader reader(bytes);
  const Status status = read_opening(reader, answer.options);
  if (status != Status::success) {
    return status;
  }
  answer.status = known_answer(reader.number());
  answer.reason = reader.text();
  return reader.complete() ? Status::success : Status::invalid_value;
}

}  // namespace pydoca::sim
