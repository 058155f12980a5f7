// Programs of one side: what they see, and what becomes of those that are of the wrong one.

#include "programs/program.h"

#include <stdio.h>

CASE(side, is_told_by_the_headers) {
  struct program host;
  struct program dpu;
  begin_programs();
  start_bare_actor(&host, "host", NULL);
  start_bare_actor(&dpu, "dpu", NULL);
  ASK(&host, "side", "DOCA_SUCCESS host");
  ASK(&dpu, "side", "DOCA_SUCCESS dpu");
  quit(&host);
  quit(&dpu);
  end_programs();
}

CASE(side, has_devices_of_its_own) {
  struct program host;
  struct program dpu;
  begin_programs();
  start_bare_actor(&host, "host", NULL);
  start_bare_actor(&dpu, "dpu", NULL);
  ASK(&host, "devices", "DOCA_SUCCESS 0000:0b:00.0 0000:0b:00.1 0000:0b:00.2 0000:0b:00.3 0000:0b:00.4");
  ASK(&host, "open 03:00.0", "DOCA_ERROR_NOT_FOUND");
  ASK(&dpu, "open 0b:00.0", "DOCA_ERROR_NOT_FOUND");
  ASK(&dpu, "open 03:00.0", "DOCA_SUCCESS");
  quit(&host);
  quit(&dpu);
  end_programs();
}

CASE(side, of_the_host_has_no_representors) {
  struct program host;
  struct program dpu;
  begin_programs();
  start_actor(&host, "host");
  start_actor(&dpu, "dpu");
  ASK(&host, "representors", "DOCA_ERROR_NOT_SUPPORTED");
  send_line(&dpu, "representors");
  char answer[100];
  int count = 0;
  read_line(&dpu, answer, sizeof answer);
  CHECK(sscanf(answer, "DOCA_SUCCESS %d", &count) == 1 && count > 0);
  quit(&host);
  quit(&dpu);
  end_programs();
}

// The environment says where a process runs. One clear line says what is wrong.
static void run_on_the_wrong_side(const char* side, const char* environment) {
  struct program actor;
  begin_programs();
  start_bare_actor(&actor, side, environment);
  ASK(&actor, "devices", "DOCA_ERROR_NOT_PERMITTED");
  CHECK_EQUAL(count_errors(&actor, "PYDOCA_SIDE"), 1);
  CHECK_EQUAL(count_errors(&actor, ""), 1);
  ASK(&actor, "open 0b:00.0", "DOCA_ERROR_NOT_PERMITTED");
  quit(&actor);
  end_programs();
}

CASE(side, of_the_host_does_not_run_on_the_dpu) { run_on_the_wrong_side("host", "PYDOCA_SIDE=dpu"); }

CASE(side, of_the_dpu_does_not_run_on_the_host) { run_on_the_wrong_side("dpu", "PYDOCA_SIDE=host"); }

CASE(side, that_does_not_exist_is_named) {
  struct program actor;
  begin_programs();
  start_bare_actor(&actor, "host", "PYDOCA_SIDE=x");
  ASK(&actor, "devices", "DOCA_ERROR_NOT_PERMITTED");
  CHECK_EQUAL(count_errors(&actor, "PYDOCA_SIDE is \"x\", which is not a side; there are host and dpu"), 1);
  CHECK_EQUAL(count_errors(&actor, ""), 1);
  quit(&actor);
  end_programs();
}

CASE(side, that_the_environment_names_is_the_same) {
  struct program dpu;
  begin_programs();
  start_bare_actor(&dpu, "dpu", "PYDOCA_SIDE=dpu");
  ASK(&dpu, "open 03:00.0", "DOCA_SUCCESS");
  quit(&dpu);
  end_programs();
}

CASE(side, lacks_a_device) {
  struct program host;
  begin_programs();
  start_bare_actor(&host, "host", NULL);
  ASK(&host, "open 99:00.0", "DOCA_ERROR_NOT_FOUND");
  ASK(&host, "open nonsense", "DOCA_ERROR_INVALID_VALUE");
  CHECK_EQUAL(count_errors(&host, "nonsense"), 1);
  quit(&host);
  end_programs();
}

// A machine with devices of one side only.
CASE(side, lacks_all_devices) {
  struct program host;
  begin_programs();
  start_bare_actor(&host, "host", "PYDOCA_BACKEND=verbs");
  ASK(&host, "devices", "DOCA_ERROR_NOT_FOUND");
  CHECK_EQUAL(count_errors(&host, "there is no device"), 1);
  CHECK_EQUAL(count_errors(&host, ""), 1);
  quit(&host);
  end_programs();
}
