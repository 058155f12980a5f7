/// A server on the DPU and a client on the host, each in a process of its own: actors (actor.h), which progress only
/// while they obey.
#ifndef TESTS_C_PROGRAMS_COMCH_PAIR_H
#define TESTS_C_PROGRAMS_COMCH_PAIR_H

#include "programs/program.h"

struct pair {
  struct program host;
  struct program dpu;
};

/// Starts both actors.
void pair_begin(struct pair* pair);
/// Progresses both until the client is connected.
void pair_meet(struct pair* pair);
/// Both, after starting the server and then the client.
void pair_begin_linked(struct pair* pair);
/// Starts a host that takes the place of the one that has ended, and connects it: the server's client of that number.
void pair_replace_host(struct pair* pair, int number);
/// Ends both in order. No callback may have seen something wrong.
void pair_end(struct pair* pair);

#endif  // TESTS_C_PROGRAMS_COMCH_PAIR_H
