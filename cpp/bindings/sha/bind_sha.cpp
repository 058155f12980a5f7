#include <pydoca/sha.hpp>

#include "convert/bindings.hpp"
#include "convert/convert.hpp"
#include "convert/parse.hpp"
#include "task/data_object.hpp"

#include <array>

namespace pydoca::bindings {

namespace {

class ShaTaskObject final : public DataTaskObject<ShaHashTask, sha_hash> {
 public:
  using DataTaskObject::DataTaskObject;

 protected:
  void set_others(ShaHashTask& task) override {
    static_cast<void>(task.set_algorithm(static_cast<ShaAlgorithm>(operands().number)));
  }
};

Status take_hash(Sha& sha, ShaHashTask*& slot) { return sha.hash(nullptr, nullptr, ShaAlgorithm::sha256, 0, slot); }

using ShaObject = DataContextObject<Sha, ShaHashTask, sha_hash, &Sha::set_hash_conf, &take_hash>;

std::span<PyMethodDef> sha_methods() {
  static std::array methods{task_method<sha_hash, &ShaObject::make<ShaTaskObject>>(
      "Allocates a task that appends the digest of src to dst, and submits it unless submit is false. Raises\n"
      "NoMemoryError when all num_tasks are allocated, BadStateError unless the context runs, InvalidValueError\n"
      "for bufs or an algorithm that the device refuses, AgainError when the queue is full (doca_sha_task_hash).")};
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
  auto type = ShaObject::bind(module, "Sha", "The SHA engine of a device.", sha_methods());
  bind_sha_capabilities(type);
}

}  // namespace pydoca::bindings
