#include <pydoca/sha.hpp>

#include "call/keywords.hpp"
#include "convert/bindings.hpp"
#include "convert/convert.hpp"
#include "convert/parse.hpp"
#include "memory/buf_object.hpp"
#include "memory/mmap_object.hpp"
#include "task/library_task.hpp"

#include <array>
#include <utility>

namespace pydoca::bindings {

namespace py = pybind11;
using namespace py::literals;

namespace {

class ShaTaskObject final : public LibraryTaskObject {
 public:
  ShaTaskObject(py::object context, ShaHashTask& slot) : LibraryTaskObject(std::move(context), slot, 0, sha_hash) {}

 protected:
  void set_operands() override {
    auto& task = static_cast<ShaHashTask&>(*slot());
    static_cast<void>(task.set_src(element_of(operands().src)));
    static_cast<void>(task.set_dst(element_of(operands().dst)));
    static_cast<void>(task.set_algorithm(static_cast<ShaAlgorithm>(operands().number)));
    LibraryTaskObject::set_operands();
  }
};

class ShaObject final : public ContextObject {
 public:
  ShaObject(py::object engine, const py::object& device, std::uint32_t num_tasks, ContextOptions options)
      : ContextObject(std::move(engine), device, create(device, num_tasks), std::move(options)) {}

  /// A slot for a task, without operands.
  ShaHashTask& new_slot() {
    auto& sha = static_cast<Sha&>(context());
    ShaHashTask* slot = nullptr;
    const Status status = allocate_slot([&] { return sha.hash(nullptr, nullptr, ShaAlgorithm::sha256, 0, slot); });
    if (status != Status::success) refuse_task(status, 0, sha_hash.name);
    return *slot;
  }

 private:
  static std::shared_ptr<Sha> create(const py::object& device, std::uint32_t num_tasks) {
    auto sha = Sha::create(to_device(device).get());
    sha->set_hash_conf(TaskObject::on_complete, TaskObject::on_complete, num_tasks);
    return sha;
  }
};

py::object hash(PyObject* self, Operands operands, py::handle user_data, bool submit) {
  operands.require_types();
  return make_task<ShaTaskObject, ShaObject>(self, 0, std::move(operands), user_data, submit,
                                             [](ShaObject& sha) -> ShaHashTask& { return sha.new_slot(); });
}

std::span<PyMethodDef> sha_methods() {
  static std::array methods{raw_method(
      "hash", &task_method<sha_hash, &hash>,
      "hash($self, /, src, dst, algorithm='sha256', *, user_data=None, submit=True)\n--\n\nTakes a task, and submits "
      "it "
      "unless submit is false. Raises NoMemoryError when all num_tasks are taken,\nBadStateError unless the context "
      "runs, InvalidValueError for what cannot be hashed, AgainError when the queue is full\n(doca_sha_task_hash).")};
  return methods;
}

void bind_hash_task(py::module_& module) {
  py::classh<ShaTaskObject, LibraryTaskObject>(
      module, "ShaHashTask",
      "Hashes src's data, in list order, as one message, and appends the digest to dst: its\n"
      "data_len grows by 20, 32 or 64 bytes.")
      .def_property(
          "algorithm", [](const ShaTaskObject& self) { return to_str(sha_algorithm_names[self.operands().number]); },
          [](ShaTaskObject& self, py::handle value) { self.set_number(Operand::algorithm, value); },
          "\"sha1\", \"sha256\" or \"sha512\". Setting raises InUseError in flight.");
}

template <typename Class>
void bind_sha_capabilities(Class& type) {
  const auto is_algorithm_supported = [](const DeviceInfo& info, py::handle algorithm) {
    return Sha::is_algorithm_supported(info, to_sha_algorithm(algorithm));
  };
  const auto min_dst_buf_size = [](const DeviceInfo& info, py::handle algorithm) {
    return Sha::min_dst_buf_size(info, to_sha_algorithm(algorithm));
  };
  type.def_static("is_supported", &Sha::is_supported, "info"_a, "Whether the device has a SHA engine.")
      .def_static("is_algorithm_supported", is_algorithm_supported, "info"_a, "algorithm"_a,
                  "Whether the device computes this algorithm.")
      .def_static("max_src_buf_size", &Sha::max_src_buf_size, "info"_a, "Bytes per task.")
      .def_static("max_list_buf_num_elem", &Sha::max_list_buf_num_elem, "info"_a, "Elements of a source; 1: no lists.")
      .def_static("max_num_tasks", &Sha::max_num_tasks, "info"_a, "The largest num_tasks.")
      .def_static("min_dst_buf_size", min_dst_buf_size, "info"_a, "algorithm"_a,
                  "Bytes of tailroom that a digest needs.");
}

}  // namespace

void bind_sha(py::module_& module) {
  bind_hash_task(module);
  py::classh<ShaObject, ContextObject> type(module, "Sha", "The SHA engine of a device.");
  const auto create = [](py::object pe, const py::object& dev, const py::object& num_tasks, const py::kwargs& options) {
    return std::make_unique<ShaObject>(std::move(pe), dev, to_u32(num_tasks, "num_tasks"), ContextOptions::of(options));
  };
  type.def(py::init(create), "pe"_a, "dev"_a, py::kw_only(), "num_tasks"_a = 32,
           signature({"pe, dev, *, num_tasks=32", ContextOptions::keywords}).c_str());
  add_methods(type, sha_methods());
  bind_sha_capabilities(type);
}

}  // namespace pydoca::bindings
