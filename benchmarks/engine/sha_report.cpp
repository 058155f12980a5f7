// Every figure of SHA beside its floor, OpenSSL with one context for all digests.
// usage: sha_report [--json] [--check] [--repetitions N] [part of a name]
#include "pydoca/memory.hpp"
#include "pydoca/sha.hpp"
#include "pydoca/sim.hpp"

#include "dma_loop.hpp"
#include "figure.hpp"
#include "print_report.hpp"
#include "task_loop.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <openssl/evp.h>
#include <string>
#include <utility>
#include <vector>

namespace pydoca::benchmarks {
namespace {

constexpr std::size_t ki = 1024;
constexpr std::size_t mi = 1024 * ki;

/// Keeps depth hashes of size bytes in flight, all of the same message.
class ShaLoop : public TaskLoop<Sha, ShaHashTask> {
 public:
  ShaLoop(const std::shared_ptr<Device>& device, const std::shared_ptr<ProgressEngine>& pe,
          const std::shared_ptr<Mmap>& message, std::size_t size, std::uint32_t depth)
      : TaskLoop(Sha::create(device), pe, &Sha::set_hash_conf, depth) {
    for (std::uint32_t slot = 0; slot < depth; ++slot) {
      Buf* const to = room(message, mi + slot * std::size_t{64}, 64);
      require(library().hash(data(message, 0, size), to, ShaAlgorithm::sha256, 0, next_task()));
    }
  }
};

/// Hashes one message after the other, in pieces of size bytes, one in flight at a time.
class PieceLoop {
 public:
  PieceLoop(const std::shared_ptr<Device>& device, const std::shared_ptr<ProgressEngine>& pe,
            const std::shared_ptr<Mmap>& message, std::size_t size)
      : pe_(pe), sha_(Sha::create(device)), inventory_(BufInventory::create(2)) {
    inventory_->start();
    sha_->set_partial_hash_conf(completed, failed, 1);
    sha_->set_user_data(address_of(this));
    pe->connect(sha_);
    require(sha_->start());
    require(inventory_->get_by_data(message, message->addr(), size, from_));
    require(inventory_->get_by_addr(message, message->addr() + mi, 64, to_));
    require(sha_->partial_hash(from_, to_, ShaAlgorithm::sha256, 0, task_));
  }
  ~PieceLoop() {
    require(task_->free());
    require(from_->dec_refcount());
    require(to_->dec_refcount());
    require(sha_->stop());
  }
  PieceLoop(const PieceLoop&) = delete;
  PieceLoop& operator=(const PieceLoop&) = delete;

  /// A message of count pieces.
  void run(std::uint64_t count) {
    require(task_->reset());
    require(to_->reset_data_len());
    for (std::uint64_t left = count; left > 0; --left) {
      if (left == 1 && count > 1) {
        require(task_->set_is_final_buf());
      }
      const std::uint64_t before = completed_;
      require(task_->submit());
      while (completed_ == before) {
        pe_->progress();
      }
    }
  }

 private:
  static void completed(Task&, std::uint64_t, std::uint64_t self) noexcept {
    ++std::bit_cast<PieceLoop*>(self)->completed_;
  }
  [[noreturn]] static void failed(Task&, std::uint64_t, std::uint64_t) noexcept { std::abort(); }

  std::shared_ptr<ProgressEngine> pe_;
  std::shared_ptr<Sha> sha_;
  std::shared_ptr<BufInventory> inventory_;
  Buf* from_ = nullptr;
  Buf* to_ = nullptr;
  ShaPartialHashTask* task_ = nullptr;
  std::uint64_t completed_ = 0;
};

/// OpenSSL alone: one context for all digests, whose algorithm is fetched once.
class Evp {
 public:
  Evp() : context_(EVP_MD_CTX_new()) { EVP_DigestInit_ex(context_, EVP_sha256(), nullptr); }
  ~Evp() { EVP_MD_CTX_free(context_); }
  Evp(const Evp&) = delete;
  Evp& operator=(const Evp&) = delete;

  void begin() { EVP_DigestInit_ex(context_, nullptr, nullptr); }
  void update(const std::byte* bytes, std::size_t size) { EVP_DigestUpdate(context_, bytes, size); }
  void finish() {
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest;
    EVP_DigestFinal_ex(context_, digest.data(), nullptr);
    asm volatile("" : : "r"(digest.data()) : "memory");
  }

 private:
  EVP_MD_CTX* context_;
};

/// A BlueField-2, and a map of 2 MiB.
struct Setting {
  Setting() {
    sim::set_topology(sim::default_topology("bluefield2"));
    device = Device::open(find_device("p0", Side::dpu));
    memory = Memory::allocate(2 * mi);
    std::memset(memory->data(), 1, 2 * mi);
    map = mapped(device, memory->data(), 2 * mi, memory);
  }
  std::shared_ptr<Device> device;
  std::shared_ptr<Memory> memory;
  std::shared_ptr<Mmap> map;
};

/// The unit of work is size bytes: a figure's time for them is more than a call's.
Figure figure(std::string name, double target, std::size_t size, std::function<void(std::uint64_t)> work,
              std::function<void(std::uint64_t)> floor) {
  return {std::move(name), Rule::cost_ratio_at_most, target, std::min<std::uint64_t>(16 * mi / size, 20'000),
          std::move(work), std::move(floor)};
}

Figure hashing(std::string name, double target, std::size_t size, std::uint32_t depth) {
  const Setting setting;
  const auto tasks = std::make_shared<ShaLoop>(setting.device, ProgressEngine::create(), setting.map, size, depth);
  return figure(
      std::move(name), target, size, [tasks](std::uint64_t units) { tasks->run(units); },
      [evp = std::make_shared<Evp>(), memory = setting.memory, size](std::uint64_t units) {
        for (std::uint64_t i = 0; i < units; ++i) {
          evp->begin();
          evp->update(memory->data(), size);
          evp->finish();
        }
      });
}

Figure hashing_pieces(std::string name, double target, std::size_t size) {
  const Setting setting;
  const auto pieces = std::make_shared<PieceLoop>(setting.device, ProgressEngine::create(), setting.map, size);
  return figure(
      std::move(name), target, size, [pieces](std::uint64_t units) { pieces->run(units); },
      [evp = std::make_shared<Evp>(), memory = setting.memory, size](std::uint64_t units) {
        evp->begin();
        for (std::uint64_t i = 0; i < units; ++i) {
          evp->update(memory->data(), size);
        }
        evp->finish();
      });
}

}  // namespace
}  // namespace pydoca::benchmarks

int main(int argc, char** argv) {
  using namespace pydoca::benchmarks;
  return print_report(argc, argv, [](const Print& print) {
    print({hashing("sha256 of 64 B, 1 in flight", 1.3, 64, 1),
           hashing("sha256 of 4 KiB, 32 in flight", 1.1, 4 * ki, 32),
           hashing("sha256 of 64 KiB, 1 in flight", 1.02, 64 * ki, 1),
           hashing("sha256 of 1 MiB, 1 in flight", 1.02, mi, 1), hashing("sha256 of 1 MiB, 8 in flight", 1.02, mi, 8),
           hashing_pieces("sha256 in pieces of 64 KiB", 1.02, 64 * ki),
           hashing_pieces("sha256 in pieces of 1 MiB", 1.02, mi)});
  });
}
