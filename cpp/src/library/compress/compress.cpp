#include "library/compress/compress.hpp"

#include "core/violation.hpp"
#include "detail/concat.hpp"
#include "library/require_library.hpp"
#include "library/set_operand.hpp"

#include <utility>

namespace pydoca {

namespace {

using backend::DecompressFault;

const CompressCapabilities& compress_capabilities(const DeviceInfo& info) {
  return detail::require_library(info, info.capabilities().compress, "compress", "has no compression engine");
}

std::string sentence_of(DecompressFault fault, const Buf& src, const Buf& dst) {
  const std::string size = detail::limits::bytes(src.list_data_len());
  switch (fault) {
    case DecompressFault::none:
      break;
    case DecompressFault::not_deflate:
      return detail::concat("src's ", size, " are not raw DEFLATE data (RFC 1951); leave out a header of zlib or gzip");
    case DecompressFault::cut_short:
      return detail::concat("src's ", size, " end before the last block of their DEFLATE data does");
    case DecompressFault::no_room:
      return detail::concat("src's ", size, " expand to more than the ", detail::limits::bytes(dst.list_tailroom()),
                            " of tailroom that dst has");
    case DecompressFault::too_much:
      return detail::concat("src's ", size, " expand to more than the 4 GiB that one task gives");
  }
  return {};
}

}  // namespace

Status CompressDecompressDeflateTask::set_src(Buf* src) noexcept { return detail::set_operand(*this, src_, src); }
Status CompressDecompressDeflateTask::set_dst(Buf* dst) noexcept { return detail::set_operand(*this, dst_, dst); }

bool library::DecompressTask::breaks_limit(detail::Violation* why) const noexcept {
  const Device& device = *library().device();
  const CompressCapabilities& most = *device.info().capabilities().compress;
  const detail::DataLimits named{.max_src_elements = most.decompress_deflate_max_buf_list_len,
                                 .src_elements = "decompress_deflate_max_buf_list_len",
                                 .max_dst_elements = most.decompress_deflate_max_buf_list_len,
                                 .dst_elements = "decompress_deflate_max_buf_list_len",
                                 .max_size = most.decompress_deflate_max_buf_size,
                                 .size = "decompress_deflate_max_buf_size"};
  return break_limit(why, src(), dst(), named, device) ||
         (src()->list_data_len() == 0 && broken(why, {.limit = detail::limits::no_data, .operand = "src"}));
}

std::string library::DecompressTask::explain(Status status) const {
  const bool is_told = status == Status::io_failed && status == outcome && slot == 0;
  if (is_told && fault != DecompressFault::none) {
    return detail::and_context_stops(sentence_of(fault, *src(), *dst()));
  }
  return DataTask::explain(status);
}

Status library::DecompressTask::post(bool flush) noexcept {
  filled = 0;
  fault = DecompressFault::none;
  return post_data(flush);
}

void library::DecompressTask::finish(Status status) noexcept {
  take_back_data(status, filled);
  if (status == Status::success) {
    crc_ = crc;
    adler_ = adler;
  }
}

std::shared_ptr<Compress> Compress::create(std::shared_ptr<Device> device) {
  return detail::make_context<library::Compress>(std::move(device));
}

bool Compress::is_supported(const DeviceInfo& info) noexcept { return info.capabilities().compress.has_value(); }
bool Compress::is_decompress_deflate_supported(const DeviceInfo& info) noexcept {
  return is_supported(info) && info.capabilities().compress->decompress_deflate_max_buf_size != 0;
}
std::uint64_t Compress::max_decompress_deflate_buf_size(const DeviceInfo& info) {
  return compress_capabilities(info).decompress_deflate_max_buf_size;
}
std::uint32_t Compress::max_decompress_deflate_buf_list_len(const DeviceInfo& info) {
  return compress_capabilities(info).decompress_deflate_max_buf_list_len;
}
std::uint32_t Compress::max_num_tasks(const DeviceInfo& info) { return compress_capabilities(info).max_num_tasks; }

void Compress::set_decompress_deflate_conf(TaskCallback<CompressDecompressDeflateTask> on_success,
                                           TaskCallback<CompressDecompressDeflateTask> on_error,
                                           std::uint32_t num_tasks) {
  detail::ContextTasks::configure(*this, 0, "set decompress_deflate conf", on_success, on_error, num_tasks,
                                  max_num_tasks(device()->info()));
}

std::uint32_t Compress::num_tasks() const noexcept { return detail::ContextTasks::pool(*this, 0).num_tasks(); }

Status Compress::decompress_deflate(Buf* src, Buf* dst, std::uint64_t user_data,
                                    CompressDecompressDeflateTask*& task) noexcept {
  return detail::take_data_task<library::DecompressTask>(*this, 0, user_data, task, src, dst);
}

}  // namespace pydoca
