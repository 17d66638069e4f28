#include "tensor_file.hpp"

#include <ropewalk/error.hpp>

#include "formats/npy.hpp"
#include "formats/safetensors.hpp"
#include "message.hpp"
#include "verbs.hpp"

namespace ropewalk::cli {
namespace {

constexpr Layout kLayouts[] = {
    {"bthd", true, false}, {"bhtd", true, true}, {"thd", false, false}, {"htd", false, true}};

}  // namespace

const Layout& layout_named(std::string_view name) {
  for (const Layout& layout : kLayouts) {
    if (layout.name == name) return layout;
  }
  throw UsageError(message("--layout ", name, ": want bthd, bhtd, thd or htd"));
}

TensorPath parse_tensor_path(std::string_view flag, std::string_view text) {
  constexpr std::string_view kSafetensors = ".safetensors";
  // The first colon behind the ending: names of tensors may have colons, too.
  const std::size_t colon = text.find(message(kSafetensors, ":"));
  if (colon != text.npos) {
    const std::size_t end = colon + kSafetensors.size();
    if (end + 1 == text.size()) {
      throw UsageError(message(flag, " ", text, ": names no tensor after the colon"));
    }
    return {std::string(text.substr(0, end)), std::string(text.substr(end + 1)),
            Format::kSafetensors};
  }
  if (text.ends_with(kSafetensors)) return {std::string(text), "", Format::kSafetensors};
  if (text.ends_with(".npy")) return {std::string(text), "", Format::kNpy};
  throw UsageError(message(flag, " ", text, ": not supported, want FILE.npy, FILE.safetensors or ",
                           "FILE.safetensors:TENSOR"));
}

TensorFile::TensorFile(const TensorPath& path, const Layout& layout)
    : file_(path.file), name_(path.file), layout_(&layout) {
  if (path.format == Format::kNpy) {
    read_npy();
  } else {
    read_safetensors(path.tensor);
  }
  set_shape();
}

void TensorFile::read_npy() {
  const formats::NpyHeader header = formats::read_npy_header(file_, {"<f4", "<f2", "<f8"});
  dtype_ = header.descr == "<f4" ? DType::kF32 : header.descr == "<f2" ? DType::kF16 : DType::kF64;
  given_ = header.shape;
  begin_ = header.data_offset();
  end_ = begin_ + header.data_bytes;
}

void TensorFile::read_safetensors(const std::string& tensor) {
  const std::vector<formats::SafetensorsTensor> tensors = formats::read_safetensors(file_);
  const formats::SafetensorsTensor& found = formats::find_tensor(tensors, tensor, file_.path());
  if (tensors.size() > 1) name_ += message(":", found.name);
  dtype_ = formats::dtype_of(found, file_.path());
  given_ = found.shape;
  begin_ = found.offset;
  end_ = begin_ + found.bytes;
}

void TensorFile::set_shape() {
  const Layout& layout = *layout_;
  if (given_.size() != layout.name.size()) {
    const std::string_view fitting = given_.size() == 4   ? "; --layout bthd or bhtd fits it"
                                     : given_.size() == 3 ? "; --layout thd or htd fits it"
                                                          : ", and no layout fits this shape";
    throw Error(ErrorCode::kShapeMismatch,
                message(name_, ": has shape ", bracketed(given_), ", layout ", layout.name,
                        " wants ", layout.name.size(), " dimensions", fitting));
  }
  const std::size_t skip = layout.has_batch ? 1 : 0;
  const std::size_t tokens = layout.heads_outer ? 1 : 0;
  shape_ = {layout.has_batch ? given_[0] : 1, given_[skip + tokens], given_[skip + 1 - tokens],
            given_[skip + 2]};
}

}  // namespace ropewalk::cli
