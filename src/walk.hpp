// What is done to the tensors of a call once they are checked: tile by tile, the rows are found or
// made, and a kernel turns the heads. Part of the room `rotate`.

#ifndef ROPEWALK_SRC_WALK_HPP_
#define ROPEWALK_SRC_WALK_HPP_

#include <cstdint>
#include <ropewalk/angles.hpp>
#include <ropewalk/options.hpp>
#include <ropewalk/spec.hpp>

#include "kernels.hpp"
#include "operands.hpp"
#include "rows.hpp"

namespace ropewalk {

// What is done to the operands: which rows, how scaled, between which windows. All four operations
// are this; they differ in how it is filled in.
struct Work {
  Turning turning;       // fresh angles, or
  const Angles* angles;  // ready ones, or null
  const Spec* spec;      // whose window is turned
  Pairing read, written;
  double cos_scale, sin_scale;
  bool divides_by_token_scales;
  std::int64_t bytes;  // of all results
};

// Of operands that were checked and are not all empty. Runs on several threads if it is worth it.
void walk(const Work& work, Operands operands, const ParallelFor& parallel,
          const kernels::Table& table);

}  // namespace ropewalk

#endif  // ROPEWALK_SRC_WALK_HPP_
