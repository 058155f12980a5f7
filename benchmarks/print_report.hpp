#pragma once

#include "pydoca/sim.hpp"
#include "pydoca/status.hpp"

#include "figure.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <string_view>
#include <unistd.h>
#include <utility>
#include <vector>

namespace pydoca::benchmarks {

struct Arguments {
  bool json = false;
  bool check = false;
  int repetitions = 41;
  std::string_view filter;
};

inline Arguments parse(int argc, char** argv) {
  Arguments arguments;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument == "--json") {
      arguments.json = true;
    } else if (argument == "--check") {
      arguments.check = true;
    } else if (argument == "--repetitions" && i + 1 < argc) {
      arguments.repetitions = std::max(1, static_cast<int>(std::strtol(argv[++i], nullptr, 10)));
    } else {
      arguments.filter = argument;
    }
  }
  return arguments;
}

inline void print_line(const Figure& figure, const Result& result, bool json, bool first) {
  const bool speed = figure.rule == Rule::speed_ratio_at_least;
  const char* const unit = figure.rule == Rule::excess_ns_at_most ? "ns above" : "x";
  // A unit of a bandwidth is a byte, and a byte in a nanosecond is a GB/s.
  const double value = speed ? 1 / result.value_ns : result.value_ns;
  const double floor = speed ? 1 / result.floor_ns : result.floor_ns;
  const char* const scale = speed ? "GB/s" : "ns";
  if (json) {
    std::printf(
        "%s  {\"name\": \"%s\", \"unit\": \"%s\", \"value\": %.3f, \"floor\": %.3f, \"score\": %.4f, "
        "\"rule\": \"%s\", \"target\": %g, \"ok\": %s}",
        first ? "" : ",\n", figure.name.c_str(), scale, value, floor, result.score, speed ? ">=" : "<=", figure.target,
        result.ok ? "true" : "false");
  } else {
    std::printf("%-76s %9.2f %-4s  floor %9.2f  %6.2f %-8s  target %s %-5g %s\n", figure.name.c_str(), value, scale,
                floor, result.score, unit, speed ? ">=" : "<=", figure.target, result.ok ? "ok" : "OVER");
    std::fflush(stdout);
  }
}

/// Measures and prints figures.
using Print = std::function<void(const std::vector<Figure>&)>;

/// In a fabric of its own, prints each figure beside its floor, both taken in this run, and whether it meets its
/// target. Understands --json, --check (exit code 1 when a target is missed), --repetitions N and a part of a name.
/// make receives the object that measures and prints its figures.
inline int print_report(int argc, char** argv, const std::function<void(const Print&)>& make) try {
  const Arguments arguments = parse(argc, argv);
  sim::set_fabric("benchmark-" + std::to_string(::getpid()));
  bool all_ok = true;
  bool first = true;
  std::fputs(arguments.json ? "[\n" : "", stdout);
  make([&](const std::vector<Figure>& figures) {
    for (const Figure& figure : figures) {
      if (figure.name.find(arguments.filter) != std::string::npos) {
        const Result result = measure(figure, arguments.repetitions);
        print_line(figure, result, arguments.json, std::exchange(first, false));
        all_ok = all_ok && result.ok;
      }
    }
  });
  std::fputs(arguments.json ? "\n]\n" : "", stdout);
  return arguments.check && !all_ok ? 1 : 0;
} catch (const Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 2;
}

}  // namespace pydoca::benchmarks
