#include "rotate_file.hpp"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <new>
#include <ropewalk/rotate.hpp>
#include <utility>
#include <vector>

#include "message.hpp"
#include "verbs.hpp"

namespace ropewalk::cli {
namespace {

// Read, rotated and written while it is in the L2 cache. Measured from 64 KiB to 1 MiB: smaller
// ones cost more system calls, larger ones gain nothing. (Nor does mapping the input.)
constexpr std::int64_t kBlockBytes = std::int64_t{512} << 10;

std::int64_t item_size(const TensorFile& tensor) {
  return static_cast<std::int64_t>(size_of(tensor.dtype()));
}

// How many sequences, tokens and heads a block has. It lies together in the file: it is whole
// sequences, or a part of one; and that is whole tokens (with the heads outermost: whole heads), or
// a part of one. (With the heads outermost, a block of several heads' parts would save angles. It
// was measured: up to twice the time with parts of 8 to 64 KiB, 5 % less with two of 256 KiB.)
Dims block_shape(const TensorFile& tensor) {
  const Dims& shape = tensor.shape();
  const std::size_t outer = tensor.layout().heads_outer ? 2 : 1;
  const std::size_t inner = tensor.layout().heads_outer ? 1 : 2;
  Dims block = {1, 1, 1, shape[3]};
  std::int64_t rows = std::max<std::int64_t>(kBlockBytes / (shape[3] * item_size(tensor)), 1);
  for (const std::size_t dim : {inner, outer, std::size_t{0}}) {
    block[dim] = std::min(rows, shape[dim]);
    if (block[dim] < shape[dim]) break;
    rows /= shape[dim];
  }
  return block;
}

TensorView view_of(const TensorFile& tensor, void* data, const Dims& shape) {
  return tensor.layout().heads_outer ? TensorView::bhtd(data, tensor.dtype(), shape)
                                     : TensorView::bthd(data, tensor.dtype(), shape);
}

// To the page: the kernel copies up to twice as fast as to an address that is 16 bytes off.
struct Free {
  void operator()(std::byte* memory) const noexcept { std::free(memory); }
};
using Memory = std::unique_ptr<std::byte, Free>;

Memory make_memory(std::size_t bytes) {
  constexpr std::size_t kPage = 4096;
  const std::size_t pages = (bytes + kPage - 1) / kPage;
  Memory memory(static_cast<std::byte*>(std::aligned_alloc(kPage, pages * kPage)));
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

// A run: from one file to another, by way of one buffer.
class Run {
 public:
  Run(const Rope& rope, Operation operation, std::span<const TensorFile* const> tensors,
      TokenPositions& positions, formats::OutputFile& out, Progress& progress)
      : rope_(rope),
        operation_(operation),
        in_(tensors.front()->file()),
        positions_(positions),
        out_(out),
        progress_(progress) {
    for (const TensorFile* tensor : tensors) size_ = std::max(size_, bytes_of_block(*tensor));
    buffer_ = make_memory(size_);
  }

  void copy(std::uint64_t begin, std::uint64_t end) {
    while (begin < end) {
      const std::span bytes(buffer_.get(), std::min<std::uint64_t>(size_, end - begin));
      in_.read(begin, bytes);
      write(begin, bytes);
      begin += bytes.size();
    }
  }

  void rotate(const TensorFile& tensor) {
    const Dims& shape = tensor.shape();
    if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return;
    const Dims step = block_shape(tensor);
    for (std::int64_t b = 0; b < shape[0]; b += step[0]) {
      for (std::int64_t t = 0; t < shape[1]; t += step[1]) {
        for (std::int64_t h = 0; h < shape[2]; h += step[2]) {
          const Dims block = {std::min(step[0], shape[0] - b), std::min(step[1], shape[1] - t),
                              std::min(step[2], shape[2] - h), shape[3]};
          rotate(tensor, {b, t, h, 0}, block);
        }
      }
    }
  }

 private:
  static std::size_t bytes_of_block(const TensorFile& tensor) {
    const Dims& shape = tensor.shape();
    if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return kBlockBytes;
    const Dims step = block_shape(tensor);
    const std::int64_t elements = step[0] * step[1] * step[2] * step[3];
    return static_cast<std::size_t>(std::max(elements * item_size(tensor), kBlockBytes));
  }

  void rotate(const TensorFile& tensor, const Dims& first, const Dims& block) {
    const auto bytes_of = [&](std::int64_t elements) {
      return static_cast<std::size_t>(elements * item_size(tensor));
    };
    const Dims strides = view_of(tensor, nullptr, tensor.shape()).strides;
    const std::uint64_t offset =
        tensor.begin() +
        bytes_of(first[0] * strides[0] + first[1] * strides[1] + first[2] * strides[2]);
    const std::span bytes(buffer_.get(), bytes_of(block[0] * block[1] * block[2] * block[3]));
    in_.read(offset, bytes);
    const TensorView view = view_of(tensor, buffer_.get(), block);
    const Positions positions = positions_.read(first[0], block[0], first[1], block[1]);
    switch (operation_) {
      case Operation::kRotate: ropewalk::rotate(rope_, view, positions); break;
      case Operation::kUnrotate: ropewalk::unrotate(rope_, view, positions); break;
      case Operation::kBackward: ropewalk::backward(rope_, view, positions); break;
    }
    write(offset, bytes);
  }

  void write(std::uint64_t offset, std::span<const std::byte> bytes) {
    out_.write(offset, bytes);
    progress_.add(bytes.size());
  }

  const Rope& rope_;
  Operation operation_;
  const formats::InputFile& in_;
  TokenPositions& positions_;
  formats::OutputFile& out_;
  Progress& progress_;
  std::size_t size_ = 0;
  Memory buffer_;
};

}  // namespace

Operation operation_named(std::string_view name) {
  if (name == "rotate") return Operation::kRotate;
  if (name == "unrotate") return Operation::kUnrotate;
  if (name == "backward") return Operation::kBackward;
  throw UsageError(message("--operation ", name, ": want rotate, unrotate or backward"));
}

void rotate_file(const Rope& rope, Operation operation, std::span<const TensorFile* const> tensors,
                 TokenPositions& positions, formats::OutputFile& out, Progress& progress) {
  std::vector<const TensorFile*> sorted(tensors.begin(), tensors.end());
  std::sort(sorted.begin(), sorted.end(), [](const TensorFile* a, const TensorFile* b) {
    return std::pair(a->begin(), a->end()) < std::pair(b->begin(), b->end());  // empty ones first
  });
  Run run(rope, operation, tensors, positions, out, progress);
  std::uint64_t done = 0;
  for (const TensorFile* tensor : sorted) {
    run.copy(done, tensor->begin());
    run.rotate(*tensor);
    done = tensor->end();
  }
  run.copy(done, tensors.front()->file().size());
}

}  // namespace ropewalk::cli
