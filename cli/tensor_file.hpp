// A tensor in a file: which one is meant, and what lies where in it.

#ifndef ROPEWALK_CLI_TENSOR_FILE_HPP_
#define ROPEWALK_CLI_TENSOR_FILE_HPP_

#include <cstdint>
#include <ropewalk/tensor.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "formats/file.hpp"

namespace ropewalk::cli {

// The order of a tensor's dimensions in its file.
struct Layout {
  std::string_view name;  // "bthd"
  bool has_batch;
  bool heads_outer;  // a head's tokens lie together, not a token's heads
};

// UsageError unless it is one of bthd, bhtd, thd, htd.
const Layout& layout_named(std::string_view name);

enum class Format { kNpy, kSafetensors };

// What names a tensor on the command line: FILE.npy, FILE.safetensors or FILE.safetensors:TENSOR.
struct TensorPath {
  std::string file;
  std::string tensor;  // empty if it was not named
  Format format;
};

// UsageError, naming the flag, if it is none of these.
TensorPath parse_tensor_path(std::string_view flag, std::string_view text);

// A tensor of f32, f16, bf16 or f64 in C order that has this layout. Throws Error otherwise.
class TensorFile {
 public:
  TensorFile(const TensorPath& path, const Layout& layout);

  [[nodiscard]] const formats::InputFile& file() const noexcept { return file_; }
  // For messages: the file, and the tensor if it has several.
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] DType dtype() const noexcept { return dtype_; }
  // As it stands in the file.
  [[nodiscard]] const std::vector<std::int64_t>& given_shape() const noexcept { return given_; }
  [[nodiscard]] const Layout& layout() const noexcept { return *layout_; }
  // Batch, tokens, heads, head_dim, whatever the layout; batch is 1 in a layout without.
  [[nodiscard]] const Dims& shape() const noexcept { return shape_; }

  // Where its data are in the file. What is before and after belongs to an output, too.
  [[nodiscard]] std::uint64_t begin() const noexcept { return begin_; }
  [[nodiscard]] std::uint64_t end() const noexcept { return end_; }

 private:
  void read_npy();
  void read_safetensors(const std::string& tensor);
  void set_shape();

  formats::InputFile file_;
  std::string name_;
  DType dtype_ = DType::kF32;
  std::vector<std::int64_t> given_;
  const Layout* layout_;
  Dims shape_{};
  std::uint64_t begin_ = 0, end_ = 0;
};

}  // namespace ropewalk::cli

#endif  // ROPEWALK_CLI_TENSOR_FILE_HPP_
