#include "library/sha/sha.hpp"

#include "pydoca/backend/device.hpp"
#include "pydoca/capabilities.hpp"

#include "core/violation.hpp"
#include "detail/concat.hpp"
#include "library/set_operand.hpp"

#include <utility>

namespace pydoca {

namespace {

using detail::Limit;

const ShaCapabilities& sha_capabilities(const DeviceInfo& info) {
  if (!info.capabilities().sha) {
    throw Error(Status::not_supported,
                detail::concat("sha: ", info.name(), " has no SHA engine: ", find_capability("sha").of(info).reason));
  }
  return *info.capabilities().sha;
}

bool is_algorithm(ShaAlgorithm algorithm) noexcept { return static_cast<std::size_t>(algorithm) < num_sha_algorithms; }

/// Literals, which are ended by a NUL.
const char* name_of(ShaAlgorithm algorithm) noexcept {
  return sha_algorithm_names[static_cast<std::size_t>(algorithm)].data();
}

}  // namespace

Status ShaHashTask::set_src(Buf* src) noexcept { return detail::set_operand(*this, src_, src); }
Status ShaHashTask::set_dst(Buf* dst) noexcept { return detail::set_operand(*this, dst_, dst); }
Status ShaHashTask::set_algorithm(ShaAlgorithm algorithm) noexcept {
  return detail::set_operand(*this, algorithm_, algorithm, is_algorithm(algorithm));
}

Limit library::ShaHashTask::check(detail::Violation* why) const noexcept {
  const Device& device = *library().device();
  const ShaCapabilities& limits = *device.info().capabilities().sha;
  const detail::DataLimits named{.max_src_elements = limits.max_list_buf_num_elem,
                                 .src_elements = "max_list_buf_num_elem",
                                 .max_dst_elements = 1,
                                 .dst_elements = "the limit for a digest",
                                 .max_size = limits.max_src_buf_size,
                                 .size = "max_src_buf_size"};
  if (const Limit limit = check_data(why, src(), dst(), named, device); limit != Limit::none) {
    return limit;
  }
  const char* const name = name_of(pydoca::ShaHashTask::algorithm());
  if (!limits.has(pydoca::ShaHashTask::algorithm())) {
    return broken(why, {.limit = Limit::algorithm, .operand = "algorithm", .setting = name});
  }
  const std::uint32_t size = digest_size(pydoca::ShaHashTask::algorithm());
  const std::uint64_t room = dst()->tailroom();
  return size <= room
             ? Limit::none
             : broken(why,
                      {.limit = Limit::digest_room, .operand = "dst", .setting = name, .value = room, .allowed = size});
}

Status library::ShaHashTask::post(bool flush) noexcept {
  HashOperation::algorithm = pydoca::ShaHashTask::algorithm();
  return post_data(flush);
}

void library::ShaHashTask::finish(Status status) noexcept {
  take_back_data(status, digest_size(HashOperation::algorithm));
}

library::Sha::Sha(std::shared_ptr<Device> device) : DataContext(std::move(device), sha_hash.name) {
  static_cast<void>(sha_capabilities(this->device()->info()));
}

library::Sha::~Sha() { abandon(); }

std::unique_ptr<backend::HashQueue> library::Sha::create_queue(const backend::QueueOptions& options) {
  return device()->backend().create_hash_queue(options, *this);
}

std::shared_ptr<Sha> Sha::create(std::shared_ptr<Device> device) {
  return std::make_shared<library::Sha>(std::move(device));
}

bool Sha::is_supported(const DeviceInfo& info) noexcept { return info.capabilities().sha.has_value(); }
bool Sha::is_algorithm_supported(const DeviceInfo& info, ShaAlgorithm algorithm) noexcept {
  return is_supported(info) && info.capabilities().sha->has(algorithm);
}
std::uint64_t Sha::max_src_buf_size(const DeviceInfo& info) { return sha_capabilities(info).max_src_buf_size; }
std::uint32_t Sha::max_list_buf_num_elem(const DeviceInfo& info) {
  return sha_capabilities(info).max_list_buf_num_elem;
}
std::uint32_t Sha::max_num_tasks(const DeviceInfo& info) { return sha_capabilities(info).max_num_tasks; }

std::uint32_t Sha::min_dst_buf_size(const DeviceInfo& info, ShaAlgorithm algorithm) {
  if (!sha_capabilities(info).has(algorithm)) {
    throw Error(Status::not_supported, detail::concat("sha: ", info.name(), " does not compute this algorithm"));
  }
  return digest_size(algorithm);
}

void Sha::set_hash_conf(Task::Callback on_success, Task::Callback on_error, std::uint32_t num_tasks) {
  require_idle("set hash conf of");
  pool(0).configure("set hash conf", on_success, on_error, num_tasks, max_num_tasks(device()->info()));
}

std::uint32_t Sha::num_tasks() const noexcept { return pool(0).num_tasks(); }

Status Sha::hash(Buf* src, Buf* dst, ShaAlgorithm algorithm, std::uint64_t user_data, ShaHashTask*& task) noexcept {
  if (!is_algorithm(algorithm)) {
    return Status::invalid_value;
  }
  const Status status = take(0, user_data, task);
  if (status == Status::success) [[likely]] {
    task->src_ = src;
    task->dst_ = dst;
    task->algorithm_ = algorithm;
  }
  return status;
}

}  // namespace pydoca
