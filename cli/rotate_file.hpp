// Rotating one tensor file into another, a block at a time.
//
// The result of a rotation is a pure function of (elements of the head, position, plan), so any
// slicing gives the same bits.

#ifndef ROPEWALK_CLI_ROTATE_FILE_HPP_
#define ROPEWALK_CLI_ROTATE_FILE_HPP_

#include <cstdint>
#include <optional>
#include <ropewalk/positions.hpp>
#include <ropewalk/rope.hpp>
#include <ropewalk/tensor.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "formats/file.hpp"
#include "formats/npy.hpp"

namespace ropewalk::cli {

// The order of a tensor's dimensions in its file.
struct Layout {
  std::string_view name;  // "bthd"
  bool has_batch;
  bool heads_outer;  // a head's tokens lie together, not a token's heads
};

// UsageError unless it is one of bthd, bhtd, thd, htd.
const Layout& layout_named(std::string_view name);

// A .npy file of f32 that has this layout. Throws Error otherwise.
class TensorFile {
 public:
  TensorFile(const std::string& path, const Layout& layout);

  [[nodiscard]] const formats::InputFile& file() const noexcept { return file_; }
  [[nodiscard]] const formats::NpyHeader& header() const noexcept { return header_; }
  [[nodiscard]] const Layout& layout() const noexcept { return *layout_; }
  // Batch, tokens, heads, head_dim, whatever the layout; batch is 1 in a layout without.
  [[nodiscard]] const Dims& shape() const noexcept { return shape_; }

 private:
  formats::InputFile file_;
  formats::NpyHeader header_;
  const Layout* layout_;
  Dims shape_{};
};

// Where the tokens stand: from a start on, or by the ids in a .npy file of i4 or i8 of shape
// [tokens], [1, tokens] or [batch, tokens]. Ids are read block by block, like the tensor.
class TokenPositions {
 public:
  explicit TokenPositions(std::int64_t start) : start_(start) {}
  explicit TokenPositions(const std::string& path);

  // Throws Error unless they serve this tensor.
  void check(const TensorFile& tensor) const;

  // Those of a block of whole sequences, or of tokens of one sequence; good until the next call.
  Positions read(std::int64_t first_batch, std::int64_t batches, std::int64_t first_token,
                 std::int64_t tokens);

  // The file with the ids, if there is one.
  [[nodiscard]] const formats::InputFile* file() const noexcept {
    return ids_ ? &ids_->file : nullptr;
  }

 private:
  struct Ids {
    formats::InputFile file;
    formats::NpyHeader header;
    [[nodiscard]] bool is_int32() const { return header.descr == "<i4"; }
    [[nodiscard]] std::int64_t batch() const {
      return header.shape.size() == 2 ? header.shape[0] : 1;
    }
    [[nodiscard]] std::int64_t tokens() const { return header.shape.back(); }
  };

  std::int64_t start_ = 0;
  std::optional<Ids> ids_;
  std::vector<std::int32_t> int32_;  // of the last block
  std::vector<std::int64_t> int64_;
};

// Everything was checked: the rope and the positions fit the tensor.
void rotate_file(const Rope& rope, const TensorFile& tensor, TokenPositions& positions,
                 formats::OutputFile& out);

}  // namespace ropewalk::cli

#endif  // ROPEWALK_CLI_ROTATE_FILE_HPP_
