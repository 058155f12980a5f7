#pragma once

#include "pydoca/buf_inventory.hpp"
#include "pydoca/mmap.hpp"
#include "pydoca/progress_engine.hpp"
#include "pydoca/task.hpp"

#include "dma_loop.hpp"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <utility>
#include <vector>

namespace pydoca::benchmarks {

/// Keeps tasks of one kind in flight, which read src and fill dst: each is submitted again once it is back. A derived
/// class makes the tasks, with bufs of the loop's inventory.
template <class Library, class TaskClass>
class TaskLoop {
 public:
  TaskLoop(const TaskLoop&) = delete;
  TaskLoop& operator=(const TaskLoop&) = delete;

  void run(std::uint64_t count) {
    const std::uint64_t end = completed_ + count;
    for (std::uint64_t submitted = 0; completed_ < end;) {
      for (; submitted < count && !idle_.empty(); ++submitted) {
        require(idle_.back()->dst()->reset_data_len());
        require(idle_.back()->submit());
        idle_.pop_back();
      }
      pe_->progress();
    }
  }

 protected:
  using Configure = void (Library::*)(TaskCallback<TaskClass>, TaskCallback<TaskClass>, std::uint32_t);

  TaskLoop(std::shared_ptr<Library> library, std::shared_ptr<ProgressEngine> pe, Configure configure,
           std::uint32_t depth)
      : pe_(std::move(pe)), library_(std::move(library)), inventory_(BufInventory::create(std::size_t{2} * depth)) {
    inventory_->start();
    ((*library_).*configure)(completed, failed, depth);
    library_->set_user_data(address_of(this));
    pe_->connect(library_);
    require(library_->start());
  }
  ~TaskLoop() {
    for (TaskClass* const task : idle_) {
      require(task->src()->dec_refcount());
      require(task->dst()->dec_refcount());
      require(task->free());
    }
    require(library_->stop());
  }

  Library& library() const noexcept { return *library_; }
  Buf* data(const std::shared_ptr<Mmap>& map, std::size_t offset, std::size_t size) const {
    Buf* buf = nullptr;
    require(inventory_->get_by_data(map, map->addr() + offset, size, buf));
    return buf;
  }
  Buf* room(const std::shared_ptr<Mmap>& map, std::size_t offset, std::size_t size) const {
    Buf* buf = nullptr;
    require(inventory_->get_by_addr(map, map->addr() + offset, size, buf));
    return buf;
  }
  /// The place of one more task, which the library's allocation fills.
  TaskClass*& next_task() { return idle_.emplace_back(); }

 private:
  static void completed(Task& done, std::uint64_t, std::uint64_t self) noexcept {
    auto& loop = *std::bit_cast<TaskLoop*>(self);
    ++loop.completed_;
    loop.idle_.push_back(static_cast<TaskClass*>(&done));
  }
  [[noreturn]] static void failed(Task&, std::uint64_t, std::uint64_t) noexcept { std::abort(); }

  std::shared_ptr<ProgressEngine> pe_;
  std::shared_ptr<Library> library_;
  std::shared_ptr<BufInventory> inventory_;
  std::vector<TaskClass*> idle_;
  std::uint64_t completed_ = 0;
};

}  // namespace pydoca::benchmarks
