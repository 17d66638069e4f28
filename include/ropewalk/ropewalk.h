// ropewalk in C: rotary position embeddings of q and k, at any position, without a table.
//
// The whole interface for C11 and C++; it needs no other header of the library but version.h. The
// functions are in the library ropewalk. In the order of use:
//
//   ropewalk_spec -> ropewalk_rope     once per model: what the model says, and the plan made of it
//   ropewalk_tensor, _positions        per call: plain structs that describe the caller's memory
//   ropewalk_rotate                    q and k, in place
//   ropewalk_angles                    rows of cos and sin, assigned once per step for all layers
//
// The mathematics and the promises (accuracy, the same bits however tokens are split or lie in
// memory) are those of rotate.hpp.
//
// Status. A function that can fail returns a ropewalk_status and takes an optional ropewalk_error
// last. All checks come before the first byte is written: what is refused has changed nothing. The
// message names the argument, what was given and what is allowed. A required pointer that is NULL
// is ROPEWALK_INVALID_ARGUMENT. Nothing is printed, the process is never ended, no exception
// leaves, and rotating allocates nothing unless it is refused.
//
// Structs begin with their size, so that they can grow. Make one by its _INIT macro or its
// function, never by hand: a size of 0 is refused. A caller compiled against an older header passes
// a smaller struct, and gets the defaults for what it lacks; one compiled against a newer header is
// served as long as what is unknown here is zero, and refused otherwise: fields that are added
// later have 0 for their default. Of a struct that the library fills in, no byte beyond its size is
// written, but for an error: it has had all its fields from the first version on.
//
// Numbers that need not be given hold ROPEWALK_NOT_GIVEN, pointers NULL. Sizes, counts and strides
// are in elements, not in bytes. Enums are 32 bits wide; a value that is none of theirs is refused.
//
// Threads. A rope never changes: any number of threads may use it. Angles may be used by any number
// of threads while none assigns them. Everything else is the caller's, and read (an error: written)
// during the call only.
//
// Stable: what is marked ROPEWALK_API keeps its name and meaning within a major version (from 1.0
// on; before it, within a minor one). What is marked ROPEWALK_EXPERIMENTAL may change in any
// release.

#ifndef ROPEWALK_ROPEWALK_H_
#define ROPEWALK_ROPEWALK_H_

#include <ropewalk/version.h>
#include <stddef.h>
#include <stdint.h>

// NOLINTBEGIN(modernize-*, readability-identifier-naming): C
// clang-format off: laid out by hand, arguments in groups

#if defined(_WIN32) && defined(ROPEWALK_SHARED)
#ifdef ROPEWALK_BUILD
#define ROPEWALK_API __declspec(dllexport)
#else
#define ROPEWALK_API __declspec(dllimport)
#endif
#elif defined(__GNUC__)
#define ROPEWALK_API __attribute__((visibility("default")))
#else
#define ROPEWALK_API
#endif
#define ROPEWALK_EXPERIMENTAL ROPEWALK_API

// Enums are as wide in C++ as in C, and may there hold any value of 32 bits.
#ifdef __cplusplus
#define ROPEWALK_INT32 : int32_t
extern "C" {
#else
#define ROPEWALK_INT32
#endif

// ---- Version, status, error ----

// 10000 major + 100 minor + patch: of this header, and of the library that the program runs with.
#define ROPEWALK_VERSION \
  (ROPEWALK_VERSION_MAJOR * 10000 + ROPEWALK_VERSION_MINOR * 100 + ROPEWALK_VERSION_PATCH)
ROPEWALK_API int32_t ropewalk_version(void);

typedef enum ropewalk_status ROPEWALK_INT32 {
  ROPEWALK_OK = 0,
  ROPEWALK_INVALID_ARGUMENT = 1,  // a value that no call could accept
  ROPEWALK_SHAPE_MISMATCH = 2,    // arguments that do not fit one another
  ROPEWALK_OVERLAP = 3,           // memory that would be read after it was overwritten
  ROPEWALK_UNSUPPORTED = 4,       // not to be had in this build or on this machine
  ROPEWALK_BAD_FORMAT = 5,        // a text that is not what it should be; by no function here
  ROPEWALK_IO = 6,                // the operating system said no; by no function here
  ROPEWALK_OUT_OF_MEMORY = 7,
  ROPEWALK_INTERNAL = 8,  // an error of the library, or an exception of the caller's `run`: outputs
                          // may be half written
} ropewalk_status;
#ifndef __cplusplus
_Static_assert(sizeof(ropewalk_status) == sizeof(int32_t), "ropewalk is not for -fshort-enums");
#endif

// Says why. On ROPEWALK_OK the message is empty. It always ends with a NUL; what is longer than 255
// bytes is cut, never inside a character of UTF-8. Larger sizes than known are accepted.
typedef struct ropewalk_error {
  size_t size;
  ropewalk_status status;
  char message[256];
} ropewalk_error;
#define ROPEWALK_ERROR_INIT {sizeof(ropewalk_error), ROPEWALK_OK, {0}}

// ---- Spec: what a model says ----

#define ROPEWALK_NOT_GIVEN (-1)

// halves: pair i is (x[i], x[i + rotary_dim/2]). adjacent: pair i is (x[2i], x[2i+1]). (The JSON of a
// spec is read by model.hpp, in C++.)
typedef enum ropewalk_pairing ROPEWALK_INT32 {
  ROPEWALK_PAIRING_NOT_GIVEN = ROPEWALK_NOT_GIVEN,
  ROPEWALK_HALVES = 0,
  ROPEWALK_ADJACENT = 1,
} ropewalk_pairing;

// A rule that changes the frequencies. Each takes the fields that its line names, those in brackets if
// wanted, and no others; the formulas stand in frequencies.hpp. L: original_max_position_embeddings.
typedef enum ropewalk_scaling_type ROPEWALK_INT32 {
  ROPEWALK_SCALING_DEFAULT = 0,  // no scaling
  ROPEWALK_SCALING_LINEAR = 1,   // factor: all frequencies are divided by it
  ROPEWALK_SCALING_NTK = 2,      // alpha
  ROPEWALK_SCALING_DYNAMIC = 3,  // factor and L; or alpha
  ROPEWALK_SCALING_DYNAMIC_STEPWISE = 4,  // L
  ROPEWALK_SCALING_NTK_BY_PARTS = 5,      // factor, L [extrapolation_factor]
  ROPEWALK_SCALING_YARN = 6,      // factor, L [beta_fast, beta_slow, truncate, mscale,
                                  // mscale_all_dim, attention_factor, extrapolation_factor,
                                  // divisors]
  ROPEWALK_SCALING_LLAMA3 = 7,    // factor, low_freq_factor, high_freq_factor, L
  ROPEWALK_SCALING_LONGROPE = 8,  // short_factor, long_factor, L, and factor or attention_factor
                                  // [short_mscale and long_mscale]
  ROPEWALK_SCALING_PROPORTIONAL = 9,  // [rotating_pairs, factor]
  ROPEWALK_SCALING_DIVISORS = 10,     // divisors [factor]
} ropewalk_scaling_type;

typedef struct ropewalk_scaling {
  size_t size;
  ropewalk_scaling_type type;
  int32_t truncate;  // whether bounds are whole pairs, 0 or 1. Not given: 1
  double factor;     // how often the trained context the new one is; 1 to 2^40
  double alpha;      // of the base; 2^-30 to 2^40
  int64_t original_max_position_embeddings;  // L: the trained context, in positions; 1 to 2^40
  double beta_fast;                          // turns within the trained context. Not given: 32
  double beta_slow;                          // Not given: 1
  double mscale;                // counts only beside mscale_all_dim
  double mscale_all_dim;        // 0 of either is as if it were not given
  double attention_factor;      // instead of the rule's
  double extrapolation_factor;  // 0 to 1. Not given: 1
  double low_freq_factor;       // > 0, at most high_freq_factor
  double high_freq_factor;
  double short_mscale;          // the attention factor while short_factor is in force
  double long_mscale;
  int64_t rotating_pairs;       // of each part; the rest stands still. Not given: all
  const double* short_factor;   // divisors of ω_i, > 0, one for each pair of a part of the window;
  const double* long_factor;    // NULL: not given
  const double* divisors;
  int64_t divisor_count;        // how many values each of these three has; 0 with NULL
} ropewalk_scaling;
#define ROPEWALK_SCALING_INIT                                                                   \
  {sizeof(ropewalk_scaling), ROPEWALK_SCALING_DEFAULT, ROPEWALK_NOT_GIVEN, ROPEWALK_NOT_GIVEN,  \
   ROPEWALK_NOT_GIVEN, ROPEWALK_NOT_GIVEN, ROPEWALK_NOT_GIVEN, ROPEWALK_NOT_GIVEN,              \
   ROPEWALK_NOT_GIVEN, ROPEWALK_NOT_GIVEN, ROPEWALK_NOT_GIVEN, ROPEWALK_NOT_GIVEN,              \
   ROPEWALK_NOT_GIVEN, ROPEWALK_NOT_GIVEN, ROPEWALK_NOT_GIVEN, ROPEWALK_NOT_GIVEN,              \
   ROPEWALK_NOT_GIVEN, NULL, NULL, NULL, 0}

// Whether a frequency that was computed in double is rounded on.
typedef enum ropewalk_frequency_rounding ROPEWALK_INT32 {
  ROPEWALK_ROUNDING_NONE = 0,
  ROPEWALK_ROUNDING_FLOAT32 = 1,  // to the nearest float, as in the code that checkpoints come from
} ropewalk_frequency_rounding;

// Which axis of a position each pair turns with; see spec.hpp.
typedef enum ropewalk_axes_order ROPEWALK_INT32 {
  ROPEWALK_BLOCKS = 0,      // 0 for the first sections[0] pairs, 1 for the next sections[1], ...
  ROPEWALK_CYCLE = 1,       // r = i mod A; r if r > 0 and i < A sections[r], else 0
  ROPEWALK_GGML_CYCLE = 2,  // r = i mod 3; r if i < 3 sections[r], else 3
  ROPEWALK_ERNIE = 3,       // below h + w, 1 if i is even and 2 if odd; else 0
  ROPEWALK_ROUND_ROBIN = 4, // a = i mod A, and on to the next while an axis has all its sections
} ropewalk_axes_order;

// The fields of SpecFields in spec.hpp. Arrays are copied by what the spec is given to.
typedef struct ropewalk_spec {
  size_t size;
  int64_t head_dim;                 // elements of a head, 1 to 2^20; required
  int64_t rotary_dim;               // elements rotated: the window; even, from 2. Not given: all of
                                    // the head but the offset
  int64_t rotary_offset;            // where the window begins; 0
  int64_t window_parts;             // the window in so many equal parts, paired inside each; 1.
                                    // Pairs are numbered part by part, and ω_i starts again in each
  ropewalk_pairing pairing;         // of what is read; halves
  ropewalk_pairing output_pairing;  // of what is written. Not given: pairing. If it is another, a
                                    // part has at most 2048 elements
  int32_t clockwise;                // 1: turn by -φ instead of φ; 0
  ropewalk_axes_order axes_order;   // of sections; blocks
  double base;                      // finite, at least 2^-30. Not given: 10000
  const ropewalk_scaling* scaling;  // NULL: none
  const double* frequencies;        // instead of base and scaling: rotary_dim/2 values, radians per
  int64_t frequency_count;          // position, |ω| < 2^32, any sign. NULL, 0: by the rule
  double attention_factor;          // 2^-100 to 2^100, replaces the rule's. Not given: the rule's
  const int64_t* sections;          // of the axes, t, h, w, e; their sum is rotary_dim/2. NULL, 0:
  int64_t section_count;            // one axis
  const int64_t* axis_of_pair;      // instead of sections: rotary_dim/2 values, 0 to 15. NULL, 0:
  int64_t axis_of_pair_count;       // by sections
  ropewalk_frequency_rounding frequency_rounding;  // of ω_i, given ones too; none
} ropewalk_spec;
#define ROPEWALK_SPEC_INIT                                                             \
  {sizeof(ropewalk_spec), 0, ROPEWALK_NOT_GIVEN, 0, 1, ROPEWALK_HALVES,                \
   ROPEWALK_PAIRING_NOT_GIVEN, 0, ROPEWALK_BLOCKS, ROPEWALK_NOT_GIVEN, NULL, NULL, 0,  \
   ROPEWALK_NOT_GIVEN, NULL, 0, NULL, 0, ROPEWALK_ROUNDING_NONE}

// The spec of heads of so many elements, all else by default.
static inline ropewalk_spec ropewalk_spec_default(int64_t head_dim) {
  ropewalk_spec spec = ROPEWALK_SPEC_INIT;
  spec.head_dim = head_dim;
  return spec;
}

// ---- Rope: the plan ----

typedef struct ropewalk_rope ropewalk_rope;

// Makes the plan of a spec: frequencies, turns, attention factor.
//
// spec:  required; not kept, nor what it points to
// rope:  required; receives a rope to be given to ropewalk_rope_destroy, or NULL on failure
// error: optional
ROPEWALK_API ropewalk_status ropewalk_rope_create(
    const ropewalk_spec* spec, ropewalk_rope** rope, ropewalk_error* error);

// The same where the scaling rule depends on the length: dynamic, dynamic_stepwise, longrope.
//
// length: how many positions the plan is for (the largest + 1), at least 1; or ROPEWALK_NOT_GIVEN: as
//         for short texts
ROPEWALK_API ropewalk_status ropewalk_rope_create_for_length(
    const ropewalk_spec* spec, int64_t length, ropewalk_rope** rope, ropewalk_error* error);

// rope: NULL is a no-op. No call that uses it may be running.
ROPEWALK_API void ropewalk_rope_destroy(ropewalk_rope* rope);

// What a rope holds. Pointers lead into the rope and are good as long as it is.
typedef struct ropewalk_plan {
  size_t size;
  int64_t head_dim, rotary_dim, rotary_offset, window_parts;
  ropewalk_pairing pairing, output_pairing;
  int32_t clockwise;            // 0 or 1
  int32_t axes;                 // how many axes a position must have; 1 for text
  int64_t pairs;                // rotary_dim / 2
  double attention_factor;      // m
  const double* frequencies;    // [pairs]: ω_i, radians per position
  const uint64_t* turns;        // [pairs]: frac(τ_i) x 2^64, correctly rounded; τ_i = ω_i / 2π
  const double* ratios;         // [pairs, 2]: τ_i as a sum of two doubles, the high one first
  const uint8_t* axis_of_pair;  // [pairs], or NULL for one axis
} ropewalk_plan;
#define ROPEWALK_PLAN_INIT                                                                      \
  {sizeof(ropewalk_plan), 0, 0, 0, 0, ROPEWALK_HALVES, ROPEWALK_HALVES, 0, 0, 0, 0, NULL, NULL, \
   NULL, NULL}

// Tells what a rope holds.
//
// rope:  required
// plan:  required; begins as ROPEWALK_PLAN_INIT, is filled in
// error: optional
ROPEWALK_API ropewalk_status ropewalk_rope_plan(
    const ropewalk_rope* rope, ropewalk_plan* plan, ropewalk_error* error);

// ---- Tensors: memory of the caller ----

typedef enum ropewalk_dtype ROPEWALK_INT32 {
  ROPEWALK_DTYPE_NOT_GIVEN = ROPEWALK_NOT_GIVEN,
  ROPEWALK_F32 = 0,   // IEEE binary32
  ROPEWALK_BF16 = 1,  // the upper half of an f32
  ROPEWALK_F16 = 2,   // IEEE binary16
  ROPEWALK_F64 = 3,   // IEEE binary64; rotated in double throughout
} ropewalk_dtype;

// The dimensions always stand in the order batch, tokens, heads, head_dim; how they lie in memory
// is said by the strides alone: a slice of a fused row of q, k and v has that row as stride of
// tokens. head_dim is the rope's head_dim, or its rotary_dim: then the tensor is the window itself.
typedef struct ropewalk_tensor {
  size_t size;
  void* data;  // element [0, 0, 0, 0], aligned to its type; only read where it is an input.
               // May be NULL when a size is 0
  ropewalk_dtype dtype;
  int64_t shape[4];    // batch, tokens, heads, head_dim; a size may be 0
  int64_t strides[4];  // in elements; inputs may have any, outputs no 0 where shape > 1
} ropewalk_tensor;

// A dense tensor laid out [batch, tokens, heads, head_dim]. For one that is not dense, make it by this
// function and set its strides: the keys in fused rows of q, k and v, `row` elements each, begin at the
// first row's k and have strides[1] = row and strides[0] = tokens * row.
static inline ropewalk_tensor ropewalk_tensor_bthd(
    void* data, ropewalk_dtype dtype, int64_t batch, int64_t tokens, int64_t heads,
    int64_t head_dim) {
  // Unsigned: what overflows here is refused where it is used.
  const uint64_t row = (uint64_t)head_dim, token = row * (uint64_t)heads;
  const ropewalk_tensor tensor = {
      sizeof(ropewalk_tensor), data, dtype, {batch, tokens, heads, head_dim},
      {(int64_t)(token * (uint64_t)tokens), (int64_t)token, head_dim, 1}};
  return tensor;
}

// A dense tensor laid out [batch, heads, tokens, head_dim]. The arguments' order is the same.
static inline ropewalk_tensor ropewalk_tensor_bhtd(
    void* data, ropewalk_dtype dtype, int64_t batch, int64_t tokens, int64_t heads,
    int64_t head_dim) {
  const uint64_t row = (uint64_t)head_dim, head = row * (uint64_t)tokens;
  const ropewalk_tensor tensor = {
      sizeof(ropewalk_tensor), data, dtype, {batch, tokens, heads, head_dim},
      {(int64_t)(head * (uint64_t)heads), head_dim, (int64_t)head, 1}};
  return tensor;
}

// ---- Positions: where tokens stand ----

typedef enum ropewalk_positions_kind ROPEWALK_INT32 {
  ROPEWALK_POSITIONS_FROM = 0,        // token t stands at start + t
  ROPEWALK_POSITIONS_STARTS = 1,      // token t of sequence b at starts[b] + t
  ROPEWALK_POSITIONS_I32 = 2,         // ids [axes, batch, tokens] of int32_t,
  ROPEWALK_POSITIONS_I64 = 3,         // of int64_t,
  ROPEWALK_POSITIONS_F32 = 4,         // of float: finite, |p| < 2^63,
  ROPEWALK_POSITIONS_F64 = 5,         // of double: likewise
  ROPEWALK_POSITIONS_PACKED_I32 = 6,  // ids [count]: cumulative lengths, of int32_t,
  ROPEWALK_POSITIONS_PACKED_I64 = 7,  // of int64_t
  ROPEWALK_POSITIONS_CONTIGUOUS = 8,  // rank's slice of tokens that stand at start, start + 1, ...
  ROPEWALK_POSITIONS_ZIGZAG = 9,      // rank's two slices of them
} ropewalk_positions_kind;

// A view: what it points to is read during the call. Made by the functions below; the fields that a
// kind does not name are not read.
typedef struct ropewalk_positions {
  size_t size;
  ropewalk_positions_kind kind;
  const void* ids;
  const int64_t* starts;
  int64_t axes;    // a position of 1 axis serves a rope of several: all coordinates are the same
  int64_t batch;   // 1 serves every batch
  int64_t tokens;  // of FROM and STARTS: ROPEWALK_NOT_GIVEN where a tensor says it
  int64_t start;
  int64_t count;
  int64_t ranks, rank;
} ropewalk_positions;
#define ROPEWALK_POSITIONS_INIT                                                          \
  {sizeof(ropewalk_positions), ROPEWALK_POSITIONS_FROM, NULL, NULL, 1, 1,                \
   ROPEWALK_NOT_GIVEN, 0, 0, 1, 0}

// Token t of every sequence stands at start + t: any 64-bit integers, negative ones too.
static inline ropewalk_positions ropewalk_positions_from(int64_t start) {
  ropewalk_positions positions = ROPEWALK_POSITIONS_INIT;
  positions.start = start;
  return positions;
}

// The same where no tensor says how many tokens there are: for ropewalk_angles_assign.
static inline ropewalk_positions ropewalk_positions_from_tokens(int64_t start, int64_t tokens) {
  ropewalk_positions positions = ropewalk_positions_from(start);
  positions.tokens = tokens;
  return positions;
}

// Token t of sequence b stands at starts[b] + t.
//
// starts: [batch]
// tokens: of each sequence, or ROPEWALK_NOT_GIVEN where a tensor says it
static inline ropewalk_positions ropewalk_positions_starts(
    const int64_t* starts, int64_t batch, int64_t tokens) {
  ropewalk_positions positions = ROPEWALK_POSITIONS_INIT;
  positions.kind = ROPEWALK_POSITIONS_STARTS;
  positions.starts = starts;
  positions.batch = batch;
  positions.tokens = tokens;
  return positions;
}

// Token t of sequence b has on each axis the position ids[(axis * batch + b) * tokens + t]. Real
// ones are finite and |p| < 2^63; one that is an integer gives the same bits as that integer.
//
// kind:  what ids points to, where only the program that runs knows
// ids:   [axes, batch, tokens], dense, aligned; may be NULL when there are no tokens
// axes:  1 for text; for a rope of several axes as many or more
// batch: 1 serves every batch
static inline ropewalk_positions ropewalk_positions_ids(
    ropewalk_positions_kind kind, const void* ids, int64_t axes, int64_t batch, int64_t tokens) {
  ropewalk_positions positions = ROPEWALK_POSITIONS_INIT;
  positions.kind = kind;
  positions.ids = ids;
  positions.axes = axes;
  positions.batch = batch;
  positions.tokens = tokens;
  return positions;
}
static inline ropewalk_positions ropewalk_positions_i32(
    const int32_t* ids, int64_t axes, int64_t batch, int64_t tokens) {
  return ropewalk_positions_ids(ROPEWALK_POSITIONS_I32, ids, axes, batch, tokens);
}
static inline ropewalk_positions ropewalk_positions_i64(
    const int64_t* ids, int64_t axes, int64_t batch, int64_t tokens) {
  return ropewalk_positions_ids(ROPEWALK_POSITIONS_I64, ids, axes, batch, tokens);
}
static inline ropewalk_positions ropewalk_positions_f32(
    const float* ids, int64_t axes, int64_t batch, int64_t tokens) {
  return ropewalk_positions_ids(ROPEWALK_POSITIONS_F32, ids, axes, batch, tokens);
}
static inline ropewalk_positions ropewalk_positions_f64(
    const double* ids, int64_t axes, int64_t batch, int64_t tokens) {
  return ropewalk_positions_ids(ROPEWALK_POSITIONS_F64, ids, axes, batch, tokens);
}

// Sequences packed one after another into one row of tokens, batch 1: sequence s has the tokens
// lengths[s] .. lengths[s + 1], of which the first stands at starts[s].
//
// lengths: [count], cumulative: they begin with 0 and do not fall
// count:   the number of sequences + 1
// starts:  [count - 1], or NULL: all 0
static inline ropewalk_positions ropewalk_positions_packed_i32(
    const int32_t* lengths, int64_t count, const int64_t* starts) {
  ropewalk_positions positions = ROPEWALK_POSITIONS_INIT;
  positions.kind = ROPEWALK_POSITIONS_PACKED_I32;
  positions.ids = lengths;
  positions.count = count;
  positions.starts = starts;
  return positions;
}
static inline ropewalk_positions ropewalk_positions_packed_i64(
    const int64_t* lengths, int64_t count, const int64_t* starts) {
  ropewalk_positions positions = ropewalk_positions_packed_i32(NULL, count, starts);
  positions.kind = ROPEWALK_POSITIONS_PACKED_I64;
  positions.ids = lengths;
  return positions;
}

// What one rank of several holds of tokens that stand at start, start + 1, ...:
//
//   contiguous   4 ranks of 16:  [0..3] [4..7] [8..11] [12..15]
//   zigzag       4 ranks of 16:  [0 1 14 15] [2 3 12 13] [4 5 10 11] [6 7 8 9]
//
// tokens: of all ranks; a multiple of ranks (contiguous) or of 2 ranks (zigzag)
// rank:   0 .. ranks - 1
static inline ropewalk_positions ropewalk_positions_contiguous(
    int64_t tokens, int64_t ranks, int64_t rank, int64_t start) {
  ropewalk_positions positions = ropewalk_positions_from_tokens(start, tokens);
  positions.kind = ROPEWALK_POSITIONS_CONTIGUOUS;
  positions.ranks = ranks;
  positions.rank = rank;
  return positions;
}
static inline ropewalk_positions ropewalk_positions_zigzag(
    int64_t tokens, int64_t ranks, int64_t rank, int64_t start) {
  ropewalk_positions positions = ropewalk_positions_contiguous(tokens, ranks, rank, start);
  positions.kind = ROPEWALK_POSITIONS_ZIGZAG;
  return positions;
}

// ---- Options: how a call is run. Results do not depend on the threads. ----

// An instruction set that the library is compiled for.
typedef enum ropewalk_target ROPEWALK_INT32 {
  ROPEWALK_TARGET_BEST = 0,       // the best that this CPU can run
  ROPEWALK_TARGET_SCALAR = 1,     // x86-64 without any vector instruction
  ROPEWALK_TARGET_AVX2 = 2,       // AVX2 with FMA
  ROPEWALK_TARGET_AVX3 = 3,       // AVX-512 F, BW, CD, DQ, VL
  ROPEWALK_TARGET_AVX3_BF16 = 4,  // that with AVX512-BF16
  ROPEWALK_TARGET_NEON = 5,       // aarch64
} ropewalk_target;

// Lists the targets in this build, best first. Returns how many there are.
//
// targets:  receives the first `capacity` of them; may be NULL when capacity is 0
// capacity: negative is as 0
ROPEWALK_API int64_t ropewalk_compiled_targets(ropewalk_target* targets, int64_t capacity);

// Returns 1 if this build has the target and this CPU can run it, else 0; 1 for
// ROPEWALK_TARGET_BEST.
ROPEWALK_API int32_t ropewalk_is_supported(ropewalk_target target);

// The caller's threads. run calls task(work, i) once for each i = 0 .. count - 1, in any order, on
// any threads, and returns when all are done. Tasks call nothing of the caller's and never fail. run
// throws nothing: if it does, outputs are partly written, whatever the status.
typedef struct ropewalk_parallel_for {
  void (*run)(void* pool, int64_t count, void (*task)(void* work, int64_t i), void* work);
  void* pool;       // handed to run
  int64_t threads;  // into how many tasks a call is split, at most; at least 1
} ropewalk_parallel_for;

typedef struct ropewalk_options {
  size_t size;
  ropewalk_target target;
  ropewalk_parallel_for parallel;  // run NULL: everything on the calling thread. Used from 256 KiB
                                   // of tensors on; below, it costs more than it saves
} ropewalk_options;
#define ROPEWALK_OPTIONS_INIT {sizeof(ropewalk_options), ROPEWALK_TARGET_BEST, {NULL, NULL, 1}}

// ---- Angles: rows of cos and sin, computed once per step for all layers ----

typedef struct ropewalk_angles ropewalk_angles;

// Makes angles without rows, to be assigned.
//
// angles: required; receives angles to be given to ropewalk_angles_destroy, or NULL on failure
// error:  optional
ROPEWALK_API ropewalk_status ropewalk_angles_create(
    ropewalk_angles** angles, ropewalk_error* error);

// angles: NULL is a no-op. No call that uses them may be running.
ROPEWALK_API void ropewalk_angles_destroy(ropewalk_angles* angles);

typedef enum ropewalk_xpos_role ROPEWALK_INT32 {
  ROPEWALK_XPOS_QUERY = 0,
  ROPEWALK_XPOS_KEY = 1,
} ropewalk_xpos_role;

// xPos (Sun et al. 2022, section 3): the rows of pair i are multiplied by
// ζ_i^((position - origin) / scale_base) for queries and divided by it for keys,
// ζ_i = (2 i + 0.4 d) / (1.4 d) with d = rotary_dim.
typedef struct ropewalk_xpos {
  size_t size;
  ropewalk_xpos_role role;
  double scale_base;  // finite, > 0; 512
  int64_t origin;     // the same for queries and keys; 0
} ropewalk_xpos;
#define ROPEWALK_XPOS_INIT {sizeof(ropewalk_xpos), ROPEWALK_XPOS_QUERY, 512, 0}

typedef struct ropewalk_angles_options {
  size_t size;
  ropewalk_dtype dtype;         // of the tensors: rows of float serve f32, bf16 and f16; f32
  ropewalk_dtype as_seen_in;    // f32, bf16 or f16: angles in float32 and rounded to that, as a
                                // checkpoint saw them; outside the promise of accuracy
  double factor;                // on cos and sin, 2^-100 to 2^100; 1
  const double* token_factors;  // likewise finite and > 0, one per token: [tokens] or
                                // [batch, tokens]; NULL, 0:
  int64_t token_factor_count;   // none
  const ropewalk_xpos* xpos;    // NULL: none
  const ropewalk_options* run;  // NULL: the defaults
} ropewalk_angles_options;
#define ROPEWALK_ANGLES_OPTIONS_INIT \
  {sizeof(ropewalk_angles_options), ROPEWALK_F32, ROPEWALK_DTYPE_NOT_GIVEN, 1, NULL, 0, NULL, NULL}

// Computes the rows of a plan. Memory of earlier rows is used again; they stay if the call fails.
//
// angles:    required
// rope:      required; may be destroyed afterwards
// positions: required; must say how many tokens there are: not ropewalk_positions_from, nor _starts
//            without that number
// options:   NULL: the defaults
// error:     optional
ROPEWALK_API ropewalk_status ropewalk_angles_assign(
    ropewalk_angles* angles, const ropewalk_rope* rope, const ropewalk_positions* positions,
    const ropewalk_angles_options* options, ropewalk_error* error);

// cos and sin that someone else computed: dense, aligned; they need not lie on the unit circle.
// width is the number of pairs, or rotary_dim with every value twice: [c0 c1 .. c0 c1 ..] or [c0 c0
// c1 c1 ..].
typedef struct ropewalk_given_rows {
  size_t size;
  const void* cos;  // [batch, rows, width]
  const void* sin;  // [batch, rows, width]
  ropewalk_dtype dtype;
  int64_t batch, rows, width;
} ropewalk_given_rows;
#define ROPEWALK_GIVEN_ROWS_INIT {sizeof(ropewalk_given_rows), NULL, NULL, ROPEWALK_F32, 1, 0, 0}

// Takes given rows, one per token: [1 or batch, tokens, width].
//
// angles: required
// spec:   required; its dimensions and pairings are used
// rows:   required; copied
// dtype:  ROPEWALK_F64 for f64 tensors, else ROPEWALK_F32
// error:  optional
ROPEWALK_API ropewalk_status ropewalk_angles_assign_rows(
    ropewalk_angles* angles, const ropewalk_spec* spec, const ropewalk_given_rows* rows,
    ropewalk_dtype dtype, ropewalk_error* error);

// Picks rows from a table by position: [1, largest position + 1, width].
//
// angles:    required
// spec:      required; its dimensions and pairings are used
// table:     required; what is picked is copied
// positions: required; integers that the table has, and how many tokens there are
// dtype:     ROPEWALK_F64 for f64 tensors, else ROPEWALK_F32
// error:     optional
ROPEWALK_API ropewalk_status ropewalk_angles_assign_table(
    ropewalk_angles* angles, const ropewalk_spec* spec, const ropewalk_given_rows* table,
    const ropewalk_positions* positions, ropewalk_dtype dtype, ropewalk_error* error);

// Tells what rows there are: all 0 before the first assignment.
//
// angles: required
// batch:  receives 1 if the rows serve every sequence; may be NULL, as the next three
// tokens: of each sequence
// pairs:  rotary_dim / 2
// dtype:  ROPEWALK_F32 or ROPEWALK_F64, of the rows
// error:  optional
ROPEWALK_API ropewalk_status ropewalk_angles_shape(
    const ropewalk_angles* angles, int64_t* batch, int64_t* tokens, int64_t* pairs,
    ropewalk_dtype* dtype, ropewalk_error* error);

// Read what rotating multiplies by, all factors included, for kernels of one's own. Of row
// b * tokens + t:
//
//   compact      cos, sin [rows, pairs]
//   duplicated   cos, sin [rows, rotary_dim], as the elements of a head are paired
//   complex      [rows, pairs, 2]: cos, sin side by side
//
// angles:   required; rows of either dtype can be read as either
// cos, sin: required where count > 0; not the same memory; likewise values
// count:    how many values cos, sin (each) or values has room for: as many as above says
// error:    optional
ROPEWALK_API ropewalk_status ropewalk_angles_read_compact_f32(
    const ropewalk_angles* angles, float* cos, float* sin, int64_t count, ropewalk_error* error);
ROPEWALK_API ropewalk_status ropewalk_angles_read_compact_f64(
    const ropewalk_angles* angles, double* cos, double* sin, int64_t count, ropewalk_error* error);
ROPEWALK_API ropewalk_status ropewalk_angles_read_duplicated_f32(
    const ropewalk_angles* angles, float* cos, float* sin, int64_t count, ropewalk_error* error);
ROPEWALK_API ropewalk_status ropewalk_angles_read_duplicated_f64(
    const ropewalk_angles* angles, double* cos, double* sin, int64_t count, ropewalk_error* error);
ROPEWALK_API ropewalk_status ropewalk_angles_read_complex_f32(
    const ropewalk_angles* angles, float* values, int64_t count, ropewalk_error* error);
ROPEWALK_API ropewalk_status ropewalk_angles_read_complex_f64(
    const ropewalk_angles* angles, double* values, int64_t count, ropewalk_error* error);

// ---- Rotate ----
//
//   rotate     m R(φ) x                          forward
//   unrotate   R(-φ) x / m                       undoes rotate, up to rounding
//   backward   m R(-φ) g                         the gradient (the adjoint of rotate)
//   rerotate   (m_new / m_old) R(φ_new - φ_old)  cached keys to new positions or a new plan
//
//   R(φ) (a, b) = (a cos φ - b sin φ, a sin φ + b cos φ)     φ = position x ω_i (-φ if clockwise)
//
// rotate reads pairs as `pairing` and writes them as `output_pairing`; unrotate and backward the
// other way; rerotate reads the old rope's `output_pairing` and writes the new one's.
//
// q and k have the same batch and tokens; heads, strides and dtype are each tensor's own.
//
// Aliasing: an output may be its own input (equal data, shape and strides). Apart from that, no
// output may overlap another tensor, positions or angles, nor itself. Two tensors with the same
// strides are compared element for element: q and k inside one fused row are fine. Others are
// refused (ROPEWALK_OVERLAP) as soon as their byte ranges meet.

// By a rope and positions, in place.
//
// rope:      required
// q:         required; read and written
// k:         NULL: q alone; read and written
// positions: required
// options:   NULL: the defaults
// error:     optional
ROPEWALK_API ropewalk_status ropewalk_rotate(
    const ropewalk_rope* rope, const ropewalk_tensor* q, const ropewalk_tensor* k,
    const ropewalk_positions* positions, const ropewalk_options* options, ropewalk_error* error);
ROPEWALK_API ropewalk_status ropewalk_unrotate(
    const ropewalk_rope* rope, const ropewalk_tensor* q, const ropewalk_tensor* k,
    const ropewalk_positions* positions, const ropewalk_options* options, ropewalk_error* error);
ROPEWALK_API ropewalk_status ropewalk_backward(
    const ropewalk_rope* rope, const ropewalk_tensor* q, const ropewalk_tensor* k,
    const ropewalk_positions* positions, const ropewalk_options* options, ropewalk_error* error);

// By a rope and positions, to outputs. What is outside of the window is copied.
//
// rope:      required
// q:         required; only read
// k:         NULL: q alone; only read
// positions: required
// out_q:     required; shape and dtype of q; written
// out_k:     NULL exactly where k is; shape and dtype of k; written
// options:   NULL: the defaults
// error:     optional
ROPEWALK_API ropewalk_status ropewalk_rotate_into(
    const ropewalk_rope* rope, const ropewalk_tensor* q, const ropewalk_tensor* k,
    const ropewalk_positions* positions, const ropewalk_tensor* out_q,
    const ropewalk_tensor* out_k, const ropewalk_options* options, ropewalk_error* error);
ROPEWALK_API ropewalk_status ropewalk_unrotate_into(
    const ropewalk_rope* rope, const ropewalk_tensor* q, const ropewalk_tensor* k,
    const ropewalk_positions* positions, const ropewalk_tensor* out_q,
    const ropewalk_tensor* out_k, const ropewalk_options* options, ropewalk_error* error);
ROPEWALK_API ropewalk_status ropewalk_backward_into(
    const ropewalk_rope* rope, const ropewalk_tensor* q, const ropewalk_tensor* k,
    const ropewalk_positions* positions, const ropewalk_tensor* out_q,
    const ropewalk_tensor* out_k, const ropewalk_options* options, ropewalk_error* error);

// By ready angles, in place: the same bits as by the rope and positions that they were assigned
// from. unrotate is refused (ROPEWALK_UNSUPPORTED) for given rows, for xPos and for angles as a
// checkpoint saw them: what undoes those is no rotation.
//
// angles:  required; of as many tokens as q; rows of double for f64, of float for the other types
// q:       required; read and written
// k:       NULL: q alone; read and written
// options: NULL: the defaults
// error:   optional
ROPEWALK_API ropewalk_status ropewalk_rotate_angles(
    const ropewalk_angles* angles, const ropewalk_tensor* q, const ropewalk_tensor* k,
    const ropewalk_options* options, ropewalk_error* error);
ROPEWALK_API ropewalk_status ropewalk_unrotate_angles(
    const ropewalk_angles* angles, const ropewalk_tensor* q, const ropewalk_tensor* k,
    const ropewalk_options* options, ropewalk_error* error);
ROPEWALK_API ropewalk_status ropewalk_backward_angles(
    const ropewalk_angles* angles, const ropewalk_tensor* q, const ropewalk_tensor* k,
    const ropewalk_options* options, ropewalk_error* error);

// By ready angles, to outputs: the arguments are those above.
ROPEWALK_API ropewalk_status ropewalk_rotate_angles_into(
    const ropewalk_angles* angles, const ropewalk_tensor* q, const ropewalk_tensor* k,
    const ropewalk_tensor* out_q, const ropewalk_tensor* out_k, const ropewalk_options* options,
    ropewalk_error* error);
ROPEWALK_API ropewalk_status ropewalk_unrotate_angles_into(
    const ropewalk_angles* angles, const ropewalk_tensor* q, const ropewalk_tensor* k,
    const ropewalk_tensor* out_q, const ropewalk_tensor* out_k, const ropewalk_options* options,
    ropewalk_error* error);
ROPEWALK_API ropewalk_status ropewalk_backward_angles_into(
    const ropewalk_angles* angles, const ropewalk_tensor* q, const ropewalk_tensor* k,
    const ropewalk_tensor* out_q, const ropewalk_tensor* out_k, const ropewalk_options* options,
    ropewalk_error* error);

// Cached keys, in place: rotated by old_rope at `from`, afterwards as if by new_rope at `to`.
//
// old_rope, new_rope: required; head_dim, rotary_dim, rotary_offset and window_parts must be equal
// keys:               required; read and written
// from, to:           required
// options:            NULL: the defaults
// error:              optional
ROPEWALK_API ropewalk_status ropewalk_rerotate(
    const ropewalk_rope* old_rope, const ropewalk_rope* new_rope, const ropewalk_tensor* keys,
    const ropewalk_positions* from, const ropewalk_positions* to, const ropewalk_options* options,
    ropewalk_error* error);

// The same to an output: required, with the shape and dtype of keys, which are then only read.
ROPEWALK_API ropewalk_status ropewalk_rerotate_into(
    const ropewalk_rope* old_rope, const ropewalk_rope* new_rope, const ropewalk_tensor* keys,
    const ropewalk_positions* from, const ropewalk_positions* to, const ropewalk_tensor* out,
    const ropewalk_options* options, ropewalk_error* error);

// ---- Names, as in messages. Never NULL; "unknown" for a value that is none ----

ROPEWALK_API const char* ropewalk_status_name(ropewalk_status status);  // "ok", "invalid argument"
ROPEWALK_API const char* ropewalk_pairing_name(ropewalk_pairing pairing);      // "halves"
ROPEWALK_API const char* ropewalk_scaling_name(ropewalk_scaling_type type);    // "linear"
ROPEWALK_API const char* ropewalk_axes_order_name(ropewalk_axes_order order);  // "ggml_cycle"
ROPEWALK_API const char* ropewalk_dtype_name(ropewalk_dtype dtype);            // "bf16"
ROPEWALK_API const char* ropewalk_target_name(ropewalk_target target);  // "best", "AVX3_BF16"

// ---- Experimental ----

// Numbers below 0 (ROPEWALK_NOT_GIVEN): what is a matter of seconds for the rope.
typedef struct ropewalk_check_options {
  size_t size;
  int64_t q_heads;          // 32
  int64_t k_heads;          // 8; divides q_heads
  int64_t tokens;           // 64
  int64_t positions_below;  // tokens stand at random positions 0 .. this; 4096
  uint64_t seed;            // 1
  ropewalk_target target;
} ropewalk_check_options;
#define ROPEWALK_CHECK_OPTIONS_INIT                                                            \
  {sizeof(ropewalk_check_options), ROPEWALK_NOT_GIVEN, ROPEWALK_NOT_GIVEN, ROPEWALK_NOT_GIVEN, \
   ROPEWALK_NOT_GIVEN, 1, ROPEWALK_TARGET_BEST}

typedef struct ropewalk_check_row {
  size_t size;
  const char* property;  // "position 0", "length", "angle", "scores", "pairings", "unrotate",
                         // "backward", "rerotate"
  ropewalk_dtype dtype;
  int32_t ok;         // 1 if worst is within bound
  int32_t has_shift;  // 1 for a row of scores
  int64_t shift;      // of all positions
  double worst;       // the value nearest to its bound, or farthest beyond it
  double bound;       // of that value; the bounds are listed in check.hpp
} ropewalk_check_row;

// Measures the properties of a rotation on random q and k. ROPEWALK_OK says that they were
// measured.
//
// rope:    required
// options: NULL: the defaults
// see:     NULL: only `ok` is wanted. Called once for each property, dtype and shift, in a fixed
//          order; row is good during the call
// context: handed to see
// ok:      required; receives 1 if all properties are within their bounds, else 0
// error:   optional
ROPEWALK_EXPERIMENTAL ropewalk_status
ropewalk_check(const ropewalk_rope* rope, const ropewalk_check_options* options,
               void (*see)(void* context, const ropewalk_check_row* row), void* context,
               int32_t* ok, ropewalk_error* error);

#ifdef __cplusplus
}  // extern "C"
#endif

// clang-format on
// NOLINTEND(modernize-*, readability-identifier-naming)

#endif  // ROPEWALK_ROPEWALK_H_
