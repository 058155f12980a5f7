#pragma once

#include "pydoca/progress_engine.hpp"
#include "pydoca/status.hpp"

#include <exception>
#include <initializer_list>
#include <span>

namespace pydoca::failure {

/// A program that uses a part of the engine from its first object to its last. It checks what it gets, ends with what
/// the engine throws, or with Refused, and leaves nothing behind, however it ends. Its callbacks do not allocate.
struct Scenario {
  const char* name;
  void (*run)();
  /// The ends besides no_memory that a failure in another thread, or at the other end of a connection, may have.
  std::span<const Status> other_ends;
  const char* profile = "bluefield3";
};

std::span<const Scenario> scenarios();

/// Thrown when a call of the data path, a completion or a connection reports status.
struct Refused : std::exception {
  Refused(Status reported, const char* step) noexcept : status(reported), place(step) {}
  Status status;
  const char* place;
};

/// Thrown when something does not happen: a completion, an event, the end of a stop.
struct Hung : std::exception {
  explicit Hung(const char* step) noexcept : place(step) {}
  const char* place;
};

/// Thrown when a result is wrong.
struct Wrong : std::exception {
  explicit Wrong(const char* step) noexcept : place(step) {}
  const char* place;
};

/// What the scenario does now, for the report of a failure.
void step(const char* what) noexcept;

inline void require(Status status, const char* what) {
  if (status != Status::success) {
    throw Refused(status, what);
  }
}
inline void check(bool holds, const char* what) {
  if (!holds) {
    throw Wrong(what);
  }
}

/// Progresses each engine once, or sleeps on their notification handles when there is nothing to do. False after 10 s
/// in which nothing came.
bool progress(std::initializer_list<ProgressEngine*> engines) noexcept;

/// Progresses until done(); throws Hung.
template <class Done>
void await(const char* what, std::initializer_list<ProgressEngine*> engines, const Done& done) {
  while (!done()) {
    if (!progress(engines)) {
      throw Hung(what);
    }
  }
}

}  // namespace pydoca::failure
