// Positions: starts, ids, packed sequences, grids of patches, prompts with images.

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <cstdint>
#include <optional>
#include <ropewalk/grids.hpp>
#include <ropewalk/positions.hpp>
#include <ropewalk/sequences.hpp>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "arrays.hpp"
#include "bindings.hpp"

namespace ropewalk::python {
namespace {

using nb::literals::operator""_a;

// Lists, and arrays of any integers, as int64 of our own.
nb::ndarray<nb::ro> whole_numbers(const nb::object& given, const char* name) {
  const nb::module_ numpy = nb::module_::import_("numpy");
  const nb::object array = numpy.attr("asarray")(given), dtype = array.attr("dtype");
  const auto kind = nb::cast<std::string>(dtype.attr("kind"));
  const auto words = [&] { return nb::cast<std::string>(nb::str(nb::handle(dtype))); };
  // An empty list is one of floats.
  const bool is_empty = nb::cast<std::size_t>(array.attr("size")) == 0;
  if (kind != "i" && kind != "u" && !is_empty) {
    throw nb::type_error(
        (std::string(name) + " are of " + words() + ", want integers of 64 bits").c_str());
  }
  const nb::object copy = numpy.attr("array")(array, "dtype"_a = "int64", "order"_a = "C");
  if (kind == "u" && !is_empty && nb::cast<std::int64_t>(copy.attr("min")()) < 0) {
    throw nb::value_error((std::string(name) + " have one beyond 64 bits").c_str());
  }
  return integers_from(copy, name, nb::dtype<std::int64_t>());
}

std::span<const std::int64_t> span_of(const nb::ndarray<nb::ro>& array) {
  return {static_cast<const std::int64_t*>(array.data()), array.shape(0)};
}

void check_count(std::optional<std::int64_t> tokens) {
  if (tokens && *tokens < 0) {
    throw nb::value_error(("tokens is " + std::to_string(*tokens) + ", want at least 0").c_str());
  }
}

HeldPositions starting(std::int64_t start, std::optional<std::int64_t> tokens) {
  check_count(tokens);
  HeldPositions held;
  held.positions = tokens ? Positions::from(start, *tokens) : Positions::from(start);
  return held;
}

HeldPositions with_starts(const nb::object& starts, std::optional<std::int64_t> tokens) {
  check_count(tokens);
  HeldPositions held;
  held.starts = whole_numbers(starts, "starts");
  held.positions = tokens ? Positions::starts(span_of(held.starts), *tokens)
                          : Positions::starts(span_of(held.starts));
  return held;
}

HeldPositions packed(const nb::object& lengths, const nb::object& starts) {
  HeldPositions held;
  held.ids = whole_numbers(lengths, "lengths");
  if (held.ids.shape(0) == 0) {
    throw nb::value_error("lengths are empty: cumulative lengths begin with 0");
  }
  if (!starts.is_none()) held.starts = whole_numbers(starts, "starts");
  held.positions = starts.is_none() ? Positions::packed(span_of(held.ids))
                                    : Positions::packed(span_of(held.ids), span_of(held.starts));
  return held;
}

void define_places(nb::module_& m) {
  nb::class_<HeldPositions>(m, "Positions",
                            R"(Where tokens stand. Arrays are copied.

What takes positions also takes an integer, for start(), and an array, for ids().)")
      .def_static("start", &starting, "start"_a, "tokens"_a = nb::none(),
                  "Token t of every sequence stands at start + t. tokens is wanted by Angles.")
      .def_static("starts", &with_starts, "starts"_a, "tokens"_a = nb::none(),
                  "Token t of sequence b stands at starts[b] + t.")
      .def_static(
          "ids",
          [](const nb::object& ids) {
            // A copy, which nobody else changes or frees.
            return positions_from(nb::module_::import_("numpy").attr("array")(ids, "order"_a = "C"),
                                  "positions");
          },
          "ids"_a,
          "Ids [tokens], [batch, tokens] or [axes, batch, tokens]; int32, int64, float32 or "
          "float64.")
      .def_static(
          "_of", [](const nb::object& ids) { return positions_from(ids, "positions"); }, "ids"_a,
          "Ids that are not copied: for one call.")
      .def_static(
          "packed", &packed, "lengths"_a, "starts"_a = nb::none(),
          R"(Sequences packed one behind the other into one row (cu_seqlens): sequence s has the tokens
lengths[s] .. lengths[s + 1] - 1, cumulative lengths that begin with 0, and starts at starts[s], or at 0.)")
      .def_static(
          "contiguous",
          [](std::int64_t tokens, std::int64_t ranks, std::int64_t rank, std::int64_t start) {
            return HeldPositions{Positions::contiguous(tokens, ranks, rank, start), {}, {}};
          },
          "tokens"_a, "ranks"_a, "rank"_a, "start"_a = 0,
          "What rank `rank` of `ranks` holds of `tokens` tokens: the rank-th slice.")
      .def_static(
          "zigzag",
          [](std::int64_t tokens, std::int64_t ranks, std::int64_t rank, std::int64_t start) {
            return HeldPositions{Positions::zigzag(tokens, ranks, rank, start), {}, {}};
          },
          "tokens"_a, "ranks"_a, "rank"_a, "start"_a = 0,
          "The same of 2 x ranks slices: the rank-th and the rank-th from the end.");
}

// ---- Grids ----

template <class Id>
nb::ndarray<nb::numpy, Id> array_of(OwnedPositions<Id> owned) {
  const auto [axes, batch, tokens] =
      std::array{owned.shape.axes, owned.shape.batch, owned.shape.tokens};
  return array_from(std::move(owned.ids),
                    {static_cast<std::size_t>(axes), static_cast<std::size_t>(batch),
                     static_cast<std::size_t>(tokens)});
}

void define_grids(nb::module_& m) {
  nb::class_<Grid>(m, "Grid",
                   R"(Patches of an image or video, frame by frame, each frame row by row.

merge: tokens go through blocks of merge x merge patches, block by block (Qwen-VL: spatial_merge_size).
first_frame, first_row, first_column: what the first is numbered. origin_before, origin_after: tokens around
the patches that stand at 0 on every axis, and so are not turned: class and register tokens.)")
      .def(
          "__init__",
          [](Grid* self, std::int64_t rows, std::int64_t columns, std::int64_t frames,
             std::int64_t merge, std::int64_t first_frame, std::int64_t first_row,
             std::int64_t first_column, std::int64_t origin_before, std::int64_t origin_after) {
            new (self) Grid{frames,    rows,         columns,       merge,       first_frame,
                            first_row, first_column, origin_before, origin_after};
          },
          "rows"_a, "columns"_a, nb::kw_only(), "frames"_a = 1, "merge"_a = 1, "first_frame"_a = 0,
          "first_row"_a = 0, "first_column"_a = 0, "origin_before"_a = 0, "origin_after"_a = 0)
      .def_ro("rows", &Grid::rows)
      .def_ro("columns", &Grid::columns)
      .def_ro("frames", &Grid::frames)
      .def_ro("merge", &Grid::merge)
      .def_ro("first_frame", &Grid::first_frame)
      .def_ro("first_row", &Grid::first_row)
      .def_ro("first_column", &Grid::first_column)
      .def_ro("origin_before", &Grid::origin_before)
      .def_ro("origin_after", &Grid::origin_after);

  m.def(
      "image_positions", [](const Grid& grid) { return array_of(image_positions(grid)); }, "grid"_a,
      R"(Ids [2, 1, tokens], int64: row and column of each patch; several frames repeat them.

Of a list of grids: images of several sizes, one after another in one row of tokens. Raises ValueError.)");
  m.def(
      "image_positions",
      [](const std::vector<Grid>& grids) { return array_of(image_positions(std::span(grids))); },
      "grids"_a);
  m.def(
      "video_positions", [](const Grid& grid) { return array_of(video_positions(grid)); }, "grid"_a,
      "Ids [3, 1, tokens], int64: frame, row, column. Or of a list of grids.");
  m.def(
      "video_positions",
      [](const std::vector<Grid>& grids) { return array_of(video_positions(std::span(grids))); },
      "grids"_a);
  m.def(
      "centred_positions",
      [](const Grid& grid, std::string_view by) {
        return array_of(
            centred_positions(grid, named<CentredBy>(by, "by",
                                                     {{"separate", CentredBy::kSeparate},
                                                      {"larger", CentredBy::kLarger},
                                                      {"smaller", CentredBy::kSmaller}})));
      },
      "grid"_a, "by"_a = "separate",
      R"(Real positions [2, 1, tokens], float64: the centres of the patches, from -1 to 1 over the image (DINOv3).

by: what a coordinate is divided by, its own side ("separate"), or for both the "larger" or the "smaller".)");
  m.def(
      "spanned_positions", [](const Grid& grid) { return array_of(spanned_positions(grid)); },
      "grid"_a,
      R"(Real positions [2, 1, tokens], float64: from -1 for the first row or column to 1 for the last, by equal
steps; for pixel_spec.)");
  m.def(
      "stepped_image_positions",
      [](const Grid& grid, double row, double column, double row_offset, double column_offset) {
        return array_of(stepped_image_positions(grid, {.row = row,
                                                       .column = column,
                                                       .row_offset = row_offset,
                                                       .column_offset = column_offset}));
      },
      "grid"_a, nb::kw_only(), "row"_a = 1.0, "column"_a = 1.0, "row_offset"_a = 0.0,
      "column_offset"_a = 0.0,
      R"(Real positions [2, 1, tokens], float64: (i + offset) x step. At another size than trained with (EVA, SAM 3):
row = trained rows / rows.)");
  m.def(
      "stepped_video_positions",
      [](const Grid& grid, double frame, double row, double column, double frame_offset,
         double row_offset, double column_offset) {
        return array_of(stepped_video_positions(
            grid, {frame, row, column, frame_offset, row_offset, column_offset}));
      },
      "grid"_a, nb::kw_only(), "frame"_a = 1.0, "row"_a = 1.0, "column"_a = 1.0,
      "frame_offset"_a = 0.0, "row_offset"_a = 0.0, "column_offset"_a = 0.0,
      "Real positions [3, 1, tokens], float64: the same with frames. Cosmos: frame = 24 / fps.");
  m.def(
      "flux_positions",
      [](std::int64_t text_tokens, std::int64_t rows, std::int64_t columns) {
        return array_of(flux_positions(text_tokens, rows, columns));
      },
      "text_tokens"_a, "rows"_a, "columns"_a,
      "FLUX.1: ids [3, 1, tokens]. The text at 0; then 0, row, column.");
  m.def(
      "flux2_positions",
      [](std::int64_t text_tokens, std::int64_t rows, std::int64_t columns) {
        return array_of(flux2_positions(text_tokens, rows, columns));
      },
      "text_tokens"_a, "rows"_a, "columns"_a,
      "FLUX.2: ids [4, 1, tokens]. Text token l at 0, 0, 0, l; then 0, row, column, 0.");
  m.def(
      "qwen_image_positions",
      [](std::int64_t text_tokens, std::int64_t frames, std::int64_t rows, std::int64_t columns) {
        return array_of(qwen_image_positions(text_tokens, frames, rows, columns));
      },
      "text_tokens"_a, "frames"_a, "rows"_a, "columns"_a,
      "Qwen-Image: ids [3, 1, tokens]. Rows and columns counted from the middle; the text after "
      "them.");
}

// ---- Sequences ----

using Sequence = std::vector<Run>;

nb::ndarray<nb::numpy, std::int64_t> vector_of(const std::vector<std::int64_t>& values) {
  return array_from(std::vector(values), {values.size()});
}

Padding padding_from(std::string_view given) {
  return named<Padding>(given, "padding", {{"right", Padding::kRight}, {"left", Padding::kLeft}});
}

void define_runs(nb::module_& m) {
  nb::class_<Run>(
      m, "Run",
      R"(A stretch of a sequence: tokens of text, or the patches of one image or video, before any
merging (image_grid_thw). What marks an image's begin and end is text.)")
      .def_static("text", &Run::text, "tokens"_a)
      .def_static("image", &Run::image, "rows"_a, "columns"_a)
      .def_static(
          "video", &Run::video, "frames"_a, "rows"_a, "columns"_a, "seconds_per_frame"_a = 1.0,
          "seconds_per_frame: second_per_grid_ts, temporal_patch_size / frames per second.");
  nb::class_<SequenceRules>(
      m, "SequenceRules",
      R"(How a model numbers text, images and videos on the axes t, h, w: see sequences.hpp.

spatial_merge: patches of a token, each way. temporal_merge: frames of a token of a video.
tokens_per_second: frame k stands at t = s + trunc(k x that x seconds_per_frame); 0: at s + k. seconds_first:
how that product is formed. frames_apart: frame k begins at s + k max(rows, columns). row_ends: each row has
a token more. frame_by_frame: each frame is a run of its own. next: what follows goes on after the
"largest" of t, h and w, or after the "longer_side".)")
      .def(
          "__init__",
          [](SequenceRules* self, std::int64_t spatial_merge, std::int64_t temporal_merge,
             double tokens_per_second, bool seconds_first, bool frames_apart, bool row_ends,
             bool frame_by_frame, std::string_view next) {
            using Next = SequenceRules::Next;
            new (self) SequenceRules{
                spatial_merge,
                temporal_merge,
                tokens_per_second,
                seconds_first,
                frames_apart,
                row_ends,
                frame_by_frame,
                named<Next>(next, "next",
                            {{"largest", Next::kLargest}, {"longer_side", Next::kLongerSide}})};
          },
          nb::kw_only(), "spatial_merge"_a = 2, "temporal_merge"_a = 1, "tokens_per_second"_a = 0.0,
          "seconds_first"_a = false, "frames_apart"_a = false, "row_ends"_a = false,
          "frame_by_frame"_a = false, "next"_a = "largest")
      .def_ro("spatial_merge", &SequenceRules::spatial_merge)
      .def_ro("temporal_merge", &SequenceRules::temporal_merge)
      .def_ro("tokens_per_second", &SequenceRules::tokens_per_second)
      .def_ro("seconds_first", &SequenceRules::seconds_first)
      .def_ro("frames_apart", &SequenceRules::frames_apart)
      .def_ro("row_ends", &SequenceRules::row_ends)
      .def_ro("frame_by_frame", &SequenceRules::frame_by_frame)
      .def_prop_ro("next", [](const SequenceRules& rules) {
        return rules.next == SequenceRules::Next::kLargest ? "largest" : "longer_side";
      });
  m.def(
      "sequence_rules", &sequence_rules, "model_type"_a,
      R"(The rules of a model_type: "qwen2_vl", "qwen2_5_vl", "qwen3_vl", "glm4v", "ernie4_5_vl_moe", ...
Raises ValueError with a list of those known.)");
}

void define_sequences(nb::module_& m) {
  define_runs(m);
  nb::class_<TokenPositions>(m, "TokenPositions", "Where the tokens of a batch of prompts stand.")
      .def_prop_ro(
          "ids", [](const TokenPositions& made) { return array_of(made.ids); }, nb::rv_policy::move,
          "[axes, batch, tokens], int64; what is filled up stands at 0.")
      .def_prop_ro(
          "lengths", [](const TokenPositions& made) { return vector_of(made.lengths); },
          nb::rv_policy::move, "[batch], tokens of each sequence.")
      .def_prop_ro(
          "next", [](const TokenPositions& made) { return vector_of(made.next); },
          nb::rv_policy::move,
          R"([batch], where the first generated token stands, on every axis: while decoding,
Positions.starts(next), and each step adds 1.)")
      .def_prop_ro(
          "deltas",
          [](const TokenPositions& made) {
            std::vector<std::int64_t> deltas;
            for (std::size_t b = 0; b < made.next.size(); ++b) deltas.push_back(made.delta(b));
            return vector_of(deltas);
          },
          nb::rv_policy::move, "[batch], next - lengths: transformers' mrope_position_deltas.");
  m.def(
      "token_positions",
      [](const std::vector<Sequence>& sequences, const SequenceRules& rules,
         std::string_view padding, const std::vector<std::int64_t>& starts) {
        return token_positions(std::span(sequences), rules, padding_from(padding), starts);
      },
      "sequences"_a, "rules"_a, "padding"_a = "right", "starts"_a = std::vector<std::int64_t>{},
      R"(Where the tokens of prompts stand, on the axes t, h, w (Qwen2-VL, arXiv 2409.12191, section 2.1).

sequences: a list of Runs for each. padding: shorter ones are filled up on the "right" or "left".
starts: where each begins (what was cached before it), or none: 0.

Raises ValueError naming sequence, run and field: rows and columns are multiples of spatial_merge.)");
  m.def(
      "hunyuan_token_positions",
      [](const std::vector<Sequence>& sequences, std::int64_t axes, std::int64_t spatial_merge,
         std::string_view padding) {
        return hunyuan_token_positions(std::span(sequences), axes, spatial_merge,
                                       padding_from(padding));
      },
      "sequences"_a, "axes"_a = 4, "spatial_merge"_a = 2, "padding"_a = "right",
      "The same for HunYuan-VL, on the axes p, w, h, i: see sequences.hpp. No videos.");
}

}  // namespace

void define_positions(nb::module_& m) {
  define_places(m);
  define_grids(m);
  define_sequences(m);
}

}  // namespace ropewalk::python
