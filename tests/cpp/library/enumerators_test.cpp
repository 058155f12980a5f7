#include "pydoca/clock.hpp"
#include "pydoca/device_properties.hpp"
#include "pydoca/faults.hpp"
#include "pydoca/log.hpp"
#include "pydoca/mmap.hpp"
#include "pydoca/progress_engine.hpp"
#include "pydoca/rdma.hpp"
#include "pydoca/sha.hpp"
#include "pydoca/sim.hpp"
#include "pydoca/sync_event.hpp"
#include "pydoca/sync_event_context.hpp"
#include "pydoca/workq.hpp"

#include "rig/expect_error.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <memory>

/// Numbers that no enumeration has, which a cast makes enumerators, in each call that takes one.

namespace pydoca {
namespace {

template <class Enum>
constexpr auto wrong = static_cast<Enum>(99);

class EnumeratorsTest : public testing::Test {
 protected:
  static void refuses(const std::function<void()>& call) {
    EXPECT_EQ(thrown_by([&] { call(); }), Status::invalid_value);
  }
  static void ignore(Task& /*task*/, std::uint64_t /*task_data*/, std::uint64_t /*context_data*/) noexcept {}

  std::shared_ptr<Device> device = Device::open(find_device("p0", Side::dpu));
  const DeviceInfo& info = device->info();
};

TEST_F(EnumeratorsTest, OfRdma) {
  const auto rdma = Rdma::create(device);
  refuses([&] { rdma->set_conf(wrong<RdmaTaskKind>, ignore, ignore, 1); });
  refuses([&] { rdma->set_transport_type(wrong<RdmaTransport>); });
  refuses([&] { rdma->set_mtu(wrong<MtuSize>); });
  refuses([&] { rdma->set_permissions(static_cast<Access>(1U << 31U)); });
  refuses([&] { RdmaAddress::create(wrong<RdmaAddressType>, "10.0.0.1", 1); });
  refuses([&] { Rdma::max_receive_dst_buf_list_len(info, wrong<RdmaTransport>); });
  EXPECT_FALSE(Rdma::is_task_supported(info, wrong<RdmaTaskKind>));
  EXPECT_FALSE(Rdma::is_transport_type_supported(info, wrong<RdmaTransport>));
  EXPECT_EQ(rdma->num_tasks(wrong<RdmaTaskKind>), 0U);
  EXPECT_FALSE(rdma->explain_allocation(Status::no_memory, 99, "write").empty());
  rdma->close();
}

TEST_F(EnumeratorsTest, OfSyncEvents) {
  const auto event = SyncEvent::create();
  refuses([&] { event->add_publisher_location(wrong<SyncEventLocation>); });
  refuses([&] { event->add_subscriber_location(wrong<SyncEventLocation>); });
  event->add_publisher_location_cpu(device);
  event->add_subscriber_location_cpu(device);
  const auto context = event->as_context();
  refuses([&] { context->set_conf(wrong<SyncEventOperation>, ignore, ignore, 1); });
  context->set_conf(SyncEventOperation::get, ignore, ignore, 1);
  EXPECT_FALSE(SyncEventContext::is_supported(info, wrong<SyncEventOperation>));
  EXPECT_EQ(context->num_tasks(wrong<SyncEventOperation>), 0U);
  const auto pe = ProgressEngine::create();
  pe->connect(context);
  ASSERT_EQ(context->start(), Status::success);
  SyncEventTask* task = nullptr;
  EXPECT_EQ(context->allocate(wrong<SyncEventOperation>, 0, 0, 0, task), Status::invalid_value);
  EXPECT_EQ(task, nullptr);
  EXPECT_EQ(context->stop(), Status::success);
  context->close();
}

TEST_F(EnumeratorsTest, OfOthers) {
  refuses([] { ProgressEngine::create()->set_event_mode(wrong<EventMode>); });
  refuses([] { Mmap::create()->set_permissions(static_cast<Access>(1U << 31U)); });
  refuses([] { workq::WorkQueue::create(8, wrong<workq::Destinations>); });
  refuses([] { sim::profile_capabilities("bluefield3", wrong<Side>); });
  refuses([] { log::set_global_lower_limit(wrong<log::Level>); });
  EXPECT_EQ(thrown_by([&] { Sha::min_dst_buf_size(info, wrong<ShaAlgorithm>); }), Status::not_supported);
  EXPECT_FALSE(Sha::is_algorithm_supported(info, wrong<ShaAlgorithm>));
  EXPECT_FALSE(Clock::is_supported(info, wrong<ClockType>));
  EXPECT_FALSE(error_name(wrong<Status>).empty());
}

TEST_F(EnumeratorsTest, OfWhatTheSimulatorIsGiven) {
  refuses([] { FaultPlan::create({FaultRule{.action = wrong<FaultAction>}}); });
  refuses([] { FaultPlan::create({FaultRule{.action = FaultAction::corrupt, .corruption = wrong<Corruption>}}); });
  sim::Config config;
  config.timing.operations["dma"].jitter = sim::Jitter{wrong<sim::JitterDistribution>, std::chrono::nanoseconds(1)};
  refuses([&] { sim::set_config(config); });
  for (const bool is_side : {true, false}) {
    sim::Topology topology = sim::default_topology("bluefield3");
    DeviceProperties& properties = topology.functions.front().properties;
    properties.side = is_side ? wrong<Side> : properties.side;
    properties.func_type = is_side ? properties.func_type : wrong<PciFuncType>;
    refuses([&] { sim::set_topology(topology); });
  }
}

}  // namespace
}  // namespace pydoca
