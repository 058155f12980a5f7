// This library is loaded before Python, so the loader finds its operator new and its system calls before others.
#include "failure/injection.hpp"

#include <cstdint>

namespace {

using pydoca::failure::Plan;

pydoca::failure::Report report;

}  // namespace

extern "C" {

void arm_allocation(std::uint64_t n, int persistent) {
  pydoca::failure::arm({.kind = Plan::Kind::allocation, .n = n, .persistent = persistent != 0}, report);
}
void arm_call(const char* call, int error, std::uint64_t n) {
  pydoca::failure::arm({.kind = Plan::Kind::call, .n = n, .call = call, .error = error}, report);
}
std::uint64_t disarm() { return pydoca::failure::disarm(); }

}  // extern "C"
