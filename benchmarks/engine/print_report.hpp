#pragma once

#include "pydoca/sim.hpp"
#include "pydoca/status.hpp"

#include "figure.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <string_view>
#include <unistd.h>
#include <vector>

namespace pydoca::benchmarks {

struct Arguments {
  bool json = false;
  bool check = false;
  int repetitions = 41;
  std::string_view side;    ///< given with --only: subject or floor
  std::uint64_t units = 0;  ///< given with --only: what that side does, once
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
    } else if (argument == "--only" && i + 2 < argc) {
      arguments.side = argv[++i];
      arguments.units = std::strtoull(argv[++i], nullptr, 10);
    } else {
      arguments.filter = argument;
    }
  }
  return arguments;
}

/// Prints lines for readers, or one JSON array of the objects that benchmarks/print_report.py also prints.
class Printer {
 public:
  explicit Printer(bool json) : json_(json) { std::fputs(json_ ? "[\n" : "", stdout); }
  ~Printer() { std::fputs(json_ ? "\n]\n" : "", stdout); }
  Printer(const Printer&) = delete;
  Printer& operator=(const Printer&) = delete;

  void print(const Figure& figure, const Result& result) {
    const bool speed = figure.rule == Rule::speed_ratio_at_least;
    const bool difference = figure.rule == Rule::excess_ns_at_most;
    // A unit of a bandwidth is a byte, and a byte in a nanosecond is a GB/s.
    const double value = speed ? 1 / result.value_ns : result.value_ns;
    const double floor = speed ? 1 / result.floor_ns : result.floor_ns;
    const char* const scale = speed ? "GB/s" : "ns";
    if (json_) {
      std::printf(
          "%s  {\"name\": \"%s\", \"unit\": \"%s\", \"value\": %.3f, \"floor\": %.3f, \"score\": %.4f, "
          "\"compared\": \"%s\", \"rule\": \"%s\", \"target\": %g, \"ok\": %s}",
          first_ ? "" : ",\n", figure.name.c_str(), scale, value, floor, result.score,
          difference ? "difference" : "ratio", speed ? ">=" : "<=", figure.target, result.ok ? "true" : "false");
    } else {
      std::printf("%-76s %9.2f %-4s  floor %9.2f  %6.2f %-8s  target %s %-5g %s\n", figure.name.c_str(), value, scale,
                  floor, result.score, difference ? "ns above" : "x", speed ? ">=" : "<=", figure.target,
                  result.ok ? "ok" : "OVER");
    }
    std::fflush(stdout);
    first_ = false;
    all_ok_ = all_ok_ && result.ok;
  }

  bool all_ok() const { return all_ok_; }

 private:
  bool json_;
  bool first_ = true;
  bool all_ok_ = true;
};

/// Measures and prints figures.
using Print = std::function<void(const std::vector<Figure>&)>;

inline void run_one_side(const Figure& figure, const Arguments& arguments) {
  (arguments.side == "floor" ? figure.floor : figure.subject)(arguments.units);
}

/// In a fabric of its own, prints each figure beside its floor, both taken in this run, and whether it meets its
/// target. Understands --json, --check (exit code 1 when a target is missed), --repetitions N and a part of a name.
/// make receives the object that measures and prints its figures.
/// --only subject|floor UNITS does so many units of that side once and prints nothing: instructions.py counts two such
/// runs.
inline int print_report(int argc, char** argv, const std::function<void(const Print&)>& make) try {
  const Arguments arguments = parse(argc, argv);
  sim::set_fabric("benchmark-" + std::to_string(::getpid()));
  Printer printer(arguments.json);
  make([&](const std::vector<Figure>& figures) {
    for (const Figure& figure : figures) {
      if (figure.name.find(arguments.filter) == std::string::npos) {
        continue;
      }
      if (arguments.side.empty()) {
        printer.print(figure, measure(figure, arguments.repetitions));
      } else {
        run_one_side(figure, arguments);
      }
    }
  });
  return arguments.check && !printer.all_ok() ? 1 : 0;
} catch (const Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 2;
}

}  // namespace pydoca::benchmarks
