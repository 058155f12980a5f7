// Four threads on one device. Each has a progress engine of its own in an epoll loop of its own, which sleeps until the
// device has ended a copy, or until another thread asks it to stop.

#include <pydoca/buf_inventory.hpp>
#include <pydoca/dma.hpp>
#include <pydoca/handles.hpp>
#include <pydoca/memory.hpp>
#include <pydoca/progress_engine.hpp>

#include <array>
#include <atomic>
#include <cerrno>
#include <exception>
#include <iostream>
#include <memory>
#include <string>
#include <string_view>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <system_error>
#include <thread>
#include <unistd.h>

namespace {

using pydoca::require;
using pydoca::Status;

constexpr std::size_t size = 1 << 20;  ///< bytes of a copy, which the device does in its own time
constexpr std::size_t copies = 50;     ///< each thread's number of copies
constexpr std::size_t threads = 4;

int checked(int result, const char* what) {
  return result >= 0 ? result : throw std::system_error(errno, std::generic_category(), what);
}

struct Descriptor {
  explicit Descriptor(int number) : fd(number) {}
  ~Descriptor() { ::close(fd); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  const int fd;
};

/// One thread's: an engine in an epoll set, beside a descriptor that ends the loop.
class Loop {
 public:
  explicit Loop(int stop) : epoll_(checked(::epoll_create1(EPOLL_CLOEXEC), "epoll_create1")) {
    add(engine->notification_handle());
    add(stop);
  }
  /// Delivers completions until all copies have ended (true) or the program stops (false).
  bool run(const std::size_t& left) {
    while (left > 0) {
      // Look once more after arming: a completion from before would not make the descriptor readable.
      engine->request_notification();
      if (engine->progress() != 0) {
        continue;
      }
      epoll_event event{};
      if (::epoll_wait(epoll_.fd, &event, 1, -1) < 0 && errno != EINTR) {
        throw std::system_error(errno, std::generic_category(), "epoll_wait");
      }
      if (event.data.fd != engine->notification_handle()) {
        return false;
      }
      engine->clear_notification();
    }
    return true;
  }

  const std::shared_ptr<pydoca::ProgressEngine> engine = pydoca::ProgressEngine::create();

 private:
  void add(int fd) {
    epoll_event event{.events = EPOLLIN, .data = {.fd = fd}};
    checked(::epoll_ctl(epoll_.fd, EPOLL_CTL_ADD, fd, &event), "epoll_ctl");
  }
  Descriptor epoll_;
};

void copied(pydoca::DmaMemcpyTask& task, std::size_t* left) noexcept {
  if (--*left == 0) {
    return;
  }
  if (task.dst()->reset_data_len() != Status::success || task.submit() != Status::success) {
    std::terminate();  // the loop would sleep for ever
  }
}

void failed(pydoca::DmaMemcpyTask& task) noexcept {
  std::cerr << "copy failed: " << pydoca::error_name(task.status()) << '\n';
  std::terminate();
}

std::size_t copy_many(const std::shared_ptr<pydoca::Device>& device, int stop) {
  const auto memory = pydoca::Memory::allocate(2 * size);
  const auto map = pydoca::Mmap::create();
  map->add_device(device);
  map->set_memrange(memory->data(), memory->size(), memory);
  map->start();
  const auto inventory = pydoca::BufInventory::create(2);
  inventory->start();
  Loop loop(stop);
  const auto dma = pydoca::Dma::create(device);
  dma->set_memcpy_conf(pydoca::calls<copied>, pydoca::calls<failed>, 1);
  loop.engine->connect(dma);
  require(dma->start(), "start the context");
  std::size_t left = copies;
  {
    pydoca::BufRef src;
    pydoca::BufRef dst;
    pydoca::TaskRef<pydoca::DmaMemcpyTask> task;
    require(inventory->get_by_data(map, map->addr(), size, pydoca::Into(src)), "get the source");
    require(inventory->get_by_addr(map, map->addr() + size, size, pydoca::Into(dst)), "get the destination");
    require(dma->memcpy(src.get(), dst.get(), pydoca::as_user_data(&left), pydoca::Into(task)), "a task");
    require(task->submit(), "submit the task");
    if (!loop.run(left)) {
      left = 1;  // the one in flight is the last one
      while (dma->num_inflight_tasks() > 0) {
        loop.engine->progress();
      }
    }
  }
  require(dma->stop(), "stop the context");
  return copies;
}

void run() {
  const auto device = pydoca::Device::open(pydoca::find_device("03:00.0"));
  const Descriptor stop(checked(::eventfd(0, EFD_CLOEXEC), "eventfd"));
  std::atomic<std::size_t> ended = 0;
  std::array<std::exception_ptr, threads> failures;
  {
    std::array<std::jthread, threads> running;
    for (std::size_t i = 0; i < threads; ++i) {
      running[i] = std::jthread([&, i] {
        try {
          ended += copy_many(device, stop.fd);
        } catch (...) {
          failures[i] = std::current_exception();
          ::eventfd_write(stop.fd, 1);
        }
      });
    }
  }
  for (const std::exception_ptr& failure : failures) {
    if (failure) {
      std::rethrow_exception(failure);
    }
  }
  std::cout << threads << " threads ended " << ended << " copies\n";
}

}  // namespace

int main() {
  try {
    run();
  } catch (const std::exception& error) {
    std::cerr << "threads: " << error.what() << '\n';
    return 1;
  }
  return 0;
}
