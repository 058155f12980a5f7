#include "pydoca/sync_event.hpp"

#include "crash/sweep.hpp"
#include "rig/library/sync_event_rig.hpp"

#include <gtest/gtest.h>

#include <thread>

namespace pydoca {
namespace {

using crash::CrashSweep;
using crash::Link;
using crash::Message;

constexpr std::uint64_t num_rounds = 3;

std::shared_ptr<SyncEvent> event_between(const std::shared_ptr<Device>& device) {
  const auto event = exported_event(device);
  event->start();
  return event;
}

/// What the end of the other process does to a wait or to a change.
bool is_end_of_peer(Status status) {
  return status == Status::connection_reset || status == Status::not_connected || status == Status::bad_state;
}

/// The values alternate: the owner waits for the odd ones, the importer for the even ones. False: the peer is gone.
bool count_together(SyncEvent& event, std::uint64_t first) {
  Status status = Status::success;
  for (std::uint64_t value = first; value < 2 * num_rounds && status == Status::success; value += 2) {
    const WaitMode mode = value % 4 < 2 ? WaitMode::busy : WaitMode::yield;
    status = event.wait_eq(value, all_bits, mode, crash::patience);
    if (status == Status::success) {
      status = event.update_set(value + 1);
    }
  }
  EXPECT_TRUE(status == Status::success || is_end_of_peer(status)) << "status " << static_cast<int>(status);
  return status == Status::success;
}

/// The owner's side, once. False: the importer is gone.
bool own(const std::shared_ptr<Device>& device, const Link& importer) {
  const auto event = event_between(device);
  importer.send(event->export_to_remote_pci(*device));
  if (importer.receive().empty()) {
    return false;
  }
  const bool counted = count_together(*event, 1);
  static_cast<void>(importer.receive());  // its end, or that it is done
  event->stop();
  return counted;
}

/// The importer's side. False: the owner is gone.
bool import(const Link& owner, const Message& blob) {
  const auto event = SyncEvent::create_from_export(open_function("p0"), blob);
  event->start();
  owner.send(Message(1));
  const bool counted = event->update_set(1) == Status::success && count_together(*event, 2);
  owner.send(Message(1));
  return counted;
}

TEST_F(CrashSweep, AnOwnerOfAnEventLosesTheImporter) {
  sweep({.victim = [](const Link& owner) { EXPECT_TRUE(import(owner, owner.receive())); },
         .survivor =
             [](const Link& doomed, const Link& successor) {
               const auto device = open_function("pf0");
               own(device, doomed);
               EXPECT_TRUE(own(device, successor));
             }});
}

TEST_F(CrashSweep, AnImporterOfAnEventLosesTheOwner) {
  sweep({.victim = [](const Link& importer) { EXPECT_TRUE(own(open_function("pf0"), importer)); },
         .survivor =
             [](const Link& doomed, const Link& successor) {
               if (const Message blob = doomed.receive(); !blob.empty()) {
                 try {
                   import(doomed, blob);
                 } catch (const Error& error) {
                   EXPECT_TRUE(is_end_of_peer(error.status())) << error.what();
                 }
               }
               EXPECT_TRUE(import(successor, successor.receive()));
             }});
}

}  // namespace
}  // namespace pydoca
