#include "programs/comch_pair.h"

#include <stdio.h>

void pair_begin(struct pair* pair) {
  begin_programs();
  start_actor(&pair->dpu, "dpu");
  start_actor(&pair->host, "host");
}

// The server's progress takes the client in; neither runs by itself.
void pair_meet(struct pair* pair) {
  send_line(&pair->dpu, "comch_until connected");
  ASK(&pair->host, "comch_until state 2", "DOCA_SUCCESS");
  EXPECT_LINE(&pair->dpu, "DOCA_SUCCESS");
}

void pair_begin_linked(struct pair* pair) {
  pair_begin(pair);
  ASK(&pair->dpu, "comch_link", "DOCA_SUCCESS");
  ASK(&pair->host, "comch_link", "DOCA_ERROR_IN_PROGRESS");
  pair_meet(pair);
}

void pair_replace_host(struct pair* pair, int number) {
  char command[40];
  snprintf(command, sizeof command, "comch_until connected %d", number);
  start_actor(&pair->host, "host");
  ASK(&pair->host, "comch_link", "DOCA_ERROR_IN_PROGRESS");
  send_line(&pair->dpu, command);
  ASK(&pair->host, "comch_until state 2", "DOCA_SUCCESS");
  EXPECT_LINE(&pair->dpu, "DOCA_SUCCESS");
}

void pair_end(struct pair* pair) {
  ASK(&pair->host, "comch wrong", "DOCA_SUCCESS 0");
  ASK(&pair->dpu, "comch wrong", "DOCA_SUCCESS 0");
  quit(&pair->host);
  quit(&pair->dpu);
  end_programs();
}
