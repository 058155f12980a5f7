#include <pydoca/log.hpp>
#include <pydoca/status.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <latch>
#include <map>
#include <sstream>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace pydoca::log {
namespace {

constexpr std::array levels{Level::crit, Level::error, Level::warning, Level::info, Level::debug, Level::trace};

/// The messages of a sink, which is closed with the test. Limits are global, so the test also restores them.
class Log : public testing::Test {
 protected:
  ~Log() override {
    for (const auto& sink : opened_) sink->close();
    set_global_lower_limit(Level::info);
    set_global_upper_limit(Level::crit);
    set_global_sdk_limit(Level::info);
  }

  std::shared_ptr<Sink> keep(std::shared_ptr<Sink> sink) { return opened_.emplace_back(std::move(sink)); }

  std::shared_ptr<Sink> ring(Family family) { return keep(Sink::ring(family, ring_)); }

  std::vector<Record> records() {
    std::vector<Record> result;
    for (Record record; ring_->try_pop(record);) result.push_back(record);
    return result;
  }

  std::vector<Level> levels_shown(Family family) {
    const Source source("TEST");
    for (const Level level : levels) {
      if (family == Family::application) source.log(level, "x");
      if (family == Family::engine) engine(level, "test", "x");
    }
    std::vector<Level> result;
    for (const auto& record : records()) result.push_back(record.level);
    return result;
  }

  const std::shared_ptr<Ring> ring_ = std::make_shared<Ring>(64);

 private:
  std::vector<std::shared_ptr<Sink>> opened_;
};

using Levels = std::vector<Level>;

template <class Attempt>
Status refusal(Attempt attempt) {
  try {
    attempt();
  } catch (const Error& error) {
    return error.status();
  }
  return Status::success;
}

std::string contents(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

/// A file for one test, removed at its end.
class TemporaryFile {
 public:
  TemporaryFile() : fd_(::mkstemp(name_.data())) {}
  ~TemporaryFile() {
    ::close(fd_);
    std::filesystem::remove(name_);
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  const std::string& path() const { return name_; }
  int fd() const { return fd_; }

 private:
  std::string name_ = testing::TempDir() + "/pydoca-log-XXXXXX";
  int fd_;
};

TEST_F(Log, LevelsHaveDocasNumbersAndNames) {
  const std::map<std::uint32_t, std::string_view> expected{
      {10, "DISABLE"}, {20, "CRIT"}, {30, "ERROR"}, {40, "WARNING"}, {50, "INFO"}, {60, "DEBUG"}, {70, "TRACE"}};
  for (std::uint32_t number = 0; number < 100; ++number) {
    const auto row = expected.find(number);
    if (row == expected.end()) {
      EXPECT_EQ(refusal([&] { static_cast<void>(level_of(number)); }), Status::invalid_value) << number;
    } else {
      EXPECT_EQ(level_name(level_of(number)), row->second);
    }
  }
  EXPECT_EQ(level_name(static_cast<Level>(55)), "UNRECOGNIZED");
}

TEST_F(Log, DefaultsAreInfoCritInfo) {
  EXPECT_EQ(global_lower_limit(), Level::info);
  EXPECT_EQ(global_upper_limit(), Level::crit);
  EXPECT_EQ(global_sdk_limit(), Level::info);
  EXPECT_EQ(ring(Family::engine)->sdk_level(), Level::info);
  const auto application = ring(Family::application);
  EXPECT_EQ(application->lower_limit(), Level::info);
  EXPECT_EQ(application->upper_limit(), Level::crit);
}

TEST_F(Log, NothingIsEnabledWithoutASink) {
  for (const Family family : {Family::application, Family::engine}) {
    EXPECT_FALSE(enabled(family, Level::crit));
    const auto sink = ring(family);
    EXPECT_TRUE(enabled(family, Level::info));
    EXPECT_FALSE(enabled(family, Level::debug));
    sink->close();
    sink->close();
    EXPECT_FALSE(enabled(family, Level::crit));
  }
}

TEST_F(Log, DisabledTextIsNotMade) {
  ring(Family::engine);
  int made = 0;
  const auto text = [&] { return ++made, std::string("text"); };
  engine(Level::debug, "test", text);
  EXPECT_EQ(made, 0);
  engine(Level::info, "test", text);
  EXPECT_EQ(made, 1);
  EXPECT_EQ(records().size(), 1U);
}

TEST_F(Log, ApplicationSinkShowsItsWindow) {
  const auto sink = ring(Family::application);
  sink->set_lower_limit(Level::debug);
  sink->set_upper_limit(Level::warning);
  EXPECT_EQ(levels_shown(Family::application), (Levels{Level::warning, Level::info, Level::debug}));
  sink->set_upper_limit(Level::crit);
  sink->set_lower_limit(Level::crit);
  EXPECT_EQ(levels_shown(Family::application), Levels{Level::crit});
  sink->set_lower_limit(Level::disable);
  EXPECT_EQ(levels_shown(Family::application), Levels{});
}

TEST_F(Log, EngineSinkHasOneLimit) {
  const auto sink = ring(Family::engine);
  sink->set_sdk_level(Level::warning);
  EXPECT_EQ(levels_shown(Family::engine), (Levels{Level::crit, Level::error, Level::warning}));
  sink->set_sdk_level(Level::disable);
  EXPECT_EQ(levels_shown(Family::engine), Levels{});
  EXPECT_EQ(refusal([&] { sink->set_lower_limit(Level::info); }), Status::not_supported);
  EXPECT_EQ(refusal([&] { sink->set_upper_limit_strict(); }), Status::not_supported);
  EXPECT_EQ(refusal([&] { ring(Family::application)->set_sdk_level(Level::info); }), Status::not_supported);
  try {
    sink->set_lower_limit(Level::info);
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "cannot set the lower limit of a log backend for the library's messages; it has one "
                 "limit, its SDK level");
  }
}

TEST_F(Log, DisableIsNoLevelOfAMessage) {
  ring(Family::engine);
  engine(Level::disable, "test", "x");
  EXPECT_TRUE(records().empty());
}

TEST_F(Log, FamiliesDoNotMix) {
  ring(Family::engine);
  EXPECT_EQ(levels_shown(Family::application), Levels{});
  set_global_lower_limit(Level::trace);
  EXPECT_FALSE(enabled(Family::engine, Level::debug));
}

TEST_F(Log, GlobalLimitsReachSinksOfNowAndLater) {
  const auto before = ring(Family::application);
  const auto engine_before = ring(Family::engine);
  set_global_lower_limit(Level::debug);
  set_global_upper_limit(Level::error);
  set_global_sdk_limit(Level::trace);
  const auto after = ring(Family::application);
  for (const auto& sink : {before, after}) {
    EXPECT_EQ(sink->lower_limit(), Level::debug);
    EXPECT_EQ(sink->upper_limit(), Level::error);
  }
  EXPECT_EQ(engine_before->sdk_level(), Level::trace);
  EXPECT_EQ(ring(Family::engine)->sdk_level(), Level::trace);
  EXPECT_EQ(refusal([] { set_global_lower_limit(static_cast<Level>(55)); }), Status::invalid_value);
  EXPECT_EQ(global_lower_limit(), Level::debug);
}

TEST_F(Log, StrictLowerLimitCannotBeRelaxed) {
  const auto sink = ring(Family::application);
  sink->set_lower_limit_strict();
  EXPECT_EQ(refusal([&] { sink->set_lower_limit(Level::debug); }), Status::not_permitted);
  set_global_lower_limit(Level::trace);
  EXPECT_EQ(sink->lower_limit(), Level::info);
  sink->set_lower_limit(Level::warning);
  set_global_lower_limit(Level::error);
  EXPECT_EQ(sink->lower_limit(), Level::error);
}

TEST_F(Log, StrictUpperLimitCannotBeRelaxed) {
  const auto sink = ring(Family::application);
  sink->set_upper_limit(Level::error);
  sink->set_upper_limit_strict();
  EXPECT_EQ(refusal([&] { sink->set_upper_limit(Level::crit); }), Status::not_permitted);
  set_global_upper_limit(Level::crit);
  EXPECT_EQ(sink->upper_limit(), Level::error);
  set_global_upper_limit(Level::warning);
  EXPECT_EQ(sink->upper_limit(), Level::warning);
}

TEST_F(Log, RecordSaysWhoWhenAndWhere) {
  ring(Family::engine);
  engine(Level::warning, "comch", "peer went away");
  const auto all = records();
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].family, Family::engine);
  EXPECT_EQ(all[0].source, "comch");
  EXPECT_EQ(all[0].text, "peer went away");
  EXPECT_EQ(all[0].thread_id, static_cast<std::uint64_t>(::gettid()));
  EXPECT_GT(all[0].realtime_ns, 1'500'000'000'000'000'000U);
  EXPECT_GT(all[0].boottime_ns, 0U);
}

TEST_F(Log, LongTextIsCut) {
  ring(Family::engine);
  engine(Level::error, "test", std::string(max_text, 'a'));
  engine(Level::error, "test", std::string(max_text + 1, 'a'));
  const auto all = records();
  EXPECT_EQ(all.at(0).text, std::string(max_text, 'a'));
  EXPECT_EQ(all.at(1).text, std::string(max_text - 3, 'a') + "...");
}

TEST_F(Log, FormatNamesLevelSourceAndThread) {
  Record record;
  record.level = Level::error;
  record.source = "dma";
  record.text = "text with {} and %s";
  record.thread_id = 42;
  const std::string line = format(record);
  EXPECT_NE(line.find("[42][error][dma] text with {} and %s"), std::string::npos) << line;
  EXPECT_EQ(line.find('\n'), std::string::npos);
}

TEST(Source, IsRegisteredWhileItLives) {
  const Source one("APP::COPY");
  {
    const Source two("APP::COPY"), other("APP");
    EXPECT_EQ(sources(), (std::vector<std::string>{"APP", "APP::COPY"}));
  }
  EXPECT_EQ(sources(), std::vector<std::string>{"APP::COPY"});
}

TEST(Source, RefusesAnEmptyPart) {
  for (const char* name : {"", "::", "APP::", "::APP", "APP::::COPY"}) {
    EXPECT_EQ(refusal([&] { const Source source(name); }), Status::invalid_value) << name;
  }
  EXPECT_TRUE(sources().empty());
}

Record numbered(std::uint64_t number) {
  Record record;
  record.thread_id = number;
  return record;
}

std::vector<std::uint64_t> numbers(Ring& ring) {
  std::vector<std::uint64_t> result;
  for (Record record; ring.try_pop(record);) result.push_back(record.thread_id);
  return result;
}

TEST(Ring, DropsTheOldest) {
  Ring ring(3, Overflow::drop_oldest);
  for (std::uint64_t i = 0; i < 5; ++i) ring.push(numbered(i));
  EXPECT_EQ(ring.size(), 3U);
  EXPECT_EQ(ring.lost(), 2U);
  EXPECT_EQ(numbers(ring), (std::vector<std::uint64_t>{2, 3, 4}));
  EXPECT_EQ(ring.size(), 0U);
}

TEST(Ring, DropsTheNewest) {
  Ring ring(3, Overflow::drop_newest);
  for (std::uint64_t i = 0; i < 5; ++i) ring.push(numbered(i));
  EXPECT_EQ(ring.lost(), 2U);
  EXPECT_EQ(numbers(ring), (std::vector<std::uint64_t>{0, 1, 2}));
  ring.push(numbered(9));
  EXPECT_EQ(numbers(ring), std::vector<std::uint64_t>{9});
}

TEST(Ring, RefusesACapacityItCannotHold) {
  EXPECT_EQ(refusal([] { Ring ring(0); }), Status::invalid_value);
  EXPECT_EQ(refusal([] { Ring ring(Ring::max_capacity + 1); }), Status::invalid_value);
  EXPECT_EQ(Ring(1).capacity(), 1U);
}

TEST_F(Log, ThreadsLoseNothingUncounted) {
  constexpr std::uint64_t threads = 4, messages = 500;
  ring(Family::engine);
  std::latch start(threads);
  std::uint64_t received = 0;
  Record record;
  {
    std::vector<std::jthread> loggers;
    for (std::uint64_t i = 0; i < threads; ++i) {
      loggers.emplace_back([&] {
        start.arrive_and_wait();
        for (std::uint64_t n = 0; n < messages; ++n) engine(Level::info, "test", "message");
      });
    }
    for (std::uint64_t n = 0; n < messages; ++n) received += ring_->try_pop(record) ? 1U : 0U;
  }
  while (ring_->try_pop(record)) ++received;
  EXPECT_EQ(received + ring_->lost(), threads * messages);
}

TEST_F(Log, SinksComeAndGoWhileThreadsLog) {
  std::atomic<bool> stop{false};
  std::jthread logger([&] {
    while (!stop) engine(Level::info, "test", "message");
  });
  for (int i = 0; i < 200; ++i) {
    const auto sink =
        Sink::callback(Family::engine, [i](const Record& record) { EXPECT_EQ(record.text, "message") << i; });
    set_global_sdk_limit(i % 2 ? Level::info : Level::trace);
    sink->close();
  }
  stop = true;
}

TEST_F(Log, CallbackMayLogWithoutBeingCalledAgain) {
  int calls = 0;
  keep(Sink::callback(Family::engine, [&](const Record&) {
    ++calls;
    engine(Level::error, "test", "from the callback");
  }));
  ring(Family::engine);
  engine(Level::error, "test", "from outside");
  EXPECT_EQ(calls, 1);
  const auto all = records();
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].text, "from the callback");
}

TEST_F(Log, CallbackMayCloseItsOwnSink) {
  std::weak_ptr<Sink> self;
  int calls = 0;
  const auto sink = keep(Sink::callback(Family::engine, [&](const Record&) {
    ++calls;
    self.lock()->close();
  }));
  self = sink;
  engine(Level::error, "test", "x");
  engine(Level::error, "test", "x");
  EXPECT_EQ(calls, 1);
}

TEST_F(Log, ThrowingCallbackIsCountedAndStaysInUse) {
  const auto sink = keep(Sink::callback(Family::engine, [](const Record&) { throw std::runtime_error("no"); }));
  engine(Level::error, "test", "x");
  engine(Level::error, "test", "x");
  EXPECT_EQ(sink->lost(), 2U);
  EXPECT_EQ(refusal([] { Sink::callback(Family::engine, {}); }), Status::invalid_value);
  EXPECT_EQ(refusal([] { Sink::ring(Family::engine, nullptr); }), Status::invalid_value);
}

TEST_F(Log, ClosingASinkMayRunForeignDestructorsThatLog) {
  ring(Family::engine);
  std::shared_ptr<int> state(new int(0), [](int* value) {
    engine(Level::error, "test", "destroyed");
    delete value;
  });
  const std::weak_ptr<int> watch = state;
  auto sink = Sink::callback(Family::engine, [kept = std::move(state)](const Record&) { static_cast<void>(kept); });
  Sink* const raw = sink.get();
  sink.reset();
  EXPECT_FALSE(watch.expired());
  raw->close();
  EXPECT_TRUE(watch.expired());
  EXPECT_EQ(records().at(0).text, "destroyed");
}

TEST_F(Log, FileSinkAppends) {
  const TemporaryFile file;
  for (const char* text : {"first", "second"}) {
    const auto sink = Sink::file(Family::engine, file.path());
    engine(Level::error, "test", text);
    sink->close();
  }
  const std::string all = contents(file.path());
  EXPECT_LT(all.find("[error][test] first\n"), all.find("[error][test] second\n"));
  EXPECT_NE(all.find("second\n"), std::string::npos) << all;
}

TEST_F(Log, FileSinkSaysWhatItCannotOpen) {
  try {
    Sink::file(Family::engine, "/proc/no-such-directory/log");
    FAIL() << "a file was opened that cannot exist";
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), Status::operating_system);
    EXPECT_NE(std::string(error.what()).find("/proc/no-such-directory"), std::string::npos) << error.what();
  }
}

TEST_F(Log, FdSinkOutlivesTheCallersDescriptor) {
  const TemporaryFile file;
  const int fd = ::dup(file.fd());
  keep(Sink::fd(Family::engine, fd));
  ::close(fd);
  engine(Level::error, "test", "text");
  EXPECT_NE(contents(file.path()).find("[test] text\n"), std::string::npos);
  EXPECT_EQ(refusal([&] { Sink::fd(Family::engine, -1); }), Status::invalid_value);
}

TEST_F(Log, FdSinkCountsWhatItCannotWrite) {
  const int full = ::open("/dev/full", O_WRONLY | O_CLOEXEC);
  ASSERT_GE(full, 0);
  const auto sink = keep(Sink::fd(Family::engine, full));
  ::close(full);
  engine(Level::error, "test", "x");
  EXPECT_EQ(sink->lost(), 1U);
}

TEST_F(Log, StandardSinkSplitsBySeverity) {
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  keep(Sink::standard());
  set_global_lower_limit(Level::debug);
  const Source source("TEST");
  for (const Level level : levels) source.log(level, level_name(level));
  const std::string out = testing::internal::GetCapturedStdout();
  const std::string err = testing::internal::GetCapturedStderr();
  EXPECT_EQ(std::count(out.begin(), out.end(), '\n'), 2) << out;
  EXPECT_EQ(std::count(err.begin(), err.end(), '\n'), 3) << err;
  EXPECT_NE(out.find("[TEST] DEBUG\n"), std::string::npos) << out;
  EXPECT_NE(err.find("[TEST] WARNING\n"), std::string::npos) << err;
}

TEST_F(Log, SyslogSinkTakesMessages) {
  const auto sink = keep(Sink::syslog(Family::engine, "pydoca-test"));
  engine(Level::debug, "test", "not for the system's log");
  sink->set_sdk_level(Level::debug);
  engine(Level::debug, "test", "a message of pydoca's own tests");
  EXPECT_EQ(sink->lost(), 0U);
}

TEST_F(Log, ChildOfALoggingProcessCanLog) {
  std::atomic<bool> stop{false};
  std::jthread other([&] {
    while (!stop) set_global_sdk_limit(Level::info);
  });
  for (int i = 0; i < 50; ++i) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      const auto sink = Sink::ring(Family::engine, std::make_shared<Ring>(1));
      engine(Level::error, "test", "x");
      ::_exit(0);
    }
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  stop = true;
}

}  // namespace
}  // namespace pydoca::log
