#include "batch/batch_object.hpp"
#include "batch/memcpy_many.hpp"
#include "call/raw_method.hpp"
#include "convert/bindings.hpp"
#include "convert/convert.hpp"

#include <array>
#include <string>

namespace pydoca::bindings {

namespace {

using Object = DmaMemcpyBatchObject;

PyObject* memcpy_many(PyObject* self, const std::array<PyObject*, 3>& given) {
  const auto object = [](PyObject* of) { return py::reinterpret_borrow<py::object>(of); };
  return Object::begin(object(self), object(given[0]), object(given[1]), given[2]).release().ptr();
}

py::object failed_row(const Object& self) {
  return self.failed_row() == self.num_rows() ? py::object(py::none()) : py::object(py::int_(self.failed_row()));
}

std::string repr(const Object& self) {
  return format_text("<pydoca.DmaMemcpyBatch, {} of {} rows done, {}>", self.num_done(), self.num_rows(),
                     to_status(self.status()).attr("name"));
}

void bind_outcome(py::classh<Object, Awaitable>& type) {
  type.def("__len__", &Object::num_rows, "How many rows it has.")
      .def_property_readonly("num_done", &Object::num_done, "How many rows have an outcome.")
      .def_property_readonly(
          "status",
          [](Object& self) {
            self.mark_seen();
            return to_status(self.status());
          },
          "SUCCESS when all rows succeeded, IN_PROGRESS, or the status of failed_row.")
      .def_property_readonly("failed_row", &failed_row, "The row that failed first, or None.")
      .def_property_readonly(
          "statuses",
          [](Object& self) {
            self.mark_seen();
            return self.statuses();
          },
          "The status of each row: a read-only array of int32, which goes on showing the state of the batch, and\n"
          "which numpy.asarray takes without a copy. IN_PROGRESS for a row that has no outcome.")
      .def_property_readonly("descriptors", &Object::descriptors,
                             "The rows as they were given: a read-only array of N x 4 uint64, the batch's copy.");
}

}  // namespace

PyMethodDef memcpy_many_method() {
  return raw_method<"memcpy_many($self, /, src, dst, descriptors)", &memcpy_many>(
      "Begins a copy for each row of descriptors: a C-contiguous array of N x 4 uint64, which is copied.\n"
      "Its columns are the source's address in src, the destination's in dst, both of them started maps,\n"
      "then bytes, then user data, which stay as they are. The batch uses tasks that are free, 32 at most, in\n"
      "any order, and calls no callbacks; await it. Raises InvalidValueError that names the first bad row,\n"
      "TypeError for other arrays, NoMemoryError when no task is free, BadStateError unless context and\n"
      "maps run; no row was begun then. DOCA has no such call.");
}

void bind_dma_batch(py::module_& module) {
  py::classh<Object, Awaitable> type(
      module, "DmaMemcpyBatch",
      "Copies that one call began. Await it, or wait(): once all rows have an outcome, that gives the batch, or\n"
      "raises the error of the row that failed first. A row that fails stops the context, as a task does; rows\n"
      "that the device had not begun have the status SHUTDOWN. It keeps its maps and its context, but not the\n"
      "caller's array. A cancelled await cancels the batch, and raises CancelledError when the device has let go\n"
      "of the memory. DOCA has no such object.",
      collectable<Object>());
  bind_outcome(type);
  type.def("cancel", &Object::cancel,
           "Rows that were not submitted get the status SHUTDOWN; those in flight finish. Returns how many rows it\n"
           "has cancelled.")
      .def_property_readonly(
          "context", [](const Object& self) { return self.context_ref(); }, "The Dma.")
      .def("__repr__", &repr);
  made_by(module, "DmaMemcpyBatch", "Dma.memcpy_many()");
}

}  // namespace pydoca::bindings
