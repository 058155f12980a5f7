// Every figure of compression beside its floor, ISA-L with one state for all streams and both checksums.
// usage: compress_report [--json] [--check] [--repetitions N] [part of a name]
#include "pydoca/compress.hpp"
#include "pydoca/memory.hpp"

#include "dma_loop.hpp"
#include "figure.hpp"
#include "print_report.hpp"
#include "task_loop.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <isa-l/crc.h>
#include <isa-l/igzip_lib.h>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace pydoca::benchmarks {
namespace {

constexpr std::size_t ki = 1024;
constexpr std::size_t mi = 1024 * ki;

/// size bytes of words, and their DEFLATE data.
struct Text {
  explicit Text(std::size_t size) {
    constexpr std::string_view words[] = {"device ", "map ", "buf ", "task ", "engine ", "context ", "host "};
    for (std::uint32_t state = 1; plain.size() < size;) {
      state = state * 1664525U + 1013904223U;
      plain += words[(state >> 16U) % std::size(words)];
    }
    plain.resize(size);
    deflate.resize(2 * size + 1024);
    isal_zstream stream{};
    isal_deflate_init(&stream);
    stream.next_in = reinterpret_cast<std::uint8_t*>(plain.data());
    stream.avail_in = static_cast<std::uint32_t>(size);
    stream.end_of_stream = 1;
    stream.next_out = reinterpret_cast<std::uint8_t*>(deflate.data());
    stream.avail_out = static_cast<std::uint32_t>(deflate.size());
    isal_deflate(&stream);
    deflate.resize(stream.total_out);
  }
  std::string plain;
  std::string deflate;
};

/// Keeps depth tasks in flight, which expand the same data.
class ExpandLoop : public TaskLoop<Compress, CompressDecompressDeflateTask> {
 public:
  ExpandLoop(Text& text, std::uint32_t depth)
      : TaskLoop(Compress::create(Device::open(find_device("p0", Side::dpu))), ProgressEngine::create(),
                 &Compress::set_decompress_deflate_conf, depth) {
    const std::size_t size = text.plain.size();
    const std::shared_ptr<Memory> memory = Memory::allocate(depth * size);
    source_ = mapped(library().device(), text.deflate.data(), text.deflate.size());
    target_ = mapped(library().device(), memory->data(), memory->size(), memory);
    for (std::uint32_t slot = 0; slot < depth; ++slot) {
      Buf* const from = data(source_, 0, text.deflate.size());
      require(library().decompress_deflate(from, room(target_, slot * size, size), 0, next_task()));
    }
  }

 private:
  std::shared_ptr<Mmap> source_;
  std::shared_ptr<Mmap> target_;
};

/// ISA-L alone, in one step.
class Isal {
 public:
  void expand(Text& text, std::byte* to) {
    isal_inflate_init(&state_);
    state_.next_in = reinterpret_cast<std::uint8_t*>(text.deflate.data());
    state_.avail_in = static_cast<std::uint32_t>(text.deflate.size());
    state_.next_out = reinterpret_cast<std::uint8_t*>(to);
    state_.avail_out = static_cast<std::uint32_t>(text.plain.size());
    const int result = isal_inflate_stateless(&state_);
    const auto* const plain = reinterpret_cast<const unsigned char*>(to);
    std::uint32_t sums = crc32_gzip_refl(0, plain, text.plain.size()) ^ isal_adler32(1, plain, text.plain.size());
    asm volatile("" : "+r"(sums) : "r"(result) : "memory");
  }

 private:
  inflate_state state_{};
};

Figure expanding(std::string name, double target, std::size_t size, std::uint32_t depth) {
  const auto text = std::make_shared<Text>(size);
  const auto tasks = std::make_shared<ExpandLoop>(*text, depth);
  const auto isal = std::make_shared<Isal>();
  const auto memory = Memory::allocate(size);
  return {std::move(name),
          Rule::cost_ratio_at_most,
          target,
          std::min<std::uint64_t>(16 * mi / size, 20'000),
          [text, tasks](std::uint64_t units) { tasks->run(units); },
          [text, isal, memory](std::uint64_t units) {
            for (std::uint64_t i = 0; i < units; ++i) {
              isal->expand(*text, static_cast<std::byte*>(memory->data()));
            }
          }};
}

}  // namespace
}  // namespace pydoca::benchmarks

int main(int argc, char** argv) {
  using namespace pydoca::benchmarks;
  return print_report(argc, argv, [](const Print& print) {
    print({expanding("expand to 1 KiB, 1 in flight", 1.2, ki, 1),
           expanding("expand to 16 KiB, 1 in flight", 1.1, 16 * ki, 1),
           expanding("expand to 1 MiB, 1 in flight", 1.1, mi, 1),
           expanding("expand to 1 MiB, 8 in flight", 1.1, mi, 8)});
  });
}
