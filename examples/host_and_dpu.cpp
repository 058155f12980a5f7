// Two processes: the host lends its memory, and the DPU reads it by DMA. Without an argument the program starts both;
// with "host" or "dpu" it is one of them, on two machines, say, or in two terminals.

#include <pydoca/buf_inventory.hpp>
#include <pydoca/comch.hpp>
#include <pydoca/dma.hpp>
#include <pydoca/handles.hpp>
#include <pydoca/memory.hpp>
#include <pydoca/progress_engine.hpp>
#include <pydoca/representor.hpp>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <exception>
#include <iostream>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>
#include <utility>
#include <vector>

namespace {

using pydoca::require;
using pydoca::Status;

constexpr std::string_view text = "Hello from the host";
constexpr std::string_view service = "copy";

std::shared_ptr<pydoca::Mmap> map(const std::shared_ptr<pydoca::Device>& device,
                                  const std::shared_ptr<pydoca::Memory>& memory, pydoca::Access permissions) {
  auto mmap = pydoca::Mmap::create();
  mmap->add_device(device);
  mmap->set_memrange(memory->data(), memory->size(), memory);
  mmap->set_permissions(permissions);
  mmap->start();
  return mmap;
}

/// One end of the channel, its engine, and the message that has come last.
struct End {
  std::shared_ptr<pydoca::ProgressEngine> engine = pydoca::ProgressEngine::create();
  std::vector<std::byte> message;
  std::shared_ptr<pydoca::comch::Connection> peer;  ///< the connection that it came over
  bool has_lost_peer = false;

  template <class Condition>
  void until(Condition condition) {
    while (!condition()) {
      engine->wait(-1);
      engine->drain(16);
    }
  }
  /// The message that has come, perhaps while this side was still sending, or the next one.
  std::vector<std::byte> receive() {
    until([&] { return !message.empty() || has_lost_peer; });
    if (message.empty()) {
      throw pydoca::Error(Status::connection_reset, "wait for a message: the other side has gone");
    }
    return std::exchange(message, {});
  }
};

void received(pydoca::comch::Connection& connection, std::span<const std::byte> message, End* end) noexcept {
  end->message.assign(message.begin(), message.end());
  end->peer = connection.shared_from_this();
}

// A task that has completed can be freed.
void ended(pydoca::Task& task) noexcept { static_cast<void>(task.free()); }

void connected(pydoca::comch::Connection&) noexcept {}

void disconnected(pydoca::comch::Connection&, bool, End* end) noexcept { end->has_lost_peer = true; }

// A client has no callbacks of connections: it stops when its server has gone.
void state_changed(End* end, pydoca::Context&, pydoca::ContextState, pydoca::ContextState next) noexcept {
  end->has_lost_peer |= next == pydoca::ContextState::stopping;
}

void configure(pydoca::comch::Endpoint& endpoint, End& end) {
  endpoint.set_send_conf(pydoca::calls<ended>, pydoca::calls<ended>, 1);
  endpoint.set_message_received(pydoca::calls<received>);
  endpoint.set_user_data(pydoca::as_user_data(&end));
  end.engine->connect(endpoint.shared_from_this());
}

void send(pydoca::comch::Endpoint& endpoint, pydoca::comch::Connection& to, std::span<const std::byte> message,
          End& end) {
  pydoca::comch::SendTask* task = nullptr;
  require(endpoint.send(to, message, 0, task), "take a send task");
  require(task->submit(), "send");
  end.until([&] { return endpoint.num_inflight_tasks() == 0; });
}

void stop(pydoca::Context& context, End& end) {
  if (context.stop() == Status::in_progress) {
    end.until([&] { return context.state() == pydoca::ContextState::idle; });
  }
}

void be_host() {
  const auto device = pydoca::Device::open(pydoca::find_device("0b:00.0", pydoca::Side::host));
  const auto memory = pydoca::Memory::allocate(text.size());
  std::memcpy(memory->data(), text.data(), text.size());
  const auto lent = map(device, memory, pydoca::Access::local_read_write | pydoca::Access::pci_read_only);
  End end;
  const auto client = pydoca::comch::Client::create(device, service);
  configure(*client, end);
  client->set_state_changed(pydoca::calls<state_changed>);
  if (client->start() == Status::in_progress) {
    end.until([&] { return client->state() != pydoca::ContextState::starting; });
  }
  require(client->failure(), "connect with the DPU");
  send(*client, *client->connection(), lent->export_pci(*device), end);
  end.receive();  // the DPU has read the memory, which may go now
  stop(*client, end);
}

/// Copies all of the remote memory by DMA.
std::string read(const std::shared_ptr<pydoca::Device>& device, std::span<const std::byte> blob, End& end) {
  const auto remote = pydoca::Mmap::create_from_export(device, blob);
  const auto memory = pydoca::Memory::allocate(remote->len());
  const auto local = map(device, memory, pydoca::Access::local_read_write);
  const auto inventory = pydoca::BufInventory::create(2);
  inventory->start();
  const auto dma = pydoca::Dma::create(device);
  dma->set_memcpy_conf(pydoca::calls<ended>, pydoca::calls<ended>, 1);
  end.engine->connect(dma);
  require(dma->start(), "start the context");
  pydoca::BufRef src;
  pydoca::BufRef dst;
  require(inventory->get_by_data(remote, remote->addr(), remote->len(), pydoca::Into(src)), "get the source");
  require(inventory->get_by_addr(local, local->addr(), local->len(), pydoca::Into(dst)), "get the destination");
  pydoca::DmaMemcpyTask* task = nullptr;
  require(dma->memcpy(src.get(), dst.get(), 0, task), "take a copy task");
  require(task->submit(), "copy");
  end.until([&] { return dma->num_inflight_tasks() == 0; });
  require(dma->failure(), "copy the host's memory");
  stop(*dma, end);
  return {reinterpret_cast<const char*>(memory->data()), dst->data_len()};
}

void be_dpu() {
  const auto device = pydoca::Device::open(pydoca::find_device("03:00.0", pydoca::Side::dpu));
  End end;
  const auto server = pydoca::comch::Server::create(device, device->open_representor("0b:00.0"), service);
  configure(*server, end);
  server->set_connection_changed(pydoca::calls<connected>, pydoca::calls<disconnected>);
  require(server->start(), "start the context");
  const std::string data = read(device, end.receive(), end);
  std::cout << "the DPU has read: " << data << '\n';
  send(*server, *end.peer, std::as_bytes(std::span("done")), end);
  end.until([&] { return server->connections().empty(); });
  stop(*server, end);
}

/// The exit status of a role, whose error is told.
int run(std::string_view role, void (*be)()) {
  try {
    be();
    return 0;
  } catch (const std::exception& error) {
    std::cerr << "host_and_dpu, " << role << ": " << error.what() << '\n';
    return 1;
  }
}

/// The host in a process of its own, which begins before anything of pydoca is in use here.
class HostProcess {
 public:
  HostProcess() : pid_(::fork()) {
    if (pid_ < 0) {
      throw std::system_error(errno, std::generic_category(), "fork");
    }
    if (pid_ == 0) {
      ::_exit(run("host", be_host));
    }
  }
  ~HostProcess() {
    if (pid_ > 0) {
      ::kill(pid_, SIGTERM);  // it would wait for ever without its DPU
      ::waitpid(pid_, nullptr, 0);
    }
  }
  HostProcess(const HostProcess&) = delete;
  HostProcess& operator=(const HostProcess&) = delete;
  /// Its exit status.
  int wait() {
    int status = 1;
    ::waitpid(std::exchange(pid_, 0), &status, 0);
    return status;
  }

 private:
  pid_t pid_;
};

void be_both() {
  HostProcess host;
  be_dpu();
  if (host.wait() != 0) {
    throw std::runtime_error("the host has failed");
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view role = argc > 1 ? argv[1] : "both";
  return run(role, role == "host" ? be_host : role == "dpu" ? be_dpu : be_both);
}
