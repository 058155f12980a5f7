#pragma once

#include "pydoca/progress_engine.hpp"

#include "base/handle.hpp"

#include <doca_pe.h>
#include <memory>

struct doca_pe : pydoca::capi::Handle<"progress engine"> {
  std::shared_ptr<pydoca::ProgressEngine> engine;
};
