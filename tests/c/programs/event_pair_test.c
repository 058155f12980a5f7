// Sync events of two processes.

#include "programs/program.h"

#include <signal.h>
#include <unistd.h>

struct pair {
  struct program host;
  struct program dpu;
};

static void begin(struct pair* pair, const char* make) {
  begin_programs();
  start_actor(&pair->host, "host");
  start_actor(&pair->dpu, "dpu");
  ASK(&pair->host, make, "DOCA_SUCCESS");
}

static void end(struct pair* pair) {
  quit(&pair->dpu);
  quit(&pair->host);
  end_programs();
}

CASE(event_pair, the_dpu_publishes) {
  struct pair pair;
  begin(&pair, "event publisher");
  ASK(&pair.dpu, "import_event", "DOCA_SUCCESS");
  send_line(&pair.host, "wait_gt 4");
  usleep(100000);
  ASK(&pair.dpu, "set 4", "DOCA_SUCCESS");
  ASK(&pair.dpu, "add 1", "DOCA_SUCCESS 4");
  EXPECT_LINE(&pair.host, "DOCA_SUCCESS");
  ASK(&pair.host, "get", "DOCA_SUCCESS 5");
  end(&pair);
}

CASE(event_pair, the_dpu_subscribes) {
  struct pair pair;
  begin(&pair, "event subscriber");
  ASK(&pair.dpu, "import_event", "DOCA_SUCCESS");
  send_line(&pair.dpu, "wait_eq 9");
  usleep(100000);
  ASK(&pair.host, "set 9", "DOCA_SUCCESS");
  EXPECT_LINE(&pair.dpu, "DOCA_SUCCESS");
  end(&pair);
}

CASE(event_pair, a_task_of_the_dpu_waits) {
  struct pair pair;
  begin(&pair, "event subscriber");
  ASK(&pair.dpu, "import_tasks", "DOCA_SUCCESS");
  send_line(&pair.dpu, "task_eq 3");
  usleep(100000);
  ASK(&pair.host, "set 3", "DOCA_SUCCESS");
  EXPECT_LINE(&pair.dpu, "DOCA_SUCCESS");
  end(&pair);
}

CASE(event_pair, the_event_of_the_dpu_is_used_by_the_host) {
  struct pair pair;
  begin_programs();
  start_actor(&pair.dpu, "dpu");
  start_actor(&pair.host, "host");
  ASK(&pair.dpu, "event publisher", "DOCA_SUCCESS");
  ASK(&pair.host, "import_event", "DOCA_SUCCESS");
  ASK(&pair.host, "set 8", "DOCA_SUCCESS");
  ASK(&pair.dpu, "wait_eq 8", "DOCA_SUCCESS");
  quit(&pair.host);
  quit(&pair.dpu);
  end_programs();
}

/// The DPU imports the event of the host. One of them waits, and the other one is killed.
struct killing {
  const char* make;    ///< the host's order
  const char* import;  ///< the DPU's order
  const char* wait;    ///< the order of the one that stays
  bool kills_owner;    ///< otherwise the importer is killed
  const char* later;   ///< what get answers afterwards; NULL: not asked
};

static void kill_one(const struct killing* killing) {
  struct pair pair;
  begin(&pair, killing->make);
  struct program* killed = killing->kills_owner ? &pair.host : &pair.dpu;
  struct program* other = killing->kills_owner ? &pair.dpu : &pair.host;
  ASK(&pair.dpu, killing->import, "DOCA_SUCCESS");
  send_line(other, killing->wait);
  usleep(100000);
  kill_program(killed, SIGKILL);
  const long start = now();
  EXPECT_LINE(other, "DOCA_ERROR_CONNECTION_RESET");
  CHECK(now() - start < 2000);
  wait_for_end(killed);
  if (killing->later != NULL) ASK(other, "get", killing->later);
  quit(other);
  end_programs();
}

CASE(event_pair, a_killed_owner_ends_the_importers_wait) {
  kill_one(&(struct killing){"event subscriber", "import_event", "wait_gt 0", true, "DOCA_ERROR_CONNECTION_RESET"});
}

CASE(event_pair, a_killed_owner_fails_the_importers_task) {
  kill_one(&(struct killing){"event subscriber", "import_tasks", "task_eq 3", true, NULL});
}

CASE(event_pair, a_killed_importer_ends_the_owners_wait) {
  kill_one(&(struct killing){"event publisher", "import_event", "wait_gt 0", false, NULL});
}

CASE(event_pair, a_stopped_event_ends_the_importers_wait) {
  struct pair pair;
  begin(&pair, "event subscriber");
  ASK(&pair.dpu, "import_event", "DOCA_SUCCESS");
  send_line(&pair.dpu, "wait_gt 0");
  usleep(100000);
  quit(&pair.host);
  EXPECT_LINE(&pair.dpu, "DOCA_ERROR_NOT_CONNECTED");
  quit(&pair.dpu);
  end_programs();
}

CASE(event_pair, a_stopped_process_only_delays) {
  struct pair pair;
  begin(&pair, "event subscriber");
  ASK(&pair.dpu, "import_event", "DOCA_SUCCESS");
  send_line(&pair.dpu, "wait_gt 0");
  usleep(100000);
  kill_program(&pair.dpu, SIGSTOP);
  ASK(&pair.host, "set 1", "DOCA_SUCCESS");
  kill_program(&pair.dpu, SIGCONT);
  EXPECT_LINE(&pair.dpu, "DOCA_SUCCESS");
  end(&pair);
}

CASE(event_pair, an_import_from_a_stopped_process_times_out) {
  struct pair pair;
  begin(&pair, "event subscriber");
  kill_program(&pair.host, SIGSTOP);
  ASK(&pair.dpu, "import_event", "DOCA_ERROR_TIME_OUT");
  kill_program(&pair.host, SIGCONT);
  end(&pair);
}

CASE(event_pair, the_export_of_another_version_is_unsupported) {
  struct pair pair;
  begin(&pair, "event subscriber");
  change_byte("event", 8);
  ASK(&pair.dpu, "import_event", "DOCA_ERROR_UNSUPPORTED_VERSION");
  CHECK_EQUAL(count_errors(&pair.dpu, "create_from_export"), 1);
  CHECK_EQUAL(count_errors(&pair.dpu, ""), 1);
  end(&pair);
}

CASE(event_pair, a_missing_owner_is_not_connected) {
  struct pair pair;
  begin(&pair, "event subscriber");
  quit(&pair.host);
  ASK(&pair.dpu, "import_event", "DOCA_ERROR_NOT_CONNECTED");
  CHECK_EQUAL(count_errors(&pair.dpu, "create_from_export"), 1);
  CHECK_EQUAL(count_errors(&pair.dpu, ""), 1);
  quit(&pair.dpu);
  end_programs();
}
