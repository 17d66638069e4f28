#include "rotate_file.hpp"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <new>
#include <ropewalk/error.hpp>
#include <ropewalk/rotate.hpp>
#include <span>

#include "message.hpp"
#include "verbs.hpp"

namespace ropewalk::cli {
namespace {

constexpr Layout kLayouts[] = {
    {"bthd", true, false}, {"bhtd", true, true}, {"thd", false, false}, {"htd", false, true}};

// Read, rotated and written while it is in the L2 cache. Measured from 64 KiB to 1 MiB: smaller
// ones cost more system calls, larger ones gain nothing. (Nor does mapping the input.)
constexpr std::int64_t kBlockBytes = std::int64_t{512} << 10;

// How many sequences, tokens and heads a block has. It lies together in the file: it is whole
// sequences, or a part of one; and that is whole tokens (with the heads outermost: whole heads), or
// a part of one. (With the heads outermost, a block of several heads' parts would save angles. It
// was measured: up to twice the time with parts of 8 to 64 KiB, 5 % less with two of 256 KiB.)
Dims block_shape(const TensorFile& tensor) {
  const Dims& shape = tensor.shape();
  const std::size_t outer = tensor.layout().heads_outer ? 2 : 1;
  const std::size_t inner = tensor.layout().heads_outer ? 1 : 2;
  const std::int64_t row_bytes = shape[3] * std::int64_t{sizeof(float)};
  Dims block = {1, 1, 1, shape[3]};
  std::int64_t rows = std::max<std::int64_t>(kBlockBytes / row_bytes, 1);
  for (const std::size_t dim : {inner, outer, std::size_t{0}}) {
    block[dim] = std::min(rows, shape[dim]);
    if (block[dim] < shape[dim]) break;
    rows /= shape[dim];
  }
  return block;
}

TensorView view_of(const TensorFile& tensor, void* data, const Dims& shape) {
  return tensor.layout().heads_outer ? TensorView::bhtd(data, DType::kF32, shape)
                                     : TensorView::bthd(data, DType::kF32, shape);
}

// To the page: the kernel copies up to twice as fast as to an address that is 16 bytes off.
struct Free {
  void operator()(std::byte* memory) const noexcept { std::free(memory); }
};
using Buffer = std::unique_ptr<std::byte, Free>;

Buffer make_buffer(std::size_t bytes) {
  constexpr std::size_t kPage = 4096;
  const std::size_t pages = (bytes + kPage - 1) / kPage;
  Buffer buffer(static_cast<std::byte*>(std::aligned_alloc(kPage, pages * kPage)));
  if (buffer == nullptr) throw std::bad_alloc();
  return buffer;
}

template <class Id>
std::span<const Id> read_ids(const formats::InputFile& file, std::uint64_t data, std::int64_t first,
                             std::int64_t count, std::vector<Id>& ids) {
  ids.resize(static_cast<std::size_t>(count));
  file.read(data + static_cast<std::uint64_t>(first) * sizeof(Id),
            std::as_writable_bytes(std::span(ids)));
  return ids;
}

}  // namespace

const Layout& layout_named(std::string_view name) {
  for (const Layout& layout : kLayouts) {
    if (layout.name == name) return layout;
  }
  throw UsageError(message("--layout ", name, ": want bthd, bhtd, thd or htd"));
}

TensorFile::TensorFile(const std::string& path, const Layout& layout)
    : file_(path), header_(formats::read_npy_header(file_, {"<f4"})), layout_(&layout) {
  const std::vector<std::int64_t>& given = header_.shape;
  if (given.size() != layout.name.size()) {
    throw Error(ErrorCode::kShapeMismatch,
                message(path, ": has shape ", bracketed(given), ", layout ", layout.name, " wants ",
                        layout.name.size(), " dimensions; give the right --layout"));
  }
  const std::size_t skip = layout.has_batch ? 1 : 0;
  const std::size_t tokens = layout.heads_outer ? 1 : 0;
  shape_ = {layout.has_batch ? given[0] : 1, given[skip + tokens], given[skip + 1 - tokens],
            given[skip + 2]};
}

TokenPositions::TokenPositions(const std::string& path) {
  formats::InputFile file(path);
  formats::NpyHeader header = formats::read_npy_header(file, {"<i8", "<i4"});
  ids_.emplace(Ids{std::move(file), std::move(header)});
}

void TokenPositions::check(const TensorFile& tensor) const {
  const std::int64_t batch = tensor.shape()[0];
  const std::int64_t tokens = tensor.shape()[1];
  if (!ids_) return Positions::from(start_).check(batch, tokens);
  const std::size_t rank = ids_->header.shape.size();
  const bool fits = (rank == 1 || rank == 2) && ids_->tokens() == tokens &&
                    (ids_->batch() == 1 || ids_->batch() == batch);
  if (fits) return;
  throw Error(ErrorCode::kShapeMismatch,
              message(ids_->file.path(), ": has shape ", bracketed(ids_->header.shape),
                      ", the positions of ", tensor.file().path(), " have shape [", tokens,
                      "], [1, ", tokens, "] or [", batch, ", ", tokens, "]"));
}

Positions TokenPositions::read(std::int64_t first_batch, std::int64_t batches,
                               std::int64_t first_token, std::int64_t tokens) {
  if (!ids_) return Positions::from(start_ + first_token);
  const std::int64_t rows = ids_->batch() == 1 ? 1 : batches;
  const std::int64_t first = (ids_->batch() == 1 ? 0 : first_batch) * ids_->tokens() + first_token;
  const std::uint64_t data = ids_->header.data_offset();
  if (ids_->is_int32()) {
    return Positions::ids(read_ids(ids_->file, data, first, rows * tokens, int32_).data(), rows,
                          tokens);
  }
  return Positions::ids(read_ids(ids_->file, data, first, rows * tokens, int64_).data(), rows,
                        tokens);
}

void rotate_file(const Rope& rope, const TensorFile& tensor, TokenPositions& positions,
                 formats::OutputFile& out) {
  out.write(0, std::as_bytes(std::span(tensor.header().bytes)));
  const Dims& shape = tensor.shape();
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return;
  const Dims step = block_shape(tensor);
  const Dims strides = view_of(tensor, nullptr, shape).strides;
  const auto bytes_of = [](std::int64_t floats) {
    return static_cast<std::size_t>(floats) * sizeof(float);
  };
  const Buffer buffer = make_buffer(bytes_of(step[0] * step[1] * step[2] * shape[3]));
  for (std::int64_t b = 0; b < shape[0]; b += step[0]) {
    for (std::int64_t t = 0; t < shape[1]; t += step[1]) {
      for (std::int64_t h = 0; h < shape[2]; h += step[2]) {
        const Dims block = {std::min(step[0], shape[0] - b), std::min(step[1], shape[1] - t),
                            std::min(step[2], shape[2] - h), shape[3]};
        const std::span bytes(buffer.get(), bytes_of(block[0] * block[1] * block[2] * block[3]));
        const std::uint64_t offset = tensor.header().data_offset() +
                                     bytes_of(b * strides[0] + t * strides[1] + h * strides[2]);
        tensor.file().read(offset, bytes);
        rotate(rope, view_of(tensor, buffer.get(), block),
               positions.read(b, block[0], t, block[1]));
        out.write(offset, bytes);
      }
    }
  }
}

}  // namespace ropewalk::cli
