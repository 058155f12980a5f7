#include "pydoca/dma.hpp"
#include "pydoca/mmap_advise.hpp"
#include "pydoca/rdma_tasks.hpp"
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

constexpr COperand rdma_src{.operand = "src", .name = "src_buf", .constness = Const::both, .engine = "src_buf"};
constexpr COperand rdma_dst{.operand = "dst", .name = "dst_buf", .engine = "dst_buf"};
constexpr COperand rdma_result{.operand = "result", .name = "result_buf", .engine = "result_buf"};
constexpr COperand rdma_event{.operand = "event",
                              .name = "sync_event",
                              .parameter = "event",
                              .constness = Const::parameter,
                              .engine = "sync_event"};
constexpr COperand rdma_immediate{.operand = "immediate_data", .type = "doca_be32_t"};
constexpr COperand rdma_compare{.operand = "cmp_data"};
constexpr COperand rdma_swap{.operand = "swap_data"};
constexpr COperand rdma_add{.operand = "add_data"};

constexpr COperand rdma_receive_operands[] = {rdma_dst};
constexpr COperand rdma_send_operands[] = {rdma_src};
constexpr COperand rdma_send_imm_operands[] = {rdma_src, rdma_immediate};
constexpr COperand rdma_copy_operands[] = {rdma_src, rdma_dst};
constexpr COperand rdma_write_imm_operands[] = {rdma_src, rdma_dst, rdma_immediate};
constexpr COperand rdma_cmp_swp_operands[] = {rdma_dst, rdma_result, rdma_compare, rdma_swap};
constexpr COperand rdma_fetch_add_operands[] = {rdma_dst, rdma_result, rdma_add};
constexpr COperand rdma_event_get_operands[] = {rdma_event, rdma_dst};
constexpr COperand rdma_event_set_operands[] = {rdma_event, rdma_src};
constexpr COperand rdma_event_add_operands[] = {rdma_event, rdma_result, rdma_add};

constexpr CResult rdma_length{.name = "len", .type = "uint32_t", .engine = "result_len", .does = "Bytes."};
constexpr CResult rdma_lengths[] = {rdma_length};
constexpr CResult rdma_receive_results[] = {{.name = "opcode",
                                             .type = "enum doca_rdma_opcode",
                                             .engine = "result_opcode",
                                             .does = "How the peer sent the message."},
                                            rdma_length,
                                            {.name = "immediate_data",
                                             .type = "doca_be32_t",
                                             .engine = "result_immediate_data",
                                             .does = "As the peer gave it; of a message with one."},
                                            {.name = "rdma_connection",
                                             .type = "const struct doca_rdma_connection*",
                                             .engine = "connection",
                                             .does = "The one over which the message came."}};

constexpr CTask rdma_task(RdmaTaskKind kind, std::span<const COperand> operands,
                          std::span<const CResult> results = {}) {
  return {.traits = &traits_of(kind),
          .engine_task = "RdmaTask",
          .operands = operands,
          .results = results,
          .has_connection = kind != RdmaTaskKind::receive};
}
constexpr CTask rdma_c_tasks[] = {
    rdma_task(RdmaTaskKind::receive, rdma_receive_operands, rdma_receive_results),
    rdma_task(RdmaTaskKind::send, rdma_send_operands),
    rdma_task(RdmaTaskKind::send_imm, rdma_send_imm_operands),
    rdma_task(RdmaTaskKind::read, rdma_copy_operands, rdma_lengths),
    rdma_task(RdmaTaskKind::write, rdma_copy_operands),
    rdma_task(RdmaTaskKind::write_imm, rdma_write_imm_operands),
    rdma_task(RdmaTaskKind::atomic_cmp_swp, rdma_cmp_swp_operands),
    rdma_task(RdmaTaskKind::atomic_fetch_add, rdma_fetch_add_operands),
    rdma_task(RdmaTaskKind::remote_net_sync_event_get, rdma_event_get_operands, rdma_lengths),
    rdma_task(RdmaTaskKind::remote_net_sync_event_notify_set, rdma_event_set_operands),
    rdma_task(RdmaTaskKind::remote_net_sync_event_notify_add, rdma_event_add_operands)};

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
                                   .supporting = "SyncEventContext::is_supported",
                                   .takes_by_number = true,
                                   .tasks = sync_event_c_tasks},
                                  {.name = "rdma",
                                   .folder = "rdma",
                                   .stability = "DOCA_EXPERIMENTAL",
                                   .taking = "allocate_init",
                                   .operation_enum = "RdmaTaskKind",
                                   .supporting = "Rdma::is_task_supported",
                                   .tasks = rdma_c_tasks}};

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
