#pragma once

#include "pydoca/status.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace pydoca {

/// What action threw, or success. A message too short to help anybody fails the test.
template <typename Action>
Status thrown_by(Action action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_GT(std::string_view(error.what()).size(), 15U) << error.what();
    return error.status();
  }
  return Status::success;
}

/// What the error that action throws says.
template <typename Action>
std::string reason_of(Action action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing was thrown";
}

}  // namespace pydoca
