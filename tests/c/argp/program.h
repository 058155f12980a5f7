/// A program whose callbacks write down what they got, for tests of its command line.
#ifndef TESTS_C_ARGP_PROGRAM_H
#define TESTS_C_ARGP_PROGRAM_H

#include <doca_argp.h>

/// What the callbacks got since argp_open(), each with a space behind it: "device=03:00.0 size=7 fast=1 ".
extern char argp_calls[4096];
/// The messages of the parser, each with a newline behind it.
extern char argp_messages[4096];
/// What the callbacks answer.
extern doca_error_t argp_answer;

/// Begins a program "tool" whose logger callback keeps the messages.
void argp_open(void);
/// The same without a logger callback.
void argp_open_silent(void);
void argp_close(void);

enum argp_trait { MANDATORY = 1, CLI_ONLY = 2, MULTIPLE = 4, SINGULAR = 8, INHERITED = 16, HIDDEN = 32 };

/// A flag with the callback of its type, which writes key; "" for a name that it does not have.
struct doca_argp_param* argp_flag(const char* short_name, const char* long_name, enum doca_argp_type type,
                                  doca_argp_param_cb_t callback, int traits);
/// Registers such a flag with the program.
void argp_add(const char* short_name, const char* long_name, enum doca_argp_type type, doca_argp_param_cb_t callback,
              int traits);
/// The flags -d/--device (string), -s/--size (int), -f/--fast (boolean), -o/--object (JSON object).
void argp_add_common(void);

// Callbacks that write "device=", "size=", "fast=", "object=" and the value.
doca_error_t argp_take_device(void* value, void* config);
doca_error_t argp_take_size(void* value, void* config);
doca_error_t argp_take_fast(void* value, void* config);
doca_error_t argp_take_object(void* value, void* config);

/// Starts with the words of the line, which single spaces separate: "-d 03:00.0 -f".
doca_error_t argp_start(const char* line);
/// Writes the text to a file that goes when the process ends; its path, of one word.
const char* argp_file(const char* text);

/// Opens, adds the common flags, starts with the line, checks the status and that the last message has the part, and
/// closes.
#define CHECK_LINE(line, status, part)                                                         \
  do {                                                                                         \
    argp_open();                                                                               \
    argp_add_common();                                                                         \
    CHECK_STATUS(argp_start(line), status);                                                    \
    if (strstr(argp_messages, part) == NULL)                                                   \
      c_case_fail(__FILE__, __LINE__, "the messages of %s: \"%s\"", line, argp_messages);      \
    if (strchr(argp_messages, '\n') != strrchr(argp_messages, '\n'))                           \
      c_case_fail(__FILE__, __LINE__, "more than one message of %s: %s", line, argp_messages); \
    argp_close();                                                                              \
  } while (0)

#define CHECK_CALLS(expected)                                                                                   \
  do {                                                                                                          \
    if (strcmp(argp_calls, expected) != 0)                                                                      \
      c_case_fail(__FILE__, __LINE__, "the calls are \"%s\", not \"%s\"", argp_calls, (const char*)(expected)); \
  } while (0)

#endif  // TESTS_C_ARGP_PROGRAM_H
