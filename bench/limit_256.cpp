// Vectors of 256 bits; compiled for AVX2.

#define ROPEWALK_LIMIT_BITS 256
#define ROPEWALK_LIMIT_NAME "256-bit"
#define ROPEWALK_LIMIT_LOOPS kLoops256
#include "bench/limit-inl.hpp"
