// ggml's CPU backend, as llama.cpp runs it: a graph that is planned once, on one thread.

#include <ggml-cpu.h>
#include <ggml.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "loop.h"

// A graph of as many ropes as a model has layers: what it costs to run a graph at all is shared by them.
// Of big tensors it is nothing, and one will do.
enum { kRopes = 64, kManyBytes = 1 << 20 };

typedef struct ggml_peer {
  struct ggml_context* context;
  struct ggml_cgraph* graph;
  struct ggml_threadpool* pool;
  struct ggml_cplan plan;
  int64_t ropes;
} ggml_peer;

// x, or the result of the rope before, rotated again in place.
static struct ggml_tensor* rope(struct ggml_context* context, struct ggml_tensor* x,
                                struct ggml_tensor* positions, const peer_work* work) {
  const int mode = work->adjacent ? GGML_ROPE_TYPE_NORMAL : GGML_ROPE_TYPE_NEOX;
  return ggml_rope_ext_inplace(context, x, positions, NULL, (int)work->head_dim, mode, 0,
                               (float)work->base, 1.0F, 0.0F, 1.0F, 32.0F, 1.0F);
}

static void build(ggml_peer* peer, const peer_work* work) {
  const enum ggml_type type = work->f16 ? GGML_TYPE_F16 : GGML_TYPE_F32;
  struct ggml_tensor* x =
      ggml_new_tensor_4d(peer->context, type, work->head_dim, work->heads, work->tokens, 1);
  struct ggml_tensor* positions = ggml_new_tensor_1d(peer->context, GGML_TYPE_I32, work->tokens);
  x->data = work->x;
  positions->data = (void*)work->positions;
  peer->ropes = !work->single && ggml_nbytes(x) < kManyBytes ? kRopes : 1;
  peer->graph = ggml_new_graph(peer->context);
  for (int64_t i = 0; i < peer->ropes; ++i) x = rope(peer->context, x, positions, work);
  ggml_build_forward_expand(peer->graph, x);
}

static int plan(ggml_peer* peer) {
  struct ggml_threadpool_params params = ggml_threadpool_params_default(1);
  peer->pool = ggml_threadpool_new(&params);
  peer->plan = ggml_graph_plan(peer->graph, 1, peer->pool);
  if (peer->plan.work_size > 0) peer->plan.work_data = malloc(peer->plan.work_size);
  return peer->pool != NULL && (peer->plan.work_size == 0 || peer->plan.work_data != NULL);
}

void* peer_create(const peer_work* work, char* message, int64_t message_size) {
  if (work->bf16 || work->out != NULL || work->ready || work->heads_first) {
    snprintf(message, (size_t)message_size,
             "f32 and f16 [tokens, heads, head_dim], in place, by positions only");
    return NULL;
  }
  ggml_cpu_init();
  ggml_peer* peer = calloc(1, sizeof(ggml_peer));
  if (peer == NULL) return NULL;
  const struct ggml_init_params params = {(size_t)4 << 20, NULL, true};
  peer->context = ggml_init(params);
  if (peer->context != NULL) {
    build(peer, work);
    if (plan(peer)) return peer;
  }
  snprintf(message, (size_t)message_size, "out of memory");
  peer_destroy(peer);
  return NULL;
}

int64_t peer_run(void* handle, int64_t calls) {
  ggml_peer* peer = handle;
  int64_t done = 0;
  for (; done < calls; done += peer->ropes) {
    if (ggml_graph_compute(peer->graph, &peer->plan) != GGML_STATUS_SUCCESS) return -1;
  }
  return done;
}

void peer_destroy(void* handle) {
  ggml_peer* peer = handle;
  if (peer == NULL) return;
  if (peer->pool != NULL) ggml_threadpool_free(peer->pool);
  free(peer->plan.work_data);
  if (peer->context != NULL) ggml_free(peer->context);
  free(peer);
}

const char* peer_version(void) { return ggml_version(); }
