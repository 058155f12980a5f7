#include "pydoca/log.hpp"

#include "base/call.hpp"
#include "base/handle.hpp"

#include <algorithm>
#include <array>
#include <cstdarg>
#include <cstddef>
#include <cstdio>
#include <doca_log.h>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

using namespace pydoca;
using capi::Call;

struct doca_log_backend : capi::Handle<"log backend"> {
  std::shared_ptr<log::Sink> sink;
};

namespace {

/// The sources of the program, by their number.
class Sources {
 public:
  static Sources& all() {
    static auto* const sources = new Sources;
    return *sources;
  }

  int add(const char* name) {
    auto source = std::make_unique<log::Source>(name);
    const std::unique_lock lock(mutex_);
    const auto place = std::find(sources_.begin(), sources_.end(), nullptr);
    if (place != sources_.end()) {
      *place = std::move(source);
      return static_cast<int>(place - sources_.begin());
    }
    sources_.push_back(std::move(source));
    return static_cast<int>(sources_.size() - 1);
  }

  void remove(int number) {
    const std::unique_lock lock(mutex_);
    require(number);
    sources_[static_cast<std::size_t>(number)].reset();
  }

  /// Throws invalid_value for a number without a source.
  std::string name_of(int number) const {
    const std::shared_lock lock(mutex_);
    require(number);
    return sources_[static_cast<std::size_t>(number)]->name();
  }

 private:
  void require(int number) const {
    const auto place = static_cast<std::size_t>(number);
    if (number < 0 || place >= sources_.size() || sources_[place] == nullptr) {
      throw Error(Status::invalid_value, "no source has the number " + std::to_string(number));
    }
  }

  mutable std::shared_mutex mutex_;
  std::vector<std::unique_ptr<log::Source>> sources_;
};

std::shared_ptr<log::Sink> to_file(log::Family family, std::FILE* file) {
  return log::Sink::callback(family, [file](const log::Record& record) {
    const std::string line = log::format(record) + "\n";
    static_cast<void>(std::fwrite(line.data(), 1, line.size(), file));
    static_cast<void>(std::fflush(file));
  });
}

/// The lock is held during the flush, as the next message takes the place of this one.
std::shared_ptr<log::Sink> to_buf(log::Family family, char* buf, std::size_t capacity, log_flush_callback flush) {
  return log::Sink::callback(family, [=, mutex = std::make_shared<std::mutex>()](const log::Record& record) {
    const std::string line = log::format(record);
    const std::lock_guard lock(*mutex);
    const std::size_t length = line.copy(buf, capacity - 1);
    buf[length] = '\0';
    flush(buf);
  });
}

/// Makes a backend of what open() gives.
template <class Open>
doca_error_t create(const Call& call, doca_log_backend** backend, Open open) noexcept {
  if (!call.has(backend)) {
    return DOCA_ERROR_INVALID_VALUE;
  }
  return call.run([&] {
    doca_log_backend* const made = capi::Slab<doca_log_backend>::make();
    try {
      made->sink = open();
    } catch (...) {
      capi::Slab<doca_log_backend>::end(*made);
      throw;
    }
    *backend = made;
  });
}

doca_error_t create_with_file(const Call& call, log::Family family, std::FILE* file, doca_log_backend** backend) {
  if (!call.has(file)) {
    return DOCA_ERROR_INVALID_VALUE;
  }
  return create(call, backend, [&] { return to_file(family, file); });
}

doca_error_t create_with_buf(const Call& call, log::Family family, char* buf, std::size_t capacity,
                             log_flush_callback handler, doca_log_backend** backend) {
  if (!call.has(buf)) {
    return DOCA_ERROR_INVALID_VALUE;
  }
  if (handler == nullptr || capacity == 0) {
    return call.invalid(handler == nullptr ? "the callback is NULL" : "the capacity is 0");
  }
  return create(call, backend, [&] { return to_buf(family, buf, capacity, handler); });
}

doca_error_t create_with_syslog(const Call& call, log::Family family, const char* name, doca_log_backend** backend) {
  if (!call.has(name)) {
    return DOCA_ERROR_INVALID_VALUE;
  }
  return create(call, backend, [&] { return log::Sink::syslog(family, name); });
}

template <class Change>
doca_error_t change(const Call& call, doca_log_backend* backend, Change apply) noexcept {
  if (!call.has(backend)) {
    return DOCA_ERROR_INVALID_VALUE;
  }
  return call.run([&] { apply(*backend->sink); });
}

/// "[copy.c:91][main] text", without the folders.
std::string with_place(const char* file, int line, const char* func, std::string_view text) {
  std::string whole;
  if (file != nullptr && func != nullptr) {
    const std::string_view path = file;
    whole.append("[").append(path.substr(path.find_last_of('/') + 1)).append(":").append(std::to_string(line));
    whole.append("][").append(func).append("] ");
  }
  return whole.append(text);
}

[[gnu::format(printf, 1, 0)]] std::string formatted(const char* format, std::va_list arguments) {
  std::array<char, log::max_text> text;
  const int length = std::vsnprintf(text.data(), text.size(), format, arguments);
  return {text.data(), std::min<std::size_t>(length < 0 ? 0 : static_cast<std::size_t>(length), text.size() - 1)};
}

}  // namespace

doca_error_t doca_log_level_set_global_lower_limit(std::uint32_t level) {
  return Call().run([&] { log::set_global_lower_limit(log::level_of(level)); });
}

doca_error_t doca_log_level_set_global_upper_limit(std::uint32_t level) {
  return Call().run([&] { log::set_global_upper_limit(log::level_of(level)); });
}

doca_error_t doca_log_level_set_global_sdk_limit(std::uint32_t level) {
  return Call().run([&] { log::set_global_sdk_limit(log::level_of(level)); });
}

std::uint32_t doca_log_level_get_global_lower_limit() { return static_cast<std::uint32_t>(log::global_lower_limit()); }

std::uint32_t doca_log_level_get_global_upper_limit() { return static_cast<std::uint32_t>(log::global_upper_limit()); }

std::uint32_t doca_log_level_get_global_sdk_limit() { return static_cast<std::uint32_t>(log::global_sdk_limit()); }

doca_error_t doca_log_backend_create_standard() {
  return Call().run([] { static_cast<void>(log::Sink::standard()); });
}

doca_error_t doca_log_backend_create_with_file(std::FILE* fptr, doca_log_backend** backend) {
  return create_with_file(Call(), log::Family::application, fptr, backend);
}

doca_error_t doca_log_backend_create_with_file_sdk(std::FILE* fptr, doca_log_backend** backend) {
  return create_with_file(Call(), log::Family::engine, fptr, backend);
}

doca_error_t doca_log_backend_create_with_fd(int fd, doca_log_backend** backend) {
  return create(Call(), backend, [&] { return log::Sink::fd(log::Family::application, fd); });
}

doca_error_t doca_log_backend_create_with_fd_sdk(int fd, doca_log_backend** backend) {
  return create(Call(), backend, [&] { return log::Sink::fd(log::Family::engine, fd); });
}

doca_error_t doca_log_backend_create_with_buf(char* buf, std::size_t capacity, log_flush_callback handler,
                                              doca_log_backend** backend) {
  return create_with_buf(Call(), log::Family::application, buf, capacity, handler, backend);
}

doca_error_t doca_log_backend_create_with_buf_sdk(char* buf, std::size_t capacity, log_flush_callback handler,
                                                  doca_log_backend** backend) {
  return create_with_buf(Call(), log::Family::engine, buf, capacity, handler, backend);
}

doca_error_t doca_log_backend_create_with_syslog(const char* name, doca_log_backend** backend) {
  return create_with_syslog(Call(), log::Family::application, name, backend);
}

doca_error_t doca_log_backend_create_with_syslog_sdk(const char* name, doca_log_backend** backend) {
  return create_with_syslog(Call(), log::Family::engine, name, backend);
}

doca_error_t doca_log_backend_set_level_lower_limit(doca_log_backend* backend, std::uint32_t level) {
  return change(Call(), backend, [&](log::Sink& sink) { sink.set_lower_limit(log::level_of(level)); });
}

doca_error_t doca_log_backend_set_level_upper_limit(doca_log_backend* backend, std::uint32_t level) {
  return change(Call(), backend, [&](log::Sink& sink) { sink.set_upper_limit(log::level_of(level)); });
}

doca_error_t doca_log_backend_set_level_lower_limit_strict(doca_log_backend* backend) {
  return change(Call(), backend, [](log::Sink& sink) { sink.set_lower_limit_strict(); });
}

doca_error_t doca_log_backend_set_level_upper_limit_strict(doca_log_backend* backend) {
  return change(Call(), backend, [](log::Sink& sink) { sink.set_upper_limit_strict(); });
}

doca_error_t doca_log_backend_set_sdk_level(doca_log_backend* backend, std::uint32_t level) {
  return change(Call(), backend, [&](log::Sink& sink) { sink.set_sdk_level(log::level_of(level)); });
}

doca_error_t doca_log_register_source(const char* source_name, int* source) {
  const Call call;
  if (!call.has(source_name, source)) {
    return DOCA_ERROR_INVALID_VALUE;
  }
  return call.run([&] { *source = Sources::all().add(source_name); });
}

doca_error_t doca_log_unregister_source(int source) {
  return Call().run([&] { Sources::all().remove(source); });
}

doca_error_t doca_log(std::uint32_t level, int source, const char* file, int line, const char* func, const char* format,
                      ...) {
  const Call call;
  if (!call.has(format)) {
    return DOCA_ERROR_INVALID_VALUE;
  }
  std::va_list arguments;
  va_start(arguments, format);
  const doca_error_t result = call.run([&] {
    const log::Level of = log::level_of(level);
    if (of == log::Level::disable) {
      throw Error(Status::invalid_value, "DOCA_LOG_LEVEL_DISABLE is a limit, and no message has it");
    }
    if (log::enabled(log::Family::application, of)) {
      log::detail::emit(log::Family::application, of, Sources::all().name_of(source),
                        with_place(file, line, func, formatted(format, arguments)));
    }
  });
  va_end(arguments);
  return result;
}
