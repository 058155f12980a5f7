#include <pydoca/sha.hpp>

#include "convert/bindings.hpp"
#include "convert/convert.hpp"
#include "convert/parse.hpp"
#include "task/data_object.hpp"

#include <array>

namespace pydoca::bindings {

namespace {

ShaAlgorithm to_algorithm(py::handle name) {
  return static_cast<ShaAlgorithm>(to_enumerator(name, "algorithm", sha_algorithm_names));
}
ShaAlgorithm algorithm_of(const LibraryTaskObject& task) {
  return static_cast<ShaAlgorithm>(task.number(sha_operands[2]));
}

class HashTaskObject final : public DataTaskObject<ShaHashTask, sha_hash> {
 public:
  using DataTaskObject::DataTaskObject;

 protected:
  void set_others(ShaHashTask& task) override {
    static_cast<void>(task.set_algorithm(static_cast<ShaAlgorithm>(operand(2).number)));
  }
};

class PartialHashTaskObject final : public DataTaskObject<ShaPartialHashTask, sha_partial_hash, 1> {
 public:
  using DataTaskObject::DataTaskObject;

  /// Hides the base's: also the slot of an object from the free list begins a message.
  template <std::size_t count>
  void prepare(GivenOperands<count>&& operands) noexcept {
    static_cast<void>(library_task()->reset());
    DataTaskObject::prepare(std::move(operands));
  }
  void reset() {
    require_idle("reset");
    static_cast<void>(library_task()->reset());
  }
  void set_is_final_buf() {
    require_idle("set_is_final_buf");
    if (library_task()->set_is_final_buf() != Status::success) {
      raise(Status::bad_state,
            "set_is_final_buf of " + describe() +
                (library_task()->has_result() ? ": the message has ended; reset() begins another"
                                              : ": no piece is done; hash() takes a message of one piece"));
    }
  }
  bool is_final() const { return !is_freed() && library_task()->is_final(); }
  bool has_result() const { return !is_freed() && library_task()->has_result(); }

 protected:
  void set_others(ShaPartialHashTask& task) override {
    static_cast<void>(task.set_algorithm(static_cast<ShaAlgorithm>(operand(2).number)));
  }
  void require_settable(std::string_view name, const std::string& what) const override {
    if (name != "src" && library_task()->has_begun()) {
      raise(Status::bad_state, what + " of " + describe() + ": its message has begun; reset() begins another");
    }
  }
};

using HashKind = DataKind<sha_hash, &Sha::set_hash_conf, &Sha::num_tasks, &Sha::hash>;
using PartialHashKind =
    DataKind<sha_partial_hash, &Sha::set_partial_hash_conf, &Sha::num_partial_hash_tasks, &Sha::partial_hash>;
using ShaObject = DataContextObject<Sha, HashKind, PartialHashKind>;

std::span<PyMethodDef> sha_methods() {
  static std::array methods{
      task_method<sha_hash, &ShaObject::make<HashTaskObject>>(
          "Allocates a task that appends the digest of src to dst, and submits it unless submit is false. Raises\n"
          "NoMemoryError when all num_tasks are allocated, BadStateError unless the context runs, InvalidValueError\n"
          "for bufs or an algorithm that the device refuses, AgainError when the queue is full (doca_sha_task_hash)."),
      task_method<sha_partial_hash, &ShaObject::make<PartialHashTaskObject, 1>>(
          "Allocates a task that hashes a message piece by piece, and submits it with the first piece, src, unless\n"
          "submit is false. dst gets the digest with the last piece. Raises what hash() raises, and InvalidValueError\n"
          "for a piece that is not a multiple of partial_hash_block_size() (doca_sha_task_partial_hash).")};
  return methods;
}

template <typename Class>
void bind_algorithm(Class& type, const char* doc) {
  type.def_property(
      "algorithm",
      [](const LibraryTaskObject& self) {
        return to_str(sha_algorithm_names[static_cast<std::size_t>(algorithm_of(self))]);
      },
      [](LibraryTaskObject& self, py::handle value) { self.set(sha_operands[2], value); }, doc);
}

void bind_hash_task(py::module_& module) {
  py::classh<HashTaskObject, LibraryTaskObject> type(
      module, "ShaHashTask",
      "Hashes src's data, in list order, as one message, and appends the digest to dst: its\n"
      "data_len grows by 20, 32 or 64 bytes.");
  bind_algorithm(type, "\"sha1\", \"sha256\" or \"sha512\". Setting raises InUseError in flight.");
  made_by(module, "ShaHashTask", "Sha.hash()");
}

void bind_partial_hash_task(py::module_& module) {
  py::classh<PartialHashTaskObject, LibraryTaskObject> type(
      module, "ShaPartialHashTask",
      "Hashes a message piece by piece: submit the first piece, then set src to the next and submit again.\n"
      "Before the last one call set_is_final_buf(): it appends the digest to dst. All others must be multiples of\n"
      "Sha.partial_hash_block_size() bytes. dst and algorithm are fixed from the first piece on until reset().");
  bind_algorithm(type,
                 "\"sha1\", \"sha256\" or \"sha512\". Setting raises InUseError in flight, BadStateError when the\n"
                 "message has begun.");
  type.def("reset", &PartialHashTaskObject::reset,
           "Forgets the pieces: the next one begins another message. Raises InUseError in flight\n"
           "(doca_sha_task_partial_hash_reset).")
      .def("set_is_final_buf", &PartialHashTaskObject::set_is_final_buf,
           "The next piece is the last. Raises InUseError in flight, BadStateError before a first piece is done and\n"
           "when the message has ended (doca_sha_task_partial_hash_set_is_final_buf).")
      .def_property_readonly("is_final", &PartialHashTaskObject::is_final,
                             "Whether set_is_final_buf() was called for this message.")
      .def_property_readonly("has_result", &PartialHashTaskObject::has_result,
                             "Whether dst has the digest: the last piece is done.");
  made_by(module, "ShaPartialHashTask", "Sha.partial_hash()");
}

template <typename Class>
void bind_sha_capabilities(Class& type) {
  const auto is_algorithm_supported = [](const DeviceInfo& info, py::handle algorithm) {
    return Sha::is_algorithm_supported(info, to_algorithm(algorithm));
  };
  const auto min_dst_buf_size = [](const DeviceInfo& info, py::handle algorithm) {
    return Sha::min_dst_buf_size(info, to_algorithm(algorithm));
  };
  const auto block_size = [](const DeviceInfo& info, py::handle algorithm) {
    return Sha::partial_hash_block_size(info, to_algorithm(algorithm));
  };
  type.def_static("is_supported", &Sha::is_supported, "info"_a, "Whether the device has a SHA engine.")
      .def_static("is_algorithm_supported", is_algorithm_supported, "info"_a, "algorithm"_a,
                  "Whether the device computes this algorithm, at once and piece by piece.")
      .def_static("max_src_buf_size", &Sha::max_src_buf_size, "info"_a, "Bytes per task.")
      .def_static("max_list_buf_num_elem", &Sha::max_list_buf_num_elem, "info"_a, "Elements of a source; 1: no lists.")
      .def_static("max_num_tasks", &Sha::max_num_tasks, "info"_a, "The largest num_tasks.")
      .def_static("min_dst_buf_size", min_dst_buf_size, "info"_a, "algorithm"_a,
                  "Bytes of tailroom that a digest needs.")
      .def_static("partial_hash_block_size", block_size, "info"_a, "algorithm"_a,
                  "Of what every piece of a message but the last has a multiple, in bytes.");
}

}  // namespace

void bind_sha(py::module_& module) {
  bind_hash_task(module);
  bind_partial_hash_task(module);
  auto type = ShaObject::bind(module, "Sha", "The SHA engine of a device.", sha_methods());
  bind_sha_capabilities(type);
}

}  // namespace pydoca::bindings
