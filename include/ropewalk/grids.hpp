// Grids: the positions of the patches of images and videos.

#ifndef ROPEWALK_GRIDS_HPP_
#define ROPEWALK_GRIDS_HPP_

#include <cstddef>
#include <cstdint>
#include <ropewalk/positions.hpp>
#include <span>
#include <vector>

namespace ropewalk {

// Positions that own their ids, densely [axes, batch, tokens]. positions() is a view of them: it stays
// good until the ids are changed or gone.
template <class Id>
struct OwnedPositions {
  std::vector<Id> ids;
  Positions::Shape shape;

  [[nodiscard]] Positions positions() const& noexcept { return Positions::ids(ids.data(), shape); }
  Positions positions() const&& = delete;
  [[nodiscard]] Id at(std::int64_t axis, std::int64_t b, std::int64_t t) const noexcept {
    return ids[static_cast<std::size_t>((axis * shape.batch + b) * shape.tokens + t)];
  }
};
using PositionIds = OwnedPositions<std::int64_t>;
using RealPositionIds = OwnedPositions<double>;

// At most so many ids are made by one call: far above any model, far below what would let a typing
// error exhaust the memory.
inline constexpr std::int64_t kMaxPositionIds = std::int64_t{1} << 31;

// Patches frame by frame, each frame row by row. Throws of every function here: Error
// (kInvalidArgument) naming the field, what was given and what is allowed.
struct Grid {
  std::int64_t frames = 1;  // each from 0
  std::int64_t rows = 0;
  std::int64_t columns = 0;

  // Tokens go through blocks of merge x merge patches, block by block, as models want them that make
  // one token of a block (Qwen-VL: spatial_merge_size). Divides rows and columns. 2 rows, 4 columns:
  //
  //   merge 1   0 1 2 3      merge 2   0 1 | 4 5
  //             4 5 6 7                2 3 | 6 7
  std::int64_t merge = 1;

  // What the first of them is numbered. For integer positions only.
  std::int64_t first_frame = 0;
  std::int64_t first_row = 0;
  std::int64_t first_column = 0;

  // Tokens before and after the patches that stand at 0 on every axis, and so are not turned: class
  // and register tokens, the text of FLUX.
  std::int64_t origin_before = 0;
  std::int64_t origin_after = 0;
};

// [2, 1, tokens]: row, column. Several frames repeat them (Qwen-VL's vision tower).
PositionIds image_positions(const Grid& grid);
// Images of several sizes, one after another in one row of tokens.
PositionIds image_positions(std::span<const Grid> grids);

// [3, 1, tokens]: frame, row, column.
PositionIds video_positions(const Grid& grid);
PositionIds video_positions(std::span<const Grid> grids);

// ---- Positions between the integers: first_frame, first_row, first_column must be 0 ----

// DINOv3: the centres of the patches, from -1 to 1 over the image:
//   2 (i + 1/2) / n - 1,  n = rows for a row and columns for a column;
//   or for both the larger or the smaller of the two.
//
//   columns 4, kSeparate    |  x  |  x  |  x  |  x  |      -0.75 -0.25 0.25 0.75
//                          -1                       1
//
// facebookresearch/dinov3, dinov3/layers/rope_position_encoding.py (normalize_coords: "separate",
// "max", "min"); without the shift, jitter and rescale of its training.
enum class CentredBy : std::uint8_t { kSeparate, kLarger, kSmaller };
RealPositionIds centred_positions(const Grid& grid, CentredBy by = CentredBy::kSeparate);

// timm with in_pixels=True: from -1 for the first row or column to 1 for the last, by equal steps;
// -1 where there is one. For pixel_spec.
RealPositionIds spanned_positions(const Grid& grid);

// (i + offset) step. EVA and timm at another size than trained with: step = trained rows / rows,
// trained columns / columns (ref_feat_shape), offset = grid_offset; SAM 3's ViT; Cosmos: 24 / fps for
// frames; LTX-Video: step 2 s and offset -1 / (2 s), s the size of a patch as a share of the largest.
struct Steps {
  double frame = 1, row = 1, column = 1;  // finite
  double frame_offset = 0, row_offset = 0, column_offset = 0;
};
RealPositionIds stepped_image_positions(const Grid& grid, const Steps& steps);
RealPositionIds stepped_video_positions(const Grid& grid, const Steps& steps);

// ---- Generators: a text of text_tokens tokens, then the image or video ----

// FLUX.1 [3, 1, tokens]: the text at 0; then 0, row, column.
// black-forest-labs/flux, src/flux/sampling.py, prepare.
PositionIds flux_positions(std::int64_t text_tokens, std::int64_t rows, std::int64_t columns);

// FLUX.2 [4, 1, tokens]: text token l at 0, 0, 0, l; then 0, row, column, 0.
// huggingface/diffusers, src/diffusers/pipelines/flux2/pipeline_flux2.py, _prepare_text_ids and
// _prepare_latent_ids.
PositionIds flux2_positions(std::int64_t text_tokens, std::int64_t rows, std::int64_t columns);

// Qwen-Image [3, 1, tokens], scale_rope: rows and columns are counted from the middle, rows 5:
// -3 -2 -1 0 1; text token l stands at max(rows/2, columns/2) + l on every axis.
// huggingface/diffusers, src/diffusers/models/transformers/transformer_qwenimage.py, QwenEmbedRope.
PositionIds qwen_image_positions(std::int64_t text_tokens, std::int64_t frames, std::int64_t rows,
                                 std::int64_t columns);

}  // namespace ropewalk

#endif  // ROPEWALK_GRIDS_HPP_
