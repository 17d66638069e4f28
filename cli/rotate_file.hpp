// Rotating the tensors of a file into another file, a block at a time.
//
// The result of a rotation is a pure function of (elements of the head, position, plan), so any
// slicing gives the same bits.

#ifndef ROPEWALK_CLI_ROTATE_FILE_HPP_
#define ROPEWALK_CLI_ROTATE_FILE_HPP_

#include <ropewalk/rope.hpp>
#include <span>
#include <string_view>

#include "formats/file.hpp"
#include "progress.hpp"
#include "tensor_file.hpp"
#include "token_positions.hpp"

namespace ropewalk::cli {

enum class Operation { kRotate, kUnrotate, kBackward };

// UsageError unless it is one of rotate, unrotate, backward.
Operation operation_named(std::string_view name);

// Writes a copy of the file that the tensors lie in, in which they are rotated: headers and other
// tensors are as they were. One tensor or several of the same file, each once. Everything was
// checked: the rope and the positions fit each tensor.
void rotate_file(const Rope& rope, Operation operation, std::span<const TensorFile* const> tensors,
                 TokenPositions& positions, formats::OutputFile& out, Progress& progress);

}  // namespace ropewalk::cli

#endif  // ROPEWALK_CLI_ROTATE_FILE_HPP_
