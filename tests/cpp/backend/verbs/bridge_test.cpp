#include <pydoca/rdma_bridge.hpp>

#include "backend/verbs/device.hpp"
#include "backend/verbs/queue/pair.hpp"
#include "backend/verbs/verbs_subject.hpp"
#include "rig/bytes.hpp"
#include "rig/expect_error.hpp"
#include "rig/library/memory_rig.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

namespace pydoca::verbs {
namespace {

class VerbsBridge : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string reason = why_absent(); !reason.empty()) {
      GTEST_SKIP() << reason;
    }
    device = pydoca::Device::open(find_subject());
  }

  std::shared_ptr<pydoca::Device> device;
};

TEST_F(VerbsBridge, ADevicesDomainAndItsKeysAreThoseOfTheLibrary) {
  auto* const domain = static_cast<ibv_pd*>(rdma_bridge::get_dev_pd(*device));
  EXPECT_EQ(device->info().name(), static_cast<const char*>(domain->context->device->name));
  MappedBytes memory(device, 4096);
  Bufs bufs(1);
  Buf* const buf = bufs.by_addr(memory, 0, 64);
  const std::uint32_t key = rdma_bridge::get_buf_mkey(*buf, *device);
  EXPECT_NE(key, 0U);
  EXPECT_EQ(rdma_bridge::get_mmap_mkey_from_pd(*memory.mmap, domain), key);
  EXPECT_EQ(buf->dec_refcount(), Status::success);
  memory.mmap->stop();
  EXPECT_EQ(thrown_by([&] { memory.mmap->mkey(*device); }), Status::not_found);
  ibv_pd other{};
  EXPECT_EQ(thrown_by([&] { rdma_bridge::get_mmap_mkey_from_pd(*memory.mmap, &other); }), Status::not_found);
}

/// The application's objects, made directly with rdma-core; its queue pair writes to a memory map by its key.
TEST_F(VerbsBridge, AnApplicationsQueuePairWritesToAMapOfItsDomain) {
  const Adapter adapter(device->info().name());
  const OwnedDomain domain(library().alloc_pd(adapter.context()));
  const auto adopted = rdma_bridge::open_dev_from_pd(domain.get());
  EXPECT_NE(adopted, device);
  EXPECT_EQ(pydoca::Device::open(device->info()), device) << "an ordinary open() does not return the adopted device";
  device->close();
  EXPECT_EQ(rdma_bridge::get_dev_pd(*adopted), domain.get());
  MappedBytes target(adopted, 4096, Access::local_read_write | Access::rdma_write);
  const std::uint32_t key = rdma_bridge::get_mmap_mkey_from_pd(*target.mmap, domain.get());

  std::array<std::byte, 64> source{};
  fill(source, std::byte{0x5a});
  const OwnedRegion region(library().reg_mr(domain.get(), source.data(), source.size(), 0));
  const OwnedCompletions completions(library().create_cq(adapter.context(), 4, nullptr, nullptr, 0));
  ibv_qp_init_attr attributes{};
  attributes.send_cq = attributes.recv_cq = completions.get();
  attributes.qp_type = IBV_QPT_RC;
  attributes.cap = {.max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1, .max_inline_data = 0};
  const OwnedPair pair(library().create_qp(domain.get(), &attributes));
  const Place& own = dynamic_cast<Device&>(adopted->backend()).place();
  const PairSettings settings{.access = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_LOCAL_WRITE,
                              .gid_index = own.gid_index(),
                              .mtu = adapter.port().active_mtu};
  const PairBlob self = describe_pair(own, *pair, settings);
  initialize_pair(*pair, settings);
  connect_pair(own, *pair, self, self, settings);

  ibv_sge part{.addr = address_of(source.data()), .length = source.size(), .lkey = region->lkey};
  ibv_send_wr request{};
  request.sg_list = &part;
  request.num_sge = 1;
  request.opcode = IBV_WR_RDMA_WRITE;
  request.send_flags = IBV_SEND_SIGNALED;
  request.wr.rdma = {.remote_addr = target.addr(100), .rkey = key};
  ibv_send_wr* bad = nullptr;
  ASSERT_EQ(ibv_post_send(pair.get(), &request, &bad), 0);
  ibv_wc completion{};
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (ibv_poll_cq(completions.get(), 1, &completion) == 0 && std::chrono::steady_clock::now() < end) {
  }
  EXPECT_EQ(completion.status, IBV_WC_SUCCESS);
  EXPECT_TRUE(same(source, std::span(target.bytes).subspan(100, source.size())));
  target.mmap->close();
  adopted->close();
}

TEST(RdmaBridge, SaysWhatItCannotTake) {
  EXPECT_EQ(thrown_by([] { rdma_bridge::open_dev_from_pd(nullptr); }), Status::invalid_value);
  ::setenv("PYDOCA_BACKEND", "sim", 1);
  const auto simulated = pydoca::Device::open(find_device("pf0"));
  EXPECT_EQ(thrown_by([&] { rdma_bridge::get_dev_pd(*simulated); }), Status::not_supported);
  MappedBytes memory(simulated, 64);
  EXPECT_EQ(thrown_by([&] { memory.mmap->mkey(*simulated); }), Status::not_supported);
}

}  // namespace
}  // namespace pydoca::verbs
