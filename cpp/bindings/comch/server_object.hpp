#pragma once

#include "comch/connection_object.hpp"
#include "comch/endpoint_object.hpp"
#include "engine/waiting_line.hpp"

#include <cstdint>
#include <deque>
#include <memory>
#include <string_view>
#include <vector>

namespace pydoca::bindings {

class ServerObject final : public EndpointObject {
 public:
  ServerObject(py::object engine, const py::object& device, py::object representor, std::string_view name,
               const py::kwargs& given);

  const py::object& representor() const noexcept { return representor_; }
  py::list connections() const;
  /// An Awaitable of the next connection that is not accepted. iterating: the end of the server ends the iteration
  /// instead of raising.
  py::object accept(bool iterating);
  void disconnect(comch::Connection& connection) override;

  // For NextOf, the next connection that is not accepted.
  static constexpr std::string_view name_of_wait = "accept";
  static constexpr std::string_view call_to_wait = "accept";
  WaitingLine& line() noexcept { return acceptors_; }
  std::size_t available() const noexcept;
  py::object serve(std::size_t place) { return take_at(unaccepted_, place); }
  [[noreturn]] void raise_end() const;

  void each_reference(References& references) override;

 protected:
  void state_entered(ContextState state) override;

 private:
  static std::shared_ptr<comch::Server> create(const py::object& device, const py::object& representor,
                                               std::string_view name);
  static void connected(comch::Connection& connection, bool successful, std::uint64_t context_user_data) noexcept;
  static void disconnected(comch::Connection& connection, bool successful, std::uint64_t context_user_data) noexcept;
  void add(comch::Connection& connection, bool successful);
  void remove(ConnectionObject& connection);
  void forget_unaccepted(ConnectionObject& ended);

  py::object representor_;
  std::vector<py::object> connections_;  ///< the connections whose end was not reported
  std::deque<py::object> unaccepted_;    ///< connections in the order in which they connected
  WaitingLine acceptors_;
};

}  // namespace pydoca::bindings
