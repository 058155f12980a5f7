/// The functions that a server and a client both have. Object is the struct of either.
#pragma once

#include "pydoca/comch.hpp"

#include "base/call.hpp"
#include "comch/comch.hpp"
#include "comch/send_task.hpp"

#include <cstddef>
#include <cstdint>
#include <doca_comch.h>
#include <source_location>
#include <span>

namespace pydoca::capi {

template <class Object>
doca_error_t set(const Call& call, Object* object, std::uint32_t value,
                 void (comch::Endpoint::*setter)(std::uint32_t)) noexcept {
  if (!call.has(object)) {
    return DOCA_ERROR_INVALID_VALUE;
  }
  return call.run([&] { (object->endpoint().*setter)(value); });
}

template <class Object>
doca_error_t get(const Call& call, const Object* object, std::uint32_t* value,
                 std::uint32_t (comch::Endpoint::*getter)() const noexcept) noexcept {
  if (!call.has(object, value)) {
    return DOCA_ERROR_INVALID_VALUE;
  }
  *value = (object->endpoint().*getter)();
  return DOCA_SUCCESS;
}

/// A pointer that the object was created with.
template <class Object, class Owner, class Kept>
doca_error_t get(const Call& call, const Object* object, Kept** kept, Kept* Owner::* member) noexcept {
  if (!call.has(object, kept)) {
    return DOCA_ERROR_INVALID_VALUE;
  }
  *kept = object->*member;
  return DOCA_SUCCESS;
}

template <class Object>
doca_error_t register_messages(const Call& call, Object* object, doca_comch_event_msg_recv_cb_t callback) noexcept {
  if (!call.has(object)) {
    return DOCA_ERROR_INVALID_VALUE;
  }
  if (callback == nullptr) {
    return call.invalid("the callback is NULL");
  }
  return call.run([&] { receive(*object, callback); });
}

/// No peer has consumers, so the callbacks are not kept.
template <class Object>
doca_error_t register_consumers(const Call& call, Object* object, doca_comch_event_consumer_cb_t on_new,
                                doca_comch_event_consumer_cb_t on_expired) noexcept {
  if (!call.has(object)) {
    return DOCA_ERROR_INVALID_VALUE;
  }
  if (on_new == nullptr || on_expired == nullptr) {
    return call.invalid("both callbacks must be given; they may be the same function");
  }
  return call.run([&] { object->context->require_idle("register consumer events of"); });
}

template <class Object>
doca_error_t configure_send(const Call& call, Object* object, doca_comch_task_send_completion_cb_t on_success,
                            doca_comch_task_send_completion_cb_t on_error, std::uint32_t num_tasks) noexcept {
  return set_task_conf(call, object, TaskCallbacks<doca_comch_task_send>{on_success, on_error}, num_tasks,
                       [](comch::Endpoint& engine, auto success, auto error, std::uint32_t number) {
                         engine.set_send_conf(success, error, number);
                       });
}

template <class Object>
doca_error_t take_send(Object* object, doca_comch_connection* connection, const void* msg, std::uint32_t len,
                       doca_comch_task_send** task,
                       std::source_location where = std::source_location::current()) noexcept {
  if (msg == nullptr || !can_take(object, connection, task)) [[unlikely]] {
    return refuse_to_take(where, object, connection, msg, task);
  }
  comch::Connection& link = *connection->connection;
  const std::span message(static_cast<const std::byte*>(msg), len);
  return as_c(engine_of(*object, link).send(link, message, 0, taken(task)));
}

}  // namespace pydoca::capi
