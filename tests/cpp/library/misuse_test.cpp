#include "pydoca/comch.hpp"
#include "pydoca/dma.hpp"
#include "pydoca/mmap_advise.hpp"
#include "pydoca/progress_engine.hpp"
#include "pydoca/rdma.hpp"
#include "pydoca/sim.hpp"
#include "pydoca/sync_event.hpp"
#include "pydoca/sync_event_context.hpp"

#include "rig/devices.hpp"
#include "rig/expect_error.hpp"
#include "rig/library/dma_rig.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <span>
#include <string>
#include <unistd.h>
#include <vector>

/// What DOCA answers to misuse, a case for each row of the checklist that pydoca follows, where the calls exist here.
/// tests/py/engine/test_misuse.py has the same rows, through Python.

namespace pydoca {
namespace {

void ignore(Task& task, std::uint64_t /*task_data*/, std::uint64_t /*context_data*/) noexcept {
  EXPECT_EQ(task.free(), Status::success);
}

/// Objects that many rows need: a DMA context with two tasks and memory, all on one simulated function.
struct Bench {
  explicit Bench(std::uint32_t num_tasks = 2, bool free_tasks = true) : rig(device, pe, num_tasks) {
    rig.free_tasks = free_tasks;
  }
  Bench& start() {
    EXPECT_EQ(rig.dma->start(), Status::success);
    return *this;
  }
  ~Bench() {
    rig.free_tasks = true;
    EXPECT_EQ(rig.dma->stop(), Status::success);
    while (rig.dma->state() != ContextState::idle) {
      pe->progress();
    }
    rig.dma->close();
  }
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;

  /// The status of a copy in its completion.
  Status copy(Buf* from, Buf* to) {
    rig.submitted(from, to);
    rig.progress_until(1);
    return rig.completions.front().status;
  }

  std::shared_ptr<Device> device = dpu();
  std::shared_ptr<ProgressEngine> pe = ProgressEngine::create();
  MappedBytes memory{device, 4096};
  Bufs bufs{16};
  DmaRig rig;
};

/// Bufs that go back to their inventory at the end of a row.
class Held {
 public:
  explicit Held(Buf* buf) : buf_(buf) {}
  ~Held() { EXPECT_EQ(buf_->dec_refcount(), Status::success); }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;
  operator Buf*() const { return buf_; }
  Buf* operator->() const { return buf_; }

 private:
  Buf* buf_;
};

/// A map of host memory, configured and not started.
struct HostMap {
  explicit HostMap(Access access = Access::local_read_write) {
    map->add_device(device);
    map->set_memrange(bytes.data(), bytes.size());
    map->set_permissions(access);
  }
  HostMap(const HostMap&) = delete;
  HostMap& operator=(const HostMap&) = delete;

  void start() { map->start(); }

  std::shared_ptr<Device> device = host();
  std::vector<std::byte> bytes = std::vector<std::byte>(4096);
  std::shared_ptr<Mmap> map = Mmap::create();
};

/// Host memory that the DPU may not write, as the DPU sees it.
struct Imported : HostMap {
  Imported() : HostMap(Access::local_read_write | Access::pci_read_only) {
    start();
    seen = Mmap::create_from_export(dpu(), map->export_pci(*device));
  }
  std::shared_ptr<Mmap> seen;
};

/// A copy of more bytes than the device takes.
struct Oversized : Bench {
  Oversized() { start(); }

  std::size_t size = Dma::max_buf_size(device->info()) + 1;
  MappedBytes large{device, 2 * size};
  Held src{bufs.by_data(large, 0, size)};
  Held dst{bufs.by_addr(large, size, size)};
};

/// A small copy within the bench's memory.
struct SmallCopy : Bench {
  SmallCopy() { start(); }

  Held src{bufs.by_data(memory, 0, 64)};
  Held dst{bufs.by_addr(memory, 64, 64)};
};

std::shared_ptr<Rdma> running_rdma(const std::shared_ptr<ProgressEngine>& pe) {
  auto rdma = Rdma::create(dpu());
  rdma->set_conf(RdmaTaskKind::send, ignore, ignore, 1);
  rdma->set_connection_state_callbacks([](RdmaConnection&, std::uint64_t) noexcept {}, nullptr, nullptr, nullptr);
  pe->connect(rdma);
  EXPECT_EQ(rdma->start(), Status::success);
  return rdma;
}

void end(Context& context) {
  static_cast<void>(context.stop());
  while (context.state() != ContextState::idle) {
    context.progress_engine()->progress();
  }
  context.close();
}

struct Row {
  const char* name;
  Status answer;
  Status (*misuse)();
};

constexpr Row context_rows[] = {
    {"configure_a_context_that_is_not_idle", Status::bad_state,
     [] {
       Bench bench;
       bench.start();
       return thrown_by([&] { bench.rig.dma->set_memcpy_conf(ignore, ignore, 1); });
     }},
    {"configure_a_sync_event_context_that_is_not_idle", Status::not_permitted,
     [] {
       const auto pe = ProgressEngine::create();
       const auto event = SyncEvent::create();
       event->add_publisher_location_cpu(dpu());
       event->add_subscriber_location_cpu(event->device());
       const auto context = event->as_context();
       context->set_conf(SyncEventOperation::get, ignore, ignore, 1);
       pe->connect(context);
       EXPECT_EQ(context->start(), Status::success);
       const Status status = thrown_by([&] { context->set_conf(SyncEventOperation::get, ignore, ignore, 1); });
       end(*context);
       return status;
     }},
    {"configure_a_context_of_memory_advice_that_is_not_idle", Status::not_permitted,
     [] {
       const auto pe = ProgressEngine::create();
       const auto advise = MmapAdvise::create(dpu());
       advise->set_invalidate_cache_conf(ignore, ignore, 1);
       pe->connect(advise);
       EXPECT_EQ(advise->start(), Status::success);
       const Status status = thrown_by([&] { advise->set_invalidate_cache_conf(ignore, ignore, 1); });
       end(*advise);
       return status;
     }},
    {"start_a_context_without_a_progress_engine", Status::not_connected,
     [] {
       const auto dma = Dma::create(dpu());
       dma->set_memcpy_conf(ignore, ignore, 1);
       return thrown_by([&] { return dma->start(); });
     }},
    {"start_with_nothing_configured", Status::invalid_value,
     [] {
       const auto pe = ProgressEngine::create();
       const auto dma = Dma::create(dpu());
       pe->connect(dma);
       const Status status = thrown_by([&] { return dma->start(); });
       dma->close();
       return status;
     }},
    {"start_a_context_twice", Status::bad_state,
     [] {
       Bench bench;
       bench.start();
       return thrown_by([&] { return bench.rig.dma->start(); });
     }},
    {"connect_a_context_twice", Status::not_permitted,
     [] {
       Bench bench;
       return thrown_by([&] { ProgressEngine::create()->connect(bench.rig.dma); });
     }},
    {"connect_a_context_that_is_not_idle", Status::bad_state,
     [] {
       Bench bench;
       bench.start();
       return thrown_by([&] { ProgressEngine::create()->connect(bench.rig.dma); });
     }},
    {"destroy_a_running_dma", Status::in_use,
     [] {
       Bench bench;
       bench.start();
       return thrown_by([&] { bench.rig.dma->close(); });
     }},
    {"destroy_a_running_rdma", Status::bad_state,
     [] {
       const auto pe = ProgressEngine::create();
       const auto rdma = running_rdma(pe);
       const Status status = thrown_by([&] { rdma->close(); });
       end(*rdma);
       return status;
     }},
    {"destroy_a_progress_engine_with_a_context", Status::in_use,
     [] {
       Bench bench;
       return thrown_by([&] { bench.pe->close(); });
     }},
    {"stop_with_unfreed_tasks", Status::in_progress,
     [] {
       Bench bench;
       bench.start();
       DmaMemcpyTask& task = bench.rig.task(nullptr, nullptr);
       const Status status = bench.rig.dma->stop();
       EXPECT_EQ(bench.rig.dma->state(), ContextState::stopping);
       EXPECT_EQ(task.free(), Status::success);
       return status;
     }},
    {"stop_with_work", Status::in_progress,
     [] {
       SmallCopy bench;
       bench.rig.submitted(bench.src, bench.dst);
       const Status status = bench.rig.dma->stop();
       bench.rig.progress_until_idle();
       return status;
     }},
    {"stop_an_idle_context", Status::success,
     [] {
       Bench bench;
       return bench.rig.dma->stop();
     }},
};

constexpr Row task_rows[] = {
    {"allocate_beyond_num_tasks", Status::no_memory,
     [] {
       Bench bench(1);
       DmaMemcpyTask& first = bench.start().rig.task(nullptr, nullptr);
       DmaMemcpyTask* second = nullptr;
       const Status status = bench.rig.dma->memcpy(nullptr, nullptr, 0, second);
       EXPECT_EQ(first.free(), Status::success);
       return status;
     }},
    {"allocate_from_a_context_that_does_not_run", Status::bad_state,
     [] {
       Bench bench;
       DmaMemcpyTask* task = nullptr;
       return bench.rig.dma->memcpy(nullptr, nullptr, 0, task);
     }},
    {"submit_a_task_of_a_stopping_context", Status::bad_state,
     [] {
       Bench bench;
       DmaMemcpyTask& task = bench.start().rig.task(nullptr, nullptr);
       EXPECT_EQ(bench.rig.dma->stop(), Status::in_progress);
       const Status status = task.submit();
       EXPECT_EQ(task.free(), Status::success);
       return status;
     }},
    {"submit_a_task_twice", Status::bad_state,
     [] {
       SmallCopy bench;
       DmaMemcpyTask& task = bench.rig.submitted(bench.src, bench.dst);
       const Status status = task.submit();
       bench.rig.progress_until(1);
       return status;
     }},
    {"free_a_task_in_flight_while_its_context_runs", Status::in_use,
     [] {
       SmallCopy bench;
       const Status status = bench.rig.submitted(bench.src, bench.dst).free();
       bench.rig.progress_until(1);
       return status;
     }},
    {"free_a_task_in_flight_while_its_context_stops", Status::success,
     [] {
       SmallCopy bench;
       DmaMemcpyTask& task = bench.rig.submitted(bench.src, bench.dst);
       EXPECT_EQ(bench.rig.dma->stop(), Status::in_progress);
       const Status status = task.free();
       bench.rig.progress_until_idle();
       EXPECT_TRUE(bench.rig.completions.empty()) << "a freed task has no callback";
       return status;
     }},
    {"try_submit_without_bufs", Status::invalid_value,
     [] {
       Bench bench;
       DmaMemcpyTask& task = bench.start().rig.task(nullptr, nullptr);
       const Status status = task.try_submit();
       EXPECT_EQ(task.free(), Status::success);
       return status;
     }},
    {"try_submit_of_an_oversized_dma", Status::invalid_value,
     [] {
       Oversized bench;
       DmaMemcpyTask& task = bench.rig.task(bench.src, bench.dst);
       const Status status = task.try_submit();
       EXPECT_EQ(task.free(), Status::success);
       return status;
     }},
    {"submit_an_oversized_dma", Status::io_failed,
     [] {
       Oversized bench;
       const Status status = bench.copy(bench.src, bench.dst);
       EXPECT_NE(bench.rig.dma->state(), ContextState::running);
       return status;
     }},
    {"submit_a_dma_of_an_empty_source", Status::io_failed,
     [] {
       Bench bench;
       bench.start();
       const Held src(bench.bufs.by_addr(bench.memory, 0, 64));
       const Held dst(bench.bufs.by_addr(bench.memory, 64, 64));
       const Held full(bench.bufs.by_data(bench.memory, 128, 64));
       const Held room(bench.bufs.by_addr(bench.memory, 256, 64));
       bench.rig.submitted(src, dst);
       bench.rig.submitted(full, room);
       bench.rig.progress_until(2);
       EXPECT_NE(bench.rig.completions.back().status, Status::success) << "the rest is flushed";
       EXPECT_NE(bench.rig.dma->state(), ContextState::running);
       return bench.rig.completions.front().status;
     }},
    {"write_without_the_exporters_permission", Status::io_failed,
     [] {
       const Imported imported;
       Bench bench;
       bench.start();
       Buf* remote = nullptr;
       EXPECT_EQ(bench.bufs.inventory->get_by_addr(imported.seen, imported.seen->addr(), 64, remote), Status::success);
       const Held dst(remote);
       const Status status = bench.copy(Held(bench.bufs.by_data(bench.memory, 0, 64)), dst);
       EXPECT_NE(bench.rig.dma->state(), ContextState::running);
       return status;
     }},
    {"read_after_the_exporter_stopped", Status::io_failed,
     [] {
       const Imported imported;
       Bench bench;
       bench.start();
       Buf* remote = nullptr;
       EXPECT_EQ(bench.bufs.inventory->get_by_data(imported.seen, imported.seen->addr(), 64, remote), Status::success);
       const Held src(remote);
       imported.map->stop();
       return bench.copy(src, Held(bench.bufs.by_addr(bench.memory, 0, 64)));
     }},
};

constexpr Row memory_rows[] = {
    {"export_a_map_without_permission", Status::not_permitted,
     [] {
       HostMap memory;
       memory.start();
       return thrown_by([&] { memory.map->export_pci(*memory.device); });
     }},
    {"export_a_map_that_is_not_started", Status::not_permitted,
     [] {
       HostMap memory(Access::pci_read_only);
       return thrown_by([&] { memory.map->export_pci(*memory.device); });
     }},
    {"export_an_imported_map", Status::not_permitted,
     [] {
       const Imported imported;
       return thrown_by([&] { imported.seen->export_pci(*dpu()); });
     }},
    {"export_a_map_with_a_foreign_device", Status::not_found,
     [] {
       HostMap memory(Access::pci_read_only);
       memory.start();
       const auto other = Device::open(find_device("pf1", Side::host));
       return thrown_by([&] { memory.map->export_pci(*other); });
     }},
    {"set_the_range_of_a_map_twice", Status::not_permitted,
     [] {
       HostMap memory;
       return thrown_by([&] { memory.map->set_memrange(memory.bytes.data(), 64); });
     }},
    {"set_the_range_of_a_started_map", Status::bad_state,
     [] {
       HostMap memory;
       memory.start();
       return thrown_by([&] { memory.map->set_memrange(memory.bytes.data(), 64); });
     }},
    {"start_a_map_twice", Status::not_permitted,
     [] {
       HostMap memory;
       memory.start();
       return thrown_by([&] { memory.map->start(); });
     }},
    {"start_an_imported_map", Status::not_permitted,
     [] {
       const Imported imported;
       return thrown_by([&] { imported.seen->start(); });
     }},
    {"add_a_device_twice", Status::already_exist,
     [] {
       HostMap memory;
       return thrown_by([&] { memory.map->add_device(memory.device); });
     }},
    {"add_a_device_to_a_started_map", Status::not_permitted,
     [] {
       HostMap memory;
       memory.start();
       return thrown_by([&] { memory.map->add_device(dpu()); });
     }},
    {"remove_a_device_from_a_started_map", Status::not_permitted,
     [] {
       HostMap memory;
       memory.start();
       return thrown_by([&] { memory.map->remove_device(*memory.device); });
     }},
    {"set_max_num_devices_of_a_started_map", Status::not_permitted,
     [] {
       HostMap memory;
       memory.start();
       return thrown_by([&] { memory.map->set_max_num_devices(2); });
     }},
    {"stop_a_map_with_live_bufs", Status::not_permitted,
     [] {
       Bench bench;
       const Held buf(bench.bufs.by_addr(bench.memory, 0, 64));
       return thrown_by([&] { bench.memory.mmap->stop(); });
     }},
    {"destroy_a_map_with_live_bufs", Status::not_permitted,
     [] {
       Bench bench;
       const Held buf(bench.bufs.by_addr(bench.memory, 0, 64));
       return thrown_by([&] { bench.memory.mmap->close(); });
     }},
    {"exhaust_an_inventory", Status::no_memory,
     [] {
       Bench bench;
       Bufs one(1);
       const Held first(one.by_addr(bench.memory, 0, 64));
       Buf* second = nullptr;
       return one.inventory->get_by_addr(bench.memory.mmap, bench.memory.addr(), 64, second);
     }},
    {"get_a_buf_outside_its_map", Status::invalid_value,
     [] {
       Bench bench;
       Buf* buf = nullptr;
       return bench.bufs.inventory->get_by_addr(bench.memory.mmap, bench.memory.addr(4000), 97, buf);
     }},
    {"count_references_of_an_inner_element", Status::not_permitted,
     [] {
       Bench bench;
       const Held head(bench.bufs.by_addr(bench.memory, 0, 64));
       Buf* const inner = bench.bufs.by_addr(bench.memory, 64, 64);
       EXPECT_EQ(head->chain(*inner), Status::success);
       EXPECT_EQ(inner->dec_refcount(), Status::not_permitted);
       return inner->inc_refcount();
     }},
    {"chain_a_shared_list", Status::not_permitted,
     [] {
       Bench bench;
       const Held head(bench.bufs.by_addr(bench.memory, 0, 64));
       const Held shared(bench.bufs.by_addr(bench.memory, 64, 64));
       EXPECT_EQ(shared->inc_refcount(), Status::success);
       const Status status = head->chain(*shared);
       EXPECT_EQ(shared->dec_refcount(), Status::success);
       return status;
     }},
};

constexpr Row library_rows[] = {
    {"a_second_publisher_of_a_sync_event", Status::invalid_value,
     [] {
       const auto event = SyncEvent::create();
       event->add_publisher_location_cpu(dpu());
       return thrown_by([&] { event->add_publisher_location(SyncEventLocation::remote_pci); });
     }},
    {"stop_a_sync_event_before_its_start", Status::invalid_value,
     [] {
       const auto event = SyncEvent::create();
       return thrown_by([&] { event->stop(); });
     }},
    {"export_a_sync_event_before_its_start", Status::invalid_value,
     [] {
       const auto event = SyncEvent::create();
       event->add_publisher_location(SyncEventLocation::remote_pci);
       event->add_subscriber_location_cpu(host());
       return thrown_by([&] { event->export_to_remote_pci(*event->device()); });
     }},
    {"a_comch_message_that_is_too_long", Status::invalid_value,
     [] {
       const auto pe = ProgressEngine::create();
       const auto server = comch::Server::create(dpu(), dpu()->open_representor("0b:00.0"), "misuse");
       server->set_send_conf(ignore, ignore, 1);
       server->set_message_received([](comch::Connection&, std::span<const std::byte>, std::uint64_t) noexcept {});
       server->set_connection_changed([](comch::Connection&, bool, std::uint64_t) noexcept {},
                                      [](comch::Connection&, bool, std::uint64_t) noexcept {});
       pe->connect(server);
       EXPECT_EQ(server->start(), Status::success);
       const auto client_pe = ProgressEngine::create();
       const auto client = comch::Client::create(host(), "misuse");
       client->set_send_conf(ignore, ignore, 1);
       client->set_message_received([](comch::Connection&, std::span<const std::byte>, std::uint64_t) noexcept {});
       client_pe->connect(client);
       EXPECT_EQ(client->start(), Status::in_progress);
       while (client->state() != ContextState::running) {
         pe->progress();
         client_pe->progress();
       }
       const std::vector<std::byte> message(client->max_msg_size() + 1);
       comch::SendTask* task = nullptr;
       const Status status = client->send(*client->connection(), message, 0, task);
       end(*client);
       end(*server);
       return status;
     }},
    {"a_comch_client_without_a_server", Status::in_progress,
     [] {
       const auto pe = ProgressEngine::create();
       const auto client = comch::Client::create(host(), "misuse");
       client->set_send_conf(ignore, ignore, 1);
       client->set_message_received([](comch::Connection&, std::span<const std::byte>, std::uint64_t) noexcept {});
       pe->connect(client);
       const Status status = client->start();
       for (int i = 0; i < 100; ++i) {
         pe->progress();
       }
       EXPECT_EQ(client->state(), ContextState::starting) << "it retries";
       end(*client);
       return status;
     }},
    {"export_an_rdma_connection_too_many", Status::full,
     [] {
       const auto pe = ProgressEngine::create();
       const auto rdma = running_rdma(pe);
       rdma->export_connection();
       const Status status = thrown_by([&] { rdma->export_connection(); });
       end(*rdma);
       return status;
     }},
    {"connect_an_rdma_connection_too_many", Status::connection_aborted,
     [] {
       const auto pe = ProgressEngine::create();
       const auto rdma = running_rdma(pe);
       rdma->export_connection();
       const Status status =
           thrown_by([&] { rdma->connect_to_addr(RdmaAddress::create(RdmaAddressType::ipv4, "127.0.0.1", 13579)); });
       end(*rdma);
       return status;
     }},
    {"listen_to_a_port_twice", Status::bad_state,
     [] {
       const auto pe = ProgressEngine::create();
       const auto rdma = running_rdma(pe);
       rdma->start_listen_to_port(13579);
       const Status status = thrown_by([&] { rdma->start_listen_to_port(13579); });
       end(*rdma);
       return status;
     }},
    {"listen_to_a_port_that_another_context_has", Status::connection_aborted,
     [] {
       const auto pe = ProgressEngine::create();
       const auto first = running_rdma(pe);
       const auto second = running_rdma(pe);
       first->start_listen_to_port(13579);
       const Status status = thrown_by([&] { second->start_listen_to_port(13579); });
       end(*second);
       end(*first);
       return status;
     }},
    {"rdma_permissions_with_a_pci_flag", Status::invalid_value,
     [] {
       const auto rdma = Rdma::create(dpu());
       return thrown_by([&] { rdma->set_permissions(Access::pci_read_write); });
     }},
    {"close_a_device_in_use", Status::in_use,
     [] {
       const auto device = dpu();
       const auto dma = Dma::create(device);
       return thrown_by([&] { device->close(); });
     }},
};

/// Uses a fabric of this process alone.
class MisuseTest : public testing::TestWithParam<Row> {
 protected:
  MisuseTest() { sim::set_fabric("test-" + std::to_string(::getpid())); }
};

TEST_P(MisuseTest, IsAnsweredAsDocumented) { EXPECT_EQ(GetParam().misuse(), GetParam().answer); }

std::string name_of_row(const testing::TestParamInfo<Row>& info) { return info.param.name; }

INSTANTIATE_TEST_SUITE_P(Contexts, MisuseTest, testing::ValuesIn(context_rows), name_of_row);
INSTANTIATE_TEST_SUITE_P(Tasks, MisuseTest, testing::ValuesIn(task_rows), name_of_row);
INSTANTIATE_TEST_SUITE_P(Memory, MisuseTest, testing::ValuesIn(memory_rows), name_of_row);
INSTANTIATE_TEST_SUITE_P(Libraries, MisuseTest, testing::ValuesIn(library_rows), name_of_row);

}  // namespace
}  // namespace pydoca
