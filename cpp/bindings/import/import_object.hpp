/// An import that an engine progresses, as Python awaits it.
#pragma once

#include <pydoca/import.hpp>

#include "convert/collectable.hpp"
#include "convert/pybind.hpp"
#include "engine/awaitable.hpp"
#include "engine/engine_object.hpp"

#include <memory>
#include <string_view>

namespace pydoca::bindings {

/// The import of a map, an event, or a peer's details. Its result is the same object for every await.
class ImportObject final : public Awaitable {
 public:
  struct Kind {
    std::string_view call;  ///< the method that begins it, as "import_mmap"
    /// Makes Python's object of an import that is over; called once. subject: the device that imports, or the
    /// connection.
    py::object (*finish)(PendingImport& pending, const py::object& subject, const py::object& user_data);
  };

  ImportObject(py::object engine, py::object subject, std::unique_ptr<PendingImport> pending, const Kind& kind,
               py::object user_data);

  EngineObject& engine() override { return *engine_; }
  Waiters& waiters() override { return waiters_; }
  bool ready() override { return pending_ == nullptr || pending_->is_over(); }
  /// Throws why the import failed; BadStateError at a second call after that, and after abandon().
  py::object take() override;
  /// Ends the import, unless others await it.
  void abandon() override;
  std::string_view what() const override { return kind_.call; }
  std::string_view call_without_effect() const noexcept override { return kind_.call; }
  void each_reference(References& references);

 private:
  py::object engine_ref_;
  EngineObject* engine_;
  std::unique_ptr<PendingImport> pending_;  ///< null: taken, failed or abandoned
  const Kind& kind_;
  py::object subject_;
  py::object user_data_;
  Waiters waiters_;
  py::object result_;  ///< null before take()
};

}  // namespace pydoca::bindings
