#include "model.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <ropewalk/error.hpp>
#include <utility>

#include "formats/file.hpp"
#include "message.hpp"

namespace ropewalk {
namespace {

// A config.json has a few KiB; of what is larger, and no GGUF, somebody gave the wrong file.
constexpr std::uint64_t kMaxConfigBytes = std::uint64_t{16} << 20;

constexpr std::string_view kGgufMagic = "GGUF";

bool is_gguf(const formats::InputFile& file) {
  std::array<char, kGgufMagic.size()> magic{};
  if (file.size() < magic.size()) return false;
  file.read(0, std::as_writable_bytes(std::span(magic)));
  return std::string_view(magic.data(), magic.size()) == kGgufMagic;
}

template <class... Parts>
[[noreturn]] void refuse(const Parts&... parts) {
  throw Error(ErrorCode::kInvalidArgument, message(parts...));
}

}  // namespace

double QueryScale::at(std::int64_t position) const noexcept {
  if (position < 0) return 1;
  const auto p = static_cast<double>(position);
  const auto l = static_cast<double>(length);
  if (kind == Kind::kLogN) return std::max(1.0, std::log(p + 1) / std::log(l));
  return 1 + scale * std::log(1 + std::floor((p + static_cast<double>(offset)) / l));
}

const Spec& LayerKind::spec() const {
  if (!spec_) {
    throw Error(ErrorCode::kUnsupported, message("layers of ", layer_type_, " do not rotate"));
  }
  return *spec_;
}

Model Model::from_file(const std::string& path) {
  const formats::InputFile file(path);
  if (file.size() == 0) {
    throw Error(ErrorCode::kBadFormat, message(path, ": is empty, want a config.json or a GGUF"));
  }
  if (is_gguf(file)) return model_from_gguf(formats::Source::of(file));
  return from_config(file.text(kMaxConfigBytes), path);
}

const LayerKind& Model::layer(std::int64_t i) const {
  std::int64_t layers = 0;
  for (const LayerKind& kind : kinds_) {
    const auto indices = kind.layer_indices();
    if (std::binary_search(indices.begin(), indices.end(), i)) return kind;
    layers += static_cast<std::int64_t>(indices.size());
  }
  // Where their number is not said, and they are all alike, any will do.
  if (layers == 0 && kinds_.size() == 1 && i >= 0) return kinds_.front();
  if (layers == 0) refuse("layer ", i, ": the file does not say how many layers there are");
  refuse("layer ", i, " is not between 0 and ", layers - 1);
}

const LayerKind& Model::kind(std::string_view layer_type) const {
  std::vector<const LayerKind*> found;
  std::string names;
  for (const LayerKind& kind : kinds_) {
    if (kind.layer_type() == layer_type) found.push_back(&kind);
    if (names.find(kind.layer_type()) == names.npos) {
      names += message(names.empty() ? "" : ", ", kind.layer_type());
    }
  }
  if (found.empty()) refuse("layer_type ", layer_type, " does not occur, want one of: ", names);
  const auto rotates = [](const LayerKind* kind) { return kind->rotates(); };
  const auto rotating = std::count_if(found.begin(), found.end(), rotates);
  if (rotating > 1) {
    refuse("layer_type ", layer_type, " has ", rotating, " kinds that rotate: say which layer");
  }
  return rotating == 0 ? *found.front() : **std::find_if(found.begin(), found.end(), rotates);
}

ModelBuilder::ModelBuilder(std::string model_type) { model_.model_type_ = std::move(model_type); }

LayerKind& ModelBuilder::kind_of(LayerDescription&& layer) {
  const auto same = [&](const LayerKind& kind) {
    return kind.layer_type_ == layer.layer_type && kind.spec_ == layer.spec &&
           kind.softmax_scale_factor_ == layer.softmax_scale_factor &&
           kind.query_scale_ == layer.query_scale;
  };
  const auto found = std::find_if(model_.kinds_.begin(), model_.kinds_.end(), same);
  if (found != model_.kinds_.end()) return *found;
  LayerKind& kind = model_.kinds_.emplace_back();
  kind.layer_type_ = std::move(layer.layer_type);
  kind.spec_ = std::move(layer.spec);
  kind.softmax_scale_factor_ = layer.softmax_scale_factor;
  kind.query_scale_ = layer.query_scale;
  return kind;
}

void ModelBuilder::add_layer(LayerDescription layer) {
  kind_of(std::move(layer)).layer_indices_.push_back(layers_++);
}

void ModelBuilder::add_kind(LayerDescription layer) { kind_of(std::move(layer)); }

void ModelBuilder::warn(const std::string& line) {
  // Nobody reads more; a file of junk would have as many as it has keys.
  constexpr std::size_t kMost = 100;
  if (warned_.size() > kMost || !warned_.insert(line).second) return;
  const bool is_last = warned_.size() > kMost;
  model_.warnings_.push_back(
      is_last ? message("more than ", kMost, " warnings: the rest is not said") : line);
}

Model ModelBuilder::build() && {
  if (model_.kinds_.empty()) refuse("a model without layers");
  return std::move(model_);
}

}  // namespace ropewalk
