// Where the tokens of a tensor stand, from the command line: --start or --positions.

#ifndef ROPEWALK_CLI_TOKEN_POSITIONS_HPP_
#define ROPEWALK_CLI_TOKEN_POSITIONS_HPP_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <ropewalk/positions.hpp>
#include <string>
#include <vector>

#include "formats/file.hpp"
#include "formats/npy.hpp"
#include "tensor_file.hpp"

namespace ropewalk::cli {

// From a start on, or by the ids in a .npy file of i4, i8, f4 or f8 of shape [tokens],
// [1 or batch, tokens] or [axes, 1 or batch, tokens]. Ids are read block by block, like the tensor.
class TokenPositions {
 public:
  explicit TokenPositions(std::int64_t start) : start_(start) {}
  explicit TokenPositions(const std::string& path);

  // Throws Error unless they serve this tensor and a rope of so many axes.
  void check(const TensorFile& tensor, std::size_t axes);

  // Those of a block of whole sequences, or of tokens of one sequence; good until the next call.
  // check() was passed.
  Positions read(std::int64_t first_batch, std::int64_t batches, std::int64_t first_token,
                 std::int64_t tokens);

  // The largest of a sequence of so many tokens, rounded down, of the axes that the rope reads.
  // check() was passed.
  [[nodiscard]] std::int64_t last(std::int64_t tokens) const;
  // As many as the ids have.
  [[nodiscard]] std::int64_t axes() const noexcept { return ids_ ? ids_->shape.axes : 1; }

  // The file with the ids, if there is one.
  [[nodiscard]] const formats::InputFile* file() const noexcept {
    return ids_ ? &ids_->file : nullptr;
  }

 private:
  struct Ids {
    formats::InputFile file;
    formats::NpyHeader header;
    Positions::Shape shape;

    // `count` ids from this one on.
    template <class Id>
    void read(std::int64_t first, std::int64_t count, Id* out) const;
    // use(first, ids) for a block of the first `count` ids after the other.
    template <class Id, class Use>
    void for_blocks(std::int64_t count, const Use& use) const;
    template <class Id>
    void check_finite() const;
    template <class Id>
    [[nodiscard]] std::int64_t largest(std::int64_t count) const;
  };

  template <class Id>
  Positions read_as(std::vector<Id>& block, std::int64_t first, const Positions::Shape& shape);

  std::int64_t start_ = 0;
  std::optional<Ids> ids_;
  std::int64_t axes_ = 1;            // of the ids, as many as the rope reads
  std::vector<std::int32_t> int32_;  // of the last block
  std::vector<std::int64_t> int64_;
  std::vector<float> f32_;
  std::vector<double> f64_;
};

}  // namespace ropewalk::cli

#endif  // ROPEWALK_CLI_TOKEN_POSITIONS_HPP_
