#include "pydoca/dma.hpp"
#include "pydoca/mmap_advise.hpp"
#include "pydoca/sha.hpp"
#include "pydoca/sync_event_context.hpp"

#include "c_task.hpp"

namespace pydoca::capi {

namespace {

constexpr COperand dma_memcpy_operands[] = {{.operand = "src", .constness = Const::both}, {.operand = "dst"}};
constexpr CTask dma_tasks[] = {
    {.traits = &dma_memcpy, .engine_task = "DmaMemcpyTask", .operands = dma_memcpy_operands}};

constexpr COperand sha_task_operands[] = {
    {.operand = "algorithm", .type = "enum doca_sha_algorithm", .engine_type = "ShaAlgorithm"},
    {.operand = "src", .parameter = "src_buf", .constness = Const::both},
    {.operand = "dst", .parameter = "dst_buf", .constness = Const::getter}};
constexpr CTask sha_tasks[] = {
    {.traits = &sha_hash, .engine_task = "ShaHashTask", .operands = sha_task_operands},
    {.traits = &sha_partial_hash, .engine_task = "ShaPartialHashTask", .operands = sha_task_operands}};

constexpr COperand invalidate_cache_operands[] = {{.operand = "buf"}};
constexpr CTask mmap_advise_tasks[] = {{.traits = &mmap_advise_invalidate_cache,
                                        .engine_task = "MmapAdviseInvalidateCacheTask",
                                        .operands = invalidate_cache_operands}};

constexpr COperand get_operands[] = {{.operand = "fetched", .name = "ret_val_ptr"}};
constexpr COperand notify_set_operands[] = {{.operand = "set_val"}};
constexpr COperand notify_add_operands[] = {{.operand = "inc_val"}, {.operand = "fetched", .name = "fetched_val_ptr"}};
constexpr COperand wait_operands[] = {{.operand = "wait_val"}, {.operand = "mask"}};

constexpr CTask event_task(SyncEventOperation operation, std::span<const COperand> operands) {
  return {.traits = &traits_of(operation), .engine_task = "SyncEventTask", .operands = operands};
}
constexpr CTask sync_event_c_tasks[] = {event_task(SyncEventOperation::get, get_operands),
                                        event_task(SyncEventOperation::notify_set, notify_set_operands),
                                        event_task(SyncEventOperation::notify_add, notify_add_operands),
                                        event_task(SyncEventOperation::wait_gt, wait_operands),
                                        event_task(SyncEventOperation::wait_eq, wait_operands),
                                        event_task(SyncEventOperation::wait_neq, wait_operands)};

constexpr CLibrary libraries[] = {{.name = "dma", .stability = "DOCA_STABLE", .tasks = dma_tasks},
                                  {.name = "sha",
                                   .stability = "DOCA_EXPERIMENTAL",
                                   .setters_answer = true,
                                   .counts_by_logarithm = true,
                                   .tasks = sha_tasks},
                                  {.name = "mmap_advise",
                                   .stability = "DOCA_EXPERIMENTAL",
                                   .cast = "as_doca_task",
                                   .refuses_conf = "NOT_PERMITTED",
                                   .tasks = mmap_advise_tasks},
                                  {.name = "sync_event",
                                   .parameter = "event",
                                   .stability = "DOCA_EXPERIMENTAL",
                                   .cast = "as_doca_task",
                                   .refuses_conf = "NOT_PERMITTED",
                                   .operation_enum = "SyncEventOperation",
                                   .context = "SyncEventContext",
                                   .tasks = sync_event_c_tasks}};

}  // namespace

const CLibrary* find_library(std::string_view name) noexcept {
  for (const CLibrary& library : libraries) {
    if (name == library.name) {
      return &library;
    }
  }
  return nullptr;
}

}  // namespace pydoca::capi
