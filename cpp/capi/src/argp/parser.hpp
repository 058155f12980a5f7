#pragma once

#include "pydoca/log.hpp"

#include "argp/command_line.hpp"
#include "argp/flag.hpp"

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pydoca::capi::argp {

/// The parser of the process, from doca_argp_init() to doca_argp_destroy(). A call that calls the program back holds
/// it, as the program may destroy it there.
class Parser {
 public:
  Parser(const char* name, void* config);
  ~Parser();
  Parser(const Parser&) = delete;
  Parser& operator=(const Parser&) = delete;

  /// The one that is open; null when there is none.
  static std::shared_ptr<Parser>& current();

  doca_argp_param* create_param();
  doca_argp_cmd* create_cmd();
  /// Throws bad_state for one that was registered, or is of an earlier parser.
  void destroy(doca_argp_param& param);
  void destroy(doca_argp_cmd& cmd);

  Level& program() noexcept { return program_; }
  bool has_started() const noexcept { return has_started_; }
  int log_level() const noexcept;
  int sdk_log_level() const noexcept;
  std::string usage() const;

  void start(int argc, char** argv);

  /// One message: to the logger callback, the log, or stderr.
  void tell(log::Level level, const std::string& text) const;

  doca_argp_param_cb_t version_callback = nullptr;
  doca_argp_validation_cb_t validation_callback = nullptr;
  doca_argp_logger_cb_t logger_callback = nullptr;
  doca_argp_dpdk_cb_t dpdk_callback = nullptr;

 private:
  std::vector<std::string_view> take_words(int argc, char** argv);
  [[noreturn]] void answer(General asked) const;
  std::vector<Given> read_file(const std::vector<Given>& line) const;
  void set_levels(const std::vector<Given>& given);
  void call_back(const std::vector<Given>& given) const;
  void call_dpdk();
  void require_open() const;

  std::string name_;
  bool is_named_;
  void* config_;
  Level program_;
  Chain chain_;
  bool has_started_ = false;
  std::optional<int> log_level_;
  std::optional<int> sdk_log_level_;
  std::vector<std::string> dpdk_words_;
  std::vector<char*> dpdk_argv_;
  std::vector<doca_argp_param*> params_;
  std::vector<doca_argp_cmd*> cmds_;
};

}  // namespace pydoca::capi::argp
