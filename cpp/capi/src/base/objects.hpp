/// Bufs and tasks are the engine's own objects: C programs hold their addresses.
#pragma once

#include "pydoca/buf.hpp"
#include "pydoca/task.hpp"

struct doca_buf;
struct doca_task;

namespace pydoca::capi {

inline Buf* engine(doca_buf* buf) noexcept { return reinterpret_cast<Buf*>(buf); }
inline const Buf* engine(const doca_buf* buf) noexcept { return reinterpret_cast<const Buf*>(buf); }
inline doca_buf* as_c(Buf* buf) noexcept { return reinterpret_cast<doca_buf*>(buf); }
/// The program's variable, for the engine to fill on success: a copy would cost more than the call.
inline Buf*& filled(doca_buf** buf) noexcept { return *reinterpret_cast<Buf**>(buf); }

inline Task* engine(doca_task* task) noexcept { return reinterpret_cast<Task*>(task); }
inline const Task* engine(const doca_task* task) noexcept { return reinterpret_cast<const Task*>(task); }
inline doca_task* as_c(Task* task) noexcept { return reinterpret_cast<doca_task*>(task); }

}  // namespace pydoca::capi
