/// A peer that is silent, stopped or inside for ever makes no thread of this process wait: not in progress(), in
/// callbacks, in destructors, nor in stop() and withdraw().

#include "backend/sim/fabric/directory.hpp"
#include "backend/sim/import/import_attempt.hpp"
#include "backend/sim/memory/blob.hpp"
#include "backend/sim/memory/region.hpp"
#include "backend/sim/memory/revocation_page.hpp"
#include "failure/waiting_calls.hpp"
#include "rig/library/rdma_rig.hpp"
#include "rig/process/handshake_peer.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <sys/file.h>
#include <unistd.h>
#include <vector>

namespace pydoca::failure {
namespace {

constexpr std::uint16_t listening_port = 13579;
/// Looks of withdraw() and leave(), with a yield between them.
constexpr std::uint64_t most_yields = 10'000;

/// Fails if what it calls sleeps, or yields more often than a bound says.
template <class Call>
void expect_no_wait(const char* what, Call call) {
  const WaitCount waits;
  static_cast<void>(call());
  EXPECT_EQ(waits.sleeps(), 0U) << what << " calls " << waits.last();
  EXPECT_LE(waits.yields(), most_yields) << what;
}

class Waits : public RdmaFabricTest {
 protected:
  Waits() {
    context.rdma->set_max_num_connections(4);
    EXPECT_EQ(context.rdma->start(), Status::success);
    EXPECT_EQ(peers_context.rdma->start(), Status::success);
  }

  void progress() {
    expect_no_wait("progress()", [this] {
      for (int i = 0; i < 100; ++i) context.pe->progress();
    });
  }
  /// Details of a queue pair whose owner takes connections and never answers.
  std::vector<std::byte> details_of_a_silent_owner() {
    const auto exported = peers_context.rdma->export_connection();
    sim::Blob blob;
    EXPECT_EQ(sim::parse(exported->details(), blob), Status::success);
    blob.socket_key.fill(std::byte{7});
    const std::string_view key(reinterpret_cast<const char*>(blob.socket_key.data()), blob.socket_key.size());
    silent = sim::listen_at(sim::fabric_address(sim::fabric(), "memory", key), 8);
    const auto bytes = sim::encode(blob);
    exported->disconnect();
    return {bytes.begin(), bytes.end()};
  }

  RdmaRig context{"p1"};
  RdmaRig peers_context{"pf0"};
  sim::ListeningSocket silent;
};

TEST_F(Waits, NotForAClientThatDoesNotHandItsInboxOver) {
  context.rdma->start_listen_to_port(listening_port);
  std::vector<std::unique_ptr<HandshakePeer>> clients;
  const std::vector<std::byte> details = details_of_a_silent_owner();
  for (std::size_t number = 1; number <= 3; ++number) {
    clients.push_back(std::make_unique<HandshakePeer>(listener_address(*context.device, listening_port)));
    clients.back()->send(handshake_message(sim::HandshakeMessage::Step::request, details));
    ASSERT_TRUE(run_until({&context}, [&] { return context.requests.size() == number; }));
  }
  expect_no_wait("accept()", [&] {
    for (const auto& request : context.requests) request->accept();
  });
  progress();
  expect_no_wait("disconnect()", [&] { context.requests[0]->disconnect(); });
  expect_no_wait("stop()", [&] { return context.rdma->stop(); });
  progress();
  EXPECT_EQ(context.rdma->state(), ContextState::idle);
}

TEST_F(Waits, NotForAServerThatDoesNotHandItsInboxOver) {
  const sim::ListeningSocket listener = sim::listen_at(listener_address(*peers_context.device, listening_port), 4);
  const auto own = context.rdma->connect_to_addr(gid_address(*peers_context.device, listening_port));
  const HandshakePeer server(listener.fd.get());
  server.send(handshake_message(sim::HandshakeMessage::Step::answer, details_of_a_silent_owner()));
  progress();
  EXPECT_EQ(own->state(), RdmaConnection::State::connecting);
  expect_no_wait("disconnect()", [&] { own->disconnect(); });
  progress();
  EXPECT_TRUE(context.rdma->connections().empty());
}

/// The revocation pages of the files that this process has from others: what they say is a peer's to write.
TEST_F(Waits, NotForAPeerThatStaysInside) {
  std::shared_ptr<RdmaConnection> there;
  std::shared_ptr<RdmaConnection> back;
  connect_by_details(context, peers_context, there, back);
  ASSERT_TRUE(run_until({&context, &peers_context}, [&] { return context.ups.size() == 1; }));
  sim::Blob blob;
  ASSERT_EQ(sim::parse(there->details(), blob), Status::success);
  sim::OwnerAnswer answer(std::string(sim::fabric()), blob);
  answer.wait();
  sim::Granted granted = answer.take();
  const auto page = sim::SharedPage<sim::RevocationPage>::map(granted.files.fds[0].get());
  ASSERT_TRUE((*page)->enter());
  expect_no_wait("disconnect()", [&] { there->disconnect(); });
  progress();
  EXPECT_TRUE(context.rdma->connections().empty());
  expect_no_wait("the end of a connection", [&] { there.reset(); });
}

TEST_F(Waits, NotForAnImporterThatStaysInside) {
  NetMemory memory(context.device, 4096);
  sim::Blob blob;
  ASSERT_EQ(sim::parse(memory.blob, blob), Status::success);
  sim::OwnerAnswer answer(std::string(sim::fabric()), blob);
  answer.wait();
  sim::Granted granted = answer.take();
  const auto page = sim::SharedPage<sim::RevocationPage>::map(granted.files.fds[0].get());
  ASSERT_TRUE((*page)->enter());
  expect_no_wait("stop of a memory map", [&] {
    try {
      memory.mmap->stop();
      ADD_FAILURE() << "an importer is inside";
    } catch (const Error& error) {
      EXPECT_EQ(error.status(), Status::again);
    }
  });
  granted.connection.reset();  // its process would end like this
  EXPECT_TRUE(run_until({&context}, [&] {
    try {
      memory.mmap->stop();
      return true;
    } catch (const Error&) {
      return false;
    }
  }));
}

TEST_F(Waits, NotForAProcessThatKeepsTheDirectoryLocked) {
  const std::string before(sim::fabric());
  sim::set_fabric("locked-" + std::to_string(::getpid()));
  const detail::Fd directory = sim::FabricDirectory(sim::fabric()).open();
  ASSERT_EQ(::flock(directory.get(), LOCK_EX), 0);
  const auto device = open_function("pf0");
  expect_no_wait("the first export of a process", [&] { NetMemory(device, 64); });
  sim::set_fabric(before);
}

TEST_F(Waits, NotForAnOwnerThatWritesToTheRevocationPage) {
  NetMemory memory(peers_context.device, 4096);
  backend::ImportedRegion imported = context.device->backend().import_memory(memory.blob, nullptr);
  ASSERT_TRUE(static_cast<sim::Region&>(*imported.region).revocation_page()->enter());
  expect_no_wait("the end of an import", [&] { imported.region.reset(); });
}

}  // namespace
}  // namespace pydoca::failure
