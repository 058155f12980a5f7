#include "detail/trace/recording_reader.hpp"

#include "detail/clock.hpp"
#include "detail/time/time.hpp"
#include "detail/trace/recording_format.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <map>
#include <utility>

namespace pydoca::detail::trace {

/// The best of a few tries: the closest in time to one another.
ClockPair ClockPair::now() noexcept {
  ClockPair best;
  std::uint64_t best_gap = UINT64_MAX;
  for (int attempt = 0; attempt < 16; ++attempt) {
    const std::uint64_t before = processor_cycles();
    const std::uint64_t nanoseconds = detail::now();
    const std::uint64_t gap = processor_cycles() - before;
    if (gap < best_gap) {
      best_gap = gap;
      best = {before + gap / 2, nanoseconds};
    }
  }
  return best;
}

Window::Window(const ClockPair& begin, const ClockPair& end, std::uint64_t end_ns) noexcept
    : begin_(begin.nanoseconds), end_(end_ns), first_cycles_(begin.cycles) {
  const std::uint64_t cycles = end.cycles - begin.cycles;
  rate_ = cycles != 0 ? static_cast<double>(end.nanoseconds - begin_) / static_cast<double>(cycles) : 0;
}

std::uint64_t Window::time_of(std::uint64_t cycles) const noexcept {
  if (cycles < first_cycles_) {
    return 0;  // that is before the window
  }
  const double since = static_cast<double>(cycles - first_cycles_) * rate_;
  return since < 1e18 ? begin_ + static_cast<std::uint64_t>(since) : UINT64_MAX;
}

std::uint64_t Window::duration_of(std::uint64_t cycles) const noexcept {
  return static_cast<std::uint64_t>(static_cast<double>(cycles) * rate_);
}

namespace {

/// Gives out views of a file's parts; the caller has checked the size.
template <class T>
const T& at(std::span<const std::byte> file, std::size_t offset) noexcept {
  return *reinterpret_cast<const T*>(file.data() + offset);
}

template <class T>
T load(const Atomic<T>& word) noexcept {
  return word.load(std::memory_order_relaxed);
}

constexpr bool is_span(TraceEventKind kind) noexcept {
  return kind == TraceEventKind::work || kind == TraceEventKind::event_wait || kind == TraceEventKind::await;
}
constexpr bool is_message(TraceEventKind kind) noexcept {
  return kind == TraceEventKind::sent || kind == TraceEventKind::received;
}

class Reader {
 public:
  Reader(std::span<const std::byte> file, const Window& window, std::uint16_t process, std::size_t most,
         TraceProcess& into, std::vector<TraceEvent>& events)
      : file_(file), window_(window), process_(process), most_(most), into_(into), events_(events) {}

  bool read() {
    if (file_.size() < file_size(min_capacity)) {
      return false;
    }
    const auto& header = at<FileHeader>(file_, 0);
    capacity_ = load(header.capacity);
    if (header.magic.load(std::memory_order_acquire) != file_magic || !std::has_single_bit(capacity_) ||
        capacity_ < min_capacity || capacity_ > max_capacity || file_.size() < file_size(capacity_)) {
      return false;
    }
    in_cycles_ = load(header.ticks) == static_cast<std::uint32_t>(Ticks::processor_cycles);
    into_.id = load(header.process);
    read_names(std::min(header.num_names.load(std::memory_order_acquire), max_names));
    const std::uint32_t name = load(header.name);
    into_.name = name < into_.names.size() ? into_.names[name].text : "";
    into_.lost += load(header.homeless);
    const std::uint32_t num_rings = std::min(header.num_rings.load(std::memory_order_acquire), max_rings);
    for (std::uint32_t ring = 0; ring < num_rings; ++ring) {
      read_ring(ring);
    }
    return true;
  }

 private:
  void read_names(std::uint32_t count) {
    into_.names.resize(std::max(count, 1U));
    for (std::uint32_t i = 1; i < count; ++i) {
      const auto& entry = at<NameEntry>(file_, names_at + i * sizeof(NameEntry));
      if (entry.complete.load(std::memory_order_acquire) != 1) {
        continue;
      }
      TraceName& name = into_.names[i];
      name.kind = static_cast<TraceNameKind>(std::min<std::uint16_t>(load(entry.kind), 6));
      const std::uint32_t parent = load(entry.parent);
      name.parent = parent < i ? parent : 0;  // parents come first, so a circle is not possible
      name.number = load(entry.number);
      std::array<std::uint64_t, NameEntry::max_text / 8> words{};
      std::ranges::transform(entry.text, words.begin(), [](const auto& word) { return load(word); });
      name.text.assign(reinterpret_cast<const char*>(words.data()),
                       std::min<std::size_t>(load(entry.length), NameEntry::max_text));
      if (name.kind == TraceNameKind::task) {
        tasks_.insert_or_assign({name.parent, name.number}, i);
      }
    }
  }

  void read_ring(std::uint32_t ring) {
    const auto& header = at<RingHeader>(file_, rings_at + ring * sizeof(RingHeader));
    const std::array<std::uint64_t, 2> name{load(header.name[0]), load(header.name[1])};
    const auto* const text = reinterpret_cast<const char*>(name.data());
    into_.threads.push_back({load(header.thread), std::string(text, ::strnlen(text, sizeof name))});
    const std::uint64_t head = header.head.load(std::memory_order_acquire);
    const std::uint64_t first = oldest_sure(head);
    const std::size_t before = events_.size();
    positions_.clear();
    for (std::uint64_t position = first; position < head; ++position) {
      take(at<Record>(file_, records_offset(ring, capacity_) + (position & (capacity_ - 1)) * sizeof(Record)),
           position);
    }
    into_.lost += first;
    drop_overwritten(header, before);
  }

  /// The first record that its thread, which has completed head records, is not overwriting now. Its stores of the
  /// next record may be seen before its count of the last one.
  std::uint64_t oldest_sure(std::uint64_t head) const noexcept {
    constexpr std::uint64_t unsure = 8;
    const std::uint64_t sure = capacity_ - unsure;
    return head > sure ? head - sure : 0;  // any head: a sum could overflow
  }

  /// The thread may have gone on since head was read.
  void drop_overwritten(const RingHeader& header, std::size_t before) {
    const std::uint64_t kept_from = oldest_sure(load(header.head));
    const auto dropped = std::ranges::lower_bound(positions_, kept_from) - positions_.begin();
    into_.lost += static_cast<std::uint64_t>(dropped);
    const auto begin = events_.begin() + static_cast<std::ptrdiff_t>(before);
    events_.erase(begin, begin + dropped);
  }

  void take(const Record& record, std::uint64_t position) {
    TraceEvent event;
    if (!read_event(record, event)) {
      return;
    }
    if (events_.size() >= most_) {
      ++into_.lost;
      return;
    }
    events_.push_back(event);
    positions_.push_back(position);
  }

  bool read_event(const Record& record, TraceEvent& event) const {
    // Acquired, so that the thread's count is read again after them.
    const std::uint64_t time = record.time.load(std::memory_order_acquire);
    const std::uint64_t value = record.value.load(std::memory_order_acquire);
    const std::uint64_t what = record.what.load(std::memory_order_acquire);
    const std::uint64_t id = record.id.load(std::memory_order_acquire);
    event.time = in_cycles_ ? window_.time_of(time) : time;
    event.kind = static_cast<TraceEventKind>(what & 0xffU);
    event.subject = static_cast<std::uint32_t>(what >> 32U);
    if (!window_.contains(event.time) || event.kind < TraceEventKind::submit || event.kind > TraceEventKind::await ||
        event.subject >= into_.names.size()) {
      return false;
    }
    event.id = id;
    event.process = process_;
    event.thread = static_cast<std::uint16_t>(into_.threads.size() - 1);
    const auto status = static_cast<std::uint32_t>((what >> 16U) & 0xffffU);
    event.status = status < status_count ? static_cast<Status>(status) : Status::unknown;
    give_value(event, value, static_cast<std::uint8_t>((what >> 8U) & 0xffU));
    return true;
  }

  void give_value(TraceEvent& event, std::uint64_t value, std::uint8_t detail) const {
    const std::uint64_t high = value >> 32U;
    const auto low = static_cast<std::uint32_t>(value);
    if (is_span(event.kind)) {
      event.duration = in_cycles_ ? window_.duration_of(high) : high;
      event.bytes = low;
    } else if (is_message(event.kind)) {
      event.value = high;
      event.bytes = low;
    } else {
      event.value = event.kind == TraceEventKind::state ? value & 3U : value;
    }
    if (event.kind == TraceEventKind::state) {
      event.previous = detail & 3U;
    } else if (const auto found = tasks_.find({event.subject, detail});
               found != tasks_.end() && event.kind <= TraceEventKind::complete) {
      event.task = found->second;
    }
  }

  const std::span<const std::byte> file_;
  const Window& window_;
  const std::uint16_t process_;
  const std::size_t most_;
  TraceProcess& into_;
  std::vector<TraceEvent>& events_;
  std::uint32_t capacity_ = 0;
  bool in_cycles_ = false;
  std::vector<std::uint64_t> positions_;  ///< in the ring, of the events that were taken from it
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> tasks_;  ///< indexed by context and number
};

}  // namespace

bool read_recording(std::span<const std::byte> file, const Window& window, std::uint16_t process, std::size_t most,
                    TraceProcess& into, std::vector<TraceEvent>& events) {
  return Reader(file, window, process, most, into, events).read();
}

}  // namespace pydoca::detail::trace
