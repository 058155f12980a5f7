/// Logging in DOCA's terms: two families of messages, each with its own sinks and limits.
///
/// Application messages come from a registered Source; an application sink shows a window of levels, upper .. lower,
/// where (DOCA's wording) "lower" is the most verbose level still shown. Engine messages come from pydoca itself; an
/// engine sink has a single limit. Nothing is shown without a sink. Everything here may be called from any thread.
#pragma once

#include <atomic>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pydoca::log {
class Sinks;
}

#pragma GCC visibility push(default)

namespace pydoca::log {

/// DOCA's numbers: the larger, the more verbose. `disable` is a limit, never the level of a message.
/// spdlog's levels for them, in this order: off, critical, err, warn, info, debug, trace.
enum class Level : std::uint32_t {
  disable = 10,
  crit = 20,
  error = 30,
  warning = 40,
  info = 50,
  debug = 60,
  trace = 70
};

enum class Family : std::uint8_t { application = 0, engine = 1 };

/// The level with this number; Error invalid_value for any other number.
[[nodiscard]] Level level_of(std::uint32_t number);
/// The level with this name, in any case, or number: "info", "critical" (crit), "50"; Error invalid_value for another
/// text.
[[nodiscard]] Level level_of(std::string_view text);

/// DOCA's name, such as "WARNING"; "UNRECOGNIZED" for a number that is not a level.
[[nodiscard]] std::string_view level_name(Level level) noexcept;

struct Record {
  Family family = Family::engine;
  Level level = Level::info;
  std::uint64_t thread_id = 0;    ///< the kernel's id of the thread that logged
  std::uint64_t realtime_ns = 0;  ///< CLOCK_REALTIME
  std::uint64_t boottime_ns = 0;  ///< CLOCK_BOOTTIME, comparable between processes of one machine
  std::string source;
  std::string text;
};

/// Longer texts are cut to this many bytes, ending in "...".
inline constexpr std::size_t max_text = 4096;

/// The line that standard, file and descriptor sinks write, without its newline.
[[nodiscard]] std::string format(const Record& record);

/// What a full ring gives up; either way lost() counts it.
enum class Overflow : std::uint8_t { drop_oldest, drop_newest };

/// Holds records until they are taken: for a consumer that must not be called from foreign threads.
class Ring {
 public:
  /// Error invalid_value unless capacity (records) is 1 .. max_capacity.
  explicit Ring(std::size_t capacity, Overflow overflow = Overflow::drop_oldest);

  static constexpr std::size_t max_capacity = 1'048'576;

  /// Takes the oldest record; false when there is none.
  [[nodiscard]] bool try_pop(Record& record) noexcept;

  void push(Record&& record) noexcept;

  [[nodiscard]] std::size_t capacity() const noexcept { return slots_.size(); }
  [[nodiscard]] std::size_t size() const noexcept { return size_.load(std::memory_order_relaxed); }
  /// Records given up since the ring was made.
  [[nodiscard]] std::uint64_t lost() const noexcept { return lost_.load(std::memory_order_relaxed); }

 private:
  std::mutex mutex_;
  std::vector<Record> slots_;
  std::size_t first_ = 0;
  std::atomic<std::size_t> size_{0};  // written under the mutex, read without it
  std::atomic<std::uint64_t> lost_{0};
  Overflow overflow_;
};

class Output;

/// A place that messages of one family go to. The program keeps a sink until close(), also when every
/// handle to it is gone. A new sink takes the global limits.
class Sink : public std::enable_shared_from_this<Sink> {
 public:
  /// Application messages: INFO and more verbose to stdout, WARNING and more severe to stderr.
  static std::shared_ptr<Sink> standard();
  /// Appends to the file, creating it if need be; Error operating_system when it cannot be opened.
  static std::shared_ptr<Sink> file(Family family, const std::string& path);
  /// Writes to a duplicate of the descriptor; Error invalid_value when it is not an open one.
  static std::shared_ptr<Sink> fd(Family family, int fd);
  /// Calls the function in the thread that logs, under no lock. It may log; that reaches no callback sink.
  static std::shared_ptr<Sink> callback(Family family, std::function<void(const Record&)> function);
  /// One ring may serve both families.
  static std::shared_ptr<Sink> ring(Family family, std::shared_ptr<Ring> ring);
  static std::shared_ptr<Sink> syslog(Family family, const std::string& name);

  ~Sink();
  Sink(const Sink&) = delete;
  Sink& operator=(const Sink&) = delete;

  [[nodiscard]] Family family() const noexcept { return family_; }

  /// Application sinks only (engine: not_supported). Relaxing a strict limit: not_permitted.
  /// A lower limit more severe than the upper one shows nothing.
  void set_lower_limit(Level level);
  void set_upper_limit(Level level);
  [[nodiscard]] Level lower_limit() const;
  [[nodiscard]] Level upper_limit() const;

  /// From now on the lower limit cannot become more verbose / the upper one more severe:
  /// set_..._limit refuses, the global setters pass this sink by.
  void set_lower_limit_strict();
  void set_upper_limit_strict();

  /// Engine sinks only (application: not_supported).
  void set_sdk_level(Level level);
  [[nodiscard]] Level sdk_level() const;

  /// Whether a message of this level passes the limits.
  [[nodiscard]] bool shows(Level level) const noexcept;

  /// Records that passed the limits and could not be written.
  [[nodiscard]] std::uint64_t lost() const noexcept { return lost_.load(std::memory_order_relaxed); }

  /// Idempotent. A message that another thread is logging right now may still arrive.
  void close();

 private:
  friend class Sinks;

  Sink(Family family, std::unique_ptr<Output> output);
  static std::shared_ptr<Sink> open(Family family, std::unique_ptr<Output> output);

  void expect(Family family, std::string_view attempt) const;
  void write(const Record& record) noexcept;

  const Family family_;
  const std::unique_ptr<Output> output_;
  std::atomic<Level> lower_;  // the limit of an engine sink
  std::atomic<Level> upper_{Level::crit};
  bool lower_strict_ = false;  // these two under the lock of Sinks
  bool upper_strict_ = false;
  std::atomic<std::uint64_t> lost_{0};
};

/// Change every sink of the family, strict ones only where that restricts them, and the default of later
/// ones. At first: lower INFO, upper CRIT, sdk INFO, or what the environment says. Error invalid_value for a value that
/// is not a level.
void set_global_lower_limit(Level level);
void set_global_upper_limit(Level level);
void set_global_sdk_limit(Level level);
[[nodiscard]] Level global_lower_limit() noexcept;
[[nodiscard]] Level global_upper_limit() noexcept;
[[nodiscard]] Level global_sdk_limit() noexcept;

/// The lower limit and the sdk limit that PYDOCA_LOG_LEVEL and PYDOCA_SDK_LOG_LEVEL asked for when the program began.
struct EnvironmentLevels {
  std::optional<Level> lower;
  std::optional<Level> sdk;
};
/// Gives the error invalid_value, naming the variable, for a text that is not a level. Opening a sink also throws it,
/// unless it was thrown before.
[[nodiscard]] EnvironmentLevels environment_levels();

namespace detail {

/// The most verbose level that any sink of a family takes, indexed by Family; 0 while there is none.
extern std::atomic<std::uint32_t> verbosity[2];
extern std::atomic<std::uint64_t> lost;

void emit(Family family, Level level, std::string_view source, std::string_view text) noexcept;

}  // namespace detail

/// False when no sink can show such a message: one relaxed load.
[[nodiscard]] inline bool enabled(Family family, Level level) noexcept {
  const auto limit = detail::verbosity[static_cast<std::size_t>(family)].load(std::memory_order_relaxed);
  return static_cast<std::uint32_t>(level) <= limit;
}

/// Messages that memory was too short to make, so that no sink saw them.
[[nodiscard]] inline std::uint64_t lost() noexcept { return detail::lost.load(std::memory_order_relaxed); }

/// An application's source of messages, registered under its name for as long as it lives.
class Source {
 public:
  /// Parts are separated by "::"; Error invalid_value when a part is empty. Several sources may share a name.
  explicit Source(std::string name);
  ~Source();
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;

  [[nodiscard]] const std::string& name() const noexcept { return name_; }

  void log(Level level, std::string_view text) const noexcept {
    if (enabled(Family::application, level)) detail::emit(Family::application, level, name_, text);
  }

 private:
  const std::string name_;
};

/// The names that are registered now, in order, each once.
[[nodiscard]] std::vector<std::string> sources();

/// An engine message. Never throws; what cannot be written counts as lost in its sink.
inline void engine(Level level, std::string_view source, std::string_view text) noexcept {
  if (enabled(Family::engine, level)) detail::emit(Family::engine, level, source, text);
}

/// The same with a text that is made only if a sink shows it:
/// engine(Level::debug, "dma", [&] { return ...; }).
template <std::invocable Text>
  requires std::convertible_to<std::invoke_result_t<Text&>, std::string_view>
void engine(Level level, std::string_view source, Text&& text) noexcept {
  if (!enabled(Family::engine, level)) return;
  try {
    detail::emit(Family::engine, level, source, text());
  } catch (...) {  // out of memory: losing the message is the lesser harm
    ++detail::lost;
  }
}

}  // namespace pydoca::log

#pragma GCC visibility pop
