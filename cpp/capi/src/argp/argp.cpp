#include "argp/answer.hpp"
#include "argp/parser.hpp"
#include "base/call.hpp"

#include <algorithm>
#include <cstdio>
#include <doca_argp.h>
#include <functional>

using namespace pydoca;
using capi::Call;
using capi::argp::Level;
using capi::argp::Parser;

namespace {

/// Runs the action; a failure is one message of the parser.
template <class Action>
doca_error_t run(const Call& call, Parser& parser, Action action) noexcept {
  const auto failed = [&](doca_error_t code, const char* what) {
    const doca_error_t told = call.run([&] { parser.tell(log::Level::error, what); });
    return told == DOCA_SUCCESS ? code : told;
  };
  try {
    action();
    return DOCA_SUCCESS;
  } catch (const capi::argp::Answer& answer) {
    return failed(answer.code(), answer.what());
  } catch (const Error& error) {
    return failed(capi::as_c(error.status()), error.what());
  } catch (const std::bad_alloc& error) {
    return failed(DOCA_ERROR_NO_MEMORY, error.what());
  } catch (const std::exception& error) {
    return failed(DOCA_ERROR_UNKNOWN, error.what());
  }
}

/// The parser, held; null without doca_argp_init(), which is logged.
std::shared_ptr<Parser> opened(const Call& call) noexcept {
  std::shared_ptr<Parser> parser = Parser::current();
  if (parser == nullptr) {
    static_cast<void>(call.refuse(Status::bad_state, "doca_argp_init() was not called"));
  }
  return parser;
}

/// Runs action(parser) before doca_argp_start().
template <class Action>
doca_error_t before_start(const Call& call, Action action) noexcept {
  const std::shared_ptr<Parser> parser = opened(call);
  if (parser == nullptr) {
    return DOCA_ERROR_BAD_STATE;
  }
  return run(call, *parser, [&] {
    if (parser->has_started()) {
      throw Error(Status::bad_state, "doca_argp_start() was called before, and parses once");
    }
    action(*parser);
  });
}

/// Sets a callback of the parser that is not NULL.
template <class Callback>
doca_error_t set_callback(const Call& call, Callback Parser::* place, Callback callback) noexcept {
  if (callback == nullptr) {
    return call.invalid("the callback is NULL");
  }
  return before_start(call, [&](Parser& parser) { parser.*place = callback; });
}

template <class Object>
void mark_registered(Object& object) {
  if (object.is_registered) {
    throw Error(Status::invalid_value, "it was registered before");
  }
  object.is_registered = true;
}

void register_param(Level& level, doca_argp_param& param) {
  mark_registered(param);
  param.is_cli_only |= param.long_name.empty();
  add_flag(level, param);
}

bool contains(const Level& level, const Level& other) {
  return &level == &other || std::any_of(level.commands.begin(), level.commands.end(),
                                         [&](const Level* command) { return contains(*command, other); });
}

void register_cmd(Level& level, doca_argp_cmd& cmd) {
  if (contains(cmd, level)) {
    throw Error(Status::invalid_value, "the command " + cmd.name + " cannot be below itself");
  }
  mark_registered(cmd);
  add_command(level, cmd);
}

doca_error_t get_level(const Call& call, int* level, int (Parser::*get)() const noexcept) noexcept {
  if (!call.has(level)) {
    return DOCA_ERROR_INVALID_VALUE;
  }
  const std::shared_ptr<Parser> parser = opened(call);
  if (parser == nullptr) {
    return DOCA_ERROR_BAD_STATE;
  }
  *level = ((*parser).*get)();
  return DOCA_SUCCESS;
}

}  // namespace

doca_error_t doca_argp_init(const char* program_name, void* program_config) {
  const Call call;
  if (Parser::current() != nullptr) {
    return call.refuse(Status::bad_state, "it was called before; call doca_argp_destroy() first");
  }
  if (program_name != nullptr && *program_name == '\0') {
    return call.invalid("the name of the program is empty");
  }
  return call.run([&] { Parser::current() = std::make_shared<Parser>(program_name, program_config); });
}

doca_error_t doca_argp_destroy() {
  const std::shared_ptr<Parser> parser = opened(Call());
  if (parser == nullptr) {
    return DOCA_ERROR_BAD_STATE;
  }
  Parser::current().reset();
  return DOCA_SUCCESS;
}

doca_error_t doca_argp_start(int argc, char** argv) {
  const Call call;
  if (!call.has(argv)) {
    return DOCA_ERROR_INVALID_VALUE;
  }
  if (argc < 1 || std::find(argv, argv + argc, nullptr) != argv + argc) {
    return call.invalid("argv has not argc words, of which the first is the program's name");
  }
  return before_start(call, [&](Parser& parser) { parser.start(argc, argv); });
}

void doca_argp_usage() {
  const Call call;
  if (const std::shared_ptr<Parser> parser = opened(call)) {
    static_cast<void>(run(call, *parser, [&] { static_cast<void>(std::fputs(parser->usage().c_str(), stdout)); }));
  }
}

doca_error_t doca_argp_get_log_level(int* log_level) { return get_level(Call(), log_level, &Parser::log_level); }

doca_error_t doca_argp_get_sdk_log_level(int* sdk_log_level) {
  return get_level(Call(), sdk_log_level, &Parser::sdk_log_level);
}

doca_error_t doca_argp_register_param(doca_argp_param* input_param) {
  const Call call;
  if (!call.has(input_param)) {
    return DOCA_ERROR_INVALID_VALUE;
  }
  return before_start(call, [&](Parser& parser) { register_param(parser.program(), *input_param); });
}

doca_error_t doca_argp_register_cmd(doca_argp_cmd* cmd) {
  const Call call;
  if (!call.has(cmd)) {
    return DOCA_ERROR_INVALID_VALUE;
  }
  return before_start(call, [&](Parser& parser) { register_cmd(parser.program(), *cmd); });
}

doca_error_t doca_argp_cmd_register_cmd(doca_argp_cmd* cmd, doca_argp_cmd* inner_cmd) {
  const Call call;
  if (!call.has(cmd, inner_cmd)) {
    return DOCA_ERROR_INVALID_VALUE;
  }
  return before_start(call, [&](Parser&) { register_cmd(*cmd, *inner_cmd); });
}

doca_error_t doca_argp_cmd_register_param(doca_argp_cmd* cmd, doca_argp_param* input_param) {
  const Call call;
  if (!call.has(cmd, input_param)) {
    return DOCA_ERROR_INVALID_VALUE;
  }
  return before_start(call, [&](Parser&) { register_param(*cmd, *input_param); });
}

doca_error_t doca_argp_register_version_callback(doca_argp_param_cb_t callback) {
  return set_callback(Call(), &Parser::version_callback, callback);
}

doca_error_t doca_argp_register_validation_callback(doca_argp_validation_cb_t callback) {
  return set_callback(Call(), &Parser::validation_callback, callback);
}

doca_error_t doca_argp_register_logger_callback(doca_argp_logger_cb_t callback) {
  const Call call;
  const std::shared_ptr<Parser>& parser = Parser::current();
  if (parser != nullptr && parser->logger_callback != nullptr) {
    return call.refuse(Status::already_exist, "there is one; call doca_argp_disable_logger_callback() first");
  }
  return set_callback(call, &Parser::logger_callback, callback);
}

doca_error_t doca_argp_disable_logger_callback() {
  const Call call;
  const std::shared_ptr<Parser> parser = opened(call);
  if (parser == nullptr) {
    return DOCA_ERROR_BAD_STATE;
  }
  if (parser->logger_callback == nullptr) {
    return call.refuse(Status::bad_state, "there is none");
  }
  parser->logger_callback = nullptr;
  return DOCA_SUCCESS;
}

void doca_argp_set_dpdk_program(doca_argp_dpdk_cb_t callback) {
  static_cast<void>(set_callback(Call(), &Parser::dpdk_callback, callback));
}
