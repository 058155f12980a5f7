#include "backend/sim/sha/hash_queue.hpp"

#include "backend/sim/copy/segment_copy.hpp"

#include <algorithm>

namespace pydoca::sim {

namespace {

/// Up to this size a digest costs less than telling another core about it.
constexpr std::uint64_t hash_inline_size = 8 * 1024;
/// What is hashed between two looks whether to go on.
constexpr std::uint64_t chunk_size = 256 * 1024;
/// What another process owns, or can cut short, is copied first, so many bytes at a time: it may go while it is hashed.
constexpr std::size_t hash_bounce_size = 16 * 1024;

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
  if (operation.state != nullptr) {
    auto& message = static_cast<Message&>(*operation.state);
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
  return !operation.is_first || digest->begin(operation.algorithm) ? Status::success : Status::driver;
}

Status hash_copied(Digest& digest, const Region& region, std::uint64_t addr, std::uint64_t size) noexcept {
  std::array<std::byte, hash_bounce_size> buffer;
  const Bytes bytes(buffer.data(), buffer.size());
  for (std::uint64_t done = 0; done < size;) {
    const std::uint64_t count = std::min<std::uint64_t>(buffer.size(), size - done);
    const Status status = copy_run(region, addr + done, bytes, bytes.addr(), count, false);
    if (status != Status::success) {
      return status;
    }
    if (!digest.update(buffer.data(), count)) {
      return Status::driver;
    }
    done += count;
  }
  return Status::success;
}

/// size: at most chunk_size.
Status hash_chunk(Digest& digest, const Region& region, std::uint64_t addr, std::uint64_t size) noexcept {
  if (region.reach() != Region::Reach::local) {
    return hash_copied(digest, region, addr, size);
  }
  return digest.update(region.at(addr), size) ? Status::success : Status::driver;
}

}  // namespace

void equip_with_sha(Capabilities& capabilities, Generation card, Side /*side*/) {
  const bool has_engine = card == Generation::bluefield2;
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
    : WorkQueue(engine, options, notifier, hash_inline_size, false), limits_(limits) {
  if (!no_digests().empty()) {
    throw Error(Status::not_supported, no_digests());
  }
  if (digest_of_thread() == nullptr) {
    throw Error(Status::no_memory, "create a SHA queue: OpenSSL cannot begin a digest");
  }
}

Status HashQueue::post(backend::DataOperation& operation, bool flush) noexcept {
  if (!take_place()) {
    return Status::again;
  }
  if (!runs_at_once(operation.length, flush)) {
    accept(operation, flush);
    return Status::success;
  }
  const Status checked = check(operation);
  finished().add(operation, checked == Status::success ? work(operation, 0, operation.length, false) : checked);
  return Status::success;
}

std::unique_ptr<backend::OperationState> HashQueue::create_state() { return std::make_unique<Message>(); }

Status HashQueue::check(const backend::DataOperation& operation) const noexcept {
  const ShaCapabilities& sha = limits_.sha;
  const auto& hashed = static_cast<const backend::HashOperation&>(operation);
  const ShaAlgorithm algorithm = hashed.algorithm;
  const bool taken = operation.src != nullptr && operation.dst != nullptr && operation.length <= sha.max_src_buf_size &&
                     sha.has(algorithm) && (hashed.is_last || operation.length % block_size(algorithm) == 0) &&
                     can_gather(operation.src, operation.length, limits_.ordinal, sha.max_list_buf_num_elem) &&
                     can_scatter(operation.dst, digest_size(algorithm), limits_.ordinal, 1);
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
  const Region& target = *region_of(*operation.dst, limits_.ordinal);
  if (target.reach() == Region::Reach::local) {
    return digest->finish(target.at(operation.dst->tail())) ? Status::success : Status::driver;
  }
  DigestBytes result;
  if (!digest->finish(result.data())) {
    return Status::driver;
  }
  const Bytes bytes(result.data(), result.size());
  return scatter(bytes, bytes.addr(), operation.dst, limits_.ordinal, 0, digest_size(hashed.algorithm));
}

Status HashQueue::hash(const backend::HashOperation& operation, Digest& digest) const noexcept {
  std::uint64_t left = operation.length;
  for (const Segment* segment = operation.src; left != 0; segment = segment->next) {
    const std::uint64_t len = std::min(left, segment->data_len);
    for (std::uint64_t done = 0; done < len; done += chunk_size) {
      if (engine().removed() || finished().broken()) {
        return engine().removed() ? Status::driver : Status::shutdown;
      }
      const Status status = hash_chunk(digest, *region_of(*segment, limits_.ordinal), segment->data + done,
                                       std::min(chunk_size, len - done));
      if (status != Status::success) {
        return status;
      }
    }
    left -= len;
  }
  return Status::success;
}

}  // namespace pydoca::sim
