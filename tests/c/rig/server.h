/// A comch server of the DPU in this process, whose library is that of the host.
#ifndef TESTS_C_SERVER_H
#define TESTS_C_SERVER_H

#ifdef __cplusplus
extern "C" {
#endif

struct server;

/// A running server of that name for the host's first function. It takes every client and every message.
struct server* server_open(const char* name);
void server_progress(struct server* server);
/// Its clients have gone before.
void server_close(struct server* server);

#ifdef __cplusplus
}
#endif

#endif  // TESTS_C_SERVER_H
