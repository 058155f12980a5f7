/// Programs that a case starts, and a directory in which they meet. What a case leaves running ends with it.
#ifndef TESTS_C_PROGRAMS_PROGRAM_H
#define TESTS_C_PROGRAMS_PROGRAM_H

#include "rig/case.h"

#include <sys/types.h>

struct program {
  pid_t pid;
  int in;            ///< what the program reads
  int out;           ///< what it prints
  char errors[300];  ///< the file that has its standard error
};

/// A fresh directory, which is also that of the programs' fabric. It is removed by end_programs().
const char* begin_programs(void);
/// Kills what still runs and checks that nothing is left in the directory's fabric.
void end_programs(void);

/// Starts it with the arguments, the last of which is NULL. environment: "NAME=value" or NULL.
void start_program(struct program* program, const char* path, const char* const* arguments, const char* environment);
/// The next line that it prints, without its end. Fails when none comes within half a minute.
void read_line(struct program* program, char* line, size_t size);
void send_line(struct program* program, const char* line);

/// One answer of an actor (actor.h): its first line, and those of commands.
void expect_line(struct program* program, const char* expected, const char* file, int line);
/// Sends a command and checks the answer.
void ask(struct program* program, const char* command, const char* expected, const char* file, int line);
#define ASK(program, command, expected) ask(program, command, expected, __FILE__, __LINE__)
#define EXPECT_LINE(program, expected) expect_line(program, expected, __FILE__, __LINE__)

/// Starts an actor of a side, "host" or "dpu", with an open device.
void start_actor(struct program* actor, const char* side);
/// The same without a device; environment as above.
void start_bare_actor(struct program* actor, const char* side, const char* environment);

void kill_program(struct program* program, int signal);
/// Waits for its end; its exit status, or -1 for a signal.
int wait_for_end(struct program* program);
/// Has an actor end in order, which must succeed.
void quit(struct program* actor);

/// What it has printed to standard error: the number of lines that contain text.
int count_errors(const struct program* program, const char* text);

/// Shows what it has printed to standard error.
void print_errors(const struct program* program);

/// Milliseconds of a steady clock.
long now(void);

/// Changes the byte at an offset of a file of the directory, or shortens it to so many bytes.
void change_byte(const char* name, long offset);
void shorten(const char* name, long length);

#endif  // TESTS_C_PROGRAMS_PROGRAM_H
