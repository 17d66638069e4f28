// Vectors of 512 bits; compiled for AVX-512 F.

#define ROPEWALK_LIMIT_BITS 512
#define ROPEWALK_LIMIT_NAME "512-bit"
#define ROPEWALK_LIMIT_LOOPS kLoops512
#include "bench/limit-inl.hpp"
