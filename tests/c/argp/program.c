#include "argp/program.h"

#include "rig/case.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

char argp_calls[4096];
char argp_messages[4096];
doca_error_t argp_answer = DOCA_SUCCESS;

static int config;
static char files[24][64];
static int num_files;

static void append(char* text, size_t size, const char* more) { strncat(text, more, size - strlen(text) - 1); }

static doca_error_t take(const char* key, const char* value, void* of) {
  CHECK(of == &config);
  append(argp_calls, sizeof argp_calls, key);
  append(argp_calls, sizeof argp_calls, value);
  append(argp_calls, sizeof argp_calls, " ");
  return argp_answer;
}

doca_error_t argp_take_device(void* value, void* of) { return take("device=", value, of); }
doca_error_t argp_take_object(void* value, void* of) { return take("object=", value, of); }
doca_error_t argp_take_fast(void* value, void* of) { return take("fast=", *(bool*)value ? "1" : "0", of); }

doca_error_t argp_take_size(void* value, void* of) {
  char text[20];
  snprintf(text, sizeof text, "%d", *(int*)value);
  return take("size=", text, of);
}

static doca_error_t keep_message(uint32_t level, const char* format, va_list arguments) {
  char text[1000];
  CHECK(level == 30);
  vsnprintf(text, sizeof text, format, arguments);
  append(argp_messages, sizeof argp_messages, text);
  append(argp_messages, sizeof argp_messages, "\n");
  return DOCA_SUCCESS;
}

void argp_open_silent(void) {
  argp_calls[0] = '\0';
  argp_messages[0] = '\0';
  argp_answer = DOCA_SUCCESS;
  CHECK_OK(doca_argp_init("tool", &config));
}

void argp_open(void) {
  argp_open_silent();
  CHECK_OK(doca_argp_register_logger_callback(keep_message));
}

void argp_close(void) { CHECK_OK(doca_argp_destroy()); }

struct doca_argp_param* argp_flag(const char* short_name, const char* long_name, enum doca_argp_type type,
                                  doca_argp_param_cb_t callback, int traits) {
  struct doca_argp_param* param = NULL;
  CHECK_OK(doca_argp_param_create(&param));
  doca_argp_param_set_short_name(param, short_name);
  doca_argp_param_set_long_name(param, long_name);
  doca_argp_param_set_description(param, "What it is for");
  doca_argp_param_set_type(param, type);
  doca_argp_param_set_callback(param, callback);
  if (type != DOCA_ARGP_TYPE_BOOLEAN) {
    doca_argp_param_set_arguments(param, "<value>");
  }
  if (traits & MANDATORY) doca_argp_param_set_mandatory(param);
  if (traits & CLI_ONLY) doca_argp_param_set_cli_only(param);
  if (traits & MULTIPLE) doca_argp_param_set_multiplicity(param);
  if (traits & SINGULAR) doca_argp_param_set_singular(param);
  if (traits & INHERITED) doca_argp_param_set_inherited(param);
  if (traits & HIDDEN) doca_argp_param_set_hidden(param);
  return param;
}

void argp_add(const char* short_name, const char* long_name, enum doca_argp_type type, doca_argp_param_cb_t callback,
              int traits) {
  CHECK_OK(doca_argp_register_param(argp_flag(short_name, long_name, type, callback, traits)));
}

void argp_add_common(void) {
  argp_add("d", "device", DOCA_ARGP_TYPE_STRING, argp_take_device, 0);
  argp_add("s", "size", DOCA_ARGP_TYPE_INT, argp_take_size, 0);
  argp_add("f", "fast", DOCA_ARGP_TYPE_BOOLEAN, argp_take_fast, 0);
  argp_add("o", "object", DOCA_ARGP_TYPE_JSON_OBJ, argp_take_object, 0);
}

doca_error_t argp_start(const char* line) {
  char text[1000] = "/usr/bin/tool ";
  char* argv[100] = {text};
  int argc = 1;
  append(text, sizeof text, line);
  for (char* space = text; (space = strchr(space, ' ')) != NULL;) {
    *space++ = '\0';
    if (*line != '\0') argv[argc++] = space;
  }
  return doca_argp_start(argc, argv);
}

static void remove_files(void) {
  while (num_files > 0) unlink(files[--num_files]);
}

const char* argp_file(const char* text) {
  if (num_files == 0) atexit(remove_files);
  CHECK(num_files < 24);
  char* path = files[num_files++];
  strcpy(path, "/tmp/pydoca-argp-XXXXXX");
  const int fd = mkstemp(path);
  CHECK(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
  close(fd);
  return path;
}
