#include "backend/conformance.hpp"

#include <map>
#include <sys/mman.h>
#include <thread>

namespace pydoca::conformance {

// ---- Devices

TEST_P(Conformance, ADeviceIsOneObjectHoweverOftenItIsOpened) {
  EXPECT_EQ(Device::open(device->info()), device);
  device->close();
  EXPECT_TRUE(device->is_open());
  EXPECT_FALSE(device->removed());
  device->close();
  EXPECT_EQ(thrown_by([&] { device->close(); }), Status::bad_state);
  device = Device::open(device->info());
  EXPECT_FALSE(device->info().name().empty());
}

// ---- Clocks

TEST_P(Conformance, AClockIsReadWhereTheDeviceHasIt) {
  if (!can().clock.has_value()) {
    EXPECT_EQ(thrown_by([&] { Clock::create(device); }), Status::not_supported);
    return;
  }
  const auto clock = Clock::create(device);
  for (const ClockType type : {ClockType::nic_free_running, ClockType::nic_real_time, ClockType::nic_dpa_timer}) {
    if (!Clock::is_supported(device->info(), type)) {
      EXPECT_EQ(thrown_by([&] { clock->timestamp(type); }), Status::not_supported);
      continue;
    }
    const std::uint64_t before = clock->timestamp(type);
    const CrossTimestamp both = clock->crosstimestamp(ClockType::host_real_time, type);
    EXPECT_GE(both.nic, before);
    EXPECT_GE(clock->timestamp(type), both.nic);
  }
}

// ---- Memory

TEST_P(Conformance, MemoryIsRegisteredAndGivenBackAgainAndAgain) {
  MappedBytes memory(device, 100'000);
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(memory.mmap->is_started());
    EXPECT_EQ(thrown_by([&] { device->close(); }), Status::in_use);
    memory.mmap->stop();
    memory.mmap->start();
  }
}

TEST_P(Conformance, MemoryThatIsNotThereIsRefused) {
  constexpr std::size_t size = 8192;
  // The kernel never chooses so low an address, so no other thread gets memory there meanwhile.
  void* const gone = reinterpret_cast<void*>(std::uintptr_t{0x20000});
  const auto mmap = Mmap::create();
  mmap->add_device(device);
  mmap->set_memrange(gone, size);
  EXPECT_EQ(thrown_by([&] { mmap->start(); }), Status::invalid_value);
  EXPECT_FALSE(mmap->is_started());
}

TEST_P(Conformance, ReadOnlyMemoryIsRegisteredForReadingOnly) {
  constexpr std::size_t size = 8192;
  void* const page = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  const auto mmap = Mmap::create();
  mmap->add_device(device);
  mmap->set_memrange(page, size);
  mmap->set_permissions(Access::local_read_write);
  EXPECT_NE(thrown_by([&] { mmap->start(); }), Status::success);
  mmap->set_permissions(Access::local_read_only);
  mmap->start();
  EXPECT_TRUE(mmap->is_started());
  mmap->close();
  ::munmap(page, size);
}

TEST_P(Conformance, AnExportForWhichThereIsNoCapabilityIsRefused) {
  MappedBytes memory(device, 4096, Access::local_read_write | Access::pci_read_write | Access::rdma_read);
  const auto exported = [&](auto call) { return thrown_by(call); };
  EXPECT_EQ(exported([&] { memory.mmap->export_pci(*device); }),
            can().mmap_export_pci ? Status::success : Status::not_supported);
  EXPECT_EQ(exported([&] { memory.mmap->export_rdma(*device); }),
            can().mmap_export_rdma ? Status::success : Status::not_supported);
}

TEST_P(Conformance, AnExportToTheNetworkIsImportedWithItsAddresses) {
  if (!can().mmap_export_rdma) {
    GTEST_SKIP() << "the device cannot export memory to the network";
  }
  MappedBytes memory(device, 5000, Access::local_read_write | Access::rdma_read | Access::rdma_write);
  const std::vector<std::byte> blob = memory.mmap->export_rdma(*device);
  EXPECT_LT(blob.size(), 512U);
  const auto imported = Mmap::create_from_export(device, blob);
  EXPECT_EQ(imported->addr(), memory.addr());
  EXPECT_EQ(imported->len(), 5000U);
  EXPECT_EQ(imported->permissions(), Access::rdma_read | Access::rdma_write);
  EXPECT_EQ(thrown_by([&] { imported->export_rdma(*device); }), Status::not_permitted);
}

TEST_P(Conformance, AChangedBlobIsRefused) {
  if (!can().mmap_export_rdma) {
    GTEST_SKIP() << "the device cannot export memory to the network";
  }
  MappedBytes memory(device, 5000, Access::rdma_read);
  const std::vector<std::byte> blob = memory.mmap->export_rdma(*device);
  const auto import = [&](const std::vector<std::byte>& bytes) {
    return thrown_by([&] { Mmap::create_from_export(device, bytes); });
  };
  const auto is_refusal = [](Status status) {
    return status == Status::invalid_value || status == Status::unsupported_version || status == Status::not_supported;
  };
  for (std::size_t i = 0; i < blob.size(); ++i) {
    std::vector<std::byte> changed = blob;
    changed[i] ^= std::byte{1};
    EXPECT_TRUE(is_refusal(import(changed))) << "byte " << i;
    EXPECT_TRUE(is_refusal(import({blob.begin(), blob.begin() + static_cast<std::ptrdiff_t>(i)}))) << "cut at " << i;
  }
  std::vector<std::byte> longer = blob;
  longer.push_back(std::byte{0});
  EXPECT_TRUE(is_refusal(import(longer)));
}

// ---- DMA

TEST_P(DmaConformance, EverySizeIsCopiedAndNothingElse) {
  const std::size_t sizes[] = {1, 2, 63, 64, 65, 255, 256, 257, 1023, 4095, 4096, 4097, 65536, 65537, max_size() - 16};
  std::size_t count = 0;
  for (const std::size_t size : sizes) {
    fill(dst->bytes, std::byte{0xee});
    Buf* const to = target(8, size);
    rig->submitted(source(3, size), to);
    ASSERT_TRUE(wait_for(++count));
    EXPECT_EQ(status_of_last(), Status::success) << size;
    EXPECT_EQ(to->data_len(), size);
    expect_copied(3, 8, size);
    EXPECT_EQ(dst->bytes[7], std::byte{0xee}) << size;
    EXPECT_EQ(dst->bytes[8 + size], std::byte{0xee}) << size;
  }
}

TEST_P(DmaConformance, ListsAreGatheredAndScattered) {
  if (can().dma->max_buf_list_len < 3) {
    GTEST_SKIP() << "the device takes no lists";
  }
  Buf* const from = source(100, 1000);
  EXPECT_EQ(from->chain(*source(5000, 1)), Status::success);
  EXPECT_EQ(from->chain(*source(9000, 3000)), Status::success);
  Buf* const to = target(0, 17);
  EXPECT_EQ(to->chain(*target(200, 2000)), Status::success);
  EXPECT_EQ(to->chain(*target(8000, 5000)), Status::success);
  rig->submitted(from, to);
  ASSERT_TRUE(wait_for(1));
  EXPECT_EQ(status_of_last(), Status::success);
  std::vector<std::byte> sent;
  for (const auto& [offset, len] : {std::pair{100, 1000}, {5000, 1}, {9000, 3000}}) {
    sent.insert(sent.end(), src->bytes.begin() + offset, src->bytes.begin() + offset + len);
  }
  std::vector<std::byte> received;
  for (const auto& [offset, len] : {std::pair{0, 17}, {200, 2000}, {8000, 4001 - 2017}}) {
    received.insert(received.end(), dst->bytes.begin() + offset, dst->bytes.begin() + offset + len);
  }
  EXPECT_EQ(sent, received);
  held = {from, to};  // a list is freed by its head
}

TEST_P(DmaConformance, ManyTasksAtATimeAllComeBack) {
  constexpr std::size_t size = 3000;
  std::vector<Buf*> pairs;
  for (std::size_t i = 0; i < num_tasks; ++i) {
    rig->submitted(source(i * size, size), target(i * size, size), i);
  }
  EXPECT_TRUE(rig->completions.empty()) << "only progress delivers completions";
  DmaMemcpyTask* task = nullptr;
  EXPECT_EQ(rig->dma->memcpy(held[0], held[1], 0, task), Status::no_memory);
  ASSERT_TRUE(wait_for(num_tasks));
  for (const auto& completion : rig->completions) {
    EXPECT_EQ(completion.status, Status::success);
  }
  expect_copied(0, 0, num_tasks * size);
}

TEST_P(DmaConformance, OrderedCompletionsKeepTheOrderOfSubmission) {
  ASSERT_EQ(rig->dma->stop(), Status::success);
  rig->dma->set_ordered_completions(true);
  ASSERT_EQ(rig->dma->start(), Status::success);
  constexpr std::size_t small = 64;
  const std::size_t large = max_size() / (num_tasks / 2) - small;  // a small copy would overtake it
  for (std::size_t i = 0; i < num_tasks; ++i) {
    const std::size_t size = i % 2 == 0 ? large : small;
    rig->submitted(source(0, size), target(i / 2 * (large + small) + i % 2 * large, size), i);
  }
  ASSERT_TRUE(wait_for(num_tasks));
  for (std::size_t i = 0; i < num_tasks; ++i) {
    EXPECT_EQ(rig->completions[i].user_data, i);
    EXPECT_EQ(rig->completions[i].status, Status::success);
  }
}

TEST_P(DmaConformance, TheQueueIsUsedForEver) {
  Buf* const from = source(0, 64);
  Buf* const to = target(0, 64);
  const std::size_t rounds = 2000;
  rig->in_callback = [&](DmaMemcpyTask&) { EXPECT_EQ(to->set_data_len(0), Status::success); };
  for (std::size_t i = 1; i <= rounds; ++i) {
    rig->submitted(from, to);
    ASSERT_TRUE(wait_for(i)) << "round " << i;
  }
  EXPECT_TRUE(std::ranges::all_of(rig->completions, [](const auto& one) { return one.status == Status::success; }));
}

TEST_P(DmaConformance, TasksWithoutFlushBeginAtTheNextFlush) {
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(rig->task(source(i * 100, 100), target(i * 100, 100)).submit(SubmitFlags::none), Status::success);
  }
  EXPECT_EQ(pe->progress(), 0);
  rig->dma->flush_tasks();
  EXPECT_TRUE(wait_for(3));
  expect_copied(0, 0, 300);
}

TEST_P(DmaConformance, AnEngineThatSleepsIsWoken) {
  for (std::size_t i = 1; i <= 20; ++i) {
    const std::size_t size = i % 2 != 0 ? 64 : 100'000;
    rig->submitted(source(0, size), target(0, size));
    for (int tries = 0; rig->completions.size() < i && tries < 60; ++tries) {
      if (pe->progress() == 0) {
        pe->wait(1000);
      }
    }
    ASSERT_EQ(rig->completions.size(), i);
  }
}

TEST_P(DmaConformance, AnIdleEngineSleeps) {
  rig->submitted(source(0, 64), target(0, 64));
  ASSERT_TRUE(wait_for(1));
  while (pe->progress() != 0) {
  }
  pe->wait(0);
  EXPECT_FALSE(pe->wait(0)) << "the handle is readable although there is nothing to do";
}

TEST_P(DmaConformance, ADestinationThatMayNotBeWrittenFailsTheTaskAndTheContext) {
  MappedBytes fixed(device, 4096, Access::local_read_only);
  Buf* const to = bufs.by_addr(fixed, 0, 64);
  rig->submitted(source(0, 64), to);
  ASSERT_TRUE(wait_for(1));
  EXPECT_EQ(status_of_last(), Status::io_failed);
  EXPECT_TRUE(rig->completions.back().by_error_callback);
  EXPECT_NE(rig->dma->state(), ContextState::running);
  ASSERT_TRUE(progress_until(*pe, [&] { return rig->dma->state() == ContextState::idle; }));
  EXPECT_EQ(rig->dma->failure(), Status::io_failed);
  EXPECT_EQ(to->dec_refcount(), Status::success);
  fixed.mmap->close();

  EXPECT_EQ(rig->dma->start(), Status::success);
  rig->submitted(source(0, 64), target(0, 64));
  ASSERT_TRUE(wait_for(2));
  EXPECT_EQ(status_of_last(), Status::success) << "a failed context can be started again";
}

TEST_P(DmaConformance, WhatStandsBehindAFailureIsFlushed) {
  rig->submitted(source(0, 64), target(0, 64), 0);
  rig->submitted(source(0, 64), target(64, 63), 1);  // one byte too small
  rig->submitted(source(0, 64), target(128, 64), 2);
  ASSERT_TRUE(wait_for(3));
  std::map<std::uint64_t, Status> statuses;
  for (const auto& completion : rig->completions) {
    statuses[completion.user_data] = completion.status;
  }
  EXPECT_EQ(statuses[0], Status::success);
  EXPECT_EQ(statuses[1], Status::io_failed);
  EXPECT_EQ(statuses[2], Status::shutdown);
}

TEST_P(DmaConformance, MemoryOfAnotherMapThatIsNotOnTheDeviceFails) {
  rig->submitted(nullptr, target(0, 64));
  ASSERT_TRUE(wait_for(1));
  EXPECT_EQ(status_of_last(), Status::io_failed);
}

TEST_P(DmaConformance, AStopWithTasksInFlightBringsThemAllBack) {
  for (std::size_t i = 0; i < num_tasks; ++i) {
    rig->submitted(source(i * 1000, 1000), target(i * 1000, 1000));
  }
  static_cast<void>(rig->dma->stop());
  ASSERT_TRUE(progress_until(*pe, [&] { return rig->dma->state() == ContextState::idle; }));
  EXPECT_EQ(rig->completions.size(), num_tasks);
  for (const auto& completion : rig->completions) {
    EXPECT_TRUE(completion.status == Status::success || completion.status == Status::shutdown);
  }
}

TEST_P(DmaConformance, TwoContextsShareAnEngine) {
  DmaRig other(device, pe, 4);
  EXPECT_EQ(other.dma->start(), Status::success);
  rig->submitted(source(0, 5000), target(0, 5000));
  other.submitted(source(5000, 5000), target(5000, 5000));
  EXPECT_TRUE(wait_for(1));
  EXPECT_TRUE(progress_until(*pe, [&] { return other.completions.size() == 1; }));
  expect_copied(0, 0, 10000);
  static_cast<void>(other.dma->stop());
  EXPECT_TRUE(progress_until(*pe, [&] { return other.dma->state() == ContextState::idle; }));
  other.dma->close();
}

// ---- Sync events

TEST_P(SyncEventConformance, CountsOnThisCpu) {
  const auto event = SyncEvent::create();
  event->add_publisher_location_cpu(device);
  event->add_subscriber_location_cpu(device);
  event->start();
  std::uint64_t value = 7;
  EXPECT_EQ(event->get(value), Status::success);
  EXPECT_EQ(value, 0U);
  EXPECT_EQ(event->update_set(40), Status::success);
  EXPECT_EQ(event->update_add(2, value), Status::success);
  EXPECT_EQ(value, 40U);
  std::thread other([&] { EXPECT_EQ(event->wait_eq(43, ~0ULL, WaitMode::yield), Status::success); });
  EXPECT_EQ(event->update_add(1, value), Status::success);
  other.join();
  event->close();
}

TEST_P(SyncEventConformance, LivesInMemoryOfTheUsers) {
  alignas(8) std::uint64_t word = 41;
  const auto event = SyncEvent::create();
  event->add_publisher_location_cpu(device);
  event->add_subscriber_location_cpu(device);
  event->set_addr(&word);
  event->start();
  std::uint64_t value = 0;
  EXPECT_EQ(event->update_add(1, value), Status::success);
  EXPECT_EQ(value, 41U);
  EXPECT_EQ(word, 42U);
  event->close();
}

TEST_P(SyncEventConformance, IsExportedAsFarAsTheDeviceCan) {
  const auto event = SyncEvent::create();
  event->add_publisher_location(SyncEventLocation::remote_net);
  event->add_subscriber_location_cpu(device);
  event->start();
  if (!can().sync_event->export_to_remote_net) {
    EXPECT_EQ(thrown_by([&] { event->export_to_remote_net(); }), Status::not_supported);
    return;
  }
  const std::vector<std::byte> blob = event->export_to_remote_net();
  EXPECT_LT(blob.size(), 512U);
  EXPECT_EQ(event->export_to_remote_net(), blob);
  const auto handle = SyncEventRemoteNet::create_from_export(device, blob);
  EXPECT_FALSE(handle->is_closed());
  std::vector<std::byte> changed = blob;
  changed.back() ^= std::byte{1};
  EXPECT_EQ(thrown_by([&] { SyncEventRemoteNet::create_from_export(device, changed); }), Status::invalid_value);
  handle->close();
  event->close();
}

}  // namespace pydoca::conformance
