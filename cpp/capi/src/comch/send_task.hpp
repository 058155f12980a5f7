#pragma once

#include "pydoca/comch.hpp"

#include "comch/comch.hpp"
#include "library/task_functions.hpp"

template <>
struct pydoca::capi::EngineOf<doca_comch_task_send> {
  using Task = comch::SendTask;
  using Library = ComchEndpoint;
};
