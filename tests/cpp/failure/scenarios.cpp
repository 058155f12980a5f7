#include "pydoca/buf_pool.hpp"
#include "pydoca/clock.hpp"
#include "pydoca/device_properties.hpp"
#include "pydoca/dma.hpp"
#include "pydoca/graph.hpp"
#include "pydoca/log.hpp"
#include "pydoca/mmap_advise.hpp"
#include "pydoca/representor.hpp"
#include "pydoca/sha.hpp"
#include "pydoca/workq.hpp"

#include "detail/fd.hpp"
#include "failure/connections.hpp"
#include "failure/parts.hpp"

#include <array>
#include <cstring>
#include <fcntl.h>
#include <vector>

namespace pydoca::failure {
namespace {

constexpr std::size_t small = 64;
constexpr std::size_t large = std::size_t{1} << 20;  ///< goes to the device's workers

void devices_scenario() {
  step("list");
  check(devices().size() > 4, "devices");
  step("open");
  const auto device = opened("p0");
  const auto again = opened("p0");
  check(device == again, "one device");
  step("representors");
  check(!device->representors().empty(), "representors");
  const auto representor = device->open_representor("0b:00.0");
  step("clock");
  const auto clock = Clock::create(device);
  static_cast<void>(clock->timestamp(ClockType::nic_real_time));
  static_cast<void>(clock->crosstimestamp(ClockType::host_monotonic, ClockType::nic_free_running));
  clock->close();
  representor->close();
  step("close");
  again->close();
  device->close();
}

/// A map of memory that no other process can map.
std::shared_ptr<Mmap> foreign_mmap(const std::shared_ptr<Device>& device, std::span<std::byte> bytes, Access access) {
  auto mmap = Mmap::create();
  mmap->add_device(device);
  mmap->set_memrange(bytes.data(), bytes.size());
  mmap->set_permissions(access);
  mmap->start();
  return mmap;
}

void memory_scenario() {
  const auto host = opened("pf0");
  const auto dpu = opened("p0");
  step("alloc");
  const Mapped mapped(host, 4 * large, Access::pci_read_write);
  std::vector<std::byte> bytes(large);
  step("mmap of other memory");
  const auto foreign = foreign_mmap(host, bytes, Access::pci_read_only);
  step("export");
  const auto blob = mapped.mmap->export_pci(*host);
  const auto foreign_blob = foreign->export_pci(*host);
  step("import");
  const auto imported = Mmap::create_from_export(dpu, blob);
  const auto twice = Mmap::create_from_export(dpu, blob);
  step("import of other memory");
  const auto foreign_import = Mmap::create_from_export(dpu, foreign_blob);
  step("bufs");
  const auto inventory = started_inventory(8);
  inventory->expand(8);
  const Held whole(inventory, imported, imported->addr(), large, true);
  step("pool");
  const auto pool = BufPool::create(16, small, mapped.mmap);
  pool->set_element_alignment(small);
  pool->start();
  Buf* element = nullptr;
  require(pool->alloc(element), "a buf of a pool");
  const Held held(element);
  step("stop of an export");
  foreign->stop();
}

void copy(Running<Dma>& dma, Buf* src, Buf* dst) {
  require(dst->reset_data_len(), "an empty buf");
  DmaMemcpyTask* task = nullptr;
  require(dma.context->memcpy(src, dst, 0, task), "a DMA task");
  dma.finish(*task);
  check(dst->data_len() == src->data_len(), "length of a copy");
}

void start_dma(Running<Dma>& dma) {
  dma.context->set_memcpy_conf(Running<Dma>::count, Running<Dma>::count, 8);
  dma.start();
}

/// There and back.
void copy_other_memory(Running<Dma>& dma, const std::shared_ptr<Device>& host, const std::shared_ptr<Device>& dpu) {
  std::vector<std::byte> bytes(small, std::byte{5});
  const auto foreign = foreign_mmap(host, bytes, Access::pci_read_write);
  const auto imported = Mmap::create_from_export(dpu, foreign->export_pci(*host));
  const Mapped own(dpu, small);
  const auto inventory = started_inventory(8);
  const auto buf = [&](const auto& mmap, bool has_data) {
    return Held(inventory, mmap, mmap->addr(), small, has_data);
  };
  copy(dma, buf(imported, true).get(), buf(own.mmap, false).get());
  check(std::memcmp(bytes.data(), own.memory->data(), small) == 0, "a copy from other memory");
  std::memset(own.memory->data(), 6, small);
  copy(dma, buf(own.mmap, true).get(), buf(imported, false).get());
  check(std::memcmp(bytes.data(), own.memory->data(), small) == 0, "a copy to other memory");
}

void dma_scenario() {
  const auto host = opened("pf0");
  const auto dpu = opened("p0");
  const Mapped mapped(host, 2 * large, Access::pci_read_write);
  const Mapped target(dpu, 2 * large);
  std::memset(mapped.memory->data(), 7, 2 * large);
  const auto imported = Mmap::create_from_export(dpu, mapped.mmap->export_pci(*host));
  step("create");
  Running<Dma> dma(Dma::create(dpu), ProgressEngine::create());
  step("start");
  start_dma(dma);
  const auto inventory = started_inventory(8);
  step("copy");
  {
    const Held src(inventory, imported, imported->addr(), small, true);
    const Held dst(inventory, target.mmap, target.addr(), small, false);
    copy(dma, src.get(), dst.get());
    check(std::memcmp(mapped.memory->data(), target.memory->data(), small) == 0, "a copy");
  }
  step("copy of much");
  {
    const Held src(inventory, imported, imported->addr(), large, true);
    const Held dst(inventory, target.mmap, target.addr(), large, false);
    copy(dma, src.get(), dst.get());
  }
  step("copies of other memory");
  copy_other_memory(dma, host, dpu);
  step("stop");
  dma.stop();
  check(dma.context->state() == ContextState::idle, "stop");
  step("start again");
  require(dma.context->start(), "start");
}

void sha_scenario() {
  const auto device = opened("p0");
  const Mapped mapped(device, large);
  step("create");
  Running<Sha> sha(Sha::create(device), ProgressEngine::create());
  sha.context->set_hash_conf(Running<Sha>::count, Running<Sha>::count, 4);
  sha.context->set_partial_hash_conf(Running<Sha>::count_only, Running<Sha>::count_only, 4);
  step("start");
  sha.start();
  const auto inventory = started_inventory(8);
  const Held src(inventory, mapped.mmap, mapped.addr(), large / 2, true);
  const Held dst(inventory, mapped.mmap, mapped.addr(large / 2), 64, false);
  step("hash");
  ShaHashTask* task = nullptr;
  require(sha.context->hash(src.get(), dst.get(), ShaAlgorithm::sha256, 0, task), "a SHA task");
  sha.finish(*task);
  step("pieces");
  require(dst.get()->reset_data_len(), "an empty buf");
  ShaPartialHashTask* made = nullptr;
  require(sha.context->partial_hash(src.get(), dst.get(), ShaAlgorithm::sha512, 0, made), "a task for pieces");
  const OwnTask pieces(made);
  sha.finish(*pieces);
  require(pieces->set_is_final_buf(), "the last piece");
  sha.finish(*pieces);
}

void advise_scenario() {
  const auto device = opened("p0");
  const Mapped mapped(device, large);
  step("create");
  Running<MmapAdvise> advise(MmapAdvise::create(device), ProgressEngine::create());
  advise.context->set_invalidate_cache_conf(Running<MmapAdvise>::count, Running<MmapAdvise>::count, 4);
  step("start");
  advise.start();
  const auto inventory = started_inventory(8);
  const Held buf(inventory, mapped.mmap, mapped.addr(), small, true);
  MmapAdviseInvalidateCacheTask* task = nullptr;
  require(advise.context->invalidate_cache(buf.get(), 0, task), "a task");
  advise.finish(*task);
}

struct GraphEnds {
  int ended = 0;
  int steps = 0;
  Status status = Status::success;

  static void end(GraphInstance& instance, std::uint64_t /*user_data*/, std::uint64_t self) noexcept {
    std::bit_cast<GraphEnds*>(self)->status = instance.status();
    ++std::bit_cast<GraphEnds*>(self)->ended;
  }
  static Status step(std::uint64_t self) noexcept {
    ++std::bit_cast<GraphEnds*>(self)->steps;
    return Status::success;
  }
};

OwnTask<DmaMemcpyTask> copy_task(Running<Dma>& dma, Buf* src, Buf* dst) {
  DmaMemcpyTask* task = nullptr;
  require(dma.context->memcpy(src, dst, 0, task), "a DMA task");
  return OwnTask(task);
}

/// A step, then a copy, then a graph of a copy and a step.
void graph_scenario() {
  const auto device = opened("p0");
  const Mapped mapped(device, large);
  Running<Dma> dma(Dma::create(device), ProgressEngine::create());
  dma.context->set_memcpy_conf(Running<Dma>::count_only, Running<Dma>::count_only, 4);
  dma.start();
  const auto inventory = started_inventory(8);
  const Held src(inventory, mapped.mmap, mapped.addr(), small, true);
  const Held dst(inventory, mapped.mmap, mapped.addr(small), small, false);
  const Held inner_dst(inventory, mapped.mmap, mapped.addr(2 * small), small, false);
  GraphEnds ends;
  GraphEnds inner_ends;
  step("create");
  const auto inner = Graph::create(dma.engine);
  inner->set_conf(&GraphEnds::end, &GraphEnds::end, 1);
  inner->set_user_data(word_of(&inner_ends));
  GraphNode& inner_copy = inner->node_from_context(dma.context);
  GraphNode& inner_step = inner->node_from_user(&GraphEnds::step);
  inner->add_dependency(inner_copy, inner_step);
  inner->start();
  const auto graph = Graph::create(dma.engine);
  graph->set_conf(&GraphEnds::end, &GraphEnds::end, 2);
  graph->set_user_data(word_of(&ends));
  step("nodes");
  GraphNode& first = graph->node_from_user(&GraphEnds::step);
  GraphNode& middle = graph->node_from_context(dma.context);
  GraphNode& last = graph->node_from_graph(inner);
  graph->add_dependency(first, middle);
  graph->add_dependency(middle, last);
  step("start");
  graph->start();
  const auto task = copy_task(dma, src.get(), dst.get());
  const auto inner_task = copy_task(dma, src.get(), inner_dst.get());
  step("instance");
  GraphInstance& inner_instance = inner->create_instance();
  inner_instance.set_task(inner_copy, *inner_task);
  inner_instance.set_cookie(inner_step, word_of(&inner_ends));
  GraphInstance& instance = graph->create_instance();
  instance.set_cookie(first, word_of(&ends));
  instance.set_task(middle, *task);
  instance.set_instance(last, inner_instance);
  for (int run = 1; run <= 2; ++run) {
    step("run");
    require(dst.get()->reset_data_len(), "an empty buf");
    require(inner_dst.get()->reset_data_len(), "an empty buf");
    require(instance.submit(), "submit of an instance");
    await("the end of an instance", {dma.engine.get()}, [&] { return ends.ended == run; });
    require(ends.status, "an instance");
  }
  check(ends.steps == 2 && inner_ends.steps == 2, "steps");
  step("stop");
  require(instance.destroy(), "destroy");
  require(inner_instance.destroy(), "destroy");
  graph->stop();
  inner->stop();
}

void workq_scenario() {
  const auto device = opened("p0");
  const Mapped mapped(device, large);
  const auto inventory = started_inventory(8);
  const Held src(inventory, mapped.mmap, mapped.addr(), small, true);
  const Held dst(inventory, mapped.mmap, mapped.addr(small), small, false);
  const auto dma = Dma::create(device);
  const auto sha = Sha::create(device);
  step("create");
  const auto queue = workq::WorkQueue::create(4);
  step("add");
  queue->add(dma);
  queue->add(sha);
  const auto retrieve = [&] {
    workq::Event event;
    Status status = Status::again;
    while ((status = queue->progress_retrieve(event)) == Status::again) {
    }
    require(status, "an event");
    require(event.result, "a job");
  };
  step("job");
  require(queue->submit(workq::DmaMemcpyJob{.ctx = dma.get(), .dst_buff = dst.get(), .src_buff = src.get()}), "submit");
  retrieve();
  step("job of SHA");
  require(dst.get()->reset_data_len(), "an empty buf");
  require(queue->submit(workq::ShaJob{.ctx = sha.get(), .resp_buf = dst.get(), .req_buf = src.get()}), "submit");
  retrieve();
  step("remove");
  queue->remove(*sha);
  queue->remove(*dma);
}

/// A sink until the end of the scope.
class Open {
 public:
  explicit Open(std::shared_ptr<log::Sink> sink) noexcept : sink_(std::move(sink)) {}
  ~Open() { sink_->close(); }
  Open(const Open&) = delete;
  Open& operator=(const Open&) = delete;

 private:
  std::shared_ptr<log::Sink> sink_;
};

void log_scenario() {
  step("sinks");
  const auto ring = std::make_shared<log::Ring>(16);
  const Open ringed(log::Sink::ring(log::Family::application, ring));
  const detail::Fd null(::open("/dev/null", O_WRONLY | O_CLOEXEC));
  const Open file(log::Sink::file(log::Family::application, "/dev/null"));
  const Open fd(log::Sink::fd(log::Family::application, null.get()));
  int calls = 0;
  const Open callback(log::Sink::callback(log::Family::application, [&](const log::Record&) { ++calls; }));
  step("source");
  const log::Source source("APP::COPY");
  step("message");
  source.log(log::Level::error, "a message that is too long for the small strings of the standard library");
  check(!log::sources().empty(), "sources");
  step("close");
}

constexpr std::array link_ends{Status::connection_reset, Status::full, Status::shutdown};
constexpr std::array rdma_ends{Status::connection_reset, Status::connection_aborted, Status::not_connected};
constexpr std::array<Scenario, 12> all{{
    {"Devices", &devices_scenario, {}},
    {"Memory", &memory_scenario, {}},
    {"Dma", &dma_scenario, {}},
    {"Sha", &sha_scenario, {}, "bluefield2"},
    {"MmapAdvise", &advise_scenario, {}},
    {"Graph", &graph_scenario, {}},
    {"WorkQueue", &workq_scenario, {}, "bluefield2"},
    {"Log", &log_scenario, {}},
    {"SyncEvent", &sync_event_scenario, {}},
    {"Comch", &comch_scenario, link_ends},
    {"Rdma", &rdma_scenario, rdma_ends},
    {"RdmaByAddress", &rdma_by_address_scenario, rdma_ends},
}};

}  // namespace

std::span<const Scenario> scenarios() { return all; }

}  // namespace pydoca::failure
