#include "detail/trace/recording_format.hpp"
#include "detail/trace/recording_reader.hpp"
#include "fuzz/targets/sim_targets.hpp"

#include <cstdint>
#include <cstring>
#include <memory>
#include <ranges>
#include <string>

namespace pydoca::fuzz {

namespace {

namespace format = pydoca::detail::trace;

constexpr std::uint32_t capacity = format::min_capacity;
constexpr std::uint64_t end_of_time = 1'000'000;
constexpr std::uint32_t num_records = 20;

/// A recording of two threads, of which an input changes words. Every input starts with the same one.
class RecordingFile {
 public:
  RecordingFile() {
    auto& header = at<format::FileHeader>(0);
    header.ticks.store(static_cast<std::uint32_t>(format::Ticks::nanoseconds));
    header.capacity.store(capacity);
    header.num_names.store(3);
    header.num_rings.store(2);
    header.name.store(1);
    for (std::uint32_t name = 1; name < 3; ++name) {
      auto& entry = at<format::NameEntry>(format::names_at + name * sizeof(format::NameEntry));
      entry.kind.store(static_cast<std::uint16_t>(name + 2));
      entry.length.store(8);
      entry.parent.store(name - 1);
      entry.complete.store(1);
    }
    for (std::uint32_t ring = 0; ring < 2; ++ring) {
      at<format::RingHeader>(format::rings_at + ring * sizeof(format::RingHeader)).head.store(num_records);
      for (std::uint32_t number = 0; number < num_records; ++number) {
        write_record(ring, number);
      }
    }
    header.magic.store(format::file_magic);
  }

  /// The places where a change can make a difference.
  std::uint64_t& word(std::uint8_t part, std::uint32_t number) noexcept {
    switch (part % 4) {
      case 0:
        return at<std::uint64_t>(number % 6 * 8);
      case 1:
        return at<std::uint64_t>(format::names_at + number % 64 * 8);
      case 2:
        return at<std::uint64_t>(format::rings_at + number % 16 * 8);
      default:
        return at<std::uint64_t>(format::records_offset(number & 1U, capacity) + number / 2 % 128 * 8);
    }
  }
  std::span<const std::byte> bytes() const noexcept { return {memory_.get(), size}; }

 private:
  static constexpr std::size_t size = format::file_size(capacity);
  struct Free {
    void operator()(std::byte* memory) const noexcept { ::operator delete(memory, std::align_val_t{64}); }
  };

  template <class T>
  T& at(std::size_t offset) noexcept {
    return *reinterpret_cast<T*>(memory_.get() + offset);
  }
  void write_record(std::uint32_t ring, std::uint32_t number) {
    auto& record = at<format::Record>(format::records_offset(ring, capacity) + number * sizeof(format::Record));
    record.time.store(1000 + number);
    record.what.store(format::pack(static_cast<TraceEventKind>(1 + number % 10), 1, 0, 1));
  }
  static std::byte* zeros() {
    auto* const memory = static_cast<std::byte*>(::operator new(size, std::align_val_t{64}));
    std::memset(memory, 0, size);
    return memory;
  }

  const std::unique_ptr<std::byte, Free> memory_{zeros()};
};

void require_sound(const TraceProcess& process, const std::vector<TraceEvent>& events) {
  require(!process.names.empty() && process.threads.size() <= format::max_rings, "there are not too many threads");
  for (std::size_t i = 1; i < process.names.size(); ++i) {
    require(process.names[i].parent < i, "parents of names come before them");
    require(process.names[i].text.size() <= format::NameEntry::max_text, "a name is not too long");
  }
  for (const TraceEvent& event : events) {
    require(event.subject < process.names.size() && event.task < process.names.size(), "names of events exist");
    require(event.thread < process.threads.size(), "threads of events exist");
    require(event.time <= end_of_time, "events are within the trace");
    require(event.kind >= TraceEventKind::submit && event.kind <= TraceEventKind::await, "kinds are known");
  }
}

}  // namespace

void run_recording(std::span<const std::byte> input) {
  static RecordingFile file;
  std::vector<std::pair<std::uint64_t*, std::uint64_t>> before;
  for (Input parts(input); !parts.is_empty();) {
    const auto part = parts.number<std::uint8_t>();
    std::uint64_t& word = file.word(part, parts.number<std::uint16_t>());
    before.emplace_back(&word, word);
    word = parts.number<std::uint64_t>();
  }
  const format::Window window({.cycles = 0, .nanoseconds = 0}, {.cycles = end_of_time, .nanoseconds = end_of_time},
                              end_of_time);
  TraceProcess process;
  std::vector<TraceEvent> events;
  if (format::read_recording(file.bytes(), window, 0, 1000, process, events)) {
    require_sound(process, events);
    require(before.empty() ? events.size() == 2 * num_records : events.size() <= 1000, "all events are read");
  }
  for (const auto& [word, value] : std::views::reverse(before)) {
    *word = value;
  }
}

std::vector<Bytes> recording_seeds() {
  const auto change = [](std::uint8_t part, std::uint16_t number, std::uint64_t value) {
    Bytes bytes;
    for (const Bytes& piece : {bytes_of(part), bytes_of(number), bytes_of(value)}) {
      bytes.insert(bytes.end(), piece.begin(), piece.end());
    }
    return bytes;
  };
  return {Bytes{}, change(0, 2, UINT64_MAX), change(1, 17, UINT64_MAX), change(2, 0, UINT64_MAX), change(3, 6, 5)};
}

}  // namespace pydoca::fuzz
