#include "loop/asyncio_internals.hpp"

#include "convert/python.hpp"
#include "loop/blocking_call.hpp"
#include "loop/coroutine_stack.hpp"

#include <pybind11/gil_safe_call_once.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <sys/epoll.h>
#include <utility>

namespace pydoca::bindings {

namespace {

bool are_used() {
  static const bool used = [] {
    const char* const choice = std::getenv("PYDOCA_ASYNCIO_INTERNALS");
    return choice == nullptr || std::string_view(choice) != "0";
  }();
  return used;
}

const py::object& get_running_loop() {
  PYBIND11_CONSTINIT static py::gil_safe_call_once_and_store<py::object> storage;
  const auto find = [] { return py::object(bridge_module().attr("asyncio").attr("get_running_loop")); };
  return storage.call_once_and_store_result(find).get_stored();
}

/// Does what PyObject_CallNoArgs does, at a fraction of the cost for a C function.
PyObject* call_function(PyObject* function) {
  return PyCFunction_CheckExact(function) != 0 && PyCFunction_GET_FLAGS(function) == METH_NOARGS
             ? PyCFunction_GET_FUNCTION(function)(PyCFunction_GET_SELF(function), nullptr)
             : PyObject_CallNoArgs(function);
}

/// The mark of the loop that runs in this thread. get_running_loop() costs a system call up to Python 3.11; asyncio
/// caches its answer in the thread's dict, in an object that it makes anew for every run of a loop.
py::object mark_of_thread() {
  static PyObject* const key = PyUnicode_InternFromString("__asyncio_running_event_loop__");
  PyObject* const state = PyThreadState_GetDict();
  PyObject* const mark = state != nullptr && key != nullptr ? PyDict_GetItemWithError(state, key) : nullptr;
  return py::reinterpret_borrow<py::object>(mark);
}

/// The milliseconds of one wait.
constexpr std::int64_t longest_sleep = 60'000;

/// Objects of asyncio.
struct Stock {
  py::object loop_type;
  py::object selector_type;
  py::object run_handle;  ///< the code of Handle._run
  py::object run_once;    ///< the code of BaseEventLoop._run_once, the caller of Handle._run
};

Stock find_stock() {
  const py::tuple parts = bridge_module().attr("parts_of_stock_loop")();
  return {parts[0], parts[1], parts[2], parts[3]};
}

const Stock& stock() {
  PYBIND11_CONSTINIT static py::gil_safe_call_once_and_store<Stock> storage;
  return storage.call_once_and_store_result(&find_stock).get_stored();
}

bool is_exactly(const py::object& object, const py::object& type) { return py::type::handle_of(object).is(type); }

/// Whether a descriptor other than own_fd is ready within limit milliseconds. epoll reports the same descriptors again
/// next time.
bool wait(int epoll_fd, int own_fd, int limit) noexcept {
  std::array<epoll_event, 2> events{};
  const int num_ready = ::epoll_wait(epoll_fd, events.data(), static_cast<int>(events.size()), limit);
  return num_ready > 1 || (num_ready == 1 && events[0].data.fd != own_fd);
}

}  // namespace

py::object running_loop_mark() {
  if (PY_VERSION_HEX < 0x030C0000 && are_used()) {
    return mark_of_thread();
  }
  auto loop = py::reinterpret_steal<py::object>(call_function(get_running_loop().ptr()));
  if (!loop) PyErr_Clear();
  return loop;
}

#if PY_VERSION_HEX < 0x030C0000

bool is_running_loop_mark(const py::object& mark) {
  // A dict's version is another one after each change, and no two dicts share one. The mark lives as long as it is
  // there.
  static std::uint64_t known_tag = 0;
  static PyObject* known_mark = nullptr;
  PyObject* const dict = PyThreadState_GetDict();
  if (dict == nullptr) return false;
  const std::uint64_t tag = reinterpret_cast<const PyDictObject*>(dict)->ma_version_tag;
  if (tag != known_tag) [[unlikely]] {
    const py::object found = running_loop_mark();
    if (!are_used()) return found.is(mark);
    known_tag = tag;
    known_mark = found.ptr();
  }
  return mark.ptr() == known_mark;
}

#else

bool is_running_loop_mark(const py::object& mark) { return running_loop_mark().is(mark); }

#endif

std::optional<StockLoop> StockLoop::find(const py::object& loop) {
  if (!are_used() || !is_exactly(loop, stock().loop_type) || !py::hasattr(loop, "_selector")) {
    return std::nullopt;
  }
  const py::object selector = loop.attr("_selector");
  for (const char* const name : {"_ready", "_scheduled", "_stopping", "_debug"}) {
    if (!py::hasattr(loop, name)) return std::nullopt;
  }
  if (!is_exactly(selector, stock().selector_type)) {
    return std::nullopt;
  }
  return StockLoop(loop, selector.attr("fileno")().cast<int>());
}

StockLoop::StockLoop(py::object loop, int fd) : loop_(std::move(loop)), ready_(loop_.attr("_ready")), fd_(fd) {}

bool StockLoop::runs_this_coroutine() const {
  const Frame driver = driver_of_this_coroutine();
  if (!driver || !code_of(driver).is(stock().run_handle)) {
    return false;
  }
  const Frame caller = caller_of(driver);
  return caller && code_of(caller).is(stock().run_once);
}

bool StockLoop::is_idle(const py::object& own_turn) const {
  const std::size_t num_ready = py::len(ready_);
  const bool only_own = num_ready == 1 && own_turn.is(ready_[py::int_(0)]);
  return (num_ready == 0 || only_own) && loop_.attr("_stopping").ptr() == Py_False &&
         loop_.attr("_debug").ptr() == Py_False;
}

StockLoop::Clock::time_point StockLoop::next_timer() const {
  const py::object timers = loop_.attr("_scheduled");
  if (py::len(timers) == 0) {
    return Clock::time_point::max();
  }
  const std::chrono::duration<double> when(timers[py::int_(0)].attr("_when").cast<double>());
  // A longer time would overflow.
  return when > std::chrono::hours(24 * 365 * 100)
             ? Clock::time_point::max()
             : Clock::time_point(std::chrono::duration_cast<Clock::duration>(when));
}

bool StockLoop::has_event(int own_fd) const noexcept { return wait(fd_, own_fd, 0); }

bool StockLoop::sleep(int own_fd, Clock::time_point end) const {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now()).count();
  const auto limit = static_cast<int>(std::clamp<std::int64_t>(left, 0, longest_sleep));
  bool others = false;
  call_blocking([&] { others = wait(fd_, own_fd, limit); });
  if (PyErr_CheckSignals() != 0) throw py::error_already_set();
  return others;
}

}  // namespace pydoca::bindings
