#include "argp/program.h"
#include "rig/case.h"

#include <stddef.h>
#include <string.h>

static doca_error_t choose(const char* name) {
  strcat(argp_calls, name);
  strcat(argp_calls, "! ");
  return argp_answer;
}

static doca_error_t choose_copy(void* config) { return config != NULL ? choose("copy") : DOCA_ERROR_UNEXPECTED; }
static doca_error_t choose_list(void* config) { return config != NULL ? choose("list") : DOCA_ERROR_UNEXPECTED; }
static doca_error_t validate(void* config) { return config != NULL ? choose("valid") : DOCA_ERROR_UNEXPECTED; }

static struct doca_argp_cmd* command(const char* name, doca_argp_cmd_cb_t callback) {
  struct doca_argp_cmd* cmd = NULL;
  CHECK_OK(doca_argp_cmd_create(&cmd));
  doca_argp_cmd_set_name(cmd, name);
  doca_argp_cmd_set_description(cmd, "What the command does");
  if (callback != NULL) doca_argp_cmd_set_callback(cmd, callback);
  return cmd;
}

/// tool [-d] {copy [-s] | dev {list [-f] | hidden}}, where commands take -d as well.
static void open_with_commands(int traits_of_device) {
  argp_open();
  argp_add("d", "device", DOCA_ARGP_TYPE_STRING, argp_take_device, INHERITED | traits_of_device);
  argp_add("o", "object", DOCA_ARGP_TYPE_JSON_OBJ, argp_take_object, 0);
  struct doca_argp_cmd* copy = command("copy", choose_copy);
  CHECK_OK(doca_argp_cmd_register_param(copy, argp_flag("s", "size", DOCA_ARGP_TYPE_INT, argp_take_size, MANDATORY)));
  CHECK_OK(doca_argp_register_cmd(copy));
  struct doca_argp_cmd* dev = command("dev", NULL);
  CHECK_OK(doca_argp_register_cmd(dev));
  struct doca_argp_cmd* list = command("list", choose_list);
  CHECK_OK(doca_argp_cmd_register_cmd(dev, list));
  CHECK_OK(doca_argp_cmd_register_param(list, argp_flag("f", "fast", DOCA_ARGP_TYPE_BOOLEAN, argp_take_fast, 0)));
  CHECK_OK(doca_argp_register_validation_callback(validate));
}

static doca_error_t start(const char* line) {
  open_with_commands(0);
  const doca_error_t result = argp_start(line);
  argp_close();
  return result;
}

CASE(argp_command, callbacks_come_after_those_of_flags_and_before_validation) {
  CHECK_OK(start("-d p0 copy -s 7"));
  CHECK_CALLS("device=p0 size=7 copy! valid! ");
  CHECK_OK(start("dev list -f"));
  CHECK_CALLS("fast=1 list! valid! ");
}

CASE(argp_command, inherited_flags_are_taken_below) {
  CHECK_OK(start("copy -s 7 -d p0"));
  CHECK_CALLS("size=7 device=p0 copy! valid! ");
  CHECK_OK(start("dev list --device=p0 -l 50"));
  CHECK_INVALID(start("-d p0 copy -s 7 -d p1"));
  CHECK_STATUS(start("copy -s 7 -o {}"), DOCA_ERROR_NOT_SUPPORTED);
  CHECK_OK(start("-o {} copy -s 7"));
}

CASE(argp_command, flags_of_a_command_are_not_the_programs) {
  CHECK_STATUS(start("-s 7 copy"), DOCA_ERROR_NOT_SUPPORTED);
  CHECK_STATUS(start("copy -s 7 -f"), DOCA_ERROR_NOT_SUPPORTED);
  CHECK_STATUS(start("copy"), DOCA_ERROR_INITIALIZATION);
  CHECK(strstr(argp_messages, "--size") != NULL && argp_calls[0] == '\0');
}

CASE(argp_command, a_flag_of_the_command_hides_an_inherited_one) {
  argp_open();
  argp_add("x", "", DOCA_ARGP_TYPE_STRING, argp_take_device, INHERITED);
  struct doca_argp_cmd* copy = command("copy", NULL);
  CHECK_OK(doca_argp_cmd_register_param(copy, argp_flag("x", "", DOCA_ARGP_TYPE_INT, argp_take_size, 0)));
  CHECK_OK(doca_argp_register_cmd(copy));
  CHECK_OK(argp_start("-x a copy -x 7"));
  CHECK_CALLS("device=a size=7 ");
  argp_close();
}

CASE(argp_command, a_missing_command_is_named) {
  CHECK_STATUS(start(""), DOCA_ERROR_INITIALIZATION);
  CHECK(strstr(argp_messages, "copy, dev") != NULL);
  CHECK_STATUS(start("dev"), DOCA_ERROR_INITIALIZATION);
  CHECK(strstr(argp_messages, "list") != NULL);
  CHECK_STATUS(start("cop"), DOCA_ERROR_NOT_SUPPORTED);
  CHECK(strstr(argp_messages, "cop: it is not a command") != NULL);
  CHECK_STATUS(start("copy -s 7 copy"), DOCA_ERROR_NOT_SUPPORTED);
  CHECK_STATUS(start("dev copy"), DOCA_ERROR_NOT_SUPPORTED);
}

CASE(argp_command, a_singular_flag_needs_no_command) {
  open_with_commands(SINGULAR);
  CHECK_OK(argp_start("-d p0"));
  argp_close();
}

CASE(argp_command, a_failed_callback_ends_the_start) {
  open_with_commands(0);
  argp_answer = DOCA_ERROR_EMPTY;
  CHECK_STATUS(argp_start("dev list"), DOCA_ERROR_EMPTY);
  CHECK_CALLS("list! ");
  CHECK(strstr(argp_messages, "list: ") != NULL);
  argp_close();
}

CASE(argp_command, a_file_gives_flags_of_all_levels) {
  char line[200] = "copy -j ";
  open_with_commands(0);
  strcat(line, argp_file("{\"doca_program_flags\": {\"size\": 7, \"object\": {}, \"device\": \"p0\"}}"));
  CHECK_OK(argp_start(line));
  CHECK_CALLS("size=7 object={} device=p0 copy! valid! ");
  argp_close();
}

CASE(argp_command, registration_checks_the_parts) {
  argp_open();
  struct doca_argp_cmd* nameless = NULL;
  CHECK_OK(doca_argp_cmd_create(&nameless));
  CHECK_STATUS(doca_argp_register_cmd(nameless), DOCA_ERROR_INITIALIZATION);
  struct doca_argp_cmd* bare = NULL;
  CHECK_OK(doca_argp_cmd_create(&bare));
  doca_argp_cmd_set_name(bare, "bare");
  CHECK_STATUS(doca_argp_register_cmd(bare), DOCA_ERROR_INITIALIZATION);
  CHECK_INVALID(doca_argp_register_cmd(command("-x", NULL)));
  CHECK_INVALID(doca_argp_register_cmd(command("two words", NULL)));
  CHECK_OK(doca_argp_register_cmd(command("copy", NULL)));
  CHECK_INVALID(doca_argp_register_cmd(command("copy", NULL)));
  argp_close();
}

CASE(argp_command, commands_have_one_place) {
  argp_open();
  struct doca_argp_cmd* outer = command("outer", NULL);
  struct doca_argp_cmd* inner = command("inner", NULL);
  CHECK_INVALID(doca_argp_cmd_register_cmd(outer, outer));
  CHECK_OK(doca_argp_cmd_register_cmd(outer, inner));
  CHECK_INVALID(doca_argp_cmd_register_cmd(inner, outer));
  CHECK_INVALID(doca_argp_register_cmd(inner));
  CHECK_STATUS(doca_argp_cmd_destroy(inner), DOCA_ERROR_BAD_STATE);
  CHECK_OK(doca_argp_cmd_destroy(outer));
  CHECK_INVALID(doca_argp_cmd_destroy(outer));
  CHECK_INVALID(doca_argp_cmd_register_cmd(inner, NULL));
  CHECK_INVALID(doca_argp_cmd_register_param(inner, NULL));
  argp_close();
  CHECK_INVALID(doca_argp_cmd_destroy(inner));
}
