#include "rig/process/peer_process.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <stdexcept>
#include <string_view>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

namespace pydoca {
namespace {

constexpr std::size_t longest = 4096;
constexpr int peer_fd = 100;
constexpr const char* environment = "PYDOCA_TEST_PEER";

struct Header {
  std::uint64_t a;
  std::uint64_t b;
  char op;
};

/// Runs between fork and exec: calls nothing that could need a lock of another thread.
[[noreturn]] void become_peer(int socket, char* const* arguments, char* const* variables) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::dup2(socket, peer_fd) == peer_fd) {
    ::execve("/proc/self/exe", arguments, variables);
  }
  ::_exit(127);
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) {
    pointers.push_back(text.data());
  }
  pointers.push_back(nullptr);
  return pointers;
}

/// This process's variables without those of GoogleTest: a peer runs the one case that its test names, also where this
/// process runs a share of the cases.
std::vector<std::string> variables_of_peer() {
  std::vector<std::string> variables;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    if (!std::string_view(*variable).starts_with("GTEST_")) {
      variables.emplace_back(*variable);
    }
  }
  variables.push_back(std::string(environment) + "=1");
  return variables;
}

}  // namespace

void send_message_to(int socket, const PeerMessage& message) {
  const Header header{message.a, message.b, message.op};
  std::string bytes(reinterpret_cast<const char*>(&header), sizeof header);
  bytes += message.payload;
  if (!std::cmp_equal(::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL), bytes.size())) {
    throw std::runtime_error(std::string("the peer cannot be told: ") + std::strerror(errno));
  }
}

PeerMessage receive_message_from(int socket) {
  std::array<char, sizeof(Header) + longest> bytes{};
  const ssize_t length = ::recv(socket, bytes.data(), bytes.size(), 0);
  if (std::cmp_less(length, sizeof(Header))) {
    throw std::runtime_error(std::string("the peer says nothing: ") + std::strerror(length == 0 ? ECONNRESET : errno));
  }
  Header header{};
  std::memcpy(&header, bytes.data(), sizeof header);
  return {header.op, header.a, header.b,
          std::string(bytes.data() + sizeof header, static_cast<std::size_t>(length) - sizeof header)};
}

PeerProcess::PeerProcess(const std::string& filter) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    throw std::runtime_error("no socket for the peer");
  }
  socket_ = detail::Fd(ends[0]);
  const detail::Fd theirs(ends[1]);
  const timeval limit{.tv_sec = 30, .tv_usec = 0};
  ::setsockopt(socket_.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  std::vector<std::string> texts{"peer", "--gtest_also_run_disabled_tests", "--gtest_brief=1",
                                 "--gtest_filter=" + filter};
  std::vector<std::string> variables = variables_of_peer();
  const std::vector<char*> arguments = pointers_to(texts);
  const std::vector<char*> environment_pointers = pointers_to(variables);
  pid_ = ::fork();
  if (pid_ == 0) {
    become_peer(theirs.get(), arguments.data(), environment_pointers.data());
  }
}

PeerProcess::~PeerProcess() {
  if (pid_ > 0) {
    kill();
    wait();
  }
}

PeerMessage PeerProcess::ask(const PeerMessage& message) {
  send_message_to(socket_.get(), message);
  return receive_message_from(socket_.get());
}

void PeerProcess::kill() noexcept { ::kill(pid_, SIGKILL); }

int PeerProcess::wait() noexcept {
  int status = -1;
  ::waitpid(pid_, &status, 0);
  pid_ = 0;
  return status;
}

int PeerProcess::quit() {
  send_message_to(socket_.get(), {.op = 'q', .payload = {}});
  return wait();
}

int peer_socket() noexcept { return std::getenv(environment) == nullptr ? -1 : peer_fd; }

}  // namespace pydoca
