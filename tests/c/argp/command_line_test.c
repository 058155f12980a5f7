#include "argp/program.h"
#include "rig/case.h"

#include <stdio.h>
#include <string.h>

static void check_calls(const char* line, const char* calls) {
  argp_open();
  argp_add_common();
  CHECK_OK(argp_start(line));
  CHECK_CALLS(calls);
  CHECK(argp_messages[0] == '\0');
  argp_close();
}

CASE(argp, callbacks_get_values_in_the_order_of_the_line) {
  check_calls("", "");
  check_calls("-s 7 -d 03:00.0 -f", "size=7 device=03:00.0 fast=1 ");
  check_calls("--device p0 --fast --size 4096", "device=p0 fast=1 size=4096 ");
  check_calls("--size=4096 -d=p0", "size=4096 device=p0 ");
  check_calls("--device=a=b", "device=a=b ");
  check_calls("--device=", "device= ");
}

CASE(argp, integers_are_decimal_or_hexadecimal) {
  check_calls("-s 0x1F", "size=31 ");
  check_calls("-s -5", "size=-5 ");
  check_calls("-s +5", "size=5 ");
  check_calls("-s 010", "size=10 ");
  check_calls("-s 2147483647", "size=2147483647 ");
  check_calls("-s -2147483648", "size=-2147483648 ");
}

CASE(argp, a_text_may_begin_with_a_dash) {
  check_calls("-d -", "device=- ");
  check_calls("-d -x", "device=-x ");
  check_calls("--device=-f", "device=-f ");
}

CASE(argp, a_text_may_end_with_the_name_of_a_flag) {
  check_calls("-d sh", "device=sh ");
  check_calls("-d al", "device=al ");
  check_calls("-d ah", "device=ah ");
  check_calls("-d .h", "device=.h ");
  check_calls("-d 0h=3", "device=0h=3 ");
  check_calls("-d fs -s 7", "device=fs size=7 ");
  check_calls("-d -", "device=- ");
  check_calls("-d --", "device=-- ");
  CHECK_LINE("-d -h", DOCA_ERROR_INVALID_VALUE, "-d: <value> is missing");
  CHECK_LINE("-d -h=3", DOCA_ERROR_INVALID_VALUE, "-d: <value> is missing");
  CHECK_LINE("-d --json", DOCA_ERROR_INVALID_VALUE, "-d: <value> is missing");
}

CASE(argp, an_object_is_json_also_on_the_command_line) { check_calls("-o {\"a\":[1,2]}", "object={\"a\":[1,2]} "); }

CASE(argp, values_of_the_wrong_type_are_refused) {
  CHECK_LINE("-s seven", DOCA_ERROR_INVALID_VALUE, "-s: it takes a whole number, not \"seven\"");
  CHECK_LINE("-s 7x", DOCA_ERROR_INVALID_VALUE, "-s");
  CHECK_LINE("-s 1.5", DOCA_ERROR_INVALID_VALUE, "-s");
  CHECK_LINE("-s 0x", DOCA_ERROR_INVALID_VALUE, "-s");
  CHECK_LINE("-s --5", DOCA_ERROR_INVALID_VALUE, "-s");
  CHECK_LINE("--size=", DOCA_ERROR_INVALID_VALUE, "--size");
  CHECK_LINE("--size 2147483648", DOCA_ERROR_INVALID_VALUE, "--size");
  CHECK_LINE("--size -2147483649", DOCA_ERROR_INVALID_VALUE, "--size");
  CHECK_LINE("--size 99999999999999999999", DOCA_ERROR_INVALID_VALUE, "--size");
  CHECK_LINE("-s 99999999999", DOCA_ERROR_INVALID_VALUE, "-s: 99999999999 is beyond the range of an int");
  CHECK_LINE("-s -99999999999", DOCA_ERROR_INVALID_VALUE, "-s: -99999999999 is beyond the range of an int");
  CHECK_LINE("-s=0x1000000000000000000", DOCA_ERROR_INVALID_VALUE,
             "-s: 0x1000000000000000000 is beyond the range of an int");
  CHECK_LINE("--fast=true", DOCA_ERROR_INVALID_VALUE, "--fast: it takes no value");
  CHECK_LINE("-o [1]", DOCA_ERROR_INVALID_VALUE, "-o");
  CHECK_LINE("-o {", DOCA_ERROR_INVALID_VALUE, "-o");
}

CASE(argp, unknown_words_are_not_supported) {
  CHECK_LINE("--sizes 7", DOCA_ERROR_NOT_SUPPORTED, "--sizes");
  CHECK_LINE("--siz 7", DOCA_ERROR_NOT_SUPPORTED, "--siz");
  CHECK_LINE("-size 7", DOCA_ERROR_NOT_SUPPORTED, "-size");
  CHECK_LINE("--s 7", DOCA_ERROR_NOT_SUPPORTED, "--s");
  CHECK_LINE("-s7", DOCA_ERROR_NOT_SUPPORTED, "-s7");
  CHECK_LINE("-fs 7", DOCA_ERROR_NOT_SUPPORTED, "-fs");
  CHECK_LINE("word", DOCA_ERROR_NOT_SUPPORTED, "word");
  CHECK_LINE("-f true", DOCA_ERROR_NOT_SUPPORTED, "true");
  CHECK_LINE("-", DOCA_ERROR_NOT_SUPPORTED, "-");
  CHECK_LINE("--", DOCA_ERROR_NOT_SUPPORTED, "--");
  CHECK_LINE("--=7", DOCA_ERROR_NOT_SUPPORTED, "--");
}

CASE(argp, a_missing_value_is_invalid) {
  CHECK_LINE("-s", DOCA_ERROR_INVALID_VALUE, "-s: <value> is missing");
  CHECK_LINE("-d -s 7", DOCA_ERROR_INVALID_VALUE, "-d: <value> is missing");
  CHECK_LINE("-d --size=7", DOCA_ERROR_INVALID_VALUE, "-d");
  CHECK_LINE("--device -h", DOCA_ERROR_INVALID_VALUE, "--device");
}

CASE(argp, a_repeated_flag_is_invalid) {
  CHECK_LINE("-s 7 --size 8", DOCA_ERROR_INVALID_VALUE, "--size: it is given twice");
  CHECK_LINE("-f -f", DOCA_ERROR_INVALID_VALUE, "-f");
  CHECK_LINE("-l 50 -l 50", DOCA_ERROR_INVALID_VALUE, "-l");
  CHECK(argp_calls[0] == '\0');
}

CASE(argp, a_multiple_flag_is_called_for_each_value) {
  argp_open();
  argp_add("s", "size", DOCA_ARGP_TYPE_INT, argp_take_size, MULTIPLE);
  CHECK_OK(argp_start("-s 1 --size 2 -s=3"));
  CHECK_CALLS("size=1 size=2 size=3 ");
  argp_close();
}

CASE(argp, short_names_of_several_letters_match_as_a_whole) {
  argp_open();
  argp_add("l2", "", DOCA_ARGP_TYPE_INT, argp_take_size, 0);
  argp_add("ld", "local-device", DOCA_ARGP_TYPE_STRING, argp_take_device, 0);
  CHECK_OK(argp_start("-ld p0 -l 40 -l2 7"));
  CHECK_CALLS("device=p0 size=7 ");
  argp_close();
}

static doca_error_t start_mandatory(const char* line) {
  argp_open();
  argp_add("d", "device", DOCA_ARGP_TYPE_STRING, argp_take_device, MANDATORY);
  argp_add("q", "", DOCA_ARGP_TYPE_INT, argp_take_size, MANDATORY);
  argp_add("f", "fast", DOCA_ARGP_TYPE_BOOLEAN, argp_take_fast, SINGULAR);
  const doca_error_t result = argp_start(line);
  argp_close();
  return result;
}

CASE(argp, a_mandatory_flag_must_be_given) {
  CHECK_OK(start_mandatory("-d p0 -q 7"));
  CHECK_STATUS(start_mandatory("-q 7"), DOCA_ERROR_INITIALIZATION);
  CHECK(strstr(argp_messages, "--device: it is mandatory") != NULL);
  CHECK_STATUS(start_mandatory("-d p0"), DOCA_ERROR_INITIALIZATION);
  CHECK(strstr(argp_messages, "-q: it is mandatory") != NULL && argp_calls[0] == '\0');
}

CASE(argp, a_singular_flag_stands_alone) {
  CHECK_OK(start_mandatory("-f"));
  CHECK_OK(start_mandatory("-l 40 -f"));
  CHECK_INVALID(start_mandatory("-f -d p0"));
  CHECK(strstr(argp_messages, "-f: ") != NULL && strstr(argp_messages, "-d") != NULL);
  CHECK_INVALID(start_mandatory("-d p0 -q 7 --fast"));
}

CASE(argp, the_code_of_a_callback_is_the_answer) {
  argp_open();
  argp_add_common();
  argp_answer = DOCA_ERROR_AUTHENTICATION;
  CHECK_STATUS(argp_start("-s 7 -d p0"), DOCA_ERROR_AUTHENTICATION);
  CHECK_CALLS("size=7 ");
  CHECK(strstr(argp_messages, "-s: ") != NULL && strstr(argp_messages, "DOCA_ERROR_AUTHENTICATION") != NULL);
  argp_close();
}
