#pragma once

#include "pydoca/status.hpp"

#include <cstdint>
#include <string_view>

/// How a tracer asks a process of its fabric to record. A process that uses a simulated device listens at a file of the
/// fabric's directory, and a tracer at another; each looks for the files of the others after it has made its own, so
/// one of the two finds the other. The tracer sends a request, the process answers with the file of its recording, and
/// records until the connection ends.
namespace pydoca::sim {

inline constexpr std::string_view member_purpose = "trace";
inline constexpr std::string_view tracer_purpose = "tracer";
inline constexpr std::uint32_t trace_protocol = 1;

struct TraceRequest {
  std::uint32_t protocol = trace_protocol;
  std::uint32_t capacity = 0;  ///< records of a ring
};

struct TraceReply {
  std::uint32_t protocol = trace_protocol;
  Status status = Status::success;  ///< success: a file comes with it
};

}  // namespace pydoca::sim
