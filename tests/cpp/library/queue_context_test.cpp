#include <pydoca/device_properties.hpp>
#include <pydoca/dma.hpp>

#include "detail/fd.hpp"
#include "rig/fake_device.hpp"
#include "rig/library/dma_rig.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <poll.h>
#include <sys/eventfd.h>
#include <vector>

namespace pydoca {
namespace {

/// A copy queue with a descriptor, as devices of rdma-core have: its device copies nothing, and ends an operation when
/// the test says so. The descriptor tells of that only when the queue is armed.
class DescriptorQueue final : public backend::DataQueue {
 public:
  int fd() const noexcept override { return event_.get(); }
  bool look() noexcept override { return !finished_.empty(); }
  void arm() noexcept override { armed_ = true; }
  Status post(backend::DataOperation& operation, bool /*flush*/) noexcept override {
    posted_.push_back(&operation);
    return Status::success;
  }
  backend::Operation* poll(bool& more) noexcept override {
    armed_ = false;
    eventfd_t ignored = 0;
    static_cast<void>(::eventfd_read(event_.get(), &ignored));
    if (finished_.empty()) {
      return nullptr;
    }
    backend::Operation* const operation = finished_.front();
    finished_.pop_front();
    more = !finished_.empty();
    return operation;
  }
  void abort() noexcept override {
    while (!posted_.empty()) {
      end_one(Status::shutdown);
    }
  }
  void end_one(Status status = Status::success) noexcept {
    posted_.front()->outcome = status;
    finished_.push_back(posted_.front());
    posted_.pop_front();
    if (armed_) {
      ::eventfd_write(event_.get(), 1);
    }
  }

 private:
  const detail::Fd event_{::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)};
  std::deque<backend::Operation*> posted_;
  std::deque<backend::Operation*> finished_;
  bool armed_ = false;
};

class DescriptorDevice final : public backend::Device {
 public:
  std::unique_ptr<backend::MemoryRegion> register_memory(const backend::MemoryRange& range, Access access) override {
    return std::make_unique<fake::Region>(range, access);
  }
  std::unique_ptr<backend::DataQueue> create_queue(const backend::EngineTraits& /*engine*/,
                                                   const backend::QueueOptions& /*options*/,
                                                   backend::Notifier& /*notifier*/) override {
    auto made = std::make_unique<DescriptorQueue>();
    queue = made.get();
    return made;
  }

  DescriptorQueue* queue = nullptr;
};

class DescriptorBackend final : public backend::Backend {
 public:
  std::string_view name() const noexcept override { return "fake"; }
  std::vector<DeviceProperties> enumerate() override { return fake_.enumerate(); }
  std::unique_ptr<backend::Device> open(const DeviceProperties& /*properties*/, std::size_t /*ordinal*/) override {
    return std::make_unique<DescriptorDevice>();
  }

 private:
  fake::Backend fake_;
};

class QueueWithDescriptor : public testing::Test {
 protected:
  void TearDown() override {
    static_cast<void>(rig.dma->stop());
    rig.progress_until_idle();
    for (Buf* const buf : held) {
      Bufs::free({buf});
    }
  }

  void submit() {
    held.push_back(bufs.by_data(memory, 0, 64));
    held.push_back(bufs.by_addr(memory, 64, 64));
    rig.submitted(held[held.size() - 2], held.back());
  }
  DescriptorQueue& queue() { return *dynamic_cast<DescriptorDevice&>(device->backend()).queue; }
  bool is_readable() const {
    pollfd event{.fd = rig.pe->notification_handle(), .events = POLLIN, .revents = 0};
    return ::poll(&event, 1, 0) == 1;
  }
  /// What a program does with a wake-up: it takes what there is, and sleeps again. Returns whether something completed.
  bool wake_and_sleep_again() {
    rig.pe->clear_notification();
    const bool advanced = rig.pe->progress() != 0;
    rig.pe->request_notification();
    return advanced;
  }

  DescriptorBackend backend;
  std::shared_ptr<Device> device = Device::open(DeviceInfo(backend, backend.enumerate().front()));
  MappedBytes memory{device, 4096};
  Bufs bufs{4};
  std::vector<Buf*> held;
  DmaRig rig{device, ProgressEngine::create(), 4};
};

TEST_F(QueueWithDescriptor, ATaskOfAnArmedEngineWithNothingInFlightWakesIt) {
  ASSERT_EQ(rig.dma->start(), Status::success);
  rig.pe->request_notification();
  EXPECT_FALSE(is_readable());
  submit();
  ASSERT_TRUE(is_readable()) << "the queue is not armed yet";
  EXPECT_FALSE(wake_and_sleep_again());
  EXPECT_FALSE(is_readable()) << "nothing has completed";
  queue().end_one();
  ASSERT_TRUE(is_readable());
  EXPECT_TRUE(wake_and_sleep_again());
  EXPECT_EQ(rig.completions.size(), 1U);
}

TEST_F(QueueWithDescriptor, ATaskOfAnArmedEngineWithTasksInFlightLetsItSleep) {
  ASSERT_EQ(rig.dma->start(), Status::success);
  submit();
  rig.pe->request_notification();
  submit();
  EXPECT_FALSE(is_readable()) << "the queue is armed";
  queue().end_one();
  EXPECT_TRUE(is_readable());
  EXPECT_TRUE(wake_and_sleep_again());
  EXPECT_FALSE(is_readable());
  queue().end_one();
  EXPECT_TRUE(is_readable());
  EXPECT_TRUE(wake_and_sleep_again());
  EXPECT_EQ(rig.completions.size(), 2U);
}

}  // namespace
}  // namespace pydoca
