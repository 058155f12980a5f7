// The memory of the responder: a counter, and a text behind it.
#ifndef EXAMPLES_RDMA_MEMORY_H_
#define EXAMPLES_RDMA_MEMORY_H_

enum { counter_size = 8, text_size = 1024, memory_size = counter_size + text_size };

#endif
