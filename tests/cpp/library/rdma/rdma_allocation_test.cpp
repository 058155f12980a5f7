// The data path allocates nothing after start. This executable counts every allocation of C++ code, in all its threads.
#include "rig/allocation_counter.hpp"
#include "rig/library/rdma_rig.hpp"

#include <gtest/gtest.h>

namespace pydoca {
namespace {

/// Only counts completions.
class RdmaAllocation : public RdmaFabricTest {
 protected:
  struct Side {
    explicit Side(const char* function)
        : device(open_function(function)), rdma(Rdma::create(device)), memory(device, 8192) {
      for (std::size_t kind = 0; kind < num_rdma_task_kinds; ++kind) {
        rdma->set_conf(static_cast<RdmaTaskKind>(kind), count, count, 16);
      }
      rdma->set_permissions(any_rdma);
      rdma->set_user_data(std::bit_cast<std::uint64_t>(&completed));
      pe->connect(rdma);
      EXPECT_EQ(rdma->start(), Status::success);
      connection = rdma->export_connection();
      inventory->start();
    }
    ~Side() {
      static_cast<void>(rdma->stop());
      while (rdma->state() != ContextState::idle) {
        pe->progress();
      }
      rdma->close();
    }
    static void count(Task& task, std::uint64_t, std::uint64_t counter) noexcept {
      *std::bit_cast<std::uint64_t*>(counter) += task.status() == Status::success ? 1U : 1000000U;
      static_cast<void>(task.free());
    }
    Buf* data(const std::shared_ptr<Mmap>& mmap, std::size_t len) {
      Buf* buf = nullptr;
      static_cast<void>(inventory->get_by_data(mmap, mmap->addr(), len, buf));
      return buf;
    }
    Buf* room(const std::shared_ptr<Mmap>& mmap, std::size_t len) {
      Buf* buf = nullptr;
      static_cast<void>(inventory->get_by_addr(mmap, mmap->addr() + 4096, len, buf));
      return buf;
    }

    std::shared_ptr<Device> device;
    std::shared_ptr<ProgressEngine> pe = ProgressEngine::create();
    std::shared_ptr<Rdma> rdma;
    NetMemory memory;
    std::shared_ptr<BufInventory> inventory = BufInventory::create(16);
    std::shared_ptr<RdmaConnection> connection;
    std::uint64_t completed = 0;
  };

  /// One task of each kind, with progress at both ends.
  bool exchange(Side& a, Side& b, const std::shared_ptr<Mmap>& remote) {
    const std::array<Buf*, 7> bufs{a.data(a.memory.mmap, 4096), a.data(remote, 4096),        a.room(remote, 4096),
                                   a.room(a.memory.mmap, 4096), b.room(b.memory.mmap, 4096), a.data(remote, 8),
                                   a.room(a.memory.mmap, 8)};
    const auto [src, far_src, far_dst, dst, receive, word, result] = bufs;
    RdmaTask* task = nullptr;
    const std::uint64_t before = a.completed + b.completed;
    bool ok = b.rdma->receive(receive, 0, task) == Status::success && task->try_submit() == Status::success;
    ok = ok && a.rdma->send(*a.connection, src, 0, task) == Status::success && task->try_submit() == Status::success;
    ok = ok && a.rdma->write(*a.connection, src, far_dst, 0, task) == Status::success &&
         task->try_submit() == Status::success;
    ok = ok && a.rdma->read(*a.connection, far_src, dst, 0, task) == Status::success &&
         task->try_submit() == Status::success;
    ok = ok && a.rdma->atomic_fetch_add(*a.connection, word, result, 1, 0, task) == Status::success &&
         task->try_submit() == Status::success;
    while (ok && a.completed + b.completed < before + 5) {
      a.pe->progress();
      b.pe->progress();
    }
    for (Buf* const buf : bufs) {
      ok = ok && buf->dec_refcount() == Status::success;
    }
    return ok && a.completed + b.completed == before + 5;
  }
};

TEST_F(RdmaAllocation, NoneInThousandsOfTasks) {
  Side a("pf0");
  Side b("p1");
  a.rdma->connect(b.connection->details(), *a.connection);
  b.rdma->connect(a.connection->details(), *b.connection);
  const auto remote = Mmap::create_from_export(a.device, b.memory.blob);
  const std::uint64_t before = num_allocations();
  bool ok = true;
  for (int i = 0; i < 2000 && ok; ++i) {
    ok = exchange(a, b, remote);
  }
  EXPECT_EQ(num_allocations(), before);
  EXPECT_TRUE(ok);
}

}  // namespace
}  // namespace pydoca
