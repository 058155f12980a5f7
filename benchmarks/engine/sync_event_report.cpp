// Every figure of sync events beside its floor: round trips between two processes, on two cores and on one.
// usage: sync_event_report [--json] [--check] [--repetitions N] [part of a name]
#include "pydoca/progress_engine.hpp"
#include "pydoca/sync_event.hpp"
#include "pydoca/sync_event_context.hpp"

#include "print_report.hpp"
#include "require.hpp"

#include <atomic>
#include <csignal>
#include <cstring>
#include <memory>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <thread>

namespace pydoca::benchmarks {
namespace {

constexpr std::uint64_t all_bits = ~std::uint64_t{0};
using enum SyncEventOperation;

/// How the two processes pass a number back and forth.
enum class Way : std::uint8_t {
  quit,
  import,     ///< an order: the partner imports the events
  bare_line,  ///< a word in shared memory
  bare_fd,    ///< two eventfds, each waited for with epoll
  sync,       ///< SyncEvent, busy wait
  polling,    ///< tasks, progress() in a loop
  sleeping,   ///< tasks, the engine asleep on its descriptor
};

/// The memory that the processes share besides the events.
struct Shared {
  alignas(64) std::atomic<std::uint64_t> word{0};
  alignas(64) std::atomic<std::uint32_t> asked{0};
  alignas(64) std::atomic<std::uint32_t> ready{0};
  Way way = Way::quit;
  unsigned core = 0;
  std::uint64_t rounds = 0;
  std::array<std::array<std::byte, 512>, 2> blobs{};
  std::array<std::size_t, 2> blob_sizes{};
};

void stay_on(unsigned core) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(core, &set);
  ::sched_setaffinity(0, sizeof set, &set);
}

/// An asynchronous event with room for many waits.
class Async {
 public:
  explicit Async(const std::shared_ptr<SyncEvent>& event) : context_(event->as_context()) {
    for (std::size_t i = 0; i < num_sync_event_operations; ++i) {
      context_->set_conf(static_cast<SyncEventOperation>(i), &done, &done, 2048);
    }
    context_->set_user_data(std::bit_cast<std::uint64_t>(this));
    pe_->connect(context_);
    require(context_->start());
  }
  void submit(SyncEventOperation operation, std::uint64_t value) {
    SyncEventTask* task = nullptr;
    if (context_->allocate(operation, value, all_bits, operation == wait_eq ? 1 : 0, task) != Status::success ||
        task->submit() != Status::success) {
      throw Error(Status::unexpected, "benchmark: a task was not taken");
    }
  }
  /// Returns when one more wait has ended.
  void wait(std::uint64_t value, Way way) {
    const std::uint64_t before = ended_;
    submit(wait_eq, value);
    while (ended_ == before) {
      if (way == Way::polling) {
        pe_->progress();
      } else if (pe_->drain(64) == 0) {
        pe_->wait(-1);
      }
    }
  }

 private:
  static void done(Task& task, std::uint64_t is_wait, std::uint64_t self) noexcept {
    std::bit_cast<Async*>(self)->ended_ += is_wait;
    static_cast<void>(task.free());
  }

  std::shared_ptr<SyncEventContext> context_;
  std::shared_ptr<ProgressEngine> pe_ = ProgressEngine::create();
  std::uint64_t ended_ = 0;
};

/// One end of the game. The first sends odd numbers and waits for even ones.
class Player {
 public:
  Player(Shared& shared, std::array<int, 2> fds, bool first)
      : shared_(shared), send_fd_(fds[first ? 0 : 1]), first_(first), epoll_(::epoll_create1(EPOLL_CLOEXEC)) {
    epoll_event readable{.events = EPOLLIN, .data = {}};
    ::epoll_ctl(epoll_, EPOLL_CTL_ADD, receive_fd_ = fds[first ? 1 : 0], &readable);
  }

  std::shared_ptr<SyncEvent> event;
  std::unique_ptr<Async> async;

  void play(Way way, std::uint64_t rounds) {
    for (std::uint64_t i = 0; i < rounds; ++i) {
      if (first_) {
        send(way, 2 * i + 1);
        receive(way, 2 * i + 2);
      } else {
        receive(way, 2 * i + 1);
        send(way, 2 * i + 2);
      }
    }
  }

 private:
  void send(Way way, std::uint64_t value) {
    switch (way) {
      case Way::bare_line:
        shared_.word.store(value, std::memory_order_release);
        break;
      case Way::bare_fd:
        ::eventfd_write(send_fd_, 1);
        break;
      case Way::sync:
        static_cast<void>(event->update_set(value));
        break;
      default:
        async->submit(notify_set, value);
    }
  }
  void receive(Way way, std::uint64_t value) {
    switch (way) {
      case Way::bare_line:
        while (shared_.word.load(std::memory_order_acquire) != value) {
          __builtin_ia32_pause();
        }
        break;
      case Way::bare_fd:
        receive_fd();
        break;
      case Way::sync:
        static_cast<void>(event->wait_eq(value, all_bits, WaitMode::busy));
        break;
      default:
        async->wait(value, way);
    }
  }
  void receive_fd() const {
    epoll_event readable{};
    eventfd_t count = 0;
    ::epoll_wait(epoll_, &readable, 1, -1);
    ::eventfd_read(receive_fd_, &count);
  }

  Shared& shared_;
  int send_fd_;
  int receive_fd_ = -1;
  bool first_;
  int epoll_;
};

/// The other process.
class Partner {
 public:
  Partner() {
    void* const page = ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    shared_ = new (page) Shared;
    fds_ = {::eventfd(0, EFD_NONBLOCK), ::eventfd(0, EFD_NONBLOCK)};
    child_ = ::fork();
    if (child_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      serve();
      ::_exit(0);
    }
    player_ = std::make_unique<Player>(*shared_, fds_, true);
    offer();
  }
  ~Partner() {
    ask(Way::quit, 0, 1);
    ::waitpid(child_, nullptr, 0);
  }
  Partner(const Partner&) = delete;
  Partner& operator=(const Partner&) = delete;

  /// core: the partner's; this process stays on core 0.
  void play(Way way, std::uint64_t rounds, unsigned core) {
    if (way == Way::polling || way == Way::sleeping) {
      player_->async->submit(notify_set, 0);
    } else if (way == Way::sync) {
      static_cast<void>(player_->event->update_set(0));
    }
    shared_->word.store(0);
    ask(way, rounds, core);
    player_->play(way, rounds);
  }
  Player& player() { return *player_; }

 private:
  void offer() {
    const auto device = Device::open(find_device("pf0", Side::host));
    std::array<std::shared_ptr<SyncEvent>, 2> events;
    for (auto& event : events) {
      event = SyncEvent::create();
      event->add_publisher_location(SyncEventLocation::remote_pci);
      event->add_subscriber_location_cpu(device);
    }
    events[0]->start();
    player_->event = events[0];
    player_->async = std::make_unique<Async>(events[1]);
    for (std::size_t i = 0; i < events.size(); ++i) {
      const std::vector<std::byte> blob = events[i]->export_to_remote_pci(*device);
      std::memcpy(shared_->blobs[i].data(), blob.data(), shared_->blob_sizes[i] = blob.size());
    }
    ask(Way::import, 0, 1);
  }
  void ask(Way way, std::uint64_t rounds, unsigned core) {
    shared_->way = way;
    shared_->rounds = rounds;
    shared_->core = core;
    const std::uint32_t number = shared_->asked.fetch_add(1) + 1;
    while (way != Way::quit && shared_->ready.load() != number) {
      std::this_thread::sleep_for(std::chrono::microseconds(20));
    }
  }

  void serve() {
    Player player(*shared_, fds_, false);
    for (std::uint32_t number = 1;; ++number) {
      while (shared_->asked.load() != number) {
        std::this_thread::sleep_for(std::chrono::microseconds(20));
      }
      if (shared_->way == Way::quit) {
        return;
      }
      stay_on(shared_->core);
      if (shared_->way == Way::import) {
        import(player);
      }
      shared_->ready.store(number);
      player.play(shared_->way, shared_->rounds);
    }
  }
  void import(Player& player) {
    const auto device = Device::open(find_device("p0", Side::dpu));
    const auto handle = [&](std::size_t i) {
      return SyncEvent::create_from_export(device, std::span(shared_->blobs[i]).first(shared_->blob_sizes[i]));
    };
    player.event = handle(0);
    player.event->start();
    player.async = std::make_unique<Async>(handle(1));
  }

  Shared* shared_ = nullptr;
  std::array<int, 2> fds_{};
  pid_t child_ = -1;
  std::unique_ptr<Player> player_;
};

Figure round_trip(Partner& partner, std::string name, double target, Way way, Way floor, unsigned core,
                  std::uint64_t rounds) {
  return {std::move(name),
          Rule::cost_ratio_at_most,
          target,
          rounds,
          [&partner, way, core](std::uint64_t units) { partner.play(way, units, core); },
          [&partner, floor, core](std::uint64_t units) { partner.play(floor, units, core); }};
}

/// An event that this process updates and waits for.
std::shared_ptr<SyncEvent> own_event() {
  const auto device = Device::open(find_device("p0", Side::dpu));
  const auto made = SyncEvent::create();
  made->add_publisher_location_cpu(device);
  made->add_subscriber_location_cpu(device);
  return made;
}

/// The cost of one update that ends one wait, while other waits are pending on the same engine.
class Crowd {
 public:
  explicit Crowd(std::size_t others)
      : async_(own_event()), far_(static_cast<std::uint64_t>(others) + (std::uint64_t{1} << 40)) {
    for (std::size_t i = 0; i < others; ++i) {
      async_.submit(wait_eq, far_ + i);
    }
  }
  void run(std::uint64_t units) {
    for (std::uint64_t i = 0; i < units; ++i) {
      async_.submit(notify_set, ++value_);
      async_.wait(value_, Way::polling);
    }
  }

 private:
  Async async_;
  std::uint64_t far_;
  std::uint64_t value_ = 0;
};

Figure many_waits() {
  const auto crowd = std::make_shared<Crowd>(1000);
  const auto alone = std::make_shared<Crowd>(1);
  return {"wake-up beside 1000 waits that stay, against beside one",
          Rule::cost_ratio_at_most,
          1.25,
          20'000,
          [crowd](std::uint64_t units) { crowd->run(units); },
          [alone](std::uint64_t units) { alone->run(units); }};
}

/// What one side of a round trip does: it publishes a number, and waits for one, which is there.
Figure one_side(std::string name, std::function<void(std::uint64_t)> side) {
  constexpr double target = 100;  // ns
  const auto bare = [](std::uint64_t units) {
    std::atomic<std::uint64_t> word{0};
    for (std::uint64_t value = 1; value <= units; ++value) {
      word.store(value, std::memory_order_release);
      while (word.load(std::memory_order_acquire) != value) {
        __builtin_ia32_pause();
      }
    }
  };
  return {std::move(name), Rule::excess_ns_at_most, target, 100'000, std::move(side), bare};
}

Figure side_of_event() {
  const auto event = own_event();
  event->start();
  return one_side("one side of update_set and wait_eq, above a word's", [event](std::uint64_t units) {
    for (std::uint64_t value = 1; value <= units; ++value) {
      static_cast<void>(event->update_set(value));
      static_cast<void>(event->wait_eq(value, all_bits, WaitMode::busy));
    }
  });
}

Figure side_of_tasks() {
  const auto alone = std::make_shared<Crowd>(0);
  return one_side("one side of notify_set and wait_eq tasks, above a word's",
                  [alone](std::uint64_t units) { alone->run(units); });
}

std::vector<Figure> figures(Partner& partner) {
  const auto trip = [&](const char* name, double target, Way way, Way floor, unsigned core, std::uint64_t rounds) {
    return round_trip(partner, name, target, way, floor, core, rounds);
  };
  return {
      trip("update_set and wait_eq, round trip, against a cache line", 1.3, Way::sync, Way::bare_line, 1, 100'000),
      trip("notify_set and wait_eq tasks, polling, against a cache line", 3, Way::polling, Way::bare_line, 1, 100'000),
      trip("the same asleep, two cores, against eventfd and epoll", 1.2, Way::sleeping, Way::bare_fd, 1, 2'000),
      trip("the same asleep, one core, against eventfd and epoll", 1.5, Way::sleeping, Way::bare_fd, 0, 5'000),
      many_waits(),
      side_of_event(),
      side_of_tasks(),
  };
}

}  // namespace
}  // namespace pydoca::benchmarks

int main(int argc, char** argv) {
  using namespace pydoca::benchmarks;
  return print_report(argc, argv, [](const Print& print) {
    stay_on(0);
    Partner partner;
    print(figures(partner));
  });
}
