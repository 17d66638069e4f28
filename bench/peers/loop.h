// What a library in C or C++ is measured through: peer_run makes many calls from one of Python's, which
// costs more than a token's rotation does. A shared object for each library has these functions.

#ifndef ROPEWALK_BENCH_PEERS_LOOP_H_
#define ROPEWALK_BENCH_PEERS_LOOP_H_

#include <stdint.h>

typedef struct peer_work {
  void* x;                      // tokens x heads x head_dim elements
  void* out;                    // as many; NULL: in place
  const int32_t* positions;     // [tokens]
  int32_t f16, bf16, adjacent;  // 0 or 1; neither f16 nor bf16: f32. adjacent 0: halves
  int32_t heads_first;          // 1: x and out lie [heads, tokens, head_dim]
  int32_t ready;                // 1: cos and sin are computed by peer_create, not by each call
  int32_t single;               // 1: calls are never put together; the tensor is rotated once
  int64_t tokens, heads, head_dim;
  double base;
} peer_work;

// NULL if the library does not do this; message then says why. Memory of the work stays the caller's,
// and must outlive what is returned.
void* peer_create(const peer_work* work, char* message, int64_t message_size);

// At least `calls` calls. Returns how many it were, or -1 if one failed.
int64_t peer_run(void* peer, int64_t calls);

void peer_destroy(void* peer);
const char* peer_version(void);

#endif  // ROPEWALK_BENCH_PEERS_LOOP_H_
