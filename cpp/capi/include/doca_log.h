/// Messages: of the program, by the macros DOCA_LOG_*, and of the library itself ("SDK"). Each kind goes to the
/// backends of its own kind; without one nothing is shown. Every function may be called from any thread. A backend
/// lives as long as the process.
///
/// Levels: the larger the number, the more verbose. A backend for the program's messages shows those from its upper
/// limit, the most severe, to its lower one, the most verbose; a backend for the library's messages has one limit.
#ifndef DOCA_LOG_H_
#define DOCA_LOG_H_

#include <doca_build_config.h>
#include <doca_compat.h>
#include <doca_error.h>
#include <doca_types.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

enum doca_log_level {
  DOCA_LOG_LEVEL_DISABLE = 10,  ///< a limit only: nothing is shown
  DOCA_LOG_LEVEL_CRIT = 20,
  DOCA_LOG_LEVEL_ERROR = 30,
  DOCA_LOG_LEVEL_WARNING = 40,
  DOCA_LOG_LEVEL_INFO = 50,
  DOCA_LOG_LEVEL_DEBUG = 60,
  DOCA_LOG_LEVEL_TRACE = 70
};

struct doca_log_backend;  ///< a place that messages go to

/// Called with the buffer of a backend, in the thread that logs, each time that it has a new message.
typedef void (*log_flush_callback)(char* buffer);

// The limits of all backends, also of later ones: INFO, CRIT and INFO at first. INVALID_VALUE for a number that is not
// a level.
DOCA_EXPERIMENTAL doca_error_t doca_log_level_set_global_lower_limit(uint32_t level);
DOCA_EXPERIMENTAL doca_error_t doca_log_level_set_global_upper_limit(uint32_t level);
DOCA_EXPERIMENTAL doca_error_t doca_log_level_set_global_sdk_limit(uint32_t level);
DOCA_EXPERIMENTAL uint32_t doca_log_level_get_global_lower_limit(void);
DOCA_EXPERIMENTAL uint32_t doca_log_level_get_global_upper_limit(void);
DOCA_EXPERIMENTAL uint32_t doca_log_level_get_global_sdk_limit(void);

// Backends for the program's messages.
/// INFO and what is more verbose to stdout, WARNING and what is more severe to stderr.
DOCA_EXPERIMENTAL doca_error_t doca_log_backend_create_standard(void);
DOCA_EXPERIMENTAL doca_error_t doca_log_backend_create_with_file(FILE* fptr, struct doca_log_backend** backend);
DOCA_EXPERIMENTAL doca_error_t doca_log_backend_create_with_fd(int fd, struct doca_log_backend** backend);
/// Writes each message to the beginning of buf, cut to capacity bytes with its NUL, and calls handler.
DOCA_EXPERIMENTAL doca_error_t doca_log_backend_create_with_buf(char* buf, size_t capacity, log_flush_callback handler,
                                                                struct doca_log_backend** backend);
DOCA_EXPERIMENTAL doca_error_t doca_log_backend_create_with_syslog(const char* name, struct doca_log_backend** backend);

// The same for the library's messages.
DOCA_EXPERIMENTAL doca_error_t doca_log_backend_create_with_file_sdk(FILE* fptr, struct doca_log_backend** backend);
DOCA_EXPERIMENTAL doca_error_t doca_log_backend_create_with_fd_sdk(int fd, struct doca_log_backend** backend);
DOCA_EXPERIMENTAL doca_error_t doca_log_backend_create_with_buf_sdk(char* buf, size_t capacity,
                                                                    log_flush_callback handler,
                                                                    struct doca_log_backend** backend);
DOCA_EXPERIMENTAL doca_error_t doca_log_backend_create_with_syslog_sdk(const char* name,
                                                                       struct doca_log_backend** backend);

// The limits of one backend. NOT_SUPPORTED for a backend of the other kind, NOT_PERMITTED for a limit that is more
// relaxed than a strict one.
DOCA_EXPERIMENTAL doca_error_t doca_log_backend_set_level_lower_limit(struct doca_log_backend* backend, uint32_t level);
DOCA_EXPERIMENTAL doca_error_t doca_log_backend_set_level_upper_limit(struct doca_log_backend* backend, uint32_t level);
/// The limit cannot be relaxed afterwards.
DOCA_EXPERIMENTAL doca_error_t doca_log_backend_set_level_lower_limit_strict(struct doca_log_backend* backend);
DOCA_EXPERIMENTAL doca_error_t doca_log_backend_set_level_upper_limit_strict(struct doca_log_backend* backend);
DOCA_EXPERIMENTAL doca_error_t doca_log_backend_set_sdk_level(struct doca_log_backend* backend, uint32_t level);

/// Gives a source of messages its number. The parts of a name are separated by "::".
DOCA_EXPERIMENTAL doca_error_t doca_log_register_source(const char* source_name, int* source);
DOCA_EXPERIMENTAL doca_error_t doca_log_unregister_source(int source);

/// Logs a message of the program; file, line and func may be shown with it. The macros below call it. INVALID_VALUE for
/// DOCA_LOG_LEVEL_DISABLE and for a number that is not a level.
DOCA_EXPERIMENTAL doca_error_t doca_log(uint32_t level, int source, const char* file, int line, const char* func,
                                        const char* format, ...) __attribute__((format(printf, 6, 7)));

/// Declares the source of this file's messages, at the top of the file: DOCA_LOG_REGISTER(SERVER::SESSION); It is
/// registered while the program runs. The last word is for compilers that warn of a semicolon behind a function.
#define DOCA_LOG_REGISTER(NAME)                                                    \
  static int log_source;                                                           \
  __attribute__((constructor)) static void doca_log_register_this_source_(void) {  \
    (void)doca_log_register_source(#NAME, &log_source);                            \
  }                                                                                \
  __attribute__((destructor)) static void doca_log_unregister_this_source_(void) { \
    (void)doca_log_unregister_source(log_source);                                  \
  }                                                                                \
  __extension__

// A message as printf() has it, of a file with DOCA_LOG_REGISTER. DOCA_LOG_TRC is left out of the program unless
// DOCA_LOGGING_ALLOW_TRACE is defined.
#define DOCA_LOG(level, ...) ((void)doca_log((level), log_source, __FILE__, __LINE__, __func__, __VA_ARGS__))
#define DOCA_LOG_CRIT(...) DOCA_LOG(DOCA_LOG_LEVEL_CRIT, __VA_ARGS__)
#define DOCA_LOG_ERR(...) DOCA_LOG(DOCA_LOG_LEVEL_ERROR, __VA_ARGS__)
#define DOCA_LOG_WARN(...) DOCA_LOG(DOCA_LOG_LEVEL_WARNING, __VA_ARGS__)
#define DOCA_LOG_INFO(...) DOCA_LOG(DOCA_LOG_LEVEL_INFO, __VA_ARGS__)
#define DOCA_LOG_DBG(...) DOCA_LOG(DOCA_LOG_LEVEL_DEBUG, __VA_ARGS__)
#ifdef DOCA_LOGGING_ALLOW_TRACE
#define DOCA_LOG_TRC(...) DOCA_LOG(DOCA_LOG_LEVEL_TRACE, __VA_ARGS__)
#else
#define DOCA_LOG_TRC(...) ((void)(0 && doca_log(DOCA_LOG_LEVEL_TRACE, log_source, "", 0, "", __VA_ARGS__)))
#endif

#ifdef __cplusplus
}
#endif

#endif  // DOCA_LOG_H_
