#include "library/sha/sha.hpp"

#include "pydoca/device_properties.hpp"

#include "core/violation.hpp"
#include "detail/concat.hpp"
#include "library/require_library.hpp"
#include "library/set_operand.hpp"

#include <utility>

namespace pydoca {

namespace {

const ShaCapabilities& sha_capabilities(const DeviceInfo& info) {
  return detail::require_library(info, info.capabilities().sha, "sha", "has no SHA engine");
}

bool is_algorithm(ShaAlgorithm algorithm) noexcept { return static_cast<std::size_t>(algorithm) < num_sha_algorithms; }

// The limits of SHA tasks alone; setting is the algorithm.

std::string no_algorithm(const detail::Violation& violation, const DeviceInfo& device) {
  return detail::concat(device.name(), " does not compute ", violation.setting, "; use another algorithm");
}

/// value: the tailroom; allowed: the bytes of a digest.
std::string digest_room(const detail::Violation& violation, const DeviceInfo& /*device*/) {
  return detail::concat(violation.operand, " has ", detail::limits::bytes(violation.value),
                        " of tailroom, and a digest of ", violation.setting, " has ", violation.allowed);
}

/// value: the bytes of a piece that is not the last; allowed: a block's.
std::string piece_length(const detail::Violation& violation, const DeviceInfo& /*device*/) {
  return detail::concat(violation.operand, " has ", detail::limits::bytes(violation.value),
                        " of data; every piece but the last has a multiple of ", violation.allowed, " with ",
                        violation.setting, "; mark the last as the final one");
}

std::string message_end(const detail::Violation& /*violation*/, const DeviceInfo& /*device*/) {
  return detail::concat("the message has ended, and its digest is in dst; reset the task to begin another");
}

/// Literals, which are ended by a NUL.
const char* name_of(ShaAlgorithm algorithm) noexcept {
  return sha_algorithm_names[static_cast<std::size_t>(algorithm)].data();
}

void require_algorithm(const DeviceInfo& info, ShaAlgorithm algorithm) {
  if (!sha_capabilities(info).has(algorithm)) {
    throw Error(Status::not_supported, detail::concat("sha: ", info.name(), " does not compute this algorithm"));
  }
}

}  // namespace

Status ShaHashTask::set_src(Buf* src) noexcept { return detail::set_operand(*this, src_, src); }
Status ShaHashTask::set_dst(Buf* dst) noexcept {
  return begun_ && state() != State::submitted ? Status::bad_state : detail::set_operand(*this, dst_, dst);
}
Status ShaHashTask::set_algorithm(ShaAlgorithm algorithm) noexcept {
  return begun_ && state() != State::submitted
             ? Status::bad_state
             : detail::set_operand(*this, algorithm_, algorithm, is_algorithm(algorithm));
}

Status ShaPartialHashTask::reset() noexcept {
  if (state() == State::submitted) {
    return Status::in_use;
  }
  begun_ = is_final_ = has_result_ = false;
  return Status::success;
}

Status ShaPartialHashTask::set_is_final_buf() noexcept {
  if (state() == State::submitted) {
    return Status::in_use;
  }
  if (!begun_ || has_result_) {
    return Status::bad_state;
  }
  is_final_ = true;
  return Status::success;
}

bool library::ShaTask::breaks_limit(detail::Violation* why) const noexcept {
  const Device& device = *library().device();
  const ShaCapabilities& most = *device.info().capabilities().sha;
  const detail::DataLimits named{.max_src_elements = most.max_list_buf_num_elem,
                                 .src_elements = "max_list_buf_num_elem",
                                 .max_dst_elements = 1,
                                 .dst_elements = "the limit for a digest",
                                 .max_size = most.max_src_buf_size,
                                 .size = "max_src_buf_size"};
  if (break_limit(why, src(), dst(), named, device)) {
    return true;
  }
  const char* const name = name_of(algorithm());
  if (!most.has(algorithm())) {
    return broken(why, {.limit = no_algorithm, .operand = "algorithm", .setting = name});
  }
  if (breaks_piece_limit(why)) {
    return true;
  }
  const std::uint32_t size = digest_size(algorithm());
  const std::uint64_t room = dst()->tailroom();
  return size > room &&
         broken(why, {.limit = digest_room, .operand = "dst", .setting = name, .value = room, .allowed = size});
}

bool library::ShaTask::breaks_piece_limit(detail::Violation* why) const noexcept {
  if (has_result_) {
    return broken(why, {.limit = message_end});
  }
  const std::uint64_t size = src()->list_data_len();
  const std::uint32_t block = block_size(algorithm());
  if (!is_partial() || is_final_ || size % block == 0) {
    return false;
  }
  return broken(
      why, {.limit = piece_length, .operand = "src", .setting = name_of(algorithm()), .value = size, .allowed = block});
}

Status library::ShaTask::post(bool flush) noexcept {
  hash_function = algorithm();
  is_first = !begun_;
  is_last = !is_partial() || is_final_;
  return post_data(flush);
}

void library::ShaTask::finish(Status status) noexcept {
  take_back_data(status, is_last ? digest_size(hash_function) : 0);
  if (is_partial() && status == Status::success) {
    begun_ = true;
    has_result_ = is_last;
  }
}

void library::ShaTask::keep_message() noexcept {
  if (message == nullptr) {
    message = library().lend_message();
  }
}

library::Sha::~Sha() { abandon(); }

std::unique_ptr<backend::DataQueue> library::Sha::create_queue(const backend::QueueOptions& options) {
  auto queue = DataContext::create_queue(options);
  messages_.resize(num_partial_hash_tasks());
  for (auto& message : messages_) {
    message = queue->create_state();
  }
  num_lent_ = 0;
  return queue;
}

std::shared_ptr<Sha> Sha::create(std::shared_ptr<Device> device) {
  return detail::make_context<library::Sha>(std::move(device));
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
  require_algorithm(info, algorithm);
  return digest_size(algorithm);
}

std::uint32_t Sha::partial_hash_block_size(const DeviceInfo& info, ShaAlgorithm algorithm) {
  require_algorithm(info, algorithm);
  return block_size(algorithm);
}

void Sha::set_hash_conf(TaskCallback<ShaHashTask> on_success, TaskCallback<ShaHashTask> on_error,
                        std::uint32_t num_tasks) {
  detail::ContextTasks::configure(*this, library::Sha::hash_kind, "set hash conf", on_success, on_error, num_tasks,
                                  max_num_tasks(device()->info()));
}

void Sha::set_partial_hash_conf(TaskCallback<ShaPartialHashTask> on_success, TaskCallback<ShaPartialHashTask> on_error,
                                std::uint32_t num_tasks) {
  detail::ContextTasks::configure(*this, library::Sha::partial_hash_kind, "set partial_hash conf", on_success, on_error,
                                  num_tasks, max_num_tasks(device()->info()));
}

std::uint32_t Sha::num_tasks() const noexcept {
  return detail::ContextTasks::pool(*this, library::Sha::hash_kind).num_tasks();
}
std::uint32_t Sha::num_partial_hash_tasks() const noexcept {
  return detail::ContextTasks::pool(*this, library::Sha::partial_hash_kind).num_tasks();
}

template <class TaskClass>
Status Sha::take_task(std::size_t kind, Buf* src, Buf* dst, ShaAlgorithm algorithm, std::uint64_t user_data,
                      TaskClass*& task) noexcept {
  if (!is_algorithm(algorithm)) {
    return Status::invalid_value;
  }
  return detail::take_data_task<library::ShaTask>(*this, kind, user_data, task, src, dst, algorithm);
}

Status Sha::hash(Buf* src, Buf* dst, ShaAlgorithm algorithm, std::uint64_t user_data, ShaHashTask*& task) noexcept {
  return take_task(library::Sha::hash_kind, src, dst, algorithm, user_data, task);
}

Status Sha::partial_hash(Buf* src, Buf* dst, ShaAlgorithm algorithm, std::uint64_t user_data,
                         ShaPartialHashTask*& task) noexcept {
  const Status status = take_task(library::Sha::partial_hash_kind, src, dst, algorithm, user_data, task);
  if (status == Status::success) {
    static_cast<library::ShaTask&>(*task).keep_message();
  }
  return status;
}

}  // namespace pydoca
