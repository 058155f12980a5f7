#include "argp/program.h"
#include "rig/case.h"

#include <doca_dev.h>
#include <doca_log.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHECK_BAD_STATE(call) CHECK_STATUS(call, DOCA_ERROR_BAD_STATE)

static char output[8192];

/// Starts with the line in a child, keeps its standard output and error in output; the code of its end.
static int run_child(void (*prepare)(void), const char* line) {
  int ends[2];
  CHECK(pipe(ends) == 0);
  const pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], STDOUT_FILENO);
    dup2(ends[1], STDERR_FILENO);
    close(ends[0]);
    close(ends[1]);
    prepare();
    exit(argp_start(line) == DOCA_SUCCESS ? 50 : 51);
  }
  close(ends[1]);
  size_t length = 0;
  for (ssize_t got; (got = read(ends[0], output + length, sizeof output - 1 - length)) > 0;) length += (size_t)got;
  output[length] = '\0';
  close(ends[0]);
  int status = 0;
  CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status));
  return WEXITSTATUS(status);
}

static void open_common(void) {
  argp_open_silent();
  argp_add_common();
  argp_add("", "secret", DOCA_ARGP_TYPE_INT, argp_take_size, HIDDEN | MANDATORY);
  argp_add("m", "", DOCA_ARGP_TYPE_INT, argp_take_size, MULTIPLE | MANDATORY);
}

static bool output_has(const char* text) { return strstr(output, text) != NULL; }

CASE(argp_parser, help_ends_the_process) {
  CHECK(run_child(open_common, "-h") == 0);
  CHECK(output_has("Usage: tool [DOCA flags] [program flags]"));
  CHECK(output_has("-h, --help") && output_has("-v, --version") && output_has("-l, --log-level <level>"));
  CHECK(output_has("--sdk-log-level <level>") && output_has("-j, --json <path>"));
  CHECK(output_has("-d, --device <value>") && output_has("What it is for") && output_has("-f, --fast "));
  CHECK(output_has("-m <value>") && output_has("(mandatory, may be repeated)") && !output_has("secret"));
  CHECK(run_child(open_common, "-s 7 --help") == 0);
  CHECK(run_child(open_common, "-h -s") == 0);
  CHECK(run_child(open_common, "-x -h") == 51);
}

static doca_error_t print_version(void* value, void* config) {
  CHECK(config != NULL && *(bool*)value);
  printf("the program's version\n");
  if (argp_answer != DOCA_SUCCESS) return argp_answer;
  CHECK_OK(doca_argp_destroy());
  exit(7);
}

static doca_error_t print_and_return(void* value, void* config) {
  CHECK(config != NULL && *(bool*)value);
  printf("returned\n");
  return argp_answer;
}

static void open_with_version(void) {
  open_common();
  CHECK_OK(doca_argp_register_version_callback(print_version));
}

static void open_with_returning_version(void) {
  open_common();
  CHECK_OK(doca_argp_register_version_callback(print_and_return));
}

static void open_with_failing_version(void) {
  open_with_returning_version();
  argp_answer = DOCA_ERROR_EMPTY;
}

CASE(argp_parser, version_ends_the_process) {
  CHECK(run_child(open_common, "-v") == 0);
  CHECK(output_has("tool: DOCA 3."));
  CHECK(run_child(open_with_version, "--version") == 7);
  CHECK(output_has("the program's version"));
  CHECK(run_child(open_with_returning_version, "-v") == 0);
  CHECK(output_has("returned"));
  CHECK(run_child(open_with_failing_version, "-v") == 51);
}

static void open_with_command(void) {
  argp_open_silent();
  argp_add("d", "device", DOCA_ARGP_TYPE_STRING, argp_take_device, INHERITED);
  argp_add("x", "", DOCA_ARGP_TYPE_STRING, argp_take_device, 0);
  struct doca_argp_cmd* cmd = NULL;
  CHECK_OK(doca_argp_cmd_create(&cmd));
  doca_argp_cmd_set_name(cmd, "copy");
  doca_argp_cmd_set_description(cmd, "Copies\nmemory");
  CHECK_OK(doca_argp_cmd_register_param(cmd, argp_flag("s", "size", DOCA_ARGP_TYPE_INT, argp_take_size, 0)));
  CHECK_OK(doca_argp_register_cmd(cmd));
  struct doca_argp_cmd* hidden = NULL;
  CHECK_OK(doca_argp_cmd_create(&hidden));
  doca_argp_cmd_set_name(hidden, "secret");
  doca_argp_cmd_set_description(hidden, "Nothing");
  doca_argp_cmd_set_hidden(hidden);
  CHECK_OK(doca_argp_register_cmd(hidden));
}

CASE(argp_parser, the_usage_text_is_that_of_the_command) {
  CHECK(run_child(open_with_command, "-h") == 0);
  CHECK(output_has("[program flags] <command>") && output_has("  copy  Copies\n        memory\n"));
  CHECK(output_has("-d, --device") && !output_has("secret") && !output_has("--size"));
  CHECK(run_child(open_with_command, "copy -h") == 0);
  CHECK(output_has("Usage: tool copy [DOCA flags] [command flags]") && output_has("-s, --size"));
  CHECK(output_has("Inherited flags") && output_has("--device") && !output_has("-x"));
}

CASE(argp_parser, a_failure_is_shown_without_a_backend) {
  CHECK(run_child(open_common, "--sizes 7") == 51);
  CHECK(strcmp(output, "tool: --sizes: there is no such flag; --help shows those that there are\n") == 0);
}

static void open_with_backend(void) {
  struct doca_log_backend* backend = NULL;
  CHECK_OK(doca_log_backend_create_with_file_sdk(stderr, &backend));
  open_common();
}

CASE(argp_parser, a_failure_is_one_line_of_the_log) {
  CHECK(run_child(open_with_backend, "--sizes 7") == 51);
  CHECK(output_has("--sizes: there is no such flag") && strchr(output, '\n') == strrchr(output, '\n'));
}

static void open_nameless(void) { CHECK_OK(doca_argp_init(NULL, NULL)); }

CASE(argp_parser, the_name_is_that_of_the_start_without_another) {
  CHECK(run_child(open_nameless, "-h") == 0);
  CHECK(output_has("Usage: tool [DOCA flags]\n"));
}

CASE(argp_parser, log_levels_are_set_before_callbacks) {
  int level = 0;
  argp_open();
  CHECK_OK(doca_argp_get_log_level(&level));
  CHECK(level == DOCA_LOG_LEVEL_INFO);
  CHECK_OK(argp_start("-l 60 --sdk-log-level 40"));
  CHECK_OK(doca_argp_get_log_level(&level));
  CHECK(level == 60 && doca_log_level_get_global_lower_limit() == 60);
  CHECK_OK(doca_argp_get_sdk_log_level(&level));
  CHECK(level == 40 && doca_log_level_get_global_sdk_limit() == 40);
  CHECK_INVALID(doca_argp_get_log_level(NULL));
  CHECK_INVALID(doca_argp_get_sdk_log_level(NULL));
  argp_close();
  CHECK_LINE("-l 55", DOCA_ERROR_INVALID_VALUE, "-l: ");
  CHECK_LINE("-l -1", DOCA_ERROR_INVALID_VALUE, "-l: ");
  CHECK_LINE("-l info", DOCA_ERROR_INVALID_VALUE, "-l: ");
  CHECK_LINE("--sdk-log-level 0", DOCA_ERROR_INVALID_VALUE, "--sdk-log-level: ");
}

CASE(argp_parser, calls_have_their_order) {
  char name[] = "tool";
  char* argv[] = {name, NULL};
  struct doca_argp_param* param = NULL;
  struct doca_argp_cmd* cmd = NULL;
  CHECK_BAD_STATE(doca_argp_destroy());
  CHECK_BAD_STATE(doca_argp_start(1, argv));
  CHECK_BAD_STATE(doca_argp_param_create(&param));
  CHECK_BAD_STATE(doca_argp_cmd_create(&cmd));
  CHECK_BAD_STATE(doca_argp_register_version_callback(print_version));
  doca_argp_usage();
  argp_open();
  CHECK_BAD_STATE(doca_argp_init("tool", NULL));
  CHECK_OK(doca_argp_param_create(&param));
  CHECK_OK(argp_start(""));
  CHECK_BAD_STATE(argp_start(""));
  CHECK_BAD_STATE(doca_argp_register_param(param));
  CHECK_BAD_STATE(doca_argp_register_version_callback(print_version));
  argp_close();
  CHECK_INVALID(doca_argp_register_param(param));
  argp_open();
  argp_close();
  CHECK_INVALID(doca_argp_init("", NULL));
}

CASE(argp_parser, wrong_arguments_are_refused) {
  char name[] = "tool";
  char* argv[] = {name, NULL};
  argp_open();
  CHECK_INVALID(doca_argp_start(1, NULL));
  CHECK_INVALID(doca_argp_start(0, argv));
  CHECK_INVALID(doca_argp_start(2, argv));
  CHECK_INVALID(doca_argp_param_create(NULL));
  CHECK_INVALID(doca_argp_cmd_create(NULL));
  CHECK_INVALID(doca_argp_register_param(NULL));
  CHECK_INVALID(doca_argp_register_cmd(NULL));
  CHECK_INVALID(doca_argp_register_version_callback(NULL));
  CHECK_INVALID(doca_argp_register_validation_callback(NULL));
  CHECK_STATUS(doca_argp_register_logger_callback(NULL), DOCA_ERROR_ALREADY_EXIST);
  CHECK_OK(doca_argp_disable_logger_callback());
  CHECK_BAD_STATE(doca_argp_disable_logger_callback());
  CHECK_INVALID(doca_argp_register_logger_callback(NULL));
  doca_argp_param_set_long_name(NULL, "name");
  doca_argp_cmd_set_hidden(NULL);
  CHECK_OK(doca_argp_start(1, argv));
  argp_close();
}

static doca_error_t register_without(int part) {
  struct doca_argp_param* param = NULL;
  CHECK_OK(doca_argp_param_create(&param));
  if (part != 0) doca_argp_param_set_long_name(param, "whole");
  if (part != 1) doca_argp_param_set_description(param, "What it is for");
  if (part != 2) doca_argp_param_set_callback(param, argp_take_size);
  if (part != 3) doca_argp_param_set_type(param, DOCA_ARGP_TYPE_INT);
  const doca_error_t result = doca_argp_register_param(param);
  CHECK_BAD_STATE(doca_argp_param_destroy(param));
  CHECK_INVALID(doca_argp_register_param(param));
  doca_argp_param_set_long_name(param, "after-registration");
  return result;
}

CASE(argp_parser, a_flag_needs_its_parts) {
  argp_open();
  for (int part = 0; part < 4; ++part) CHECK_STATUS(register_without(part), DOCA_ERROR_INITIALIZATION);
  CHECK_OK(register_without(4));
  CHECK_OK(argp_start("--whole 7"));
  CHECK_CALLS("size=7 ");
  argp_close();
}

static doca_error_t register_named(const char* short_name, const char* long_name) {
  return doca_argp_register_param(argp_flag(short_name, long_name, DOCA_ARGP_TYPE_INT, argp_take_size, 0));
}

CASE(argp_parser, names_are_words_of_one_flag) {
  argp_open();
  CHECK_OK(register_named("s", "size"));
  CHECK_INVALID(register_named("s", "other"));
  CHECK_INVALID(register_named("o", "size"));
  CHECK_INVALID(register_named("h", ""));
  CHECK_INVALID(register_named("", "log-level"));
  CHECK_INVALID(register_named("-x", ""));
  CHECK_INVALID(register_named("", "--xx"));
  CHECK_INVALID(register_named("", "a b"));
  CHECK_INVALID(register_named("", "a=b"));
  CHECK_OK(register_named("size", "s"));
  CHECK_INVALID(doca_argp_register_param(argp_flag("t", "", (enum doca_argp_type)7, argp_take_size, 0)));
  argp_close();
}

CASE(argp_parser, a_flag_that_was_not_registered_is_the_programs) {
  argp_open();
  struct doca_argp_param* param = argp_flag("s", "size", DOCA_ARGP_TYPE_INT, argp_take_size, 0);
  CHECK_OK(doca_argp_param_destroy(param));
  CHECK_INVALID(doca_argp_param_destroy(param));
  CHECK_INVALID(doca_argp_param_destroy(NULL));
  argp_close();
}

static doca_error_t destroy_parser(void* value, void* config) {
  argp_take_device(value, config);
  doca_argp_usage();
  CHECK_OK(doca_argp_destroy());
  return argp_answer;
}

CASE(argp_parser, a_callback_may_destroy_the_parser) {
  argp_open();
  argp_add("d", "device", DOCA_ARGP_TYPE_STRING, destroy_parser, 0);
  argp_add("s", "size", DOCA_ARGP_TYPE_INT, argp_take_size, 0);
  CHECK_BAD_STATE(argp_start("-d p0 -s 7"));
  CHECK_CALLS("device=p0 ");
  CHECK_BAD_STATE(doca_argp_destroy());
  argp_open();
  argp_add("d", "device", DOCA_ARGP_TYPE_STRING, destroy_parser, 0);
  argp_answer = DOCA_ERROR_EMPTY;
  CHECK_STATUS(argp_start("-d p0"), DOCA_ERROR_EMPTY);
}

static doca_error_t change_text(void* value, void* config) {
  argp_take_device(value, config);
  memset(value, 'x', strlen(value));
  return DOCA_SUCCESS;
}

CASE(argp_parser, a_callback_may_change_its_text) {
  argp_open();
  argp_add("d", "device", DOCA_ARGP_TYPE_STRING, change_text, MULTIPLE);
  CHECK_OK(argp_start("-d p0 -d p0"));
  CHECK_CALLS("device=p0 device=p0 ");
  argp_close();
}

static doca_error_t refuse_all(void* config) {
  CHECK(config != NULL);
  strcat(argp_calls, "valid! ");
  return DOCA_ERROR_AGAIN;
}

CASE(argp_parser, validation_comes_after_the_flags) {
  argp_open();
  argp_add_common();
  CHECK_OK(doca_argp_register_validation_callback(refuse_all));
  CHECK_STATUS(argp_start("-s 7"), DOCA_ERROR_AGAIN);
  CHECK_CALLS("size=7 valid! ");
  argp_close();
}

static char** dpdk_words;

static doca_error_t start_dpdk(int argc, char** argv) {
  char text[60];
  snprintf(text, sizeof text, "dpdk=%d,%s ", argc, argv[argc - 1]);
  strcat(argp_calls, text);
  CHECK(argv[argc] == NULL);
  dpdk_words = argv;
  return argp_answer;
}

CASE(argp_parser, words_before_two_dashes_are_those_of_dpdk) {
  argp_open();
  argp_add_common();
  doca_argp_set_dpdk_program(start_dpdk);
  CHECK_OK(argp_start("-a 03:00.0 -c 0x3 -- -s 7"));
  CHECK_CALLS("size=7 dpdk=5,0x3 ");
  CHECK(strcmp(dpdk_words[0], "/usr/bin/tool") == 0 && strcmp(dpdk_words[1], "-a") == 0);
  argp_close();
  argp_open();
  argp_add_common();
  doca_argp_set_dpdk_program(start_dpdk);
  CHECK_OK(argp_start("-s 7"));
  CHECK_CALLS("size=7 dpdk=1,/usr/bin/tool ");
  argp_close();
}
