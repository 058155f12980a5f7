#pragma once

#include "pydoca/context.hpp"

#include "base/handle.hpp"

#include <doca_ctx.h>
#include <memory>
#include <string_view>
#include <utility>

/// The beginning of the object of every library: doca_dma and others have the same address.
struct doca_ctx : pydoca::capi::Head {
  static constexpr std::string_view noun() noexcept { return "context"; }
  bool is_alive() const noexcept {
    constexpr pydoca::capi::Tag any_context = 0xFFFF'0000 | pydoca::capi::context_bit;
    const bool is_known = (tag() & any_context) == (pydoca::capi::magic | pydoca::capi::context_bit);
    return is_known && context != nullptr;  // a sync event may not be a context yet
  }

  std::shared_ptr<pydoca::Context> context;
  doca_ctx_state_changed_callback_t state_changed = nullptr;
};

namespace pydoca::capi {

/// The base of a library's object: struct doca_dma : ContextHandle<"DMA context">. Base: what several kinds share.
template <Noun name, class Base = doca_ctx>
struct ContextHandle : Base {
  static constexpr Tag living = tag_of(name, true);
  static constexpr std::string_view noun() noexcept { return name.text; }
  bool is_alive() const noexcept { return this->tag() == living; }
};

/// The object of a context, for callbacks.
inline doca_ctx* ctx_of(const Context& context) noexcept { return static_cast<doca_ctx*>(context.face()); }
template <class Object>
Object& object_of(const Context& context) noexcept {
  return *static_cast<Object*>(ctx_of(context));
}

/// A new object that holds the context. Throws std::bad_alloc.
template <class Object>
Object* make_context(std::shared_ptr<Context> context) {
  Object* const object = Slab<Object>::make();
  object->context = std::move(context);
  object->context->set_face(static_cast<doca_ctx*>(object));
  return object;
}

/// Closes the context, and ends the object. Throws in_use unless it is idle.
template <class Object>
void end_context(Object& object) {
  object.context->close();
  object.context->set_state_changed(nullptr);
  object.context->set_face(nullptr);
  Slab<Object>::end(object);
}

}  // namespace pydoca::capi
