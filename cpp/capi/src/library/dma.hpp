#pragma once

#include "pydoca/dma.hpp"

#include "library/library.hpp"

#include <doca_dma.h>

struct doca_dma : pydoca::capi::Library<"DMA context", pydoca::Dma, doca_dma_task_memcpy> {};
