#include "import/import_object.hpp"

#include "convert/convert.hpp"
#include "convert/python.hpp"

#include <string>
#include <utility>

namespace pydoca::bindings {

ImportObject::ImportObject(py::object engine, py::object subject, std::unique_ptr<PendingImport> pending,
                           const Kind& kind, py::object user_data)
    : engine_ref_(std::move(engine)),
      engine_(&to_engine(engine_ref_)),
      pending_(std::move(pending)),
      kind_(kind),
      subject_(std::move(subject)),
      user_data_(std::move(user_data)) {
  pending_->set_callback([this] { waiters_.wake(*engine_, py::none()); });
}

py::object ImportObject::take() {
  if (result_) {
    return result_;
  }
  if (pending_ == nullptr) {
    raise(Status::bad_state, std::string(kind_.call) + ": this import has failed or was given up; begin another");
  }
  const auto pending = std::exchange(pending_, nullptr);
  result_ = kind_.finish(*pending, subject_, user_data_);
  drain_log();
  return result_;
}

void ImportObject::abandon() {
  if (waiters_.empty()) pending_.reset();
}

void ImportObject::each_reference(References& references) {
  references.keep(engine_ref_);
  references.drop(subject_, user_data_);
  references.reset(result_);
  waiters_.each_reference(references);
}

}  // namespace pydoca::bindings
