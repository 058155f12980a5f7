/// The flags and commands of a program, from its command line or from a JSON file.
///
/// A program calls doca_argp_init(), registers what it takes, and calls doca_argp_start(), which parses, calls the
/// program's callbacks, and answers the first failure. Every program also has -h, -v, -l, --sdk-log-level and -j. The
/// parser is one for the process, and belongs to one thread at a time.
///
/// A command line: "-d 03:00.0", "--device 03:00.0", "--device=03:00.0". A short name has one dash and one letter or
/// more (-ld), and matches as a whole. A word behind a flag that takes a value is its value, unless it is a flag
/// itself.
///
/// A JSON file (-j) has two objects, of long names without dashes; comments are allowed:
///   {"doca_general_flags": {"log-level": 60}, "doca_program_flags": {"device": "03:00.0", "size": 4096}}
/// A flag that is given in both has its value of the command line.
///
/// Callbacks are called when all has been parsed: for each value in the order of the file, then for each in that of
/// the command line; then those of the chosen commands from the outermost; then the validation callback; then DPDK's.
/// The first that fails ends doca_argp_start(), which answers its code. A callback may call doca_argp_usage() and
/// doca_argp_destroy().
///
/// A failure is one message of the library, which names the flag. It goes to the logger callback if there is one,
/// otherwise to the backends of the library's messages (doca_log.h), or to stderr when none shows it.
///
/// Besides what is said at each function: DOCA_ERROR_INVALID_VALUE for NULL, for an object that was destroyed, and for
/// one of another kind; a function without an answer then does nothing but log.
#ifndef DOCA_ARGP_H_
#define DOCA_ARGP_H_

#include <doca_build_config.h>
#include <doca_compat.h>
#include <doca_error.h>
#include <doca_types.h>
#include <stdarg.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct doca_argp_param;  ///< a flag
struct doca_argp_cmd;    ///< a command, which has flags and commands of its own

/// The type of a flag's value, and what its callback gets.
enum doca_argp_type {
  DOCA_ARGP_TYPE_UNKNOWN = 0,
  DOCA_ARGP_TYPE_STRING = 1,   ///< char *; the callback may change the text
  DOCA_ARGP_TYPE_INT = 2,      ///< int *; decimal, or hexadecimal with 0x
  DOCA_ARGP_TYPE_BOOLEAN = 3,  ///< bool *; on the command line the flag alone is true
  DOCA_ARGP_TYPE_JSON_OBJ = 4  ///< char *, the text of a JSON object
};

/// value is of the flag's type and lives until the callback returns; config is that of doca_argp_init().
typedef doca_error_t (*doca_argp_param_cb_t)(void* value, void* config);
typedef doca_error_t (*doca_argp_cmd_cb_t)(void* config);
typedef doca_error_t (*doca_argp_validation_cb_t)(void* config);
/// argv[0] is the program's; argv lives until doca_argp_destroy().
typedef doca_error_t (*doca_argp_dpdk_cb_t)(int argc, char** argv);
/// level is one of enum doca_log_level.
typedef doca_error_t (*doca_argp_logger_cb_t)(uint32_t level, const char* format, va_list arguments);

// ---- the parser ----

/// Begins. program_name is that of the usage text; NULL for the name by which the program was started. BAD_STATE when
/// it was called before, without doca_argp_destroy(); INVALID_VALUE for an empty name.
DOCA_EXPERIMENTAL doca_error_t doca_argp_init(const char* program_name, void* program_config);
/// Ends the parser, and destroys every flag and command that was created since doca_argp_init(), without which it
/// answers BAD_STATE.
DOCA_EXPERIMENTAL doca_error_t doca_argp_destroy(void);

/// Parses, once. BAD_STATE without doca_argp_init() or for a second time; INVALID_VALUE for a value that is missing,
/// not of the flag's type or not allowed, a flag that is repeated, and a singular flag among others; NOT_SUPPORTED for
/// a flag or a command that is not known; INITIALIZATION when a mandatory flag, or a command, is missing; IO_FAILED for
/// a file that cannot be read, or is not JSON of this form; otherwise what a callback answered.
///
/// -h and -v end the process with code 0, after the usage text or the version callback; if that fails, its code is
/// answered. Words of the command line before "--" are DPDK's in a program of doca_argp_set_dpdk_program().
DOCA_EXPERIMENTAL doca_error_t doca_argp_start(int argc, char** argv);

/// Writes the usage text to stdout: that of the program, or of the command that was chosen.
DOCA_EXPERIMENTAL void doca_argp_usage(void);

// The levels that -l and --sdk-log-level have set, or else doca_log's global lower limit and SDK limit.
DOCA_EXPERIMENTAL doca_error_t doca_argp_get_log_level(int* log_level);
DOCA_EXPERIMENTAL doca_error_t doca_argp_get_sdk_log_level(int* sdk_log_level);

// The following are called between doca_argp_init() and doca_argp_start(), otherwise they answer BAD_STATE.
// The parser owns what is registered from the call on, whatever that answers. INITIALIZATION when a name, the
// description, the callback or the type is missing (of a command: the name or the description); INVALID_VALUE for a
// name that is malformed or in use, and for what was registered before.
DOCA_EXPERIMENTAL doca_error_t doca_argp_register_param(struct doca_argp_param* input_param);
DOCA_EXPERIMENTAL doca_error_t doca_argp_register_cmd(struct doca_argp_cmd* cmd);
DOCA_EXPERIMENTAL doca_error_t doca_argp_cmd_register_cmd(struct doca_argp_cmd* cmd, struct doca_argp_cmd* inner_cmd);
DOCA_EXPERIMENTAL doca_error_t doca_argp_cmd_register_param(struct doca_argp_cmd* cmd,
                                                            struct doca_argp_param* input_param);

/// The callback of -v. It may destroy the parser and end the process; value points to true.
DOCA_EXPERIMENTAL doca_error_t doca_argp_register_version_callback(doca_argp_param_cb_t callback);
/// Checks the flags together. It is called once.
DOCA_EXPERIMENTAL doca_error_t doca_argp_register_validation_callback(doca_argp_validation_cb_t callback);

/// Takes the parser's messages. ALREADY_EXIST when there is one.
DOCA_EXPERIMENTAL doca_error_t doca_argp_register_logger_callback(doca_argp_logger_cb_t callback);
/// BAD_STATE when there is none.
DOCA_EXPERIMENTAL doca_error_t doca_argp_disable_logger_callback(void);

/// Has the words before "--" given to a function that starts DPDK.
DOCA_EXPERIMENTAL void doca_argp_set_dpdk_program(doca_argp_dpdk_cb_t callback);

// ---- flags ----

/// BAD_STATE without doca_argp_init().
DOCA_EXPERIMENTAL doca_error_t doca_argp_param_create(struct doca_argp_param** param);
/// BAD_STATE for one that was handed to the parser.
DOCA_EXPERIMENTAL doca_error_t doca_argp_param_destroy(struct doca_argp_param* param);

// All before it is registered; afterwards they log and change nothing. Texts are copied.
// A flag has at least one name. The callback, the type and the description are mandatory.
DOCA_EXPERIMENTAL void doca_argp_param_set_short_name(struct doca_argp_param* param, const char* name);
DOCA_EXPERIMENTAL void doca_argp_param_set_long_name(struct doca_argp_param* param, const char* name);
/// What the usage text shows behind the names, such as "<path>".
DOCA_EXPERIMENTAL void doca_argp_param_set_arguments(struct doca_argp_param* param, const char* arguments);
DOCA_EXPERIMENTAL void doca_argp_param_set_description(struct doca_argp_param* param, const char* description);
DOCA_EXPERIMENTAL void doca_argp_param_set_callback(struct doca_argp_param* param, doca_argp_param_cb_t callback);
DOCA_EXPERIMENTAL void doca_argp_param_set_type(struct doca_argp_param* param, enum doca_argp_type type);
/// It must be given, unless a singular one is.
DOCA_EXPERIMENTAL void doca_argp_param_set_mandatory(struct doca_argp_param* param);
/// It is refused in a file, as one without a long name is.
DOCA_EXPERIMENTAL void doca_argp_param_set_cli_only(struct doca_argp_param* param);
/// It may be given several times, in a file as an array; the callback is called for each value.
DOCA_EXPERIMENTAL void doca_argp_param_set_multiplicity(struct doca_argp_param* param);
/// The program has no other flag when this one is given, and no command needs to be.
DOCA_EXPERIMENTAL void doca_argp_param_set_singular(struct doca_argp_param* param);
/// Commands below take it as well. One of theirs with the same name hides it.
DOCA_EXPERIMENTAL void doca_argp_param_set_inherited(struct doca_argp_param* param);
/// The usage text leaves it out.
DOCA_EXPERIMENTAL void doca_argp_param_set_hidden(struct doca_argp_param* param);

// ---- commands ----

/// A command is a word of the command line; what follows are its flags, and one of its commands if it has any and no
/// callback of its own. A program that has commands needs one of them. BAD_STATE without doca_argp_init().
DOCA_EXPERIMENTAL doca_error_t doca_argp_cmd_create(struct doca_argp_cmd** cmd);
/// BAD_STATE for one that was handed to the parser.
DOCA_EXPERIMENTAL doca_error_t doca_argp_cmd_destroy(struct doca_argp_cmd* cmd);

// The rules of flags hold. The name and the description are mandatory.
DOCA_EXPERIMENTAL void doca_argp_cmd_set_name(struct doca_argp_cmd* cmd, const char* name);
DOCA_EXPERIMENTAL void doca_argp_cmd_set_description(struct doca_argp_cmd* cmd, const char* description);
DOCA_EXPERIMENTAL void doca_argp_cmd_set_callback(struct doca_argp_cmd* cmd, doca_argp_cmd_cb_t callback);
/// The usage text leaves it out.
DOCA_EXPERIMENTAL void doca_argp_cmd_set_hidden(struct doca_argp_cmd* cmd);

#ifdef __cplusplus
}
#endif

#endif  // DOCA_ARGP_H_
