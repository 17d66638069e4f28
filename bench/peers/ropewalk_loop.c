// ropewalk, through its C interface.

#include <ropewalk/ropewalk.h>
#include <stdio.h>
#include <stdlib.h>

#include "loop.h"

typedef struct ropewalk_peer {
  peer_work work;
  ropewalk_rope* rope;
  ropewalk_angles* angles;
  ropewalk_tensor x, out;
  ropewalk_positions positions;
} ropewalk_peer;

static ropewalk_status call(const ropewalk_peer* peer, ropewalk_error* error) {
  const int in_place = peer->work.out == NULL;
  if (peer->work.ready) {
    return in_place ? ropewalk_rotate_angles(peer->angles, &peer->x, NULL, NULL, error)
                    : ropewalk_rotate_angles_into(peer->angles, &peer->x, NULL, &peer->out, NULL,
                                                  NULL, error);
  }
  return in_place ? ropewalk_rotate(peer->rope, &peer->x, NULL, &peer->positions, NULL, error)
                  : ropewalk_rotate_into(peer->rope, &peer->x, NULL, &peer->positions, &peer->out,
                                         NULL, NULL, error);
}

static ropewalk_tensor tensor_of(const peer_work* work, void* data) {
  const ropewalk_dtype dtype = work->f16 ? ROPEWALK_F16 : work->bf16 ? ROPEWALK_BF16 : ROPEWALK_F32;
  return work->heads_first
             ? ropewalk_tensor_bhtd(data, dtype, 1, work->tokens, work->heads, work->head_dim)
             : ropewalk_tensor_bthd(data, dtype, 1, work->tokens, work->heads, work->head_dim);
}

static ropewalk_status plan(ropewalk_peer* peer, ropewalk_error* error) {
  ropewalk_spec spec = ropewalk_spec_default(peer->work.head_dim);
  spec.base = peer->work.base;
  spec.pairing = peer->work.adjacent ? ROPEWALK_ADJACENT : ROPEWALK_HALVES;
  const ropewalk_status status = ropewalk_rope_create(&spec, &peer->rope, error);
  if (status != ROPEWALK_OK || !peer->work.ready) return status;
  const ropewalk_status created = ropewalk_angles_create(&peer->angles, error);
  if (created != ROPEWALK_OK) return created;
  return ropewalk_angles_assign(peer->angles, peer->rope, &peer->positions, NULL, error);
}

void* peer_create(const peer_work* work, char* message, int64_t message_size) {
  ropewalk_peer* peer = calloc(1, sizeof(ropewalk_peer));
  if (peer == NULL) return NULL;
  peer->work = *work;
  peer->x = tensor_of(work, work->x);
  peer->out = tensor_of(work, work->out);
  peer->positions = ropewalk_positions_i32(work->positions, 1, 1, work->tokens);
  ropewalk_error error = ROPEWALK_ERROR_INIT;
  if (plan(peer, &error) == ROPEWALK_OK) return peer;
  snprintf(message, (size_t)message_size, "%s", error.message);
  peer_destroy(peer);
  return NULL;
}

int64_t peer_run(void* handle, int64_t calls) {
  const ropewalk_peer* peer = handle;
  for (int64_t i = 0; i < calls; ++i) {
    if (call(peer, NULL) != ROPEWALK_OK) return -1;
  }
  return calls;
}

void peer_destroy(void* handle) {
  ropewalk_peer* peer = handle;
  if (peer == NULL) return;
  ropewalk_angles_destroy(peer->angles);
  ropewalk_rope_destroy(peer->rope);
  free(peer);
}

const char* peer_version(void) {
  static char text[32];
  const int32_t version = ropewalk_version();
  snprintf(text, sizeof(text), "%d.%d.%d", (int)(version / 10000), (int)(version / 100 % 100),
           (int)(version % 100));
  return text;
}
