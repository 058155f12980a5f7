#pragma once

#include "pydoca/buf_inventory.hpp"
#include "pydoca/context.hpp"
#include "pydoca/memory.hpp"
#include "pydoca/mmap.hpp"
#include "pydoca/sim.hpp"

#include "failure/scenario.hpp"

#include <bit>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

namespace pydoca::failure {

inline std::uint64_t word_of(const void* pointer) noexcept { return std::bit_cast<std::uint64_t>(pointer); }

/// Memory of pydoca.alloc in a started map on one device.
class Mapped {
 public:
  Mapped(const std::shared_ptr<Device>& device, std::size_t size, Access access = Access::local_read_write)
      : memory(Memory::allocate(size)), mmap(Mmap::create()) {
    mmap->add_device(device);
    mmap->set_memrange(memory->data(), size, memory);
    mmap->set_permissions(access | Access::local_read_write);
    mmap->start();
  }

  std::uint64_t addr(std::size_t offset = 0) const noexcept { return word_of(memory->data()) + offset; }

  std::shared_ptr<Memory> memory;
  std::shared_ptr<Mmap> mmap;
};

/// A buf that is given back at the end of its scope.
class Held {
 public:
  Held(const std::shared_ptr<BufInventory>& inventory, const std::shared_ptr<Mmap>& mmap, std::uint64_t addr,
       std::size_t len, bool with_data) {
    require(with_data ? inventory->get_by_data(mmap, addr, len, buf_) : inventory->get_by_addr(mmap, addr, len, buf_),
            "a buf");
  }
  explicit Held(Buf* buf) noexcept : buf_(buf) {}
  ~Held() { static_cast<void>(buf_->dec_refcount()); }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;

  Buf* get() const noexcept { return buf_; }

 private:
  Buf* buf_ = nullptr;
};

/// A task that its callbacks do not free; freed at the end of the scope.
template <class T>
class OwnTask {
 public:
  explicit OwnTask(T* task) noexcept : task_(task) {}
  ~OwnTask() { static_cast<void>(task_->free()); }
  OwnTask(const OwnTask&) = delete;
  OwnTask& operator=(const OwnTask&) = delete;

  T& operator*() const noexcept { return *task_; }
  T* operator->() const noexcept { return task_; }

 private:
  T* task_;
};

/// A context on an engine, and how often its tasks completed; stopped at the end of its scope.
template <class Library>
class Running {
 public:
  Running(std::shared_ptr<Library> made, std::shared_ptr<ProgressEngine> with)
      : context(std::move(made)), engine(std::move(with)) {
    context->set_user_data(word_of(this));
  }
  ~Running() {
    stop();
    context->close();
  }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

  void start() {
    engine->connect(context);
    require(context->start(), "start of a context");
  }
  void stop() {
    static_cast<void>(context->stop());
    while (context->state() != ContextState::idle && progress({engine.get()})) {
    }
  }
  /// Submits task and waits for its success.
  void finish(Task& task) {
    const int before = completed;
    if (const Status status = task.submit(); status != Status::success) {
      static_cast<void>(task.free());
      require(status, "submit");
    }
    await("a completion", {engine.get()}, [&] { return completed != before; });
    require(last, "a task");
  }

  static void count(Task& task, std::uint64_t user_data, std::uint64_t self) noexcept {
    count_only(task, user_data, self);
    static_cast<void>(task.free());
  }
  static void count_only(Task& task, std::uint64_t /*task_user_data*/, std::uint64_t self) noexcept {
    auto& running = *std::bit_cast<Running*>(self);
    running.last = task.status();
    ++running.completed;
  }

  std::shared_ptr<Library> context;
  std::shared_ptr<ProgressEngine> engine;
  int completed = 0;
  Status last = Status::success;
};

inline std::shared_ptr<BufInventory> started_inventory(std::size_t count) {
  auto inventory = BufInventory::create(count);
  inventory->start();
  return inventory;
}

inline std::shared_ptr<Device> opened(std::string_view name) { return Device::open(find_device(name)); }

}  // namespace pydoca::failure
