#include "loop/stock_loop.hpp"

#include "convert/collectable.hpp"
#include "convert/python.hpp"
#include "loop/blocking_call.hpp"
#include "loop/coroutine_stack.hpp"

#include <pybind11/gil_safe_call_once.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <sys/epoll.h>
#include <utility>

namespace pydoca::bindings {

namespace py = pybind11;

namespace {

/// Milliseconds, of one wait.
constexpr std::int64_t longest_sleep = 60'000;

/// What is asyncio's own.
struct Stock {
  py::object loop_type;
  py::object selector_type;
  py::object run_handle;  ///< the code of Handle._run
  py::object run_once;    ///< the code of BaseEventLoop._run_once, which calls it
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

/// Whether another than own_fd is ready within limit milliseconds. epoll tells of the same ones again next time.
bool wait(int epoll_fd, int own_fd, int limit) noexcept {
  std::array<epoll_event, 2> events{};
  const int num_ready = ::epoll_wait(epoll_fd, events.data(), static_cast<int>(events.size()), limit);
  return num_ready > 1 || (num_ready == 1 && events[0].data.fd != own_fd);
}

}  // namespace

std::optional<StockLoop> StockLoop::find(const py::object& loop) {
  if (!is_exactly(loop, stock().loop_type) || !py::hasattr(loop, "_selector")) {
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
  // Beyond some years a time would overflow.
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

int StockLoop::traverse(visitproc visit, void* arg) const {
  const int stop = visit_ref(loop_, visit, arg);
  return stop != 0 ? stop : visit_ref(ready_, visit, arg);
}

}  // namespace pydoca::bindings
