#pragma once

#include "pydoca/status.hpp"

#include <gtest/gtest.h>

#include <optional>

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

}  // namespace pydoca
