#pragma once

#include "pydoca/types.hpp"

namespace pydoca::capi {

/// The side of the PCIe link whose devices C programs see: that of doca_build_config.h. It stands in the library as
/// text, so that a copy of the library can be made that is for the other side.
Side side() noexcept;

/// Throws not_permitted when the environment's PYDOCA_SIDE names the other side.
void require_side();

}  // namespace pydoca::capi
