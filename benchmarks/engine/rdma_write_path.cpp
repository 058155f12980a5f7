// The path of a write of 64 bytes, whose instructions rdma_instructions.py counts. Each write is posted, left alone
// until it is certainly complete, then polled once. Every poll thus finds a completion, except those of the connection.
// usage: rdma_write_path engine|verbs DEVICE GID_INDEX ROUNDS
// engine: pydoca; verbs: libibverbs alone. Both use one connection of the process to itself, in a loop.
#include "pydoca/memory.hpp"
#include "pydoca/rdma.hpp"

#include "dma_loop.hpp"

#include <infiniband/verbs.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

namespace pydoca::benchmarks {
namespace {

constexpr std::size_t size = 64;
constexpr std::chrono::milliseconds certainly{40};
constexpr std::chrono::milliseconds at_first{500};  ///< enough for the rounds in which valgrind translates the code
constexpr std::uint64_t first_rounds = 3;

struct Order {
  std::string device;
  std::uint8_t gid_index;
  std::uint64_t rounds;
};

/// Both ends of the connection are in this process.
class Engine {
 public:
  explicit Engine(const Order& order)
      : device_(Device::open(find_device(order.device))),
        memory_(Memory::allocate(2 * size)),
        mmap_(mapped(device_, memory_->data(), 2 * size, memory_, Access::local_read_write | Access::rdma_write)),
        inventory_(BufInventory::create(2)) {
    inventory_->start();
    rdma_->set_conf(RdmaTaskKind::write, completed, failed, 1);
    rdma_->set_permissions(Access::rdma_write);
    rdma_->set_gid_index(order.gid_index);
    rdma_->set_max_num_connections(2);
    rdma_->set_user_data(address_of(this));
    pe_->connect(rdma_);
    require(rdma_->start());
    connect();
  }
  ~Engine() { require(task_->free()); }
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  void post() { require(task_->submit()); }
  bool poll() {
    const std::uint64_t before = completed_;
    pe_->progress();
    return completed_ != before;
  }

 private:
  void connect() {
    std::array<std::shared_ptr<RdmaConnection>, 2> ends{rdma_->export_connection(), rdma_->export_connection()};
    const auto other = ends[1]->details();
    rdma_->connect(ends[0]->details(), *ends[1]);
    rdma_->connect(other, *ends[0]);
    while (pe_->progress() != 0) {  // delivers the connection events of both ends before the counted writes
    }
    remote_ = Mmap::create_from_export(device_, mmap_->export_rdma(*device_));
    Buf* src = nullptr;
    Buf* dst = nullptr;
    require(inventory_->get_by_data(mmap_, mmap_->addr(), size, src));
    require(inventory_->get_by_addr(remote_, remote_->addr() + size, size, dst));
    require(rdma_->write(*ends[0], src, dst, 0, task_));
    ends_ = std::move(ends);
  }
  static void completed(Task&, std::uint64_t, std::uint64_t self) noexcept {
    ++std::bit_cast<Engine*>(self)->completed_;
  }
  [[noreturn]] static void failed(Task&, std::uint64_t, std::uint64_t) noexcept { std::abort(); }

  std::shared_ptr<Device> device_;
  std::shared_ptr<Memory> memory_;
  std::shared_ptr<Mmap> mmap_;
  std::shared_ptr<BufInventory> inventory_;
  std::shared_ptr<ProgressEngine> pe_ = ProgressEngine::create();
  std::shared_ptr<Rdma> rdma_ = Rdma::create(device_);
  std::array<std::shared_ptr<RdmaConnection>, 2> ends_;
  std::shared_ptr<Mmap> remote_;
  RdmaTask* task_ = nullptr;
  std::uint64_t completed_ = 0;
};

void require_verbs(bool succeeded) {
  if (!succeeded) {
    throw Error(Status::driver, "benchmark: a call of libibverbs that should have succeeded failed");
  }
}

ibv_context* open_verbs(const std::string& name) {
  int count = 0;
  ibv_device** const devices = ::ibv_get_device_list(&count);
  ibv_context* context = nullptr;
  for (int i = 0; i < count && context == nullptr; ++i) {
    if (name == ::ibv_get_device_name(devices[i])) {
      context = ::ibv_open_device(devices[i]);
    }
  }
  require_verbs(context != nullptr);
  ::ibv_free_device_list(devices);
  return context;
}

/// The same with libibverbs alone; the process's end gives everything back.
class Verbs {
 public:
  explicit Verbs(const Order& order) : context_(open_verbs(order.device)), domain_(::ibv_alloc_pd(context_)) {
    region_ = ::ibv_reg_mr(domain_, memory_.data(), memory_.size(), IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
    completions_ = ::ibv_create_cq(context_, 16, nullptr, nullptr, 0);
    require_verbs(region_ != nullptr && completions_ != nullptr);
    ibv_qp_init_attr attributes{};
    attributes.send_cq = attributes.recv_cq = completions_;
    attributes.qp_type = IBV_QPT_RC;
    attributes.cap = {
        .max_send_wr = 16, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1, .max_inline_data = size};
    for (ibv_qp*& pair : pairs_) {
      pair = ::ibv_create_qp(domain_, &attributes);
      require_verbs(pair != nullptr);
    }
    connect(pairs_[0], *pairs_[1], order.gid_index);
    connect(pairs_[1], *pairs_[0], order.gid_index);
  }

  void post() {
    ibv_sge piece{.addr = address_of(memory_.data()), .length = size, .lkey = region_->lkey};
    ibv_send_wr request{};
    request.sg_list = &piece;
    request.num_sge = 1;
    request.opcode = IBV_WR_RDMA_WRITE;
    request.send_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE;
    request.wr.rdma.remote_addr = address_of(memory_.data() + size);
    request.wr.rdma.rkey = region_->rkey;
    ibv_send_wr* bad = nullptr;
    require_verbs(::ibv_post_send(pairs_[0], &request, &bad) == 0);
  }
  bool poll() {
    ibv_wc completion{};
    const int count = ::ibv_poll_cq(completions_, 1, &completion);
    require_verbs(count >= 0 && completion.status == IBV_WC_SUCCESS);
    return count == 1;
  }

 private:
  void connect(ibv_qp* pair, const ibv_qp& peer, std::uint8_t gid_index) {
    ibv_qp_attr attributes{};
    attributes.qp_state = IBV_QPS_INIT;
    attributes.port_num = 1;
    attributes.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
    require_verbs(
        ::ibv_modify_qp(pair, &attributes, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) == 0);
    attributes.qp_state = IBV_QPS_RTR;
    attributes.path_mtu = IBV_MTU_1024;
    attributes.dest_qp_num = peer.qp_num;
    attributes.min_rnr_timer = 12;
    attributes.ah_attr.is_global = 1;
    attributes.ah_attr.port_num = 1;
    attributes.ah_attr.grh.sgid_index = gid_index;
    attributes.ah_attr.grh.hop_limit = 64;
    require_verbs(::ibv_query_gid(context_, 1, gid_index, &attributes.ah_attr.grh.dgid) == 0);
    require_verbs(::ibv_modify_qp(pair, &attributes,
                                  IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                                      IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER) == 0);
    attributes.qp_state = IBV_QPS_RTS;
    attributes.timeout = 14;
    attributes.retry_cnt = 7;
    require_verbs(::ibv_modify_qp(pair, &attributes,
                                  IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                                      IBV_QP_MAX_QP_RD_ATOMIC) == 0);
  }

  alignas(64) std::array<std::byte, 2 * size> memory_{};
  ibv_context* context_;
  ibv_pd* domain_;
  ibv_mr* region_ = nullptr;
  ibv_cq* completions_ = nullptr;
  std::array<ibv_qp*, 2> pairs_{};
};

/// Returns the number of polls that found nothing; it should be 0.
template <typename Way>
std::uint64_t run(Way& way, std::uint64_t rounds) {
  std::uint64_t empty_polls = 0;
  for (std::uint64_t round = 0; round < rounds; ++round) {
    way.post();
    std::this_thread::sleep_for(round < first_rounds ? at_first : certainly);
    for (; !way.poll(); ++empty_polls) {
      std::this_thread::sleep_for(certainly);
    }
  }
  return empty_polls;
}

std::uint64_t measure(std::string_view way, const Order& order) {
  if (way == "engine") {
    Engine engine(order);
    return run(engine, order.rounds);
  }
  Verbs verbs(order);
  return run(verbs, order.rounds);
}

}  // namespace
}  // namespace pydoca::benchmarks

int main(int argc, char** argv) try {
  using namespace pydoca::benchmarks;
  if (argc != 5) {
    std::fputs("usage: rdma_write_path engine|verbs DEVICE GID_INDEX ROUNDS\n", stderr);
    return 2;
  }
  const Order order{
      .device = argv[2], .gid_index = static_cast<std::uint8_t>(std::stoul(argv[3])), .rounds = std::stoull(argv[4])};
  std::printf("%llu\n", static_cast<unsigned long long>(measure(argv[1], order)));
  std::fflush(stdout);
  std::_Exit(0);  // connections end with the process
} catch (const pydoca::Error& error) {
  std::fprintf(stderr, "rdma_write_path: %s\n", error.what());
  return 1;
}
