// Comch of two processes: the DPU serves, the host is its client.

#include "programs/comch_pair.h"

#include <signal.h>
#include <unistd.h>

CASE(comch_pair, a_buffer_may_be_freed_right_after_submission) {
  struct pair pair;
  pair_begin_linked(&pair);
  send_line(&pair.dpu, "comch_until received 1000");
  ASK(&pair.host, "comch_send 1000 4080", "DOCA_SUCCESS");
  ASK(&pair.host, "comch_until sent 1000", "DOCA_SUCCESS");
  EXPECT_LINE(&pair.dpu, "DOCA_SUCCESS");
  send_line(&pair.host, "comch_until received 1000");
  ASK(&pair.dpu, "comch_send 1000 77", "DOCA_SUCCESS");
  ASK(&pair.dpu, "comch_until sent 1000", "DOCA_SUCCESS");
  EXPECT_LINE(&pair.host, "DOCA_SUCCESS");
  ASK(&pair.host, "comch_counters", "DOCA_SUCCESS 1000 4080000 1000 77000");
  ASK(&pair.dpu, "comch_counters", "DOCA_SUCCESS 1000 77000 1000 4080000");
  pair_end(&pair);
}

CASE(comch_pair, a_message_is_answered_in_its_callback) {
  struct pair pair;
  pair_begin_linked(&pair);
  ASK(&pair.dpu, "comch_echo", "DOCA_SUCCESS");
  send_line(&pair.dpu, "comch_until sent 20");
  ASK(&pair.host, "comch_send 20 4080", "DOCA_SUCCESS");
  ASK(&pair.host, "comch_until received 20", "DOCA_SUCCESS");
  EXPECT_LINE(&pair.dpu, "DOCA_SUCCESS");
  ASK(&pair.dpu, "comch echoed", "DOCA_SUCCESS 20");
  pair_end(&pair);
}

CASE(comch_pair, the_client_may_start_first) {
  struct pair pair;
  pair_begin(&pair);
  ASK(&pair.host, "comch_link", "DOCA_ERROR_IN_PROGRESS");
  ASK(&pair.host, "comch state", "DOCA_SUCCESS 1");
  ASK(&pair.host, "comch_send 1 1", "DOCA_ERROR_BAD_STATE");
  ASK(&pair.dpu, "comch_link", "DOCA_SUCCESS");
  pair_meet(&pair);
  pair_end(&pair);
}

CASE(comch_pair, a_missing_server_is_told_once) {
  struct pair pair;
  const long start = now();
  pair_begin(&pair);
  ASK(&pair.host, "comch_link", "DOCA_ERROR_IN_PROGRESS");
  send_line(&pair.host, "comch_until state 2");
  while (count_errors(&pair.host, "still waiting for a server of this name") == 0) {
    CHECK(now() - start < 20000);
    usleep(10000);
  }
  ASK(&pair.dpu, "comch_link", "DOCA_SUCCESS");
  ASK(&pair.dpu, "comch_until connected", "DOCA_SUCCESS");
  EXPECT_LINE(&pair.host, "DOCA_SUCCESS");
  CHECK_EQUAL(count_errors(&pair.host, ""), 1);
  pair_end(&pair);
}

CASE(comch_pair, the_smaller_message_size_holds) {
  struct pair pair;
  pair_begin(&pair);
  ASK(&pair.dpu, "comch_link 100", "DOCA_SUCCESS");
  ASK(&pair.host, "comch_link 4080", "DOCA_ERROR_IN_PROGRESS");
  pair_meet(&pair);
  ASK(&pair.host, "comch_send 1 101", "DOCA_ERROR_INVALID_VALUE");
  ASK(&pair.host, "comch_send 1 100", "DOCA_SUCCESS");
  ASK(&pair.dpu, "comch_until received 1", "DOCA_SUCCESS");
  ASK(&pair.dpu, "comch_send 1 101", "DOCA_ERROR_INVALID_VALUE");
  pair_end(&pair);
}

CASE(comch_pair, a_receiver_that_does_not_progress_holds_the_sender) {
  struct pair pair;
  pair_begin(&pair);
  ASK(&pair.dpu, "comch_link 4080 2", "DOCA_SUCCESS");
  ASK(&pair.host, "comch_link", "DOCA_ERROR_IN_PROGRESS");
  pair_meet(&pair);
  ASK(&pair.host, "comch_send 32 4080", "DOCA_SUCCESS");
  ASK(&pair.host, "comch_until sent 2", "DOCA_SUCCESS");
  send_line(&pair.host, "comch_until sent 32");
  ASK(&pair.dpu, "comch_until received 32", "DOCA_SUCCESS");
  EXPECT_LINE(&pair.host, "DOCA_SUCCESS");
  pair_end(&pair);
}

CASE(comch_pair, the_server_disconnects_a_client) {
  struct pair pair;
  pair_begin_linked(&pair);
  ASK(&pair.dpu, "comch_disconnect", "DOCA_SUCCESS");
  ASK(&pair.dpu, "comch_until disconnected 1", "DOCA_SUCCESS");
  ASK(&pair.dpu, "comch state", "DOCA_SUCCESS 2");
  ASK(&pair.dpu, "comch_disconnect", "DOCA_ERROR_NOT_FOUND");
  ASK(&pair.host, "comch_until state 0", "DOCA_SUCCESS");
  ASK(&pair.host, "comch_start", "DOCA_ERROR_IN_PROGRESS");
  send_line(&pair.dpu, "comch_until connected 2");
  ASK(&pair.host, "comch_until state 2", "DOCA_SUCCESS");
  EXPECT_LINE(&pair.dpu, "DOCA_SUCCESS");
  ASK(&pair.host, "comch_send 1 10", "DOCA_SUCCESS");
  ASK(&pair.dpu, "comch_until received 1", "DOCA_SUCCESS");
  pair_end(&pair);
}

CASE(comch_pair, a_server_that_stops_reports_every_disconnection) {
  struct pair pair;
  pair_begin_linked(&pair);
  ASK(&pair.dpu, "comch_stop", "DOCA_ERROR_IN_PROGRESS");
  ASK(&pair.dpu, "comch_until state 0", "DOCA_SUCCESS");
  ASK(&pair.dpu, "comch disconnected", "DOCA_SUCCESS 1");
  ASK(&pair.host, "comch_until state 0", "DOCA_SUCCESS");
  ASK(&pair.host, "comch_send 1 1", "DOCA_ERROR_BAD_STATE");
  pair_end(&pair);
}

CASE(comch_pair, a_client_that_stops_is_reported) {
  struct pair pair;
  pair_begin_linked(&pair);
  ASK(&pair.host, "comch_send 3 20", "DOCA_SUCCESS");
  ASK(&pair.host, "comch_until sent 3", "DOCA_SUCCESS");
  send_line(&pair.host, "comch_stop");
  EXPECT_LINE(&pair.host, "DOCA_ERROR_IN_PROGRESS");
  ASK(&pair.host, "comch_until state 0", "DOCA_SUCCESS");
  ASK(&pair.dpu, "comch_until disconnected 1", "DOCA_SUCCESS");
  ASK(&pair.dpu, "comch received", "DOCA_SUCCESS 3");
  ASK(&pair.dpu, "comch state", "DOCA_SUCCESS 2");
  pair_end(&pair);
}

CASE(comch_pair, a_killed_client_costs_its_connection) {
  struct pair pair;
  pair_begin_linked(&pair);
  ASK(&pair.dpu, "comch_send 32 4080", "DOCA_SUCCESS");
  kill_program(&pair.host, SIGKILL);
  wait_for_end(&pair.host);
  ASK(&pair.dpu, "comch_until disconnected 1", "DOCA_SUCCESS");
  ASK(&pair.dpu, "comch completed", "DOCA_SUCCESS 32");
  ASK(&pair.dpu, "comch status", "DOCA_SUCCESS 11");
  ASK(&pair.dpu, "comch state", "DOCA_SUCCESS 2");
  pair_replace_host(&pair, 2);
  pair_end(&pair);
}

CASE(comch_pair, a_killed_server_takes_its_client_to_idle) {
  struct pair pair;
  pair_begin_linked(&pair);
  ASK(&pair.host, "comch_send 32 4080", "DOCA_SUCCESS");
  kill_program(&pair.dpu, SIGKILL);
  wait_for_end(&pair.dpu);
  ASK(&pair.host, "comch_until state 0", "DOCA_SUCCESS");
  ASK(&pair.host, "comch completed", "DOCA_SUCCESS 32");
  ASK(&pair.host, "comch wrong", "DOCA_SUCCESS 0");
  quit(&pair.host);
  end_programs();
}

CASE(comch_pair, a_stopped_process_only_delays) {
  struct pair pair;
  pair_begin_linked(&pair);
  kill_program(&pair.dpu, SIGSTOP);
  ASK(&pair.host, "comch_send 4 4080", "DOCA_SUCCESS");
  usleep(100000);
  kill_program(&pair.dpu, SIGCONT);
  ASK(&pair.dpu, "comch_until received 4", "DOCA_SUCCESS");
  ASK(&pair.host, "comch_until sent 4", "DOCA_SUCCESS");
  pair_end(&pair);
}
