#include "crash/sweep.hpp"
#include "rig/library/comch_rig.hpp"

#include <gtest/gtest.h>

namespace pydoca::comch {
namespace {

using crash::CrashSweep;
using crash::Link;
using crash::run_until;

constexpr std::size_t num_messages = 3;
/// Lives as long as any task that sends it.
const Bytes& message() {
  static const Bytes bytes = pattern(1000);
  return bytes;
}

/// Sends messages and takes their echoes, then leaves. Ends early when the server is gone.
void converse(ClientSide& client, const Link& server) {
  const auto lost = [&] {
    return client.is(ContextState::idle) || (client.is(ContextState::starting) && server.is_gone());
  };
  run_until(*client.engine, server, [&] { return client.is(ContextState::running) || lost(); });
  client.events.messages.clear();
  for (std::size_t i = 0; i < num_messages && client.is(ContextState::running); ++i) {
    static_cast<void>(client.send(message()));
  }
  run_until(*client.engine, server, [&] { return client.events.messages.size() == num_messages || lost(); });
}

void leave(ClientSide& client, const Link& link) {
  static_cast<void>(client.context->stop());
  run_until(*client.engine, link, [&] { return client.is(ContextState::idle); });
}

/// Echoes until done().
void echo(ServerSide& server, const Link& client, const std::function<bool()>& done) {
  server.events.on_message = [&](Connection& connection, std::span<const std::byte> received) {
    EXPECT_TRUE(same(Bytes(received.begin(), received.end()), message()));
    static_cast<void>(server.send(connection, message()));
  };
  run_until(*server.engine, client, [&] { return server.context->connections().empty() && done(); });
}

void tell_ready(const Link& link) { link.send(Bytes(1)); }

TEST_F(CrashSweep, AServerLosesAClient) {
  sweep({.victim =
             [](const Link& server) {
               server.receive();
               ClientSide client;
               client.start();
               converse(client, server);
               EXPECT_EQ(client.events.messages.size(), num_messages);
               leave(client, server);
             },
         .survivor =
             [](const Link& doomed, const Link& successor) {
               ServerSide server;
               server.start();
               tell_ready(doomed);
               echo(server, doomed, [&] { return doomed.is_gone(); });
               const std::size_t before = server.events.messages.size();
               tell_ready(successor);
               echo(server, successor, [&] { return successor.is_gone(); });
               EXPECT_EQ(server.events.messages.size() - before, num_messages);
               EXPECT_TRUE(server.stop());
             }});
}

TEST_F(CrashSweep, AClientLosesItsServer) {
  sweep({.victim =
             [](const Link& client) {
               ServerSide server;
               server.start();
               echo(server, client, [&] { return server.events.disconnected != 0; });
               EXPECT_EQ(server.events.messages.size(), num_messages);
               EXPECT_TRUE(server.stop());
             },
         .survivor =
             [](const Link& doomed, const Link& successor) {
               ClientSide client;
               client.start();
               converse(client, doomed);
               leave(client, doomed);
               client.start();
               converse(client, successor);
               EXPECT_EQ(client.events.messages.size(), num_messages);
               leave(client, successor);
             }});
}

}  // namespace
}  // namespace pydoca::comch
