#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <ropewalk/error.hpp>
#include <ropewalk/grids.hpp>

#include "message.hpp"

namespace ropewalk {
namespace {

constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();

template <class... Parts>
[[noreturn]] void refuse(const Parts&... parts) {
  throw Error(ErrorCode::kInvalidArgument, message(parts...));
}

void check_count(std::string_view name, std::int64_t count) {
  if (count < 0 || count > kMaxPositionIds) {
    refuse(name, " ", count, " is not between 0 and 2^31");
  }
}

void check_first(std::string_view name, std::int64_t first, std::int64_t count) {
  if (first > kMax - count) refuse(name, " ", first, " + ", count, " leaves the 64 bits");
}

// How many tokens, after all checks.
std::int64_t tokens_of(const Grid& grid, std::int64_t axes) {
  check_count("frames", grid.frames);
  check_count("rows", grid.rows);
  check_count("columns", grid.columns);
  check_count("origin_before", grid.origin_before);
  check_count("origin_after", grid.origin_after);
  if (grid.merge < 1 || grid.rows % grid.merge != 0 || grid.columns % grid.merge != 0) {
    refuse("merge ", grid.merge, " does not divide rows ", grid.rows, " and columns ",
           grid.columns);
  }
  check_first("first_frame", grid.first_frame, grid.frames);
  check_first("first_row", grid.first_row, grid.rows);
  check_first("first_column", grid.first_column, grid.columns);
  // Each factor is at most 2^31: a product of two fits.
  const std::int64_t limit = kMaxPositionIds / axes;
  const std::int64_t patches = grid.rows * grid.columns;
  const std::int64_t tokens = patches > limit || (patches > 0 && grid.frames > limit / patches)
                                  ? kMax
                                  : grid.frames * patches;
  if (tokens > limit || grid.origin_before + grid.origin_after > limit - tokens) {
    refuse("frames ", grid.frames, " x rows ", grid.rows, " x columns ", grid.columns,
           " and origin_before ", grid.origin_before, ", origin_after ", grid.origin_after,
           ": more than the ", limit, " tokens that one call makes");
  }
  return grid.origin_before + tokens + grid.origin_after;
}

// visit(frame, row, column), counted from 0, in the order of the tokens.
template <class Visit>
void for_each_patch(const Grid& grid, Visit visit) {
  const std::int64_t merge = grid.merge;
  if (grid.rows == 0 || grid.columns == 0) return;
  for (std::int64_t frame = 0; frame < grid.frames; ++frame) {
    for (std::int64_t top = 0; top < grid.rows; top += merge) {
      for (std::int64_t left = 0; left < grid.columns; left += merge) {
        for (std::int64_t row = top; row < top + merge; ++row) {
          for (std::int64_t column = left; column < left + merge; ++column) {
            visit(frame, row, column);
          }
        }
      }
    }
  }
}

// The ids of grids one after another. coordinates(grid, frame, row, column) -> an array of axes ids.
template <class Id, std::size_t kAxes, class Coordinates>
OwnedPositions<Id> filled(std::span<const Grid> grids, Coordinates coordinates) {
  constexpr auto kCount = static_cast<std::int64_t>(kAxes);
  std::int64_t tokens = 0;
  for (const Grid& grid : grids) {
    const std::int64_t more = tokens_of(grid, kCount);
    if (more > kMaxPositionIds / kCount - tokens) {
      refuse("grids: more than the ", kMaxPositionIds / kCount, " tokens that one call makes");
    }
    tokens += more;
  }
  OwnedPositions<Id> result{.ids = std::vector<Id>(kAxes * static_cast<std::size_t>(tokens)),
                            .shape = {.axes = kCount, .batch = 1, .tokens = tokens}};
  std::size_t token = 0;
  for (const Grid& grid : grids) {
    token += static_cast<std::size_t>(grid.origin_before);
    for_each_patch(grid, [&](std::int64_t frame, std::int64_t row, std::int64_t column) {
      const std::array<Id, kAxes> ids = coordinates(grid, frame, row, column);
      for (std::size_t axis = 0; axis < kAxes; ++axis) {
        result.ids[axis * static_cast<std::size_t>(tokens) + token] = ids[axis];
      }
      ++token;
    });
    token += static_cast<std::size_t>(grid.origin_after);
  }
  return result;
}

void want_no_first(const Grid& grid) {
  if (grid.first_frame != 0 || grid.first_row != 0 || grid.first_column != 0) {
    refuse("first_frame ", grid.first_frame, ", first_row ", grid.first_row, ", first_column ",
           grid.first_column, ": want 0 for positions that are not integers");
  }
}

void check_steps(const Steps& steps) {
  for (const double value : {steps.frame, steps.row, steps.column, steps.frame_offset,
                             steps.row_offset, steps.column_offset}) {
    if (!std::isfinite(value)) refuse("steps: ", value, " is not a finite number");
  }
}

double stepped(std::int64_t i, double step, double offset) {
  return (static_cast<double>(i) + offset) * step;
}

}  // namespace

PositionIds image_positions(std::span<const Grid> grids) {
  return filled<std::int64_t, 2>(
      grids, [](const Grid& grid, std::int64_t, std::int64_t row, std::int64_t column) {
        return std::array{grid.first_row + row, grid.first_column + column};
      });
}

PositionIds video_positions(std::span<const Grid> grids) {
  return filled<std::int64_t, 3>(grids, [](const Grid& grid, std::int64_t frame, std::int64_t row,
                                           std::int64_t column) {
    return std::array{grid.first_frame + frame, grid.first_row + row, grid.first_column + column};
  });
}

PositionIds image_positions(const Grid& grid) { return image_positions(std::span(&grid, 1)); }

PositionIds video_positions(const Grid& grid) { return video_positions(std::span(&grid, 1)); }

RealPositionIds centred_positions(const Grid& grid, CentredBy by) {
  if (by > CentredBy::kSmaller) refuse("by number ", static_cast<int>(by), " is unknown");
  want_no_first(grid);
  std::int64_t height = grid.rows, width = grid.columns;
  if (by == CentredBy::kLarger) height = width = std::max(height, width);
  if (by == CentredBy::kSmaller) height = width = std::min(height, width);
  const auto centre = [](std::int64_t i, std::int64_t size) {
    return static_cast<double>(2 * i + 1) / static_cast<double>(size) - 1;
  };
  return filled<double, 2>(std::span(&grid, 1),
                           [&](const Grid&, std::int64_t, std::int64_t row, std::int64_t column) {
                             return std::array{centre(row, height), centre(column, width)};
                           });
}

RealPositionIds spanned_positions(const Grid& grid) {
  want_no_first(grid);
  const auto at = [](std::int64_t i, std::int64_t size) {
    return size == 1 ? -1.0 : static_cast<double>(2 * i) / static_cast<double>(size - 1) - 1;
  };
  return filled<double, 2>(std::span(&grid, 1),
                           [&](const Grid&, std::int64_t, std::int64_t row, std::int64_t column) {
                             return std::array{at(row, grid.rows), at(column, grid.columns)};
                           });
}

RealPositionIds stepped_image_positions(const Grid& grid, const Steps& steps) {
  want_no_first(grid);
  check_steps(steps);
  return filled<double, 2>(std::span(&grid, 1),
                           [&](const Grid&, std::int64_t, std::int64_t row, std::int64_t column) {
                             return std::array{stepped(row, steps.row, steps.row_offset),
                                               stepped(column, steps.column, steps.column_offset)};
                           });
}

RealPositionIds stepped_video_positions(const Grid& grid, const Steps& steps) {
  want_no_first(grid);
  check_steps(steps);
  return filled<double, 3>(std::span(&grid, 1), [&](const Grid&, std::int64_t frame,
                                                    std::int64_t row, std::int64_t column) {
    return std::array{stepped(frame, steps.frame, steps.frame_offset),
                      stepped(row, steps.row, steps.row_offset),
                      stepped(column, steps.column, steps.column_offset)};
  });
}

PositionIds flux_positions(std::int64_t text_tokens, std::int64_t rows, std::int64_t columns) {
  check_count("text_tokens", text_tokens);
  return video_positions({.rows = rows, .columns = columns, .origin_before = text_tokens});
}

PositionIds flux2_positions(std::int64_t text_tokens, std::int64_t rows, std::int64_t columns) {
  check_count("text_tokens", text_tokens);
  const Grid grid{.rows = rows, .columns = columns, .origin_before = text_tokens};
  PositionIds result = filled<std::int64_t, 4>(
      std::span(&grid, 1), [](const Grid&, std::int64_t, std::int64_t row, std::int64_t column) {
        return std::array<std::int64_t, 4>{0, row, column, 0};
      });
  for (std::int64_t l = 0; l < text_tokens; ++l) {
    result.ids[static_cast<std::size_t>(3 * result.shape.tokens + l)] = l;
  }
  return result;
}

PositionIds qwen_image_positions(std::int64_t text_tokens, std::int64_t frames, std::int64_t rows,
                                 std::int64_t columns) {
  check_count("text_tokens", text_tokens);
  check_count("rows", rows);
  check_count("columns", columns);
  PositionIds result = video_positions({.frames = frames,
                                        .rows = rows,
                                        .columns = columns,
                                        .first_row = rows / 2 - rows,
                                        .first_column = columns / 2 - columns,
                                        .origin_before = text_tokens});
  const std::int64_t start = std::max(rows / 2, columns / 2);
  for (std::int64_t axis = 0; axis < 3; ++axis) {
    for (std::int64_t l = 0; l < text_tokens; ++l) {
      result.ids[static_cast<std::size_t>(axis * result.shape.tokens + l)] = start + l;
    }
  }
  return result;
}

}  // namespace ropewalk
