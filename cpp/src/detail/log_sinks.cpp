#include "detail/log_sinks.hpp"

#include "pydoca/status.hpp"

#include "detail/concat.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <pthread.h>
#include <string_view>
#include <utility>

namespace pydoca::log {

namespace {

// Constructed while the program loads: a fork during a construction at first use would leave the child an incomplete
// one.
// NOLINTNEXTLINE(bugprone-throwing-static-initialization): without memory at load the program cannot run anyway
[[maybe_unused]] const Sinks& at_load = Sinks::all();

std::optional<std::string> variable(const char* name) {
  const char* const text = std::getenv(name);
  return text == nullptr || *text == '\0' ? std::nullopt : std::optional<std::string>(text);
}

constexpr std::array<std::pair<std::string_view, Level>, 8> words{{{"DISABLE", Level::disable},
                                                                   {"CRIT", Level::crit},
                                                                   {"CRITICAL", Level::crit},
                                                                   {"ERROR", Level::error},
                                                                   {"WARNING", Level::warning},
                                                                   {"INFO", Level::info},
                                                                   {"DEBUG", Level::debug},
                                                                   {"TRACE", Level::trace}}};

constexpr char upper_case(char letter) noexcept {
  return letter >= 'a' && letter <= 'z' ? static_cast<char>(letter - 'a' + 'A') : letter;
}

[[noreturn]] void refuse_relaxing(std::string_view limit, Level now, Level asked) {
  throw Error(Status::not_permitted,
              pydoca::detail::concat("cannot relax the strict ", limit, " log limit from ", level_name(now), " to ",
                                     level_name(asked), "; make another log backend for that"));
}

}  // namespace

Sinks& Sinks::all() {
  static Sinks& sinks = *new Sinks;
  return sinks;
}

std::optional<Level> find_level(std::string_view text) noexcept {
  constexpr std::string_view spaces = " \t\n\r";
  text.remove_prefix(std::min(text.find_first_not_of(spaces), text.size()));
  text = text.substr(0, text.find_last_not_of(spaces) + 1);
  for (const auto& [word, level] : words) {
    if (std::ranges::equal(text, word, {}, upper_case)) return level;
  }
  const bool is_number = text.size() == 2 && text[0] >= '1' && text[0] <= '7' && text[1] == '0';
  return is_number ? std::optional(static_cast<Level>((text[0] - '0') * 10)) : std::nullopt;
}

// A child made while another thread holds the mutex could never log again.
Sinks::Sinks() : environment_(variable("PYDOCA_LOG_LEVEL"), variable("PYDOCA_SDK_LOG_LEVEL")) {
  global_lower_ = find_level(environment_.first.value_or("")).value_or(Level::info);
  global_sdk_ = find_level(environment_.second.value_or("")).value_or(Level::info);
  ::pthread_atfork([] { all().mutex_.lock(); }, [] { all().mutex_.unlock(); }, [] { all().mutex_.unlock(); });
}

void Sinks::add(const std::shared_ptr<Sink>& sink) {
  std::shared_ptr<const List> old;  // outlives the lock, as in remove()
  const std::scoped_lock lock(mutex_);
  sink->lower_ = sink->family_ == Family::engine ? global_sdk() : global_lower();
  sink->upper_ = global_upper();
  const auto list = std::make_shared<List>(*list_);
  list->push_back(sink);
  old = std::exchange(list_, list);
  publish();
}

void Sinks::remove(const Sink& sink) {
  std::shared_ptr<const List> old;  // outlive the lock: they may destroy the sink and a callback's state
  std::shared_ptr<Sink> removed;
  const std::scoped_lock lock(mutex_);
  if (walks_.load(std::memory_order_acquire) != 0) {  // no other begins while the mutex is held
    old = std::exchange(list_, std::make_shared<List>(*list_));
  }
  const auto found = std::ranges::find(*list_, &sink, &std::shared_ptr<Sink>::get);
  if (found != list_->end()) {
    removed = std::move(*found);
    list_->erase(found);
  }
  publish();
}

void Sinks::set_lower(Sink& sink, Level level) {
  const std::scoped_lock lock(mutex_);
  if (sink.lower_strict_ && level > sink.lower_) refuse_relaxing("lower", sink.lower_, level);
  sink.lower_ = level;
  publish();
}

void Sinks::set_upper(Sink& sink, Level level) {
  const std::scoped_lock lock(mutex_);
  if (sink.upper_strict_ && level < sink.upper_) refuse_relaxing("upper", sink.upper_, level);
  sink.upper_ = level;
}

void Sinks::set_strict(bool Sink::* limit, Sink& sink) {
  const std::scoped_lock lock(mutex_);
  sink.*limit = true;
}

void Sinks::set_all_lower(Level level) {
  const std::scoped_lock lock(mutex_);
  global_lower_ = level;
  limit_all(Family::application, level);
}

void Sinks::set_all_sdk(Level level) {
  const std::scoped_lock lock(mutex_);
  global_sdk_ = level;
  limit_all(Family::engine, level);
}

void Sinks::set_all_upper(Level level) {
  const std::scoped_lock lock(mutex_);
  global_upper_ = level;
  for (const auto& sink : *list_) {
    const bool allowed = !sink->upper_strict_ || level >= sink->upper_;
    if (sink->family_ == Family::application && allowed) sink->upper_ = level;
  }
}

void Sinks::limit_all(Family family, Level level) {
  for (const auto& sink : *list_) {
    const bool allowed = !sink->lower_strict_ || level <= sink->lower_;
    if (sink->family_ == family && allowed) sink->lower_ = level;
  }
  publish();
}

void Sinks::deliver(const Record& record) {
  const Walk walk(*this);
  for (const auto& sink : walk.list()) {
    if (sink->family_ == record.family && sink->shows(record.level)) sink->write(record);
  }
}

void Sinks::add_source(const std::string& name) {
  const std::scoped_lock lock(mutex_);
  sources_.insert(name);
}

void Sinks::remove_source(const std::string& name) {
  const std::scoped_lock lock(mutex_);
  sources_.erase(sources_.find(name));
}

std::vector<std::string> Sinks::sources() {
  const std::scoped_lock lock(mutex_);
  std::vector<std::string> result;
  std::unique_copy(sources_.begin(), sources_.end(), std::back_inserter(result));
  return result;
}

Sinks::Walk::Walk(Sinks& sinks) : sinks_(sinks) {
  const std::scoped_lock lock(sinks.mutex_);
  list_ = sinks.list_;
  sinks.walks_.fetch_add(1, std::memory_order_relaxed);
}

Sinks::Walk::~Walk() { sinks_.walks_.fetch_sub(1, std::memory_order_release); }

void Sinks::publish() {
  std::uint32_t most[2]{};
  for (const auto& sink : *list_) {
    auto& verbosity = most[static_cast<std::size_t>(sink->family_)];
    verbosity = std::max(verbosity, static_cast<std::uint32_t>(sink->lower_.load()));
  }
  for (std::size_t family = 0; family < 2; ++family) detail::verbosity[family].store(most[family]);
}

}  // namespace pydoca::log
