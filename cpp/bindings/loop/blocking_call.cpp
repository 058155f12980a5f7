#include "loop/blocking_call.hpp"

#include <pydoca/interrupt.hpp>

#include <thread>
#include <unistd.h>

namespace pydoca::bindings {

namespace {

thread_local constinit BlockingCall* current = nullptr;

[[noreturn]] void stay() noexcept {
  for (;;) ::pause();
}

/// Whether Ctrl-C was pressed; the signal stays pending. Needs the GIL.
bool is_interrupt_pending() noexcept {
  const bool pending = PyOS_InterruptOccurred() != 0;
  if (pending) PyErr_SetInterrupt();  // the check took it
  return pending;
}

bool has_other_threads() noexcept {
  PyThreadState* const newest = PyInterpreterState_ThreadHead(PyThreadState_Get()->interp);
  return PyThreadState_Next(newest) != nullptr;
}

}  // namespace

BlockingCall::BlockingCall(Signals signals) noexcept
    : outer_(std::exchange(current, this)), signals_(signals), at_exit_(is_finalizing()) {
  state_ = PyEval_SaveThread();
}

BlockingCall::~BlockingCall() {
  take_gil();
  current = outer_;
}

void BlockingCall::take_gil() noexcept {
  if (state_ == nullptr) return;
  try {
    if (!at_exit_ && is_finalizing()) stay();
    PyEval_RestoreThread(std::exchange(state_, nullptr));
  } catch (...) {
    stay();  // the interpreter has ended meanwhile, and CPython ends the thread by unwinding its stack
  }
}

void BlockingCall::end() {
  take_gil();
  if (raised_) {
    raised_.reset();
    throw py::error_already_set();
  }
}

bool BlockingCall::check_signals() noexcept {
  if (raised_) return true;
  take_gil();
  const bool interrupted = signals_ == Signals::handled ? PyErr_CheckSignals() != 0 : is_interrupt_pending();
  if (interrupted && signals_ == Signals::handled) raised_.emplace();
  state_ = PyEval_SaveThread();
  return interrupted;
}

bool BlockingCall::check() noexcept {
  if (current != nullptr && current->state_ != nullptr) return current->check_signals();
  return Py_IsInitialized() != 0 && PyGILState_Check() != 0 && is_interrupt_pending();
}

void GilSharing::give_way() {
  if (has_other_threads()) call_blocking([] { std::this_thread::sleep_for(wake_up); });
  if (PyErr_CheckSignals() != 0) throw py::error_already_set();
  due_ = Clock::now() + interval;
}

void BlockingCall::run(void (*call)(void*) noexcept, void* argument) noexcept {
  if (Py_IsInitialized() == 0 || PyGILState_Check() == 0) {
    call(argument);
    return;
  }
  const BlockingCall blocking(Signals::pending);
  call(argument);
}

void install_interrupt_check() noexcept {
  set_interrupt_check(&BlockingCall::check);
  set_blocking_runner(&BlockingCall::run);
}

}  // namespace pydoca::bindings
