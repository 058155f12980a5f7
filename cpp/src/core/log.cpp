#include <pydoca/log.hpp>
#include <pydoca/status.hpp>
#include <pydoca/words.hpp>

#include "detail/concat.hpp"
#include "detail/fd.hpp"
#include "detail/log_sinks.hpp"

#include <spdlog/details/log_msg.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/sinks/syslog_sink.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <ctime>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace pydoca::log {

std::atomic<std::uint32_t> detail::verbosity[2]{};
std::atomic<std::uint64_t> detail::lost{0};

namespace {

using pydoca::detail::concat;

constexpr const char* pattern = "[%Y-%m-%d %H:%M:%S.%f][%t][%l][%n] %v";

constexpr std::array<std::string_view, 7> names{"DISABLE", "CRIT", "ERROR", "WARNING", "INFO", "DEBUG", "TRACE"};

constexpr std::string_view all_levels =
    "10 (DISABLE), 20 (CRIT), 30 (ERROR), 40 (WARNING), 50 (INFO), 60 (DEBUG), 70 (TRACE)";

constexpr bool known(std::uint32_t number) noexcept { return number % 10 == 0 && number >= 10 && number <= 70; }

void check(Level level) { static_cast<void>(level_of(static_cast<std::uint32_t>(level))); }

spdlog::level::level_enum to_spdlog(Level level) noexcept {
  switch (level) {
    case Level::crit:
      return spdlog::level::critical;
    case Level::error:
      return spdlog::level::err;
    case Level::warning:
      return spdlog::level::warn;
    case Level::info:
      return spdlog::level::info;
    case Level::debug:
      return spdlog::level::debug;
    case Level::trace:
      return spdlog::level::trace;
    case Level::disable:
      break;
  }
  return spdlog::level::off;
}

spdlog::details::log_msg to_spdlog(const Record& record) {
  using Time = spdlog::log_clock::time_point;
  const std::chrono::nanoseconds since_epoch{static_cast<std::int64_t>(record.realtime_ns)};
  spdlog::details::log_msg message(Time{std::chrono::duration_cast<Time::duration>(since_epoch)}, spdlog::source_loc{},
                                   record.source, to_spdlog(record.level), record.text);
  message.thread_id = static_cast<std::size_t>(record.thread_id);
  return message;
}

std::uint64_t now_ns(clockid_t clock) noexcept {
  timespec time{};
  ::clock_gettime(clock, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000U + static_cast<std::uint64_t>(time.tv_nsec);
}

std::string bounded(std::string_view text) {
  if (text.size() <= max_text) return std::string(text);
  return concat(text.substr(0, max_text - 3), "...");
}

}  // namespace

/// Where a sink's records go; write() may throw, the sink counts that as lost.
class Output {
 public:
  Output() = default;
  virtual ~Output() = default;
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;
  virtual void write(const Record& record) = 0;
};

namespace {

class SpdlogOutput : public Output {
 public:
  explicit SpdlogOutput(spdlog::sink_ptr sink) : sink_(std::move(sink)) { sink_->set_pattern(pattern); }

  void write(const Record& record) override {
    sink_->log(to_spdlog(record));
    sink_->flush();
  }

 private:
  spdlog::sink_ptr sink_;
};

class StandardOutput : public Output {
 public:
  void write(const Record& record) override { (record.level >= Level::info ? out_ : err_).write(record); }

 private:
  SpdlogOutput out_{std::make_shared<spdlog::sinks::stdout_sink_mt>()};
  SpdlogOutput err_{std::make_shared<spdlog::sinks::stderr_sink_mt>()};
};

class FdOutput : public Output {
 public:
  explicit FdOutput(pydoca::detail::Fd fd) : fd_(std::move(fd)) {}

  void write(const Record& record) override {
    const std::string line = format(record) + "\n";
    const std::scoped_lock lock(mutex_);
    for (std::string_view rest = line; !rest.empty();) {
      const ssize_t written = ::write(fd_.get(), rest.data(), rest.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) throw std::system_error(errno, std::generic_category());
      rest.remove_prefix(static_cast<std::size_t>(written));
    }
  }

 private:
  const pydoca::detail::Fd fd_;
  std::mutex mutex_;  // keeps lines whole when the descriptor takes only a part
};

thread_local bool in_callback = false;  // a callback that logs would otherwise call itself without end

class CallbackOutput : public Output {
 public:
  explicit CallbackOutput(std::function<void(const Record&)> function) : function_(std::move(function)) {}

  void write(const Record& record) override {
    if (in_callback) return;
    in_callback = true;
    try {
      function_(record);
    } catch (...) {
      in_callback = false;
      throw;
    }
    in_callback = false;
  }

 private:
  std::function<void(const Record&)> function_;
};

class RingOutput : public Output {
 public:
  explicit RingOutput(std::shared_ptr<Ring> ring) : ring_(std::move(ring)) {}
  void write(const Record& record) override { ring_->push(Record(record)); }

 private:
  std::shared_ptr<Ring> ring_;
};

}  // namespace

Level level_of(std::uint32_t number) {
  if (known(number)) return static_cast<Level>(number);
  throw Error(Status::invalid_value, concat("log level ", number, " does not exist; use one of ", all_levels));
}

Level level_of(std::string_view text) {
  if (const auto level = find_level(text)) return *level;
  throw Error(Status::invalid_value, concat("log level ", in_quotes(text), " does not exist; use one of ", all_levels));
}

EnvironmentLevels environment_levels() {
  const auto& [lower, sdk] = Sinks::all().environment();
  Sinks::all().note_reported();
  const auto level = [](const char* name, const std::optional<std::string>& text) -> std::optional<Level> {
    if (!text.has_value()) return std::nullopt;
    try {
      return level_of(*text);
    } catch (const Error& error) {
      throw Error(error.status(), concat("the environment's ", name, ": ", error.what()));
    }
  };
  return {.lower = level("PYDOCA_LOG_LEVEL", lower), .sdk = level("PYDOCA_SDK_LOG_LEVEL", sdk)};
}

std::string_view level_name(Level level) noexcept {
  const auto number = static_cast<std::uint32_t>(level);
  return known(number) ? names[number / 10 - 1] : "UNRECOGNIZED";
}

std::string format(const Record& record) {
  spdlog::pattern_formatter formatter(pattern, spdlog::pattern_time_type::local, "");
  spdlog::memory_buf_t line;
  formatter.format(to_spdlog(record), line);
  return {line.data(), line.size()};
}

Ring::Ring(std::size_t capacity, Overflow overflow) : overflow_(overflow) {
  if (capacity == 0 || capacity > max_capacity) {
    throw Error(Status::invalid_value,
                concat("a log ring cannot hold ", capacity, " records; use 1 to ", max_capacity));
  }
  slots_.resize(capacity);
}

bool Ring::try_pop(Record& record) noexcept {
  const std::scoped_lock lock(mutex_);
  if (size_ == 0) return false;
  record = std::move(slots_[first_]);
  first_ = (first_ + 1) % slots_.size();
  --size_;
  return true;
}

void Ring::push(Record&& record) noexcept {
  const std::scoped_lock lock(mutex_);
  if (size_ == slots_.size()) {
    ++lost_;
    if (overflow_ == Overflow::drop_newest) return;
    first_ = (first_ + 1) % slots_.size();
    --size_;
  }
  slots_[(first_ + size_) % slots_.size()] = std::move(record);
  ++size_;
}

Sink::Sink(Family family, std::unique_ptr<Output> output)
    : family_(family), output_(std::move(output)), lower_(Level::disable) {}

Sink::~Sink() = default;

std::shared_ptr<Sink> Sink::open(Family family, std::unique_ptr<Output> output) {
  if (!Sinks::all().was_reported()) static_cast<void>(environment_levels());
  std::shared_ptr<Sink> sink(new Sink(family, std::move(output)));
  Sinks::all().add(sink);
  return sink;
}

std::shared_ptr<Sink> Sink::standard() { return open(Family::application, std::make_unique<StandardOutput>()); }

std::shared_ptr<Sink> Sink::file(Family family, const std::string& path) {
  try {
    auto file = std::make_shared<spdlog::sinks::basic_file_sink_mt>(path);
    return open(family, std::make_unique<SpdlogOutput>(std::move(file)));
  } catch (const spdlog::spdlog_ex& error) {
    throw Error(Status::operating_system, concat("cannot log to a file: ", error.what()));
  }
}

std::shared_ptr<Sink> Sink::fd(Family family, int fd) {
  auto duplicate = pydoca::detail::Fd::duplicate_of(fd);
  if (!duplicate) {
    throw Error(Status::invalid_value,
                concat("cannot log to file descriptor ", fd, ": ", std::generic_category().message(errno)));
  }
  return open(family, std::make_unique<FdOutput>(std::move(duplicate)));
}

std::shared_ptr<Sink> Sink::callback(Family family, std::function<void(const Record&)> function) {
  if (!function) throw Error(Status::invalid_value, "cannot log to an empty function; give one to call");
  return open(family, std::make_unique<CallbackOutput>(std::move(function)));
}

std::shared_ptr<Sink> Sink::ring(Family family, std::shared_ptr<Ring> ring) {
  if (!ring) throw Error(Status::invalid_value, "cannot log to a null ring; make one first");
  return open(family, std::make_unique<RingOutput>(std::move(ring)));
}

std::shared_ptr<Sink> Sink::syslog(Family family, const std::string& name) {
  auto syslog = std::make_shared<spdlog::sinks::syslog_sink_mt>(name, LOG_PID, LOG_USER, false);
  return open(family, std::make_unique<SpdlogOutput>(std::move(syslog)));
}

void Sink::expect(Family family, std::string_view attempt) const {
  if (family_ == family) return;
  const bool engine = family_ == Family::engine;
  throw Error(Status::not_supported,
              concat("cannot ", attempt, " of a log backend for ", engine ? "the library's" : "the program's",
                     " messages; it has ", engine ? "one limit, its SDK level" : "a lower and an upper limit"));
}

void Sink::set_lower_limit(Level level) {
  expect(Family::application, "set the lower limit");
  check(level);
  Sinks::all().set_lower(*this, level);
}

void Sink::set_upper_limit(Level level) {
  expect(Family::application, "set the upper limit");
  check(level);
  Sinks::all().set_upper(*this, level);
}

void Sink::set_sdk_level(Level level) {
  expect(Family::engine, "set the SDK level");
  check(level);
  Sinks::all().set_lower(*this, level);
}

void Sink::set_lower_limit_strict() {
  expect(Family::application, "make strict the lower limit");
  Sinks::all().set_strict(&Sink::lower_strict_, *this);
}

void Sink::set_upper_limit_strict() {
  expect(Family::application, "make strict the upper limit");
  Sinks::all().set_strict(&Sink::upper_strict_, *this);
}

Level Sink::lower_limit() const {
  expect(Family::application, "get the lower limit");
  return lower_;
}

Level Sink::upper_limit() const {
  expect(Family::application, "get the upper limit");
  return upper_;
}

Level Sink::sdk_level() const {
  expect(Family::engine, "get the SDK level");
  return lower_;
}

bool Sink::shows(Level level) const noexcept {
  const bool below_upper = family_ == Family::engine || level >= upper_.load(std::memory_order_relaxed);
  return level != Level::disable && below_upper && level <= lower_.load(std::memory_order_relaxed);
}

void Sink::write(const Record& record) noexcept {
  try {
    output_->write(record);
  } catch (...) {  // a full disk, a throwing callback: logging must not end the operation that logged
    ++lost_;
  }
}

void Sink::close() { Sinks::all().remove(*this); }

void set_global_lower_limit(Level level) {
  check(level);
  Sinks::all().set_all_lower(level);
}

void set_global_upper_limit(Level level) {
  check(level);
  Sinks::all().set_all_upper(level);
}

void set_global_sdk_limit(Level level) {
  check(level);
  Sinks::all().set_all_sdk(level);
}

Level global_lower_limit() noexcept { return Sinks::all().global_lower(); }
Level global_upper_limit() noexcept { return Sinks::all().global_upper(); }
Level global_sdk_limit() noexcept { return Sinks::all().global_sdk(); }

Source::Source(std::string name) : name_(std::move(name)) {
  const std::string framed = concat("::", name_, "::");
  if (framed.find("::::") != std::string::npos) {
    throw Error(Status::invalid_value,
                concat("log source \"", name_, "\" has an empty part; name it like \"APP::COPY\""));
  }
  Sinks::all().add_source(name_);
}

Source::~Source() { Sinks::all().remove_source(name_); }

std::vector<std::string> sources() { return Sinks::all().sources(); }

void detail::emit(Family family, Level level, std::string_view source, std::string_view text) noexcept {
  try {
    const auto thread_id = static_cast<std::uint64_t>(::gettid());
    Sinks::all().deliver(
        {family, level, thread_id, now_ns(CLOCK_REALTIME), now_ns(CLOCK_BOOTTIME), bounded(source), bounded(text)});
  } catch (...) {  // out of memory: losing the message is the lesser harm
    ++lost;
  }
}

}  // namespace pydoca::log
