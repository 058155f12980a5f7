/// One side of a test of two processes: a program that takes commands as lines on standard input, such as
/// "lend malloc rw", and answers each with one line, which begins with a status: "DOCA_SUCCESS". The same source is
/// built for both sides.
#ifndef TESTS_C_PROGRAMS_ACTOR_H
#define TESTS_C_PROGRAMS_ACTOR_H

#include <doca_buf_inventory.h>
#include <doca_ctx.h>
#include <doca_dev.h>
#include <doca_dma.h>
#include <doca_error.h>
#include <doca_mmap.h>
#include <doca_pe.h>
#include <doca_sync_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { memory_size = 256 * 1024, max_words = 4, detail_size = 2000 };

struct actor {
  const char* directory;  ///< has the files that both sides know
  struct doca_dev* dev;
  struct doca_pe* pe;
  struct doca_buf_inventory* inventory;
  // Memory that this side lends.
  char* on_stack;  ///< memory_size bytes on the stack of main()
  char* lent;
  bool is_allocated;  ///< lent was, and can be freed
  struct doca_mmap* lent_map;
  // Memory of the other side.
  struct doca_mmap* remote;
  char* remote_address;
  // This side's, for copies.
  char* local;
  struct doca_mmap* local_map;
  struct doca_dma* dma;
  int num_completed;
  doca_error_t status;  ///< that of the copy or wait that completed last
  struct doca_sync_event* event;
  bool event_is_asynchronous;
  char detail[detail_size];  ///< follows the status in the answer
};

typedef doca_error_t (*command_function)(struct actor* actor, int num_words, char** words);
struct command {
  const char* name;
  command_function run;
};
/// Tables of commands, each of which ends with a name that is NULL.
extern const struct command memory_commands[];
extern const struct command event_commands[];
extern const struct command comch_commands[];

/// The files that both sides know. read_all: INVALID_VALUE for one that is not there.
doca_error_t write_all(const struct actor* actor, const char* name, const void* bytes, size_t length);
doca_error_t read_all(const struct actor* actor, const char* name, void* bytes, size_t size, size_t* length);

/// Progresses until the context is idle.
void stop_until_idle(struct doca_pe* pe, struct doca_ctx* ctx);
/// Copies length bytes between the other side's memory and this side's, both from their beginning.
doca_error_t copy_remote(struct actor* actor, bool to_remote, size_t length);
void end_memory(struct actor* actor);
void end_event(struct actor* actor);
void end_comch(struct actor* actor);

#endif  // TESTS_C_PROGRAMS_ACTOR_H
