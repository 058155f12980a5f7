#include "failure/sweep.hpp"

#include "pydoca/log.hpp"
#include "pydoca/sim.hpp"

#include "backend/sim/fabric/socket_file.hpp"
#include "detail/concat.hpp"
#include "rig/process/process_rig.hpp"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <fstream>
#include <memory>
#include <new>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

namespace pydoca::failure {

namespace {

using detail::concat;

constexpr unsigned patience_s = 30;
constexpr int max_failures = 5;
enum Exit : int { good = 0, complete = 2, bad = 3 };

Report* shared_report() {
  static void* const page = ::mmap(nullptr, sizeof(Report), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  return static_cast<Report*>(page);
}

[[noreturn]] void fail(std::string_view verdict) {
  Report& report = *shared_report();
  const std::size_t size = std::min(verdict.size(), report.verdict.size() - 1);
  std::copy_n(verdict.begin(), size, report.verdict.begin());
  report.verdict[size] = '\0';
  ::_exit(Exit::bad);
}

void note_crash(int signal) {
  shared_report()->crash.note();
  ::signal(signal, SIG_DFL);
  ::raise(signal);
}

/// How a run of the scenario ended; `what` is empty when it ran to its end.
struct End {
  Status status = Status::success;
  std::string what;
  bool tolerable = true;
};

End run_scenario(const Scenario& scenario, std::uint64_t* count, const Plan& plan) {
  End end;
  step("");
  arm(plan, *shared_report());
  const auto ended = [&] {
    const std::uint64_t seen = disarm();
    if (count != nullptr) {
      *count = seen;
    }
  };
  try {
    scenario.run();
    ended();
  } catch (const std::bad_alloc&) {
    ended();
    end = {Status::no_memory, "std::bad_alloc"};
  } catch (const Error& error) {
    ended();
    end = {error.status(), error.what()};
  } catch (const Refused& refused) {
    ended();
    end = {refused.status, refused.place};
  } catch (const Hung& hung) {
    ended();
    end = {Status::unknown, concat("nothing happens: ", hung.place), false};
  } catch (const Wrong& wrong) {
    ended();
    end = {Status::unknown, concat("wrong: ", wrong.place), false};
  } catch (const std::exception& error) {
    ended();
    end = {Status::unknown, concat("another exception: ", error.what()), false};
  }
  return end;
}

void require_tolerable(const Scenario& scenario, const Plan& plan, const End& end) {
  const auto& others = scenario.other_ends;
  const bool expected = end.status == Status::success || end.status == Status::no_memory ||
                        std::ranges::find(others, end.status) != others.end() ||
                        (plan.kind == Plan::Kind::call && end.status != Status::unknown);
  if (!end.tolerable || !expected) {
    fail(concat("ended with ", end.status, ": ", end.what));
  }
}

void require_untouched(const Scenario& scenario) {
  if (const End end = run_scenario(scenario, nullptr, {}); end.status != Status::success || !end.what.empty()) {
    fail(concat("and the next run ended with ", end.status, ": ", end.what));
  }
}

/// How many memory files of the engine are mapped.
std::size_t count_mappings() {
  std::ifstream maps("/proc/self/maps");
  std::size_t count = 0;
  for (std::string line; std::getline(maps, line);) {
    count += line.find("/memfd:pydoca") != std::string::npos ? 1U : 0U;
  }
  return count;
}

struct Usage {
  std::size_t descriptors = 0;
  std::size_t mappings = 0;
  std::int64_t blocks = 0;

  static Usage now() { return {count_descriptors(), count_mappings(), live_blocks()}; }
  bool exceeds(const Usage& other) const {
    return descriptors > other.descriptors || mappings > other.mappings || blocks > other.blocks;
  }
  bool operator==(const Usage&) const = default;
};

/// Other threads release what they have a moment later.
void require_usage(const Usage& expected, const char* when) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(3);
  Usage usage = Usage::now();
  while (usage.exceeds(expected) && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(std::chrono::microseconds(200));
    usage = Usage::now();
  }
  if (usage.exceeds(expected)) {
    fail(concat(when, " there are ", usage.descriptors, " descriptors, ", usage.mappings, " mappings and ",
                usage.blocks, " blocks of memory, before ", expected.descriptors, ", ", expected.mappings, " and ",
                expected.blocks));
  }
}

Usage settled_usage() {
  Usage usage = Usage::now();
  for (int same = 0; same < 20;) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    const Usage next = Usage::now();
    same = next == usage ? same + 1 : 0;
    usage = next;
  }
  return usage;
}

/// Makes the n-th event fail. False when there were fewer.
bool run_once(const Sweep& sweep, std::size_t plan_index, std::uint64_t n) {
  ::alarm(patience_s);
  Plan plan = sweep.plans[plan_index];
  plan.n = n;
  shared_report()->n = n;
  shared_report()->plan = plan_index;
  shared_report()->failure.count = 0;
  std::uint64_t count = 0;
  require_tolerable(sweep.scenario, plan, run_scenario(sweep.scenario, &count, plan));
  return count >= n;
}

/// Runs from this plan and n on.
int run_warm(const Sweep& sweep, std::size_t plan, std::uint64_t n) {
  shared_report()->n = 0;
  require_untouched(sweep.scenario);
  require_untouched(sweep.scenario);
  Usage usage = settled_usage();
  for (; plan < sweep.plans.size(); ++plan, n = sweep.first) {
    for (; run_once(sweep, plan, n); n += sweep.stride) {
      require_usage(usage, "then");
      require_untouched(sweep.scenario);
      require_usage(usage, "after the next run");
    }
  }
  return Exit::complete;
}

int run_cold(const Sweep& sweep, std::size_t plan, std::uint64_t n) {
  if (!run_once(sweep, plan, n)) {
    return Exit::complete;
  }
  require_untouched(sweep.scenario);
  return Exit::good;
}

[[noreturn]] void run_child(const Sweep& sweep, std::size_t plan, std::uint64_t n) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::alarm(patience_s);
  for (const int signal : {SIGABRT, SIGSEGV, SIGBUS, SIGALRM}) {
    ::signal(signal, &note_crash);
  }
  Frames warm_up;
  warm_up.note();  // loads what backtrace() needs
  const std::string fabric = concat("failure-", ::getpid());
  sim::set_fabric(fabric);
  sim::set_topology(sim::default_topology(sweep.scenario.profile));
  const auto sink = log::Sink::callback(log::Family::engine, [](const log::Record& /*record*/) {});
  sink->set_sdk_level(log::Level::trace);
  const int code = sweep.cold ? run_cold(sweep, plan, n) : run_warm(sweep, plan, n);
  const sim::FabricDirectory directory(fabric);
  sim::SocketFile::remove_all(directory);
  sim::leave(directory);
  ::_exit(code);
}

/// Functions and lines, where addr2line is installed.
std::string text_of(const Frames& frames) {
  Dl_info self{};
  ::dladdr(reinterpret_cast<void*>(&shared_report), &self);
  std::string command = "addr2line -Cfpse /proc/self/exe";
  command.replace(command.find("/proc/self/exe"), 14, std::filesystem::read_symlink("/proc/self/exe").string());
  for (int i = 0; i < frames.count; ++i) {
    Dl_info info{};
    void* const address = frames.addresses[static_cast<std::size_t>(i)];
    if (::dladdr(address, &info) != 0 && info.dli_fbase == self.dli_fbase) {
      const auto offset = static_cast<char*>(address) - static_cast<char*>(info.dli_fbase) - 1;
      std::array<char, 32> number{};
      std::snprintf(number.data(), number.size(), " %#tx", offset);
      command += number.data();
    }
  }
  std::string lines;
  // NOLINTNEXTLINE(bugprone-command-processor): the words are numbers and this program's own path
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(::popen(command.c_str(), "r"), &::pclose);
  std::array<char, 400> line{};
  while (pipe != nullptr && std::fgets(line.data(), line.size(), pipe.get()) != nullptr) {
    const std::string_view text(line.data());
    if (text.starts_with("pydoca::") && !text.starts_with("pydoca::failure::(anonymous") &&
        !text.starts_with("pydoca::failure::Frames") && !text.starts_with("pydoca::failure::fails")) {
      lines += concat("    ", text.substr(0, 110), text.size() > 110 ? "\n" : "");
    }
  }
  return lines;
}

std::string describe(const Sweep& sweep, int status) {
  const Report& report = *shared_report();
  const std::string verdict =
      WIFSIGNALED(status) ? concat("signal ", WTERMSIG(status)) : std::string(report.verdict.data());
  const Plan& plan = sweep.plans[report.plan];
  const std::string call = plan.call == nullptr ? "" : concat(", ", plan.call, "() with error ", plan.error);
  return concat(sweep.scenario.name, call, ", n = ", report.n.load(), ", at \"", report.step.load(), "\": ", verdict,
                "\n  what failed:\n", text_of(report.failure),
                report.crash.count == 0 ? "" : concat("  where it ended:\n", text_of(report.crash)));
}

}  // namespace

void step(const char* what) noexcept { shared_report()->step = what; }

namespace {

/// One child; false when the sweep is over.
bool advance(const Sweep& sweep, std::size_t& plan, std::uint64_t& n, Result& result) {
  Report& report = *new (shared_report()) Report;
  report.n = n;
  report.plan = plan;
  const pid_t child = ::fork();
  if (child == 0) {
    run_child(sweep, plan, n);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  ++result.num_runs;
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : Exit::bad;
  if (code == Exit::bad) {
    result.failures += describe(sweep, status);
    ++result.num_failures;
  }
  const bool over = code == Exit::complete;
  plan = over ? plan + 1 : report.plan.load();
  n = over ? sweep.first : report.n + sweep.stride;
  // Without a failure, it does not run either.
  return report.n != 0 && plan < sweep.plans.size() && (sweep.cold || !over);
}

}  // namespace

Result run(const Sweep& sweep) {
  Result result;
  std::size_t plan = 0;
  std::uint64_t n = sweep.first;
  while (advance(sweep, plan, n, result) && result.num_failures < max_failures) {
  }
  return result;
}

bool is_whole_sweep() noexcept {
  const char* const text = std::getenv("PYDOCA_SWEEP");
  return text != nullptr && std::string_view(text) == "1";
}

}  // namespace pydoca::failure
