// The part of the room spec that knows which fields each scaling rule takes.

#ifndef ROPEWALK_SRC_SCALING_HPP_
#define ROPEWALK_SRC_SCALING_HPP_

#include <cstdint>
#include <ropewalk/spec.hpp>

namespace ropewalk {

// Throws Error unless the fields are those of the rule and have values that it can work with, for a
// Spec with this base and so many pairs in each part of its window.
void check_scaling(const Scaling& scaling, double base, std::int64_t pairs);

}  // namespace ropewalk

#endif  // ROPEWALK_SRC_SCALING_HPP_
