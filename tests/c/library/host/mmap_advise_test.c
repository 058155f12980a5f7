#include "rig/case.h"
#include "rig/device.h"

#include <doca_mmap_advise.h>

CASE(mmap_advise, a_host_is_not_supported) {
  struct doca_dev* dev = open_first_device();
  const struct doca_devinfo* info = doca_dev_as_devinfo(dev);
  struct doca_mmap_advise* advise = NULL;
  CHECK_STATUS(doca_mmap_advise_create(dev, &advise), DOCA_ERROR_NOT_SUPPORTED);
  CHECK_STATUS(doca_mmap_advise_cap_task_cache_invalidate_is_supported(info), DOCA_ERROR_NOT_SUPPORTED);
  uint64_t limit = 0;
  CHECK_STATUS(doca_mmap_advise_task_cache_invalidate_get_max_buf_size(info, &limit), DOCA_ERROR_NOT_SUPPORTED);
  CHECK_OK(doca_dev_close(dev));
}
