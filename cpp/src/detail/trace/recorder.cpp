#include "detail/trace/recorder.hpp"

#include "detail/concat.hpp"
#include "detail/system_reason.hpp"
#include "detail/thread/per_process.hpp"
#include "detail/thread/thread_token.hpp"
#include "detail/time/time.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <mutex>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <utility>

namespace pydoca::detail::trace {

constinit Atomic<bool> recording{false};
constinit Atomic<bool> counts_cycles{false};
constinit Atomic<std::uint32_t> present_generation{0};
thread_local constinit ThreadRing own_ring __attribute__((tls_model("initial-exec")));

std::uint64_t nanosecond_ticks() noexcept { return detail::now(); }

namespace {

/// What threads use without a lock. A thread that found the recording on may write into it later. Its memory therefore
/// never goes: after a recording it is blank private memory. The next recordings have other places, so that only a
/// thread that has slept through some of them could write into one that is not its own.
constexpr std::uint32_t num_places = 4;
constinit Atomic<std::byte*> places{nullptr};
constinit Atomic<std::byte*> base{nullptr};  ///< the place of the present recording, or of the last one
constinit Atomic<std::uint32_t> ring_capacity{0};
constinit Atomic<std::uint32_t> rings_taken{0};
constinit Atomic<std::uint32_t> names_taken{0};
constinit Atomic<int> present_file{-1};

/// The users of the recording. A forked child begins anew.
struct Shares {
  std::mutex mutex;
  std::uint32_t count = 0;
};

constexpr std::size_t reserved = file_size(max_capacity);

template <class T>
T& at(std::size_t offset) noexcept {
  return *reinterpret_cast<T*>(base.load(std::memory_order_relaxed) + offset);
}
FileHeader& header() noexcept { return at<FileHeader>(0); }

[[noreturn]] void refuse(std::string_view what) {
  throw Error(Status::operating_system, concat("trace: ", what, ": ", system_reason(errno)));
}

/// Puts blank memory over a recording. Where the system has none, the file's memory stays, which is not read. Threads
/// that record meanwhile find one of both, which is as good; ThreadSanitizer would take mmap() for a write that races.
void blank() noexcept {
  [[maybe_unused]] const long blanked = ::syscall(SYS_mmap, base.load(), reserved, PROT_READ | PROT_WRITE,
                                                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
}

void drop_file() noexcept { const Fd dropped(present_file.exchange(-1)); }

/// A child shares the memory of its parent's recording, and must not write there.
void after_fork_in_child() {
  recording.store(false, std::memory_order_relaxed);
  present_generation.fetch_add(1, std::memory_order_relaxed);
  drop_file();
  if (base.load() != nullptr) {
    blank();
  }
}

void reserve() {
  if (places.load() != nullptr) {
    return;
  }
  static const int hooked = ::pthread_atfork(nullptr, nullptr, after_fork_in_child);
  if (hooked != 0) {
    throw Error(Status::no_memory, "trace: cannot prepare for fork()");
  }
  void* const room = ::mmap(nullptr, num_places * reserved, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (room == MAP_FAILED) {
    refuse("there is no room for a recording");
  }
  places.store(static_cast<std::byte*>(room));
}

bool file_has_word(const char* path, std::string_view word) noexcept {
  std::array<char, 16384> text{};
  const Fd file(::open(path, O_RDONLY | O_CLOEXEC));
  std::size_t size = 0;
  for (ssize_t count = 1; file && count > 0 && size < text.size();) {
    count = ::read(file.get(), text.data() + size, text.size() - size);
    size += count > 0 ? static_cast<std::size_t>(count) : 0;
  }
  const std::string_view all(text.data(), size);
  for (std::size_t found = all.find(word); found != all.npos; found = all.find(word, found + 1)) {
    const auto ends = [&](std::size_t place) {
      return place >= all.size() || std::strchr(" \t\n", all[place]) != nullptr;
    };
    if ((found == 0 || ends(found - 1)) && ends(found + word.size())) {
      return true;
    }
  }
  return false;
}

/// Whether the counter runs at one rate, and is the same on all cores: then the kernel keeps time by it, or could.
bool cycles_are_time() noexcept {
#if defined(__x86_64__)
  return file_has_word("/proc/cpuinfo", "constant_tsc") &&
         file_has_word("/sys/devices/system/clocksource/clocksource0/available_clocksource", "tsc");
#else
  return has_processor_cycles;
#endif
}

void choose_ticks() noexcept {
  static const bool are_time = cycles_are_time();
  counts_cycles.store(are_time && !is_time_virtual(), std::memory_order_relaxed);
}

Ticks present_ticks() noexcept {
  if (is_time_virtual()) {
    return Ticks::virtual_nanoseconds;
  }
  return counts_cycles.load() ? Ticks::processor_cycles : Ticks::nanoseconds;
}

bool has_virtual_ticks() noexcept {
  return header().ticks.load() == static_cast<std::uint32_t>(Ticks::virtual_nanoseconds);
}

/// Requires the clock of a recording under way. Its records and the new share's times could not be compared.
void require_same_clock() {
  if (has_virtual_ticks() != is_time_virtual()) {
    throw Error(Status::bad_state, is_time_virtual()
                                       ? "trace: this process records in real time already; end that trace, and the "
                                         "traces of the fabric's other processes, before virtual time begins"
                                       : "trace: this process still records in virtual time; end that trace first");
  }
}

Fd create_file(std::uint32_t capacity) {
  Fd file(::memfd_create("pydoca-trace", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!file || ::ftruncate(file.get(), static_cast<off_t>(file_size(capacity))) != 0 ||
      ::fcntl(file.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    refuse("cannot create the recording");
  }
  return file;
}

std::string_view executable(std::array<char, 64>& text) noexcept {
  const Fd file(::open("/proc/self/comm", O_RDONLY | O_CLOEXEC));
  const ssize_t size = file ? ::read(file.get(), text.data(), text.size()) : 0;
  return {text.data(), size > 0 ? static_cast<std::size_t>(size) - 1 : 0};
}

/// The rings whose memory is there from the begin on, so that the first events of the first threads are also fast.
constexpr std::uint32_t num_prepared = 2;

/// Backs the ring with memory, so that records do not fault; kernels before 5.14 do without.
void prepare(std::uint32_t ring, std::uint32_t capacity) noexcept {
  ::madvise(&at<Record>(records_offset(ring, capacity)), capacity * sizeof(Record), MADV_POPULATE_WRITE);
}

void begin(std::uint32_t capacity) {
  choose_ticks();
  reserve();
  Fd file = create_file(capacity);
  base.store(places.load() + (generation() + 1) % num_places * reserved);
  if (::mmap(base.load(), file_size(capacity), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file.get(), 0) ==
      MAP_FAILED) {
    refuse("cannot map the recording");
  }
  present_file.store(file.release());
  ring_capacity.store(capacity, std::memory_order_relaxed);
  rings_taken.store(0, std::memory_order_relaxed);
  names_taken.store(1, std::memory_order_relaxed);
  FileHeader& head = header();
  head.ticks.store(static_cast<std::uint32_t>(present_ticks()));
  head.capacity.store(capacity);
  head.process.store(is_time_virtual() ? 1 : static_cast<std::uint32_t>(::getpid()));
  head.num_names.store(1);
  for (std::uint32_t ring = 0; ring < num_prepared; ++ring) {
    prepare(ring, capacity);
  }
  present_generation.fetch_add(1, std::memory_order_release);
  std::array<char, 64> name{};
  head.name.store(add_name(TraceNameKind::process, executable(name)));
  head.magic.store(file_magic, std::memory_order_release);
  recording.store(true, std::memory_order_release);
}

void end() noexcept {
  recording.store(false, std::memory_order_relaxed);
  blank();
  drop_file();
}

/// Numbers a thread, in virtual time by the order in which threads record, so that equal runs have equal traces.
void describe_thread(RingHeader& place, std::uint32_t ring) noexcept {
  std::array<std::uint64_t, 2> name{};
  ::prctl(PR_GET_NAME, name.data());
  place.name[0].store(name[0], std::memory_order_relaxed);
  place.name[1].store(name[1], std::memory_order_relaxed);
  const std::uint32_t thread = has_virtual_ticks() ? ring + 1 : static_cast<std::uint32_t>(::gettid());
  place.thread.store(thread, std::memory_order_relaxed);
}

void take_ring(ThreadRing& ring, std::uint32_t number) noexcept {
  auto& place = at<RingHeader>(rings_at + number * sizeof(RingHeader));
  const std::uint32_t capacity = ring_capacity.load(std::memory_order_relaxed);
  ring.records = &at<Record>(records_offset(number, capacity));
  ring.shared_head = &place.head;
  ring.mask = capacity - 1;
  if (number >= num_prepared) {
    prepare(number, capacity);
  }
  describe_thread(place, number);
  header().num_rings.fetch_add(1, std::memory_order_release);
}

}  // namespace

bool ThreadRing::claim() noexcept {
  if (base.load(std::memory_order_acquire) == nullptr) {
    return false;
  }
  const std::uint32_t present = trace::generation();
  if (homeless == present) {
    header().homeless.fetch_add(1, std::memory_order_relaxed);
    return false;
  }
  if (!is_recording()) {
    return false;
  }
  *this = {};
  const std::uint32_t number = rings_taken.fetch_add(1, std::memory_order_relaxed);
  if (number >= max_rings) {
    homeless = present;
    return claim();
  }
  take_ring(*this, number);
  if (!is_recording() || present != trace::generation()) {
    return false;  // it ended meanwhile, and the ring may be that of a later one
  }
  generation = present;
  return true;
}

std::uint32_t add_name(TraceNameKind kind, std::string_view text, std::uint32_t parent, std::uint32_t number) noexcept {
  if (base.load(std::memory_order_acquire) == nullptr) {
    return 0;
  }
  const std::uint32_t index = names_taken.fetch_add(1, std::memory_order_relaxed);
  if (index >= max_names) {
    return 0;
  }
  auto& entry = at<NameEntry>(names_at + index * sizeof(NameEntry));
  text = text.substr(0, NameEntry::max_text);
  std::array<std::uint64_t, NameEntry::max_text / 8> words{};
  std::memcpy(words.data(), text.data(), text.size());
  for (std::size_t i = 0; i < words.size(); ++i) {
    entry.text[i].store(words[i], std::memory_order_relaxed);
  }
  entry.kind.store(static_cast<std::uint16_t>(kind), std::memory_order_relaxed);
  entry.length.store(static_cast<std::uint16_t>(text.size()), std::memory_order_relaxed);
  entry.parent.store(parent, std::memory_order_relaxed);
  entry.number.store(number, std::memory_order_relaxed);
  entry.complete.store(1, std::memory_order_release);
  header().num_names.fetch_add(1, std::memory_order_release);
  return index;
}

std::uint32_t add_device_name(std::string_view name, Side side) noexcept {
  std::array<char, NameEntry::max_text> text{};
  const std::string_view suffix = side == Side::host ? " (host)" : " (dpu)";
  const std::size_t length = name.substr(0, text.size() - suffix.size()).copy(text.data(), text.size() - suffix.size());
  suffix.copy(text.data() + length, suffix.size());
  return add_name(TraceNameKind::device, {text.data(), length + suffix.size()});
}

Share::Share(std::uint32_t capacity) : forks_(fork_count()) {
  auto& shares = PerProcess<Shares>::instance();
  const std::lock_guard lock(shares.mutex);
  if (shares.count == 0) {
    begin(capacity);
  } else {
    require_same_clock();
  }
  file_ = Fd::duplicate_of(present_file.load());
  if (!file_) {
    const int error = errno;
    if (shares.count == 0) {
      end();
    }
    errno = error;
    refuse("cannot keep the recording");
  }
  ++shares.count;
}

Share::Share(Share&& other) noexcept : file_(std::move(other.file_)), forks_(other.forks_) {}

Share& Share::operator=(Share&& other) noexcept {
  if (this != &other) {
    reset();
    file_ = std::move(other.file_);
    forks_ = other.forks_;
  }
  return *this;
}

bool Share::is_inherited() const noexcept { return forks_ != fork_count(); }

void Share::reset() noexcept {
  if (!file_) {
    return;
  }
  file_.reset();
  if (is_inherited()) {
    return;
  }
  auto& shares = PerProcess<Shares>::instance();
  const std::lock_guard lock(shares.mutex);
  if (--shares.count == 0) {
    end();
  }
}

}  // namespace pydoca::detail::trace

namespace pydoca::trace {

namespace own = detail::trace;

bool is_on() noexcept { return own::is_recording(); }
std::uint32_t generation() noexcept { return own::generation(); }
std::uint32_t add_name(TraceNameKind kind, std::string_view text, std::uint32_t parent) noexcept {
  return own::add_name(kind, text, parent);
}
std::uint64_t now() noexcept { return own::ticks(); }
void record_await(std::uint32_t coroutine, std::uint64_t begin, std::uint64_t id) noexcept {
  own::record(begin, own::pack(TraceEventKind::await, 0, 0, coroutine), id, own::pack_pair(own::ticks() - begin, 0));
}

}  // namespace pydoca::trace
