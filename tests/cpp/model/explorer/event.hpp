#pragma once

#include "model/explorer/execution.hpp"

#include <array>

namespace pydoca::model {

/// The event files of an execution. The models define eventfd(), eventfd_read() and eventfd_write(), so the code under
/// test is compiled as it is.
class EventFiles {
 public:
  static constexpr int first_descriptor = 1 << 20;  ///< no real file has it

  struct File {
    Word count = 0;
    Word writes = 0;

    Cell cell() noexcept { return {&count, sizeof count}; }
  };

  void begin() noexcept { num_files_ = 0; }
  int create(Word count) noexcept;
  File& of(int descriptor) noexcept { return files_[static_cast<std::size_t>(descriptor - first_descriptor)]; }

 private:
  std::array<File, 32> files_{};
  std::size_t num_files_ = 0;
};

EventFiles& event_files() noexcept;

/// Waits until an event file is readable, as poll() does. Only the thread that reads the file may.
void sleep_on(int descriptor, std::source_location where = std::source_location::current());
/// Whether a poll of an event file would return at once.
bool is_readable(int descriptor, std::source_location where = std::source_location::current());

/// An event file in an epoll set that watches it edge-triggered: each sleeper has one.
class EdgeWatch {
 public:
  explicit EdgeWatch(int descriptor) noexcept : file_(event_files().of(descriptor)) {}

  /// Waits until the file was written to since the last sleep.
  void sleep(std::source_location where = std::source_location::current());

 private:
  static bool was_written(const void* watch) noexcept {
    return static_cast<const EdgeWatch*>(watch)->file_.writes != static_cast<const EdgeWatch*>(watch)->seen_;
  }

  EventFiles::File& file_;
  Word seen_ = 0;
};

}  // namespace pydoca::model
