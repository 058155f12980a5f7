#pragma once

#include "pydoca/backend/processor.hpp"

#include <string>

namespace pydoca::sim {

/// The simulated DPA: a thread of this process for each thread of the card. The threads own what they run, and outlive
/// the processor where the work does.
class Processor final : public backend::Processor {
 public:
  explicit Processor(std::string device) : device_(std::move(device)) {}

  void start(std::function<void()> work) override;

 private:
  void start_thread(std::function<void()> work) const;

  const std::string device_;
};

}  // namespace pydoca::sim
