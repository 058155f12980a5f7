// Sending and receiving a text, as the programs do that exchange one message.
#ifndef EXAMPLES_RDMA_MESSAGE_H_
#define EXAMPLES_RDMA_MESSAGE_H_

#include "rdma_common.h"

// One receive, and the message that has filled it.
struct receipt {
  struct outcome outcome;  // the first member
  struct doca_buf* buf;
  doca_be32_t immediate;
};

// Configures one task that sends, and one that receives.
doca_error_t rdma_message_configure(struct rdma_end* end);
// Sends the text with its zero, and a number. The memory of the end must have room for it.
doca_error_t rdma_message_send(struct rdma_end* end, const char* text, uint32_t number);
// Posts a receive for a message as long as the memory of the end, where it then stands.
doca_error_t rdma_message_post(struct rdma_end* end, struct receipt* receipt);
// Waits for the message, gives the buf back, and tells the number.
doca_error_t rdma_message_wait(struct rdma_end* end, struct receipt* receipt, uint32_t* number);

#endif
