#pragma once

#include "pydoca/mmap_advise.hpp"

#include "library/library.hpp"

#include <doca_mmap_advise.h>

struct doca_mmap_advise
    : pydoca::capi::Library<"mmap advise context", pydoca::MmapAdvise, doca_mmap_advise_task_invalidate_cache> {};
