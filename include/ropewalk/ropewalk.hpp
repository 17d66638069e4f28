// Everything of ropewalk::ropewalk: spec -> frequencies -> rope -> positions -> angles -> rotate.

#ifndef ROPEWALK_ROPEWALK_HPP_
#define ROPEWALK_ROPEWALK_HPP_

#include <ropewalk/angles.hpp>
#include <ropewalk/error.hpp>
#include <ropewalk/frequencies.hpp>
#include <ropewalk/options.hpp>
#include <ropewalk/positions.hpp>
#include <ropewalk/rope.hpp>
#include <ropewalk/rotate.hpp>
#include <ropewalk/spec.hpp>
#include <ropewalk/tensor.hpp>
#include <ropewalk/version.hpp>

#endif  // ROPEWALK_ROPEWALK_HPP_
