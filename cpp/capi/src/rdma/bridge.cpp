#include "pydoca/rdma_bridge.hpp"

#include "base/call.hpp"
#include "base/objects.hpp"
#include "common/dev.hpp"
#include "common/mmap.hpp"

#include <doca_rdma_bridge.h>

using namespace pydoca;
using capi::Call;

doca_error_t doca_rdma_bridge_get_dev_pd(const doca_dev* dev, ibv_pd** pd) {
  const Call call;
  if (!call.has(dev, pd)) {
    return DOCA_ERROR_INVALID_VALUE;
  }
  return call.run([&] { *pd = static_cast<ibv_pd*>(rdma_bridge::get_dev_pd(*dev->device)); });
}

doca_error_t doca_rdma_bridge_open_dev_from_pd(ibv_pd* pd, doca_dev** dev) {
  const Call call;
  if (!call.has(static_cast<const void*>(pd), dev)) {
    return DOCA_ERROR_INVALID_VALUE;
  }
  return call.run([&] { *dev = capi::open_dev([&] { return rdma_bridge::open_dev_from_pd(pd); }); });
}

doca_error_t doca_rdma_bridge_get_buf_mkey(const doca_buf* buf, doca_dev* dev, std::uint32_t* mkey) {
  const Call call;
  if (!call.has(capi::engine(buf), dev, mkey)) {
    return DOCA_ERROR_INVALID_VALUE;
  }
  return call.run([&] { *mkey = rdma_bridge::get_buf_mkey(*capi::engine(buf), *dev->device); });
}

doca_error_t doca_rdma_bridge_get_mmap_mkey_from_pd(const doca_mmap* mmap, ibv_pd* pd, std::uint32_t* mkey) {
  const Call call;
  if (!call.has(mmap, static_cast<const void*>(pd), mkey)) {
    return DOCA_ERROR_INVALID_VALUE;
  }
  return call.run([&] { *mkey = rdma_bridge::get_mmap_mkey_from_pd(*mmap->map, pd); });
}
