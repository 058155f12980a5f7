#include "failure/injection.hpp"

#include <cstring>
#include <execinfo.h>

namespace pydoca::failure {
namespace {

Plan plan;
Report* report = nullptr;
std::atomic<bool> armed{false};
std::atomic<std::uint64_t> num_calls{0};

}  // namespace

void Frames::note() noexcept {
  if (count == 0) {
    count = ::backtrace(addresses.data(), static_cast<int>(addresses.size()));
  }
}

void arm(const Plan& next, Report& where) noexcept {
  plan = next;
  report = &where;
  num_calls = 0;
  armed = true;
}

std::uint64_t disarm() noexcept {
  armed = false;
  return num_calls;
}

bool fails(Plan::Kind kind, const char* call) noexcept {
  if (!armed.load() || plan.kind != kind || (call != nullptr && std::strcmp(call, plan.call) != 0)) {
    return false;
  }
  const std::uint64_t number = ++num_calls;
  const bool failing = number == plan.n || (plan.persistent && number > plan.n);
  if (failing) {
    report->failure.note();
  }
  return failing;
}

int planned_error() noexcept { return plan.error; }

}  // namespace pydoca::failure
