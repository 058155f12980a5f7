// How the two programs meet, and the values of the event.
#ifndef EXAMPLES_EVENT_H_
#define EXAMPLES_EVENT_H_

#include <stdint.h>

enum { event_export_size = 1024 };

static const uint64_t first_value = 40;  // is set
static const uint64_t summand = 2;       // is added to it

#endif
