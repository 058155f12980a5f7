/// What the objects of all libraries have in common: a context of the engine, and the callbacks of their tasks.
#pragma once

#include "pydoca/context.hpp"
#include "pydoca/device.hpp"

#include "base/call.hpp"
#include "base/handle.hpp"
#include "common/ctx.hpp"
#include "common/dev.hpp"
#include "library/task_callbacks.hpp"

namespace pydoca::capi {

/// The base of a library's object. Engine is the engine's class of its contexts.
template <Noun noun, class Engine, class... CTask>
struct Library : ContextHandle<noun> {
  /// Whether tasks can be taken from it, when it runs.
  bool has_engine() const noexcept { return true; }
  Engine& engine() const noexcept { return static_cast<Engine&>(*this->context); }
  /// What setters of a conf configure.
  Engine& configured() const noexcept { return engine(); }

  CallbacksOf<CTask...> callbacks;
};

/// Answers a library's create function: make(device) gives the engine's context.
template <class Object, class Make>
doca_error_t create(const Call& call, const doca_dev* dev, Object** object, Make make) noexcept {
  if (!call.has(dev, object)) {
    return DOCA_ERROR_INVALID_VALUE;
  }
  return call.run([&] { *object = make_context<Object>(make(dev->device)); });
}

template <class Object>
doca_error_t destroy(const Call& call, Object* object) noexcept {
  if (!call.has(object)) {
    return DOCA_ERROR_INVALID_VALUE;
  }
  return call.run([&] { end_context(*object); });
}

template <class Object>
doca_ctx* as_ctx(const Call& call, Object* object) noexcept {
  return call.has(object) ? object : nullptr;
}

/// A limit of the library on an object's device: read(device's info) gives it.
template <class Object, class Limit, class Read>
doca_error_t answer_own_limit(const Call& call, const Object* object, Limit* limit, Read read) noexcept {
  if (!call.has(object, limit)) {
    return DOCA_ERROR_INVALID_VALUE;
  }
  return call.run([&] { *limit = read(object->context->device()->info()); });
}

}  // namespace pydoca::capi
