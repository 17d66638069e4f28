// What tests in C need: a check that counts failures, the formula in long double, element types.
// The formula shares nothing with src/ and is that of tests/reference.hpp.

#ifndef ROPEWALK_TESTS_C_TEST_H_
#define ROPEWALK_TESTS_C_TEST_H_

#include <math.h>
#include <ropewalk/ropewalk.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int test_failures = 0;

#define CHECK(condition)                                               \
  do {                                                                 \
    if (!(condition)) {                                                \
      ++test_failures;                                                 \
      printf("%s:%d: %s: not true\n", __FILE__, __LINE__, #condition); \
    }                                                                  \
  } while (0)

#define CHECK_NEAR(value, wanted, allowed)                                                       \
  do {                                                                                           \
    const long double value_ = (value), wanted_ = (wanted);                                      \
    if (!(fabsl(value_ - wanted_) <= (long double)(allowed))) {                                  \
      ++test_failures;                                                                           \
      printf("%s:%d: %s is %.17Lg, want %.17Lg\n", __FILE__, __LINE__, #value, value_, wanted_); \
    }                                                                                            \
  } while (0)

// A test's name states a property.
#define RUN(property)                                                         \
  do {                                                                        \
    const int before_ = test_failures;                                        \
    property();                                                               \
    printf("%s %s\n", before_ == test_failures ? "ok  " : "FAIL", #property); \
  } while (0)

// A call that must succeed; says why if it does not.
#define CHECK_OK(call, error)                                                \
  do {                                                                       \
    if ((call) != ROPEWALK_OK) {                                             \
      ++test_failures;                                                       \
      printf("%s:%d: %s: %s\n", __FILE__, __LINE__, #call, (error).message); \
    }                                                                        \
  } while (0)

// A call that must be refused with this status, in words that contain `word`.
#define CHECK_REFUSED(call, wanted_status, word, error)                                         \
  do {                                                                                          \
    const ropewalk_status status_ = (call);                                                     \
    if (status_ != (wanted_status) || (error).status != status_ ||                              \
        strstr((error).message, (word)) == NULL) {                                              \
      ++test_failures;                                                                          \
      printf("%s:%d: %s\n  gives \"%s\": %s\n  want  \"%s\": ... %s ...\n", __FILE__, __LINE__, \
             #call, ropewalk_status_name(status_), (error).message,                             \
             ropewalk_status_name(wanted_status), (word));                                      \
    }                                                                                           \
  } while (0)

// ---- Element types ----

static inline size_t element_size(ropewalk_dtype dtype) {
  return dtype == ROPEWALK_F64 ? 8 : dtype == ROPEWALK_F32 ? 4 : 2;
}

static inline double from_bf16(uint16_t bits) {
  const uint32_t wide = (uint32_t)bits << 16;
  float value = 0;
  memcpy(&value, &wide, sizeof(value));
  return value;
}

static inline double from_f16(uint16_t bits) {
  const int exponent = bits >> 10 & 31, mantissa = bits & 1023;
  const double magnitude =
      exponent == 0 ? ldexp(mantissa, -24) : ldexp(1024 + mantissa, exponent - 25);
  return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}

static inline double element(const void* data, ropewalk_dtype dtype, size_t i) {
  float single = 0;
  double value = 0;
  uint16_t bits = 0;
  switch (dtype) {
    case ROPEWALK_F32: memcpy(&single, (const char*)data + i * 4, 4); return single;
    case ROPEWALK_F64: memcpy(&value, (const char*)data + i * 8, 8); return value;
    default: memcpy(&bits, (const char*)data + i * 2, 2);
  }
  return dtype == ROPEWALK_BF16 ? from_bf16(bits) : from_f16(bits);
}

// value must be one that the type holds: tests use small multiples of a power of 2.
static inline void set_element(void* data, ropewalk_dtype dtype, size_t i, double value) {
  const float single = (float)value;
  uint16_t bits = 0;
  if (dtype == ROPEWALK_F64) {
    memcpy((char*)data + i * 8, &value, 8);
    return;
  }
  if (dtype == ROPEWALK_F32) {
    memcpy((char*)data + i * 4, &single, 4);
    return;
  }
  if (dtype == ROPEWALK_BF16) {
    uint32_t wide = 0;
    memcpy(&wide, &single, 4);
    bits = (uint16_t)(wide >> 16);
  } else if (value != 0) {
    int exponent = 0;
    const double fraction = frexp(fabs(value), &exponent);  // [1/2, 1)
    bits = (uint16_t)((exponent + 14) << 10 | ((int)(fraction * 2048) & 1023));
    if (value < 0) bits |= 0x8000;
  }
  memcpy((char*)data + i * 2, &bits, 2);
}

// Reproducible values of at most 7 bits: k / 16 for -64 < k < 64.
static inline void fill_elements(void* data, ropewalk_dtype dtype, size_t count, uint64_t seed) {
  uint64_t state = seed * 2654435769u + 1;
  for (size_t i = 0; i < count; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    set_element(data, dtype, i, ((int)(state >> 40) % 127 - 63) / 16.0);
  }
}

// ---- The formula ----

// cos and sin of p ω for |p| <= 2^33: ω is split so that both products are exact.
static inline void turn(double omega, double p, long double* cosine, long double* sine) {
  const float high = (float)omega;
  const long double rest = (long double)omega - high;
  const long double big = (long double)p * high, small = (long double)p * rest;
  *cosine = cosl(big) * cosl(small) - sinl(big) * sinl(small);
  *sine = sinl(big) * cosl(small) + cosl(big) * sinl(small);
}

static inline double frequency(double base, int64_t i, int64_t rotary_dim) {
  return (double)powl(base, -2 * (long double)i / (long double)rotary_dim);
}

// What is promised for an element of a pair of length h: a share of it, and half an ulp.
static inline long double allowed_error(ropewalk_dtype dtype, long double h, long double p,
                                        long double exact) {
  static const int mantissas[] = {24, 8, 11, 53};
  // The frequency here and there may differ by an ulp of double.
  const long double frequencies = fabsl(p) * 0x1p-51L;
  const long double promised = dtype == ROPEWALK_F64 ? 0x1p-50L + fabsl(p) * 0x1p-62L : 0x1p-21L;
  const long double share = (promised + frequencies) * h;
  int exponent = 0;
  (void)frexpl(fabsl(exact) + share, &exponent);
  const int lowest = dtype == ROPEWALK_F16 ? -13 : dtype == ROPEWALK_F64 ? -1021 : -125;
  return share + ldexpl(1, (exponent < lowest ? lowest : exponent) - mantissas[dtype] - 1);
}

#endif  // ROPEWALK_TESTS_C_TEST_H_
