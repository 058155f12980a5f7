/// Types that all libraries share.
#ifndef DOCA_TYPES_H_
#define DOCA_TYPES_H_

#include <doca_build_config.h>
#include <doca_compat.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Data of the program that comes back unchanged: a pointer or a number.
union doca_data {
  void* ptr;
  uint64_t u64;
};

/// What an event loop waits on: a file descriptor.
typedef int doca_event_handle_t;
typedef doca_event_handle_t doca_notification_handle_t;
#define doca_event_invalid_handle (-1)

/// A piece of memory, and the pieces behind it.
struct doca_gather_list {
  void* addr;
  uint64_t len;  ///< bytes
  struct doca_gather_list* next;
};

/// What may be done to a memory map's range, and by whom: a bit mask. The local device may always read. PCI flags speak
/// of the other side of the PCIe link, RDMA flags of peers on the network.
enum doca_access_flag {
  DOCA_ACCESS_FLAG_LOCAL_READ_ONLY = 0,
  DOCA_ACCESS_FLAG_LOCAL_READ_WRITE = 1,
  DOCA_ACCESS_FLAG_RDMA_READ = 2,
  DOCA_ACCESS_FLAG_RDMA_WRITE = 4,
  DOCA_ACCESS_FLAG_RDMA_ATOMIC = 8,
  DOCA_ACCESS_FLAG_PCI_READ_ONLY = 16,
  DOCA_ACCESS_FLAG_PCI_READ_WRITE = 32,  ///< not together with PCI_READ_ONLY
  DOCA_ACCESS_FLAG_PCI_RELAXED_ORDERING = 64
};

enum doca_pci_func_type { DOCA_PCI_FUNC_TYPE_PF = 0, DOCA_PCI_FUNC_TYPE_VF = 1, DOCA_PCI_FUNC_TYPE_SF = 2 };

/// The payload of a packet.
enum doca_mtu_size {
  DOCA_MTU_SIZE_256_BYTES = 0,
  DOCA_MTU_SIZE_512_BYTES = 1,
  DOCA_MTU_SIZE_1K_BYTES = 2,
  DOCA_MTU_SIZE_2K_BYTES = 3,
  DOCA_MTU_SIZE_4K_BYTES = 4,
  DOCA_MTU_SIZE_RAW_ETHERNET = 5  ///< reserved
};

/// Where memory for a GPU lies.
enum doca_gpu_mem_type { DOCA_GPU_MEM_TYPE_GPU = 0, DOCA_GPU_MEM_TYPE_GPU_CPU = 1, DOCA_GPU_MEM_TYPE_CPU_GPU = 2 };

/// Integers in network byte order.
typedef uint16_t doca_be16_t;
typedef uint32_t doca_be32_t;
typedef uint64_t doca_be64_t;

/// Bytes of a GID.
#define DOCA_GID_BYTE_LENGTH 16

#ifdef __cplusplus
}
#endif

#endif  // DOCA_TYPES_H_
