#include "token_positions.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <ropewalk/error.hpp>
#include <span>
#include <type_traits>
#include <utility>

#include "message.hpp"

namespace ropewalk::cli {
namespace {

// What the shape of the ids means; nothing it could mean has another number of dimensions.
Positions::Shape shape_of(const std::vector<std::int64_t>& given) {
  switch (given.size()) {
    case 1: return {1, 1, given[0]};
    case 2: return {1, given[0], given[1]};
    case 3: return {given[0], given[1], given[2]};
    default: return {0, 0, 0};  // fits no tensor
  }
}

// What serves a tensor. [axes, tokens] is not among them: it could not be told from [batch, tokens].
std::string shapes_for(std::int64_t batch, std::int64_t tokens) {
  std::string shapes = message("[", tokens, "], [1, ", tokens, "], ");
  if (batch != 1) shapes += message("[", batch, ", ", tokens, "], ");
  shapes += message("or with several axes [axes, 1, ", tokens, "]");
  if (batch != 1) shapes += message(" or [axes, ", batch, ", ", tokens, "]");
  return shapes;
}

bool is_16_bit(const std::string& descr) { return descr.ends_with('2'); }

}  // namespace

template <class Id>
void TokenPositions::Ids::read(std::int64_t first, std::int64_t count, Id* out) const {
  file.read(header.data_offset() + static_cast<std::uint64_t>(first) * sizeof(Id),
            std::as_writable_bytes(std::span(out, static_cast<std::size_t>(count))));
}

template <class Id, class Use>
void TokenPositions::Ids::for_blocks(std::int64_t count, const Use& use) const {
  std::vector<Id> block(std::size_t{1} << 16);
  for (std::int64_t first = 0; first < count; first += std::ssize(block)) {
    const std::int64_t size = std::min(std::ssize(block), count - first);
    read(first, size, block.data());
    use(first, std::span(block).first(static_cast<std::size_t>(size)));
  }
}

// The library checks each block, but by then the output has begun; and its index is the block's.
template <class Id>
void TokenPositions::Ids::check_finite() const {
  const auto count = static_cast<std::int64_t>(header.data_bytes / sizeof(Id));
  for_blocks<Id>(count, [&](std::int64_t first, std::span<const Id> ids) {
    const auto is_wrong = [](Id p) { return !(std::abs(p) < Id{0x1p63}); };
    const auto found = std::find_if(ids.begin(), ids.end(), is_wrong);
    if (found == ids.end()) return;
    throw Error(ErrorCode::kInvalidArgument,
                message(file.path(), ": positions[", first + (found - ids.begin()), "] is ", *found,
                        ", want a finite number between -2^63 and 2^63"));
  });
}

template <class Id>
std::int64_t TokenPositions::Ids::largest(std::int64_t count) const {
  Id most = std::numeric_limits<Id>::lowest();
  for_blocks<Id>(count, [&](std::int64_t, std::span<const Id> ids) {
    most = std::max(most, *std::max_element(ids.begin(), ids.end()));
  });
  if constexpr (std::is_floating_point_v<Id>) most = std::floor(most);
  return count == 0 ? -1 : static_cast<std::int64_t>(most);
}

TokenPositions::TokenPositions(const std::string& path) {
  formats::InputFile file(path);
  formats::NpyHeader header =
      formats::read_npy_header(file, {"<i8", "<i4", "<f8", "<f4", "<i2", "<u2", "<f2"});
  if (is_16_bit(header.descr)) {
    throw Error(ErrorCode::kUnsupported,
                message(path, ": has dtype ", header.descr, ", and 16 bits do not hold every ",
                        "position: f2 skips whole numbers from 2049 on, i2 ends at 32767; ",
                        "save x.astype(\"<i8\") or \"<f8\" of what it was made from"));
  }
  const Positions::Shape shape = shape_of(header.shape);
  ids_.emplace(Ids{std::move(file), std::move(header), shape});
  if (ids_->header.descr == "<f4") ids_->check_finite<float>();
  if (ids_->header.descr == "<f8") ids_->check_finite<double>();
}

void TokenPositions::check(const TensorFile& tensor, std::size_t axes) {
  const std::int64_t batch = tensor.shape()[0];
  const std::int64_t tokens = tensor.shape()[1];
  if (!ids_) return Positions::from(start_).check(batch, tokens, axes);
  const Positions::Shape& shape = ids_->shape;
  const auto refuse = [&](const auto&... what) {
    throw Error(ErrorCode::kShapeMismatch,
                message(ids_->file.path(), ": has shape ", bracketed(ids_->header.shape), what...));
  };
  if (shape.axes < 1 || shape.tokens != tokens || (shape.batch != 1 && shape.batch != batch)) {
    refuse(", the positions of ", tensor.name(), " have shape ", shapes_for(batch, tokens));
  }
  const auto wanted = static_cast<std::int64_t>(axes);
  if (shape.axes > 1 && shape.axes < wanted) {
    refuse(", so ", shape.axes, " axes; the rope has ", wanted);
  }
  axes_ = std::min(shape.axes, wanted);
}

std::int64_t TokenPositions::last(std::int64_t tokens) const {
  if (!ids_) return start_ + tokens - 1;
  const std::int64_t count = axes_ * ids_->shape.batch * ids_->shape.tokens;
  const std::string& descr = ids_->header.descr;
  if (descr == "<i4") return ids_->largest<std::int32_t>(count);
  if (descr == "<i8") return ids_->largest<std::int64_t>(count);
  if (descr == "<f4") return ids_->largest<float>(count);
  return ids_->largest<double>(count);
}

template <class Id>
Positions TokenPositions::read_as(std::vector<Id>& block, std::int64_t first,
                                  const Positions::Shape& shape) {
  const std::int64_t plane = shape.batch * shape.tokens;  // of the block, and of the file:
  const std::int64_t file_plane = ids_->shape.batch * ids_->shape.tokens;
  block.resize(static_cast<std::size_t>(shape.axes * plane));
  for (std::int64_t axis = 0; axis < shape.axes; ++axis) {
    ids_->read(axis * file_plane + first, plane, block.data() + axis * plane);
  }
  return Positions::ids(block.data(), shape);
}

Positions TokenPositions::read(std::int64_t first_batch, std::int64_t batches,
                               std::int64_t first_token, std::int64_t tokens) {
  if (!ids_) return Positions::from(start_ + first_token);
  const bool is_shared = ids_->shape.batch == 1;
  const std::int64_t first = (is_shared ? 0 : first_batch) * ids_->shape.tokens + first_token;
  const Positions::Shape shape = {axes_, is_shared ? 1 : batches, tokens};
  const std::string& descr = ids_->header.descr;
  if (descr == "<i4") return read_as(int32_, first, shape);
  if (descr == "<i8") return read_as(int64_, first, shape);
  if (descr == "<f4") return read_as(f32_, first, shape);
  return read_as(f64_, first, shape);
}

}  // namespace ropewalk::cli
