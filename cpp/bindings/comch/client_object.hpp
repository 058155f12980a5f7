#pragma once

#include "comch/endpoint_object.hpp"

#include <memory>
#include <string_view>

namespace pydoca::bindings {

class ClientObject final : public EndpointObject {
 public:
  ClientObject(py::object engine, const py::object& device, std::string_view name, const py::kwargs& given);

  /// Seconds, or None.
  py::object timeout() const;
  /// Throws bad_state unless running.
  py::object connection() const;
  void disconnect(comch::Connection& connection) override;
  /// A connection is returned even if it has ended meanwhile: messages of it may wait.
  py::object entered() override;

  void each_reference(References& references) override;

 protected:
  void state_entered(ContextState state) override;

 private:
  static std::shared_ptr<comch::Client> create(const py::object& device, std::string_view name);

  comch::Client& client() const noexcept { return static_cast<comch::Client&>(context()); }
  py::object connection_ = py::none();  ///< those of this run
};

}  // namespace pydoca::bindings
