#include "argp/parser.hpp"
#include "base/call.hpp"

#include <doca_argp.h>

using namespace pydoca;
using capi::Call;
using capi::argp::Parser;

namespace {

/// Runs action(parser), for a parser that is open.
template <class Action>
doca_error_t with_parser(const Call& call, Action action) noexcept {
  return call.run([&] {
    const std::shared_ptr<Parser> parser = Parser::current();
    if (parser == nullptr) {
      throw Error(Status::bad_state, "doca_argp_init() was not called");
    }
    action(*parser);
  });
}

/// Changes an object that is not registered.
template <class Object, class Action>
void change(const Call& call, Object* object, Action action) noexcept {
  if (!call.has(object)) {
    return;
  }
  static_cast<void>(call.run([&] {
    if (object->is_registered) {
      throw Error(Status::bad_state, "it was registered, and keeps what was set before");
    }
    action();
  }));
}

template <class Object, class Field, class Value>
void set(const Call& call, Object* object, Field Object::* field, Value value) noexcept {
  change(call, object, [&] { object->*field = value; });
}

template <class Object>
void set_text(const Call& call, Object* object, std::string Object::* field, const char* text) noexcept {
  if (call.has(object, text)) {
    set(call, object, field, text);
  }
}

}  // namespace

doca_error_t doca_argp_param_create(doca_argp_param** param) {
  const Call call;
  if (!call.has(param)) {
    return DOCA_ERROR_INVALID_VALUE;
  }
  return with_parser(call, [&](Parser& parser) { *param = parser.create_param(); });
}

doca_error_t doca_argp_param_destroy(doca_argp_param* param) {
  const Call call;
  if (!call.has(param)) {
    return DOCA_ERROR_INVALID_VALUE;
  }
  return with_parser(call, [&](Parser& parser) { parser.destroy(*param); });
}

void doca_argp_param_set_short_name(doca_argp_param* param, const char* name) {
  set_text<doca_argp_param>(Call(), param, &doca_argp_param::short_name, name);
}

void doca_argp_param_set_long_name(doca_argp_param* param, const char* name) {
  set_text<doca_argp_param>(Call(), param, &doca_argp_param::long_name, name);
}

void doca_argp_param_set_arguments(doca_argp_param* param, const char* arguments) {
  set_text<doca_argp_param>(Call(), param, &doca_argp_param::arguments, arguments);
}

void doca_argp_param_set_description(doca_argp_param* param, const char* description) {
  set_text<doca_argp_param>(Call(), param, &doca_argp_param::description, description);
}

void doca_argp_param_set_callback(doca_argp_param* param, doca_argp_param_cb_t callback) {
  set<doca_argp_param, doca_argp_param_cb_t>(Call(), param, &doca_argp_param::callback, callback);
}

void doca_argp_param_set_type(doca_argp_param* param, doca_argp_type type) {
  set<doca_argp_param, doca_argp_type>(Call(), param, &doca_argp_param::type, type);
}

void doca_argp_param_set_mandatory(doca_argp_param* param) {
  set<doca_argp_param, bool>(Call(), param, &doca_argp_param::is_mandatory, true);
}

void doca_argp_param_set_cli_only(doca_argp_param* param) {
  set<doca_argp_param, bool>(Call(), param, &doca_argp_param::is_cli_only, true);
}

void doca_argp_param_set_multiplicity(doca_argp_param* param) {
  set<doca_argp_param, bool>(Call(), param, &doca_argp_param::is_multiple, true);
}

void doca_argp_param_set_singular(doca_argp_param* param) {
  set<doca_argp_param, bool>(Call(), param, &doca_argp_param::is_singular, true);
}

void doca_argp_param_set_inherited(doca_argp_param* param) {
  set<doca_argp_param, bool>(Call(), param, &doca_argp_param::is_inherited, true);
}

void doca_argp_param_set_hidden(doca_argp_param* param) {
  set<doca_argp_param, bool>(Call(), param, &doca_argp_param::is_hidden, true);
}

doca_error_t doca_argp_cmd_create(doca_argp_cmd** cmd) {
  const Call call;
  if (!call.has(cmd)) {
    return DOCA_ERROR_INVALID_VALUE;
  }
  return with_parser(call, [&](Parser& parser) { *cmd = parser.create_cmd(); });
}

doca_error_t doca_argp_cmd_destroy(doca_argp_cmd* cmd) {
  const Call call;
  if (!call.has(cmd)) {
    return DOCA_ERROR_INVALID_VALUE;
  }
  return with_parser(call, [&](Parser& parser) { parser.destroy(*cmd); });
}

void doca_argp_cmd_set_name(doca_argp_cmd* cmd, const char* name) {
  set_text<doca_argp_cmd>(Call(), cmd, &doca_argp_cmd::name, name);
}

void doca_argp_cmd_set_description(doca_argp_cmd* cmd, const char* description) {
  set_text<doca_argp_cmd>(Call(), cmd, &doca_argp_cmd::description, description);
}

void doca_argp_cmd_set_callback(doca_argp_cmd* cmd, doca_argp_cmd_cb_t callback) {
  set<doca_argp_cmd, doca_argp_cmd_cb_t>(Call(), cmd, &doca_argp_cmd::callback, callback);
}

void doca_argp_cmd_set_hidden(doca_argp_cmd* cmd) {
  set<doca_argp_cmd, bool>(Call(), cmd, &doca_argp_cmd::is_hidden, true);
}
