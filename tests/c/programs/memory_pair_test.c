// The host lends memory to the DPU, in two processes. The host's memory is never the engine's own.

#include "programs/program.h"

#include <signal.h>
#include <unistd.h>

// Places in an export, which begins with eight letters and its version.
enum { version_at = 8, middle = 60 };

struct pair {
  struct program host;
  struct program dpu;
};

static void begin(struct pair* pair, const char* lend) {
  begin_programs();
  start_actor(&pair->host, "host");
  start_actor(&pair->dpu, "dpu");
  if (lend != NULL) ASK(&pair->host, lend, "DOCA_SUCCESS");
}

static void end(struct pair* pair) {
  quit(&pair->dpu);
  quit(&pair->host);
  end_programs();
}

static void lend_read_and_write(const char* lend) {
  struct pair pair;
  begin(&pair, lend);
  ASK(&pair.dpu, "import", "DOCA_SUCCESS");
  ASK(&pair.dpu, "read h", "DOCA_SUCCESS");
  ASK(&pair.dpu, "write d", "DOCA_SUCCESS");
  ASK(&pair.host, "see d", "DOCA_SUCCESS");
  end(&pair);
}

CASE(pair, memory_is_allocated) { lend_read_and_write("lend malloc rw"); }

CASE(pair, memory_is_static) { lend_read_and_write("lend static rw"); }

CASE(pair, memory_is_on_the_stack) { lend_read_and_write("lend stack rw"); }

CASE(pair, memory_is_of_a_file) { lend_read_and_write("lend file rw"); }

CASE(pair, the_dpu_may_start_first) {
  struct pair pair;
  begin_programs();
  start_actor(&pair.dpu, "dpu");
  ASK(&pair.dpu, "import", "DOCA_ERROR_IO_FAILED");
  start_actor(&pair.host, "host");
  ASK(&pair.host, "lend malloc ro", "DOCA_SUCCESS");
  ASK(&pair.dpu, "import", "DOCA_SUCCESS");
  ASK(&pair.dpu, "read h", "DOCA_SUCCESS");
  end(&pair);
}

CASE(pair, the_host_may_end_first) {
  struct pair pair;
  begin(&pair, "lend malloc ro");
  ASK(&pair.dpu, "import", "DOCA_SUCCESS");
  quit(&pair.host);
  ASK(&pair.dpu, "read h", "DOCA_ERROR_IO_FAILED");
  ASK(&pair.dpu, "read h", "DOCA_ERROR_IO_FAILED");
  quit(&pair.dpu);
  end_programs();
}

CASE(pair, memory_without_the_permission_is_not_written) {
  struct pair pair;
  begin(&pair, "lend malloc ro");
  ASK(&pair.dpu, "import", "DOCA_SUCCESS");
  ASK(&pair.dpu, "write d", "DOCA_ERROR_IO_FAILED");
  ASK(&pair.host, "see h", "DOCA_SUCCESS");
  ASK(&pair.dpu, "read h", "DOCA_SUCCESS");
  end(&pair);
}

CASE(pair, memory_without_a_permission_is_not_lent) {
  struct pair pair;
  begin(&pair, NULL);
  ASK(&pair.host, "lend malloc local", "DOCA_ERROR_NOT_PERMITTED");
  end(&pair);
}

CASE(pair, withdrawn_memory_is_not_read) {
  struct pair pair;
  begin(&pair, "lend malloc ro");
  ASK(&pair.dpu, "import", "DOCA_SUCCESS");
  ASK(&pair.host, "withdraw", "DOCA_SUCCESS");
  ASK(&pair.dpu, "read h", "DOCA_ERROR_IO_FAILED");
  ASK(&pair.dpu, "forget", "DOCA_SUCCESS");
  ASK(&pair.dpu, "import", "DOCA_ERROR_NOT_CONNECTED");
  end(&pair);
}

// The allocator may give the memory to others, but nothing crashes.
CASE(pair, freed_memory_crashes_neither_side) {
  struct pair pair;
  begin(&pair, "lend malloc rw");
  ASK(&pair.dpu, "import", "DOCA_SUCCESS");
  ASK(&pair.host, "free", "DOCA_SUCCESS");
  send_line(&pair.dpu, "read h");
  char answer[100];
  read_line(&pair.dpu, answer, sizeof answer);
  CHECK(strcmp(answer, "DOCA_ERROR_IO_FAILED") == 0 || strcmp(answer, "DOCA_ERROR_UNEXPECTED") == 0);
  ASK(&pair.host, "withdraw", "DOCA_SUCCESS");
  end(&pair);
}

CASE(pair, a_killed_host_fails_copies) {
  struct pair pair;
  begin(&pair, "lend malloc ro");
  ASK(&pair.dpu, "import", "DOCA_SUCCESS");
  kill_program(&pair.host, SIGKILL);
  wait_for_end(&pair.host);
  const long start = now();
  ASK(&pair.dpu, "read h", "DOCA_ERROR_IO_FAILED");
  CHECK(now() - start < 2000);
  CHECK_EQUAL(count_errors(&pair.dpu, "a task of dma has failed"), 1);
  CHECK_EQUAL(count_errors(&pair.dpu, ""), 1);
  quit(&pair.dpu);
  end_programs();
}

CASE(pair, a_killed_host_is_not_connected) {
  struct pair pair;
  begin(&pair, "lend malloc ro");
  kill_program(&pair.host, SIGKILL);
  wait_for_end(&pair.host);
  const long start = now();
  ASK(&pair.dpu, "import", "DOCA_ERROR_NOT_CONNECTED");
  CHECK(now() - start < 2000);
  CHECK_EQUAL(count_errors(&pair.dpu, "create_from_export"), 1);
  CHECK_EQUAL(count_errors(&pair.dpu, ""), 1);
  // What the killed process has left, the next one that lends removes.
  start_actor(&pair.host, "host");
  ASK(&pair.host, "lend malloc ro", "DOCA_SUCCESS");
  end(&pair);
}

CASE(pair, a_killed_dpu_leaves_the_host_alone) {
  struct pair pair;
  begin(&pair, "lend malloc ro");
  ASK(&pair.dpu, "import", "DOCA_SUCCESS");
  kill_program(&pair.dpu, SIGKILL);
  wait_for_end(&pair.dpu);
  ASK(&pair.host, "see h", "DOCA_SUCCESS");
  start_actor(&pair.dpu, "dpu");
  ASK(&pair.dpu, "import", "DOCA_SUCCESS");
  ASK(&pair.dpu, "read h", "DOCA_SUCCESS");
  ASK(&pair.host, "withdraw", "DOCA_SUCCESS");
  end(&pair);
}

// A card reads the memory of a stopped process as well.
CASE(pair, a_stopped_host_is_still_read) {
  struct pair pair;
  begin(&pair, "lend malloc ro");
  ASK(&pair.dpu, "import", "DOCA_SUCCESS");
  kill_program(&pair.host, SIGSTOP);
  ASK(&pair.dpu, "read h", "DOCA_SUCCESS");
  kill_program(&pair.host, SIGCONT);
  end(&pair);
}

// Nobody answers the importer, which gives up.
CASE(pair, a_stopped_host_times_an_import_out) {
  struct pair pair;
  begin(&pair, "lend malloc ro");
  kill_program(&pair.host, SIGSTOP);
  ASK(&pair.dpu, "import", "DOCA_ERROR_TIME_OUT");
  CHECK_EQUAL(count_errors(&pair.dpu, "create_from_export"), 1);
  CHECK_EQUAL(count_errors(&pair.dpu, ""), 1);
  kill_program(&pair.host, SIGCONT);
  ASK(&pair.dpu, "import", "DOCA_SUCCESS");
  ASK(&pair.dpu, "read h", "DOCA_SUCCESS");
  end(&pair);
}

CASE(pair, a_stopped_dpu_does_not_keep_the_host) {
  struct pair pair;
  begin(&pair, "lend malloc ro");
  ASK(&pair.dpu, "import", "DOCA_SUCCESS");
  kill_program(&pair.dpu, SIGSTOP);
  ASK(&pair.host, "withdraw", "DOCA_SUCCESS");
  kill_program(&pair.dpu, SIGCONT);
  ASK(&pair.dpu, "read h", "DOCA_ERROR_IO_FAILED");
  end(&pair);
}

static void import_damaged(void (*damage)(void), const char* expected) {
  struct pair pair;
  begin(&pair, "lend malloc ro");
  damage();
  ASK(&pair.dpu, "import", expected);
  CHECK_EQUAL(count_errors(&pair.dpu, "create_from_export"), 1);
  CHECK_EQUAL(count_errors(&pair.dpu, ""), 1);
  end(&pair);
}

static void change_version(void) { change_byte("export", version_at); }
static void change_middle(void) { change_byte("export", middle); }
static void cut_off(void) { shorten("export", 100); }
static void cut_all(void) { shorten("export", 0); }

CASE(pair, an_export_of_another_version_is_unsupported) {
  import_damaged(change_version, "DOCA_ERROR_UNSUPPORTED_VERSION");
}

CASE(pair, a_changed_export_is_invalid) { import_damaged(change_middle, "DOCA_ERROR_INVALID_VALUE"); }

CASE(pair, a_part_of_an_export_is_invalid) { import_damaged(cut_off, "DOCA_ERROR_INVALID_VALUE"); }

CASE(pair, an_empty_export_is_invalid) { import_damaged(cut_all, "DOCA_ERROR_INVALID_VALUE"); }

CASE(pair, a_host_imports_nothing_from_a_host) {
  struct pair pair;
  begin(&pair, "lend malloc ro");
  ASK(&pair.host, "import", "DOCA_ERROR_NOT_SUPPORTED");
  end(&pair);
}

CASE(pair, a_dpu_lends_nothing) {
  struct pair pair;
  begin(&pair, NULL);
  ASK(&pair.dpu, "lend malloc ro", "DOCA_ERROR_NOT_SUPPORTED");
  end(&pair);
}
