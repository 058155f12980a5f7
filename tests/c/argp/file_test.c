#include "argp/program.h"
#include "rig/case.h"

#include <doca_log.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char line[1000];

/// The line with "-j <path>" of a file with the text behind it.
static const char* with_file(const char* words, const char* text) {
  snprintf(line, sizeof line, "%s%s-j %s", words, *words ? " " : "", argp_file(text));
  return line;
}

static void check_calls(const char* words, const char* text, const char* calls) {
  argp_open();
  argp_add_common();
  CHECK_OK(argp_start(with_file(words, text)));
  CHECK_CALLS(calls);
  argp_close();
}

#define CHECK_FLAGS(flags, status, part) CHECK_LINE(with_file("", "{\"doca_program_flags\": " flags "}"), status, part)
#define CHECK_FILE(text, status, part) CHECK_LINE(with_file("", text), status, part)

CASE(argp_file, callbacks_get_values_in_the_order_of_the_file) {
  check_calls("", "{}", "");
  check_calls("", "{\"doca_program_flags\": {\"size\": 7, \"device\": \"03:00.0\", \"fast\": true}}",
              "size=7 device=03:00.0 fast=1 ");
  check_calls("", "{\"doca_program_flags\": {\"object\": {\"b\": [1, {}], \"a\": null}, \"fast\": false}}",
              "object={\"b\":[1,{}],\"a\":null} fast=0 ");
}

CASE(argp_file, comments_are_allowed) {
  check_calls("", "{\"doca_program_flags\": {\n// -s: the size\n\"size\": 7 /* bytes */}}", "size=7 ");
}

CASE(argp_file, the_command_line_goes_before_the_file) {
  check_calls("-s 8", "{\"doca_program_flags\": {\"size\": 7, \"device\": \"p0\"}}", "device=p0 size=8 ");
}

CASE(argp_file, general_flags_have_a_section) {
  int level = 0;
  argp_open();
  CHECK_OK(argp_start(with_file("", "{\"doca_general_flags\": {\"log-level\": 60, \"sdk-log-level\": 40}}")));
  CHECK(doca_log_level_get_global_lower_limit() == 60 && doca_log_level_get_global_sdk_limit() == 40);
  CHECK_OK(doca_argp_get_log_level(&level));
  CHECK(level == 60);
  CHECK_OK(doca_argp_get_sdk_log_level(&level));
  CHECK(level == 40);
  argp_close();
  CHECK_FILE("{\"doca_general_flags\": {\"log-level\": 55}}", DOCA_ERROR_INVALID_VALUE, "log-level");
  CHECK_FILE("{\"doca_general_flags\": {\"help\": true}}", DOCA_ERROR_NOT_SUPPORTED, "help");
  CHECK_FILE("{\"doca_general_flags\": {\"json\": \"x\"}}", DOCA_ERROR_NOT_SUPPORTED, "json");
  CHECK_FILE("{\"doca_general_flags\": {\"size\": 7}}", DOCA_ERROR_NOT_SUPPORTED, "size");
  CHECK_FILE("{\"doca_program_flags\": {\"log-level\": 50}}", DOCA_ERROR_NOT_SUPPORTED, "log-level");
}

CASE(argp_file, a_file_that_cannot_be_read_fails) {
  CHECK_LINE("-j /nowhere/flags.json", DOCA_ERROR_IO_FAILED, "/nowhere/flags.json");
  CHECK_LINE("-j /tmp", DOCA_ERROR_IO_FAILED, "/tmp");
  CHECK_LINE("-j /dev/zero", DOCA_ERROR_IO_FAILED, "bytes");
  CHECK_LINE("-j", DOCA_ERROR_INVALID_VALUE, "-j");
  CHECK_LINE("-j a -j b", DOCA_ERROR_INVALID_VALUE, "-j");
}

CASE(argp_file, what_is_not_json_fails) {
  CHECK_FILE("", DOCA_ERROR_IO_FAILED, "not JSON");
  CHECK_FILE("{", DOCA_ERROR_IO_FAILED, "not JSON");
  CHECK_FILE("{}x", DOCA_ERROR_IO_FAILED, "not JSON");
  CHECK_FILE("{\"doca_program_flags\": {\"size\": 07}}", DOCA_ERROR_IO_FAILED, "line 1");
  CHECK_FILE("{\"doca_program_flags\": {\"device\": \"\xff\"}}", DOCA_ERROR_IO_FAILED, "not JSON");
  CHECK_FILE("{\"doca_program_flags\": {\"size\": 1e999}}", DOCA_ERROR_IO_FAILED, "not JSON");
}

CASE(argp_file, json_of_another_form_fails) {
  CHECK_FILE("[]", DOCA_ERROR_IO_FAILED, "not an object");
  CHECK_FILE("7", DOCA_ERROR_IO_FAILED, "not an object");
  CHECK_FILE("{\"flags\": {}}", DOCA_ERROR_IO_FAILED, "flags");
  CHECK_FILE("{\"doca_dpdk_flags\": {}}", DOCA_ERROR_IO_FAILED, "DPDK's flags stand before --");
  CHECK_FILE("{\"doca_program_flags\": []}", DOCA_ERROR_IO_FAILED, "doca_program_flags");
  CHECK_FILE("{\"doca_program_flags\": {}, \"doca_program_flags\": {}}", DOCA_ERROR_INVALID_VALUE, "twice");
}

CASE(argp_file, deep_nesting_fails) {
  static char text[400000];
  strcpy(text, "{\"doca_program_flags\": {\"object\": ");
  memset(text + strlen(text), '[', 300000);
  CHECK_FILE(text, DOCA_ERROR_IO_FAILED, "nested");
}

CASE(argp_file, values_are_of_the_flags_type) {
  CHECK_FLAGS("{\"size\": \"7\"}", DOCA_ERROR_INVALID_VALUE, "size: it takes a whole number, not \"7\"");
  CHECK_FLAGS("{\"size\": -99999999999}", DOCA_ERROR_INVALID_VALUE, "size: -99999999999 is beyond the range of an int");
  CHECK_FLAGS("{\"size\": 18446744073709551615}", DOCA_ERROR_INVALID_VALUE,
              "size: 18446744073709551615 is beyond the range of an int");
  CHECK_FLAGS("{\"size\": -99999999999999999999}", DOCA_ERROR_INVALID_VALUE,
              "size: a number of more than 64 bits is beyond the range of an int");
  CHECK_FLAGS("{\"device\": 18446744073709551615}", DOCA_ERROR_INVALID_VALUE,
              "device: it takes a text, not 18446744073709551615");
  CHECK_FLAGS("{\"size\": 1.5}", DOCA_ERROR_INVALID_VALUE, "size: it takes a whole number, not a fraction");
  CHECK_FLAGS("{\"size\": null}", DOCA_ERROR_INVALID_VALUE, "size");
  CHECK_FLAGS("{\"size\": true}", DOCA_ERROR_INVALID_VALUE, "size");
  CHECK_FLAGS("{\"size\": {}}", DOCA_ERROR_INVALID_VALUE, "size");
  CHECK_FLAGS("{\"size\": 2147483648}", DOCA_ERROR_INVALID_VALUE, "size");
  CHECK_FLAGS("{\"size\": 18446744073709551615}", DOCA_ERROR_INVALID_VALUE, "size");
  CHECK_FLAGS("{\"device\": 7}", DOCA_ERROR_INVALID_VALUE, "device: it takes a text, not 7");
  CHECK_FLAGS("{\"device\": \"a\\u0000b\"}", DOCA_ERROR_INVALID_VALUE, "device");
  CHECK_FLAGS("{\"fast\": 1}", DOCA_ERROR_INVALID_VALUE, "fast: it takes true or false, not 1");
  CHECK_FLAGS("{\"object\": []}", DOCA_ERROR_INVALID_VALUE, "object");
  CHECK_FLAGS("{\"object\": \"{}\"}", DOCA_ERROR_INVALID_VALUE, "object");
  CHECK_FLAGS("{\"size\": [7]}", DOCA_ERROR_INVALID_VALUE, "size");
  CHECK(argp_calls[0] == '\0');
}

CASE(argp_file, unknown_and_repeated_names_are_refused) {
  CHECK_FLAGS("{\"sizes\": 7}", DOCA_ERROR_NOT_SUPPORTED, "sizes");
  CHECK_FLAGS("{\"s\": 7}", DOCA_ERROR_NOT_SUPPORTED, "s: there is no such flag");
  CHECK_FLAGS("{\"--size\": 7}", DOCA_ERROR_NOT_SUPPORTED, "--size");
  CHECK_FLAGS("{\"\": 7}", DOCA_ERROR_NOT_SUPPORTED, "no such flag");
  CHECK_FLAGS("{\"size\": 7, \"size\": 7}", DOCA_ERROR_INVALID_VALUE, "size: it is given twice");
}

static doca_error_t start_with_traits(const char* words, const char* flags) {
  char text[500];
  snprintf(text, sizeof text, "{\"doca_program_flags\": %s}", flags);
  argp_open();
  argp_add("d", "device", DOCA_ARGP_TYPE_STRING, argp_take_device, MULTIPLE | MANDATORY);
  argp_add("s", "size", DOCA_ARGP_TYPE_INT, argp_take_size, CLI_ONLY);
  argp_add("f", "fast", DOCA_ARGP_TYPE_BOOLEAN, argp_take_fast, SINGULAR);
  const doca_error_t result = argp_start(with_file(words, text));
  argp_close();
  return result;
}

CASE(argp_file, an_array_has_the_values_of_a_multiple_flag) {
  CHECK_OK(start_with_traits("", "{\"device\": [\"p0\", \"p1\"]}"));
  CHECK_CALLS("device=p0 device=p1 ");
  CHECK_OK(start_with_traits("", "{\"device\": \"p0\"}"));
  CHECK_CALLS("device=p0 ");
  CHECK_OK(start_with_traits("-d p2", "{\"device\": [\"p0\", \"p1\"]}"));
  CHECK_CALLS("device=p2 ");
  CHECK_STATUS(start_with_traits("", "{\"device\": []}"), DOCA_ERROR_INITIALIZATION);
  CHECK_INVALID(start_with_traits("", "{\"device\": [\"p0\", 7]}"));
  CHECK_INVALID(start_with_traits("", "{\"device\": [[\"p0\"]]}"));
}

CASE(argp_file, traits_hold_in_files) {
  CHECK_STATUS(start_with_traits("", "{\"size\": 7}"), DOCA_ERROR_NOT_SUPPORTED);
  CHECK(strstr(argp_messages, "command line only") != NULL);
  CHECK_STATUS(start_with_traits("-s 7", "{}"), DOCA_ERROR_INITIALIZATION);
  CHECK_OK(start_with_traits("", "{\"fast\": true}"));
  CHECK_INVALID(start_with_traits("-f", "{\"device\": \"p0\"}"));
}
