#include "library/mmap_advise.hpp"

#include "library/capabilities.hpp"

using namespace pydoca;
using capi::Call;

doca_error_t doca_mmap_advise_create(doca_dev* dev, doca_mmap_advise** mmap_advise) {
  return capi::create(Call(), dev, mmap_advise, MmapAdvise::create);
}

doca_error_t doca_mmap_advise_destroy(doca_mmap_advise* mmap_advise) { return capi::destroy(Call(), mmap_advise); }

doca_ctx* doca_mmap_advise_as_ctx(doca_mmap_advise* mmap_advise) { return capi::as_ctx(Call(), mmap_advise); }

doca_error_t doca_mmap_advise_cap_task_cache_invalidate_is_supported(const doca_devinfo* devinfo) {
  return capi::answer_support(Call(), devinfo, MmapAdvise::is_supported);
}

doca_error_t doca_mmap_advise_task_cache_invalidate_get_max_buf_size(const doca_devinfo* devinfo,
                                                                     std::uint64_t* buf_size) {
  return capi::answer_limit(Call(), devinfo, buf_size, MmapAdvise::max_buf_size);
}
