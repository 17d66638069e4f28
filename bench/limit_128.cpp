// Vectors of 128 bits.

#define ROPEWALK_LIMIT_BITS 128
#define ROPEWALK_LIMIT_NAME "128-bit"
#define ROPEWALK_LIMIT_LOOPS kLoops128
#include "bench/limit-inl.hpp"
