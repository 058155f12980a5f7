#include "backend/sim/memory/tracer.hpp"

#include "detail/fd.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <unistd.h>

namespace pydoca::sim {

namespace {

/// Whether Yama restricts tracing to declared processes (1); elsewhere no declaration is needed.
bool is_restricted() noexcept {
  const detail::Fd file(::open("/proc/sys/kernel/yama/ptrace_scope", O_RDONLY | O_CLOEXEC));
  char scope = '0';
  return file && ::read(file.get(), &scope, 1) == 1 && scope == '1';
}

void declare(pid_t process) noexcept { ::prctl(PR_SET_PTRACER, static_cast<unsigned long>(process), 0, 0, 0); }

}  // namespace

Status Tracer::allow(pid_t process) noexcept {
  if (process == ::getpid() || !is_restricted()) {
    return Status::success;
  }
  if (count_ != 0 && allowed_ != process) {
    return Status::in_use;
  }
  allowed_ = process;
  ++count_;
  declare(process);
  return Status::success;
}

void Tracer::disallow(pid_t process) noexcept {
  if (count_ != 0 && allowed_ == process && --count_ == 0) {
    declare(0);
  }
}

}  // namespace pydoca::sim
