#include <pydoca/compress.hpp>

#include "convert/bindings.hpp"
#include "task/data_object.hpp"

#include <array>
#include <cstdint>

namespace pydoca::bindings {

namespace {

class DecompressTaskObject final : public DataTaskObject<CompressDecompressDeflateTask, compress_decompress_deflate> {
 public:
  using DataTaskObject::DataTaskObject;

  std::uint32_t crc() const noexcept { return crc_; }
  std::uint32_t adler() const noexcept { return adler_; }

 protected:
  /// The slot may go before the checksums are read.
  void completed(Status status) override {
    if (status == Status::success) {
      crc_ = library_task()->crc_cs();
      adler_ = library_task()->adler_cs();
    }
  }

 private:
  std::uint32_t crc_ = 0;
  std::uint32_t adler_ = 0;
};

using CompressObject =
    DataContextObject<Compress, DataKind<compress_decompress_deflate, &Compress::set_decompress_deflate_conf,
                                         &Compress::num_tasks, &Compress::decompress_deflate>>;

std::span<PyMethodDef> compress_methods() {
  static std::array methods{task_method<compress_decompress_deflate, &CompressObject::make<DecompressTaskObject>>(
      "Allocates a task that expands src's data, one raw DEFLATE stream, and appends the plain data to dst;\n"
      "submits it unless submit is false. Raises NoMemoryError when all num_tasks are allocated, BadStateError\n"
      "unless the context runs, InvalidValueError for bufs that the device refuses, AgainError when the queue is full\n"
      "(doca_compress_task_decompress_deflate).")};
  return methods;
}

void bind_decompress_task(py::module_& module) {
  py::classh<DecompressTaskObject, LibraryTaskObject> type(
      module, "CompressDecompressDeflateTask",
      "Expands src's data, in list order: one DEFLATE stream (RFC 1951), without the header and trailer of zlib or\n"
      "gzip. On success the plain data is appended to dst: its data_len grows by so many bytes. What follows the\n"
      "stream in src is ignored. The tailroom behind the plain data may have changed.");
  type.def_property_readonly(
          "crc_cs", &DecompressTaskObject::crc,
          "CRC-32 of the plain data of the last run that succeeded, as zlib.crc32() gives it; 0 before\n"
          "(doca_compress_task_decompress_deflate_get_crc_cs).")
      .def_property_readonly(
          "adler_cs", &DecompressTaskObject::adler,
          "Adler-32 of the plain data of the last run that succeeded, as zlib.adler32() gives it; 0 before\n"
          "(doca_compress_task_decompress_deflate_get_adler_cs).");
  made_by(module, "CompressDecompressDeflateTask", "Compress.decompress_deflate()");
}

template <typename Class>
void bind_compress_capabilities(Class& type) {
  type.def_static("is_supported", &Compress::is_supported, "info"_a, "Whether the device has a compression engine.")
      .def_static("is_decompress_deflate_supported", &Compress::is_decompress_deflate_supported, "info"_a,
                  "Whether the device expands DEFLATE data.")
      .def_static("max_decompress_deflate_buf_size", &Compress::max_decompress_deflate_buf_size, "info"_a,
                  "The most bytes of DEFLATE data per task.")
      .def_static("max_decompress_deflate_buf_list_len", &Compress::max_decompress_deflate_buf_list_len, "info"_a,
                  "The most elements of a list; 1: no lists.")
      .def_static("max_num_tasks", &Compress::max_num_tasks, "info"_a, "The largest num_tasks.");
}

}  // namespace

void bind_compress(py::module_& module) {
  bind_decompress_task(module);
  auto type = CompressObject::bind(module, "Compress", "The compression engine of a device.", compress_methods());
  bind_compress_capabilities(type);
}

}  // namespace pydoca::bindings
