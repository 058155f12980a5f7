#include "backend/sim/memory/revocation_page.hpp"

#include "model/explorer/data.hpp"
#include "model/model_test.hpp"

namespace pydoca::model {
namespace {

using sim::RevocationPage;

/// Exported memory: the owner frees it when it has closed the revocation page and has seen no access under way.
struct Export {
  void check() { require(!freed || revocation_page.is_closed(), "freed memory is behind a closed revocation_page"); }
  void access() {
    if (revocation_page.enter()) {
      static_cast<void>(memory.read());
      revocation_page.leave();
    }
  }
  /// Does what Exporter::withdraw() does, which gives up when an importer stays inside.
  void withdraw() {
    revocation_page.close();
    for (int look = 0; look < 2 && !freed; ++look) {
      if (revocation_page.is_empty()) {
        memory.end();
        freed = true;
      }
    }
  }

  RevocationPage revocation_page;
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
      first = revocation_page.reason();
    });
    execution().add_thread("importer", [this] { access(); });
    execution().add_thread("service", [this] {
      revocation_page.close(RevocationPage::owner_died);
      second = revocation_page.reason();
    });
  }
  void check() {
    Export::check();
    require(first == second && first != RevocationPage::open, "the first reason stays");
  }

  RevocationPage::Reason first = RevocationPage::open;
  RevocationPage::Reason second = RevocationPage::open;
};

/// An importer that leaves says goodbye before its connection ends.
struct Goodbye : Export {
  void start() {
    execution().add_thread("importer", [this] {
      revocation_page.say_hello();
      access();
      memory.write(1);
      revocation_page.say_goodbye();
    });
    execution().add_thread("owner", [this] {
      if (revocation_page.said_goodbye()) {
        require(revocation_page.said_hello() && memory.read() == 1, "who says goodbye has been there");
      }
    });
  }
};

TEST(RevocationPageModel, NoAccessFollowsAWithdrawal) { expect_holds<AnImporterAccessesTwice>(); }
TEST(RevocationPageModel, CountsTheThreadsOfAnImporter) { expect_holds<TwoThreadsOfAnImporter>(); }
TEST(RevocationPageModel, TheFirstReasonStays) { expect_holds<TwoClose>(); }
TEST(RevocationPageModel, AGoodbyeFollowsWhatWasDone) { expect_holds<Goodbye>(); }

TEST(RevocationPageModel, FindsAnAccessThatFollows) {
  expect_finds<AnImporterAccessesTwice>({Fault::split, "RevocationPage::enter"});
  expect_finds<AnImporterAccessesTwice>({Fault::blind, "RevocationPage::enter"});
  expect_finds<AnImporterAccessesTwice>({Fault::split, "RevocationPage::close"});
  expect_finds<AnImporterAccessesTwice>({Fault::blind, "RevocationPage::is_empty"});
  expect_finds<AnImporterAccessesTwice>({Fault::relax, "RevocationPage::leave"});
  expect_finds<AnImporterAccessesTwice>({Fault::relax, "RevocationPage::is_empty"});
  expect_finds<TwoThreadsOfAnImporter>({Fault::split, "RevocationPage::leave"});
  expect_finds<TwoClose>({Fault::split, "RevocationPage::close"});
  expect_finds<Goodbye>({Fault::relax, "RevocationPage::say_goodbye"});
  expect_finds<Goodbye>({Fault::relax, "RevocationPage::said_goodbye"});
}

}  // namespace
}  // namespace pydoca::model
