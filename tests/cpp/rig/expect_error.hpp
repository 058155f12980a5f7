#pragma once

#include "pydoca/status.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace pydoca {

/// The status that action threw, or success. A message that is too short to be useful fails the test.
template <typename Action>
Status thrown_by(Action action) {
  try {
    static_cast<void>(action());
  } catch (const Error& error) {
    EXPECT_GT(std::string_view(error.what()).size(), 15U) << error.what();
    return error.status();
  }
  return Status::success;
}

/// The message of the error that action throws.
template <typename Action>
std::string reason_of(Action action) {
  try {
    static_cast<void>(action());
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing was thrown";
}

}  // namespace pydoca
