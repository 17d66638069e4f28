// model: what stands in files -> a Spec. In the library ropewalk::model.

#ifndef ROPEWALK_MODEL_HPP_
#define ROPEWALK_MODEL_HPP_

#include <ropewalk/spec.hpp>
#include <string>
#include <string_view>

namespace ropewalk {

// The JSON form of a Spec:
//
//   {"head_dim": 128, "rotary_dim": 128, "rotary_offset": 0, "pairing": "halves",
//    "output_pairing": "halves", "clockwise": false, "window_parts": 1, "base": 500000.0,
//    "scaling": {"type": "linear", "factor": 8.0}, "attention_factor": 1.0,
//    "axes": {"sections": [16, 24, 24], "order": "blocks"}}
//
// or "frequencies": [...] instead of base and scaling, "axis_of_pair": [...] instead of axes. Only
// head_dim is required, and sections of axes; a null is as if the key were absent. Numbers may be
// written as integers. An unknown key is an error.
//
// Throws Error: kBadFormat for what is no JSON, has a wrong type or an unknown key (the message
// names the key path), kInvalidArgument for what Spec refuses.
Spec spec_from_json(std::string_view json);

// Reads back to the same Spec, to the last bit. Keys from rotary_offset to window_parts, but for the
// pairing, are written where they are not as above.
std::string spec_to_json(const Spec& spec);

}  // namespace ropewalk

#endif  // ROPEWALK_MODEL_HPP_
