// Every figure of SHA beside its floor. usage: sha_report [--json] [--check] [--repetitions N] [part of a name]
#include "pydoca/memory.hpp"
#include "pydoca/sha.hpp"
#include "pydoca/sim.hpp"

#include "dma_loop.hpp"
#include "figure.hpp"
#include "print_report.hpp"

#include <array>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <openssl/evp.h>
#include <string>
#include <vector>

namespace pydoca::benchmarks {
namespace {

constexpr std::size_t ki = 1024;
constexpr std::size_t mi = 1024 * ki;

/// Keeps depth hashes of size bytes in flight, all of the same message.
class ShaLoop {
 public:
  ShaLoop(const std::shared_ptr<Device>& device, const std::shared_ptr<ProgressEngine>& pe,
          const std::shared_ptr<Mmap>& message, std::size_t size, std::uint32_t depth)
      : pe_(pe), sha_(Sha::create(device)), inventory_(BufInventory::create(std::size_t{2} * depth)) {
    inventory_->start();
    sha_->set_hash_conf(completed, failed, depth);
    sha_->set_user_data(address_of(this));
    pe->connect(sha_);
    sha_->start();
    for (std::uint32_t slot = 0; slot < depth; ++slot) {
      Buf* from = nullptr;
      Buf* to = nullptr;
      require(inventory_->get_by_data(message, message->addr(), size, from));
      require(inventory_->get_by_addr(message, message->addr() + mi + slot * std::size_t{64}, 64, to));
      require(sha_->hash(from, to, ShaAlgorithm::sha256, 0, idle_.emplace_back()));
    }
  }
  ~ShaLoop() {
    for (ShaHashTask* const task : idle_) {
      task->src()->dec_refcount();
      task->dst()->dec_refcount();
      task->free();
    }
    sha_->stop();
  }
  ShaLoop(const ShaLoop&) = delete;
  ShaLoop& operator=(const ShaLoop&) = delete;

  void run(std::uint64_t count) {
    const std::uint64_t end = completed_ + count;
    for (std::uint64_t submitted = 0; completed_ < end;) {
      for (; submitted < count && !idle_.empty(); ++submitted) {
        require(idle_.back()->dst()->reset_data_len());
        require(idle_.back()->submit());
        idle_.pop_back();
      }
      pe_->progress();
    }
  }

 private:
  static void completed(Task& done, std::uint64_t, std::uint64_t self) {
    auto& loop = *std::bit_cast<ShaLoop*>(self);
    ++loop.completed_;
    loop.idle_.push_back(static_cast<ShaHashTask*>(&done));
  }
  [[noreturn]] static void failed(Task&, std::uint64_t, std::uint64_t) { std::abort(); }

  std::shared_ptr<ProgressEngine> pe_;
  std::shared_ptr<Sha> sha_;
  std::shared_ptr<BufInventory> inventory_;
  std::vector<ShaHashTask*> idle_;
  std::uint64_t completed_ = 0;
};

Figure hashing(std::string name, double target, std::size_t size, std::uint32_t depth) {
  sim::set_topology(sim::default_topology("bluefield2"));
  const auto device = Device::open(find_device("p0", Side::dpu));
  const auto memory = Memory::allocate(2 * mi);
  std::memset(memory->data(), 1, 2 * mi);
  const auto map = mapped(device, memory->data(), 2 * mi, memory);
  const auto tasks = std::make_shared<ShaLoop>(device, ProgressEngine::create(), map, size, depth);
  return {std::move(name),
          Rule::cost_ratio_at_most,
          target,
          16 * mi / size,
          [tasks](std::uint64_t units) { tasks->run(units); },
          [memory, size](std::uint64_t units) {
            std::array<unsigned char, EVP_MAX_MD_SIZE> digest;
            for (std::uint64_t i = 0; i < units; ++i) {
              EVP_Digest(memory->data(), size, digest.data(), nullptr, EVP_sha256(), nullptr);
              asm volatile("" : : "r"(digest.data()) : "memory");
            }
          }};
}

}  // namespace
}  // namespace pydoca::benchmarks

int main(int argc, char** argv) {
  using namespace pydoca::benchmarks;
  return print_report(argc, argv, [](const Print& print) {
    print({hashing("sha256 of 4 KiB, 32 in flight, against EVP_Digest", 1.1, 4 * ki, 32),
           hashing("sha256 of 1 MiB, 1 in flight, against EVP_Digest", 1.1, mi, 1),
           hashing("sha256 of 1 MiB, 8 in flight, against EVP_Digest", 1.1, mi, 8)});
  });
}
