// Everything of ropewalk::ropewalk: spec -> frequencies -> rope -> positions -> angles -> rotate; and
// for models that see, vision (specs), grids and sequences (positions).

#ifndef ROPEWALK_ROPEWALK_HPP_
#define ROPEWALK_ROPEWALK_HPP_

#include <ropewalk/angles.hpp>
#include <ropewalk/error.hpp>
#include <ropewalk/frequencies.hpp>
#include <ropewalk/grids.hpp>
#include <ropewalk/options.hpp>
#include <ropewalk/positions.hpp>
#include <ropewalk/rope.hpp>
#include <ropewalk/rotate.hpp>
#include <ropewalk/sequences.hpp>
#include <ropewalk/spec.hpp>
#include <ropewalk/tensor.hpp>
#include <ropewalk/version.hpp>
#include <ropewalk/vision.hpp>

#endif  // ROPEWALK_ROPEWALK_HPP_
