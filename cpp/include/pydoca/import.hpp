#pragma once

#include "pydoca/device.hpp"
#include "pydoca/progress_engine.hpp"

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace pydoca::backend {
class ImportAnswer;
}

#pragma GCC visibility push(default)

namespace pydoca {

/// What the imports of all kinds have in common.
class PendingImport {
 public:
  /// How long create_from_export() also waits for the exporting process.
  static constexpr std::chrono::nanoseconds default_limit = std::chrono::seconds(2);

  /// Gives the import up, unless it is over: the exporting process hears of it.
  virtual ~PendingImport();
  PendingImport(const PendingImport&) = delete;
  PendingImport& operator=(const PendingImport&) = delete;

  /// Whether take() would return, or throw the reason, without an attempt to wait.
  bool is_over() const noexcept;
  /// Called once by the engine's progress(), when the import is over; not when it is over already.
  void set_callback(std::function<void()> callback);

 protected:
  /// answer: null when no process is asked. Throws operating_system when the process is out of descriptors.
  PendingImport(std::shared_ptr<ProgressEngine> engine, std::shared_ptr<backend::ImportAnswer> answer,
                std::chrono::nanoseconds limit);
  /// Ends it with that error, unless it is over; the engine's next progress() tells of it.
  void fail(Status status, const char* why) noexcept;
  /// Throws in_progress before is_over(), and bad_state at a second call.
  void conclude();
  /// Once, after conclude(). Throws why the import failed.
  std::shared_ptr<backend::ImportAnswer> take_answer();

 private:
  class Node;
  std::unique_ptr<Node> node_;
};

/// The import of an exported object that a progress engine takes step by step: for an event loop, which must not wait
/// for the exporting process as Object::create_from_export() does. It is pydoca's own; DOCA has only the call that
/// waits.
///
/// Object is Mmap, SyncEvent or SyncEventRemoteNet. The import belongs to its engine's thread, and keeps the engine.
template <class Object>
class Import final : public PendingImport {
 public:
  /// Asks the exporting process, and returns. After limit without its answer the import fails with time_out. Throws
  /// operating_system, and those errors of create_from_export() that do not depend on the exporting process.
  static std::unique_ptr<Import> begin(std::shared_ptr<ProgressEngine> engine, std::shared_ptr<Device> device,
                                       std::span<const std::byte> blob,
                                       std::chrono::nanoseconds limit = default_limit) {
    auto answer = Object::ask_for_export(device, blob);
    return std::unique_ptr<Import>(new Import(std::move(engine), std::move(device), blob, std::move(answer), limit));
  }

  /// The object, once. Throws in_progress before is_over(), what create_from_export() throws, and shutdown when the
  /// engine was closed meanwhile.
  std::shared_ptr<Object> take() {
    conclude();
    const auto answer = take_answer();
    return Object::create_from_export(std::move(device_), blob_, answer);
  }

 private:
  Import(std::shared_ptr<ProgressEngine> engine, std::shared_ptr<Device> device, std::span<const std::byte> blob,
         std::shared_ptr<backend::ImportAnswer> answer, std::chrono::nanoseconds limit)
      : PendingImport(std::move(engine), std::move(answer), limit),
        device_(std::move(device)),
        blob_(blob.begin(), blob.end()) {}

  std::shared_ptr<Device> device_;
  std::vector<std::byte> blob_;
};

}  // namespace pydoca

#pragma GCC visibility pop
