#include "backend/sim/memory/gate.hpp"

#include "model/explorer/data.hpp"
#include "model/model_test.hpp"

namespace pydoca::model {
namespace {

using sim::Gate;

/// Exported memory: the owner frees it when it has closed the gate and has seen no access under way.
struct Export {
  void check() { require(!freed || gate.is_closed(), "freed memory is behind a closed gate"); }
  void access() {
    if (gate.enter()) {
      static_cast<void>(memory.read());
      gate.leave();
    }
  }
  /// Does what Exporter::withdraw() does, which gives up when an importer stays inside.
  void withdraw() {
    gate.close();
    for (int look = 0; look < 2 && !freed; ++look) {
      if (gate.is_empty()) {
        memory.end();
        freed = true;
      }
    }
  }

  Gate gate;
  Data<int> memory;
  bool freed = false;  ///< the owner's
};

struct AnImporterAccessesTwice : Export {
  void start() {
    execution().add_thread("owner", [this] { withdraw(); });
    execution().add_thread("importer", [this] {
      access();
      access();
    });
  }
};

struct TwoThreadsOfAnImporter : Export {
  void start() {
    execution().add_thread("owner", [this] { withdraw(); });
    execution().add_thread("importer's thread 1", [this] { access(); });
    execution().add_thread("importer's thread 2", [this] { access(); });
  }
};

/// The importer's service thread sees the owner die, while the owner withdraws: one reason stays.
struct TwoClose : Export {
  void start() {
    execution().add_thread("owner", [this] {
      withdraw();
      first = gate.reason();
    });
    execution().add_thread("importer", [this] { access(); });
    execution().add_thread("service", [this] {
      gate.close(Gate::owner_died);
      second = gate.reason();
    });
  }
  void check() {
    Export::check();
    require(first == second && first != Gate::open, "the first reason stays");
  }

  Gate::Reason first = Gate::open;
  Gate::Reason second = Gate::open;
};

/// An importer that leaves says goodbye before its connection ends.
struct Goodbye : Export {
  void start() {
    execution().add_thread("importer", [this] {
      gate.say_hello();
      access();
      memory.write(1);
      gate.say_goodbye();
    });
    execution().add_thread("owner", [this] {
      if (gate.said_goodbye()) {
        require(gate.said_hello() && memory.read() == 1, "who says goodbye has been there");
      }
    });
  }
};

TEST(GateModel, NoAccessFollowsAWithdrawal) { expect_holds<AnImporterAccessesTwice>(); }
TEST(GateModel, CountsTheThreadsOfAnImporter) { expect_holds<TwoThreadsOfAnImporter>(); }
TEST(GateModel, TheFirstReasonStays) { expect_holds<TwoClose>(); }
TEST(GateModel, AGoodbyeFollowsWhatWasDone) { expect_holds<Goodbye>(); }

TEST(GateModel, FindsAnAccessThatFollows) {
  expect_finds<AnImporterAccessesTwice>({Fault::split, "Gate::enter"});
  expect_finds<AnImporterAccessesTwice>({Fault::blind, "Gate::enter"});
  expect_finds<AnImporterAccessesTwice>({Fault::split, "Gate::close"});
  expect_finds<AnImporterAccessesTwice>({Fault::blind, "Gate::is_empty"});
  expect_finds<AnImporterAccessesTwice>({Fault::relax, "Gate::leave"});
  expect_finds<AnImporterAccessesTwice>({Fault::relax, "Gate::is_empty"});
  expect_finds<TwoThreadsOfAnImporter>({Fault::split, "Gate::leave"});
  expect_finds<TwoClose>({Fault::split, "Gate::close"});
  expect_finds<Goodbye>({Fault::relax, "Gate::say_goodbye"});
  expect_finds<Goodbye>({Fault::relax, "Gate::said_goodbye"});
}

}  // namespace
}  // namespace pydoca::model
