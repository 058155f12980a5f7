/// Cases in C: CASE(dev, opens_twice) { CHECK(1 + 1 == 2); }. The program runs the case whose name it is given,
/// dev.opens_twice.
#ifndef TESTS_C_CASE_H
#define TESTS_C_CASE_H

#include <doca_error.h>
#include <stdbool.h>
#include <string.h>

struct c_case {
  const char* name;
  void (*run)(void);
  struct c_case* next;
};

/// Called before main().
void c_case_register(struct c_case* added);

/// Ends the process with a line that has the place.
_Noreturn void c_case_fail(const char* file, int line, const char* format, ...) __attribute__((format(printf, 3, 4)));

#define CASE(noun, fact)                                                         \
  static void noun##_##fact(void);                                               \
  __attribute__((constructor)) static void register_##noun##_##fact(void) {      \
    static struct c_case self = {.name = #noun "." #fact, .run = noun##_##fact}; \
    c_case_register(&self);                                                      \
  }                                                                              \
  static void noun##_##fact(void)

#define CHECK(condition)                                                 \
  do {                                                                   \
    if (!(condition)) c_case_fail(__FILE__, __LINE__, "%s", #condition); \
  } while (0)

/// Whether call answers the status; says both by name if not.
#define CHECK_STATUS(call, expected)                                                             \
  do {                                                                                           \
    const doca_error_t c_case_got_ = (call);                                                     \
    const doca_error_t c_case_expected_ = (expected);                                            \
    if (c_case_got_ != c_case_expected_)                                                         \
      c_case_fail(__FILE__, __LINE__, "%s: %s, not %s", #call, doca_error_get_name(c_case_got_), \
                  doca_error_get_name(c_case_expected_));                                        \
  } while (0)

#define CHECK_OK(call) CHECK_STATUS(call, DOCA_SUCCESS)
#define CHECK_INVALID(call) CHECK_STATUS(call, DOCA_ERROR_INVALID_VALUE)

/// Whether two numbers that are not negative are equal; says both if not.
#define CHECK_EQUAL(got, expected)                                                                \
  do {                                                                                            \
    const unsigned long long c_case_got_ = (unsigned long long)(got);                             \
    const unsigned long long c_case_expected_ = (unsigned long long)(expected);                   \
    if (c_case_got_ != c_case_expected_)                                                          \
      c_case_fail(__FILE__, __LINE__, "%s: %llu, not %llu", #got, c_case_got_, c_case_expected_); \
  } while (0)

#define CHECK_TEXT(got, expected)                                                               \
  do {                                                                                          \
    const char* const c_case_got_ = (got);                                                      \
    if (strcmp(c_case_got_, (expected)) != 0)                                                   \
      c_case_fail(__FILE__, __LINE__, "%s: \"%s\", not \"%s\"", #got, c_case_got_, (expected)); \
  } while (0)

#endif  // TESTS_C_CASE_H
