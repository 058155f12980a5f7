#include "backend/sim/sha/hash_queue.hpp"

#include "pydoca/device_properties.hpp"

#include "backend/sim/copy/segment_copy.hpp"
#include "backend/sim/copy/segment_runs.hpp"

#include <span>

namespace pydoca::sim {

namespace {

/// A digest of at most this size costs less than telling another core about it.
constexpr std::uint64_t hash_inline_size = 8 * 1024;

/// This thread's own: the data path allocates nothing. Null where there is no memory for it.
Digest* digest_of_thread() noexcept {
  thread_local std::unique_ptr<Digest> digest;
  try {
    if (digest == nullptr) {
      digest = std::make_unique<Digest>();
    }
  } catch (const std::exception&) {
    return nullptr;
  }
  return digest.get();
}

struct Message final : backend::OperationState {
  Digest digest;
  bool open = false;  ///< begun, and without its last piece
};

/// Where the operation's bytes go, which a first piece begins. io_failed when its message has ended.
Status find_digest(const backend::HashOperation& operation, Digest*& digest) noexcept {
  if (operation.message != nullptr) {
    auto& message = static_cast<Message&>(*operation.message);
    if (!operation.is_first && !message.open) {
      return Status::io_failed;
    }
    message.open = !operation.is_last;
    digest = &message.digest;
  } else {
    digest = digest_of_thread();
  }
  if (digest == nullptr) {
    return Status::no_memory;
  }
  return !operation.is_first || digest->begin(operation.hash_function) ? Status::success : Status::driver;
}

}  // namespace

void equip_with_sha(Capabilities& capabilities, Generation card, Side /*side*/) {
  const bool has_engine = card != Generation::bluefield3;
  capabilities.refusals.sha = has_engine ? no_digests() : "only a BlueField-2 has a SHA engine";
  if (capabilities.refusals.sha.empty()) {
    capabilities.sha = {.sha1 = true,
                        .sha256 = true,
                        .sha512 = true,
                        .max_src_buf_size = (std::uint64_t{1} << 31) - 1,
                        .max_list_buf_num_elem = 128,
                        .max_num_tasks = 65536};
  }
}

HashQueue::HashQueue(WorkEngine& engine, const HashLimits& limits, const backend::QueueOptions& options,
                     backend::Notifier& notifier)
    : EngineQueue(engine, options, notifier, hash_inline_size, false), limits_(limits) {
  if (!no_digests().empty()) {
    throw Error(Status::not_supported, no_digests());
  }
  if (digest_of_thread() == nullptr) {
    throw Error(Status::no_memory, "create a SHA queue: OpenSSL cannot begin a digest");
  }
}

std::unique_ptr<backend::OperationState> HashQueue::create_state() { return std::make_unique<Message>(); }

Status HashQueue::check(const backend::DataOperation& operation) const noexcept {
  const ShaCapabilities& sha = limits_.sha;
  const auto& hashed = static_cast<const backend::HashOperation&>(operation);
  const ShaAlgorithm algorithm = hashed.hash_function;
  const bool taken = operation.source != nullptr && operation.target != nullptr &&
                     operation.length <= sha.max_src_buf_size && sha.has(algorithm) &&
                     (hashed.is_last || operation.length % block_size(algorithm) == 0) &&
                     can_gather(operation.source, operation.length, limits_.ordinal, sha.max_list_buf_num_elem) &&
                     can_scatter(operation.target, digest_size(algorithm), limits_.ordinal, 1);
  return taken ? Status::success : Status::io_failed;
}

Status HashQueue::work(backend::DataOperation& operation, std::uint64_t /*offset*/, std::uint64_t /*size*/,
                       bool /*streaming*/) noexcept {
  const auto& hashed = static_cast<const backend::HashOperation&>(operation);
  Digest* digest = nullptr;
  if (const Status status = find_digest(hashed, digest); status != Status::success) {
    return status;
  }
  if (const Status status = hash(hashed, *digest); status != Status::success || !hashed.is_last) {
    return status;
  }
  const Region& target = *region_of(*operation.target, limits_.ordinal);
  if (target.reach() == Region::Reach::local) {
    return digest->finish(target.at(operation.target->tail())) ? Status::success : Status::driver;
  }
  DigestBytes result;
  if (!digest->finish(result.data())) {
    return Status::driver;
  }
  const Bytes bytes(result.data(), result.size());
  return scatter(bytes, bytes.addr(), operation.target, limits_.ordinal, 0, digest_size(hashed.hash_function));
}

Status HashQueue::hash(const backend::HashOperation& operation, Digest& digest) const noexcept {
  ReadRuns source(operation.source, operation.length, limits_.ordinal);
  for (;;) {
    std::span<const std::byte> run;
    Status status = interruption();
    if (status == Status::success) {
      status = source.next(run);
    }
    if (status != Status::success || run.empty()) {
      return status;
    }
    if (!digest.update(run.data(), run.size())) {
      return Status::driver;
    }
  }
}

}  // namespace pydoca::sim
