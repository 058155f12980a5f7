#include "rig/server.h"

#include "pydoca/comch.hpp"
#include "pydoca/device.hpp"
#include "pydoca/progress_engine.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

using namespace pydoca;

struct server {
  std::shared_ptr<ProgressEngine> pe = ProgressEngine::create();
  std::shared_ptr<comch::Server> comch;
};

namespace {

void sent(Task& /*task*/, std::uint64_t /*task_data*/, std::uint64_t /*context_data*/) noexcept {}
void received(comch::Connection& /*connection*/, std::span<const std::byte> /*message*/,
              std::uint64_t /*context_data*/) noexcept {}
void changed(comch::Connection& /*connection*/, bool /*successful*/, std::uint64_t /*context_data*/) noexcept {}

}  // namespace

server* server_open(const char* name) {
  auto opened = std::make_unique<server>();
  const auto device = Device::open(find_device("03:00.0", Side::dpu));
  opened->comch = comch::Server::create(device, device->open_representor("0b:00.0"), name);
  opened->comch->set_send_conf(sent, sent, 1);
  opened->comch->set_message_received(received);
  opened->comch->set_connection_changed(changed, changed);
  opened->pe->connect(opened->comch);
  static_cast<void>(opened->comch->start());
  return opened.release();
}

void server_progress(server* server) { server->pe->progress(); }

void server_close(server* server) {
  const std::unique_ptr<struct server> closed(server);
  static_cast<void>(closed->comch->stop());
  while (closed->comch->state() != ContextState::idle) {
    closed->pe->progress();
  }
}
