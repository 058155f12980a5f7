#include "backend/sim/compress/inflate_queue.hpp"

#include "pydoca/device_properties.hpp"

#include "backend/sim/copy/segment_copy.hpp"
#include "backend/sim/copy/segment_runs.hpp"

#include <span>

namespace pydoca::sim {

namespace {

using backend::DecompressFault;

/// Expanding a src of at most this size costs less than telling another core about it.
constexpr std::uint64_t inflate_inline_size = 2 * 1024;

/// ISA-L counts what a stream has written in 32 bits.
constexpr std::uint64_t max_filled = 0xFFFFFFFF - ReadRuns::max_run;

/// This thread's own: the data path allocates nothing. Null where there is no memory for it.
Inflater* inflater_of_thread() noexcept {
  thread_local std::unique_ptr<Inflater> inflater;
  try {
    if (inflater == nullptr) {
      inflater = std::make_unique<Inflater>();
    }
  } catch (const std::exception&) {
    return nullptr;
  }
  return inflater.get();
}

/// What a destination in one piece may have for a stream to be expanded at once: between steps one can be interrupted.
constexpr std::uint64_t max_at_once = std::uint64_t{4} << 20;

Status fail(backend::DecompressOperation& operation, DecompressFault fault) noexcept {
  operation.fault = fault;
  return Status::io_failed;
}

/// Why a stream without more input or output does not go on.
Status fail(backend::DecompressOperation& operation, Inflater::State state) noexcept {
  switch (state) {
    case Inflater::State::wants_input:
      return fail(operation, DecompressFault::cut_short);
    case Inflater::State::wants_output:
      return fail(operation, DecompressFault::no_room);
    default:
      return fail(operation, DecompressFault::not_deflate);
  }
}

bool is_local(const Segment& segment, std::size_t ordinal) noexcept {
  return segment.next == nullptr && region_of(segment, ordinal)->reach() == Region::Reach::local;
}

}  // namespace

void equip_with_compress(Capabilities& capabilities, Generation card, Side /*side*/) {
  capabilities.refusals.compress = no_inflater();
  if (capabilities.refusals.compress.empty()) {
    const bool is_newer = card == Generation::bluefield3;
    capabilities.compress = {.decompress_deflate_max_buf_size = std::uint64_t{is_newer ? 2U : 128U} << 20,
                             .decompress_deflate_max_buf_list_len = 128,
                             .max_num_tasks = 65536};
  }
}

InflateQueue::InflateQueue(WorkEngine& engine, std::size_t ordinal, const CompressCapabilities& limits,
                           const backend::QueueOptions& options, backend::Notifier& notifier)
    : EngineQueue(engine, options, notifier, inflate_inline_size, false), ordinal_(ordinal), limits_(limits) {
  if (!no_inflater().empty()) {
    throw Error(Status::not_supported, no_inflater());
  }
  if (inflater_of_thread() == nullptr) {
    throw Error(Status::no_memory, "create a compression queue: no memory for the state of a stream");
  }
}

Status InflateQueue::check(const backend::DataOperation& operation) const noexcept {
  const std::uint32_t max_len = limits_.decompress_deflate_max_buf_list_len;
  const bool taken = operation.source != nullptr && operation.target != nullptr && operation.length != 0 &&
                     operation.length <= limits_.decompress_deflate_max_buf_size &&
                     can_gather(operation.source, operation.length, ordinal_, max_len) &&
                     can_scatter(operation.target, 0, ordinal_, max_len);
  return taken ? Status::success : Status::io_failed;
}

Status InflateQueue::work(backend::DataOperation& operation, std::uint64_t /*offset*/, std::uint64_t /*size*/,
                          bool /*streaming*/) noexcept {
  Inflater* const inflater = inflater_of_thread();
  if (inflater == nullptr) {
    return Status::no_memory;
  }
  inflater->begin();
  auto& decompression = static_cast<backend::DecompressOperation&>(operation);
  decompression.filled = 0;
  decompression.fault = DecompressFault::none;
  const Status status = expand(decompression, *inflater);
  decompression.crc = inflater->crc();
  decompression.adler = inflater->adler();
  return status;
}

Status InflateQueue::expand(backend::DecompressOperation& operation, Inflater& inflater) const noexcept {
  const Segment& src = *operation.source;
  const Segment& dst = *operation.target;
  if (!is_local(src, ordinal_) || !is_local(dst, ordinal_) || dst.tailroom() > max_at_once) {
    return expand_in_steps(operation, inflater);
  }
  const Inflater::Step all = inflater.expand({region_of(src, ordinal_)->at(src.data), operation.length},
                                             {region_of(dst, ordinal_)->at(dst.tail()), dst.tailroom()});
  operation.filled = all.written;
  return all.state == Inflater::State::ended ? Status::success : fail(operation, all.state);
}

Status InflateQueue::expand_in_steps(backend::DecompressOperation& operation, Inflater& inflater) const noexcept {
  ReadRuns source(operation.source, operation.length, ordinal_);
  WriteRuns target(operation.target, ordinal_);
  std::span<const std::byte> input;
  for (;;) {
    Status status = interruption();
    if (status == Status::success && input.empty()) {
      status = source.next(input);
    }
    if (status != Status::success) {
      return status;
    }
    const std::span<std::byte> output = target.next();
    const Inflater::Step step = inflater.step(input, output);
    input = input.subspan(step.read);
    operation.filled += step.written;
    if (status = target.write(step.written); status != Status::success) {
      return status;
    }
    if (step.state == Inflater::State::ended) {
      return Status::success;
    }
    if (operation.filled > max_filled) {
      return fail(operation, DecompressFault::too_much);
    }
    if (step.state == Inflater::State::not_deflate || (step.read == 0 && step.written == 0)) {
      return fail(operation, step.state);
    }
  }
}

}  // namespace pydoca::sim
