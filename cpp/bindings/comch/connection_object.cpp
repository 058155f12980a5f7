#include "comch/connection_object.hpp"

#include "convert/convert.hpp"

#include <utility>

namespace pydoca::bindings {

namespace {

/// The bytes of any buffer, while this object exists.
class BufferLook : NotCopied {
 public:
  explicit BufferLook(py::handle data) {
    if (PyObject_GetBuffer(data.ptr(), &view_, PyBUF_FULL_RO) != 0) throw py::error_already_set();
  }
  ~BufferLook() { PyBuffer_Release(&view_); }

  std::size_t size() const noexcept { return static_cast<std::size_t>(view_.len); }
  py::bytes copy() const {
    auto bytes = py::reinterpret_steal<py::bytes>(PyBytes_FromStringAndSize(nullptr, view_.len));
    if (!bytes || PyBuffer_ToContiguous(PyBytes_AS_STRING(bytes.ptr()), &view_, view_.len, 'C') != 0) {
      throw py::error_already_set();
    }
    return bytes;
  }

 private:
  Py_buffer view_{};
};

}  // namespace

ConnectionObject::ConnectionObject(py::object endpoint, comch::Connection& connection)
    : endpoint_ref_(std::move(endpoint)),
      endpoint_(&endpoint_ref_.cast<EndpointObject&>()),
      connection_(connection.shared_from_this()),
      capacity_(endpoint_->endpoint().recv_queue_size()) {
  engine_ref_ = endpoint_->engine_ref();
  engine_ = &endpoint_->engine();
  description_ = endpoint_->describe();
  connection_->set_user_data(reinterpret_cast<std::uintptr_t>(this));
}

ConnectionObject::~ConnectionObject() { connection_->set_user_data(0); }

ConnectionObject* ConnectionObject::of(const comch::Connection& connection) noexcept {
  return reinterpret_cast<ConnectionObject*>(static_cast<std::uintptr_t>(connection.user_data()));
}

py::object ConnectionObject::make(py::object endpoint, comch::Connection& connection) {
  const auto made = std::make_shared<ConnectionObject>(std::move(endpoint), connection);
  py::object object = py::cast(made);
  made->self_ = object;
  return object;
}

std::uint64_t ConnectionObject::counter(comch::Counter counter) {
  connection_->update_info();
  return connection_->counter(counter);
}

bool ConnectionObject::ended_here() const noexcept {
  return closed_here_ || (endpoint_ != nullptr && endpoint_->was_stopped());
}

bool ConnectionObject::lost_device() const noexcept {
  return lost_device_ || (endpoint_ != nullptr && endpoint_->context().failure() == Status::driver);
}

void ConnectionObject::raise_ended(std::string_view what) const {
  const std::string message = std::string(what) + " (" + description_ + "): ";
  if (lost_device()) {
    raise(Status::driver, message + "the device was removed");
  }
  raise(Status::connection_reset, message + (ended_here() ? "this side has closed the connection"
                                                          : "the other side has closed the connection, or is gone"));
}

void ConnectionObject::refuse_send(Status status) const {
  if (!is_connected() && !ended_here()) {
    raise_ended("send");
  }
  const std::string message = "send (" + description_ + "): ";
  if (!is_connected()) {
    raise(Status::not_connected, message + "this side has closed the connection");
  }
  if (status == Status::no_memory) {
    raise(status,
          message + "all " + std::to_string(endpoint_->endpoint().num_send_tasks()) +
              " send tasks are taken; await one and drop or free() it, or give the context a larger num_send_tasks");
  }
  raise(status, message + std::string(error_descr(status)));
}

py::bytes ConnectionObject::payload(py::handle data) const {
  if (PyObject_CheckBuffer(data.ptr()) == 0) {
    throw py::type_error("send takes bytes, or anything with the buffer protocol, not " + type_name(data) +
                         "; encode text first");
  }
  const BufferLook look(data);
  if (is_connected() && look.size() > connection_->max_msg_size()) {
    raise(Status::invalid_value, "send (" + description_ + "): the message has " + std::to_string(look.size()) +
                                     " bytes; this connection takes up to " +
                                     std::to_string(connection_->max_msg_size()) + ", so send it in pieces");
  }
  // Copies bytes that can change: the caller may change them while the task waits.
  return PyBytes_CheckExact(data.ptr()) != 0 ? py::reinterpret_borrow<py::bytes>(data) : look.copy();
}

comch::SendTask& ConnectionObject::new_slot() {
  comch::SendTask* slot = nullptr;
  const auto allocate = [&] { return endpoint_->endpoint().send(*connection_, {}, 0, slot); };
  const Status status = endpoint_->allocate_slot(allocate);
  if (status != Status::success) {
    refuse_send(status);
  }
  return *slot;
}

py::object ConnectionObject::receive(bool iterating) {
  if (endpoint_ != nullptr && !endpoint_->on_message().is_none()) {
    raise(Status::bad_state,
          "receive (" + description_ + "): messages go to on_message; set that to None, while the context is IDLE");
  }
  return NextOf<ConnectionObject>::make(self(), *this, iterating);
}

void ConnectionObject::close() {
  if (endpoint_ == nullptr || engine().is_forked() || !is_connected()) {
    return;
  }
  engine().require_thread("close a connection");
  closed_here_ = true;
  const py::object endpoint = endpoint_ref_;
  endpoint_->disconnect(*connection_);
  wake_receivers();
  engine().settle();
}

void ConnectionObject::message_received(comch::Connection& connection, std::span<const std::byte> message,
                                        std::uint64_t context_user_data) noexcept {
  ConnectionObject* const self = of(connection);
  if (self == nullptr) {
    return;
  }
  auto& endpoint = ContextObject::of<EndpointObject>(context_user_data);
  endpoint.guard([&] {
    if (endpoint.on_message().is_none()) {
      self->push(message);
    } else {
      endpoint.engine().call(endpoint.on_message(), endpoint.self(), self->self(), to_python(message),
                             endpoint.user_data());
    }
  });
}

void ConnectionObject::push(std::span<const std::byte> message) {
  inbox_.push_back(to_python(message));
  if (inbox_.size() >= capacity_) {
    connection_->pause();
  }
  wake_receivers();
}

py::object ConnectionObject::serve(std::size_t place) {
  py::object message = take_at(inbox_, place);
  // Resumes with a delay: otherwise a reader slower than its sender would pause and resume with every message.
  if (is_connected() && connection_->is_paused() && inbox_.size() <= capacity_ / 2) {
    connection_->resume();
  }
  return message;
}

std::size_t ConnectionObject::available() const noexcept {
  return is_connected() ? inbox_.size() : WaitingLine::unlimited;
}

void ConnectionObject::wake_receivers() { receivers_.wake(engine(), available()); }

void ConnectionObject::end() {
  closed_here_ = ended_here();
  lost_device_ = lost_device();
  endpoint_ = nullptr;
  wake_receivers();
}

void ConnectionObject::forget_endpoint() { const py::object endpoint = std::exchange(endpoint_ref_, py::none()); }

void ConnectionObject::each_reference(References& references) {
  references.keep(engine_ref_, endpoint_ref_);
  references.drop(user_data_);
}

}  // namespace pydoca::bindings
