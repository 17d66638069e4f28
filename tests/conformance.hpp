// The conformance cases: numbers of other implementations, tests/conformance/README.md.

#ifndef ROPEWALK_TESTS_CONFORMANCE_HPP_
#define ROPEWALK_TESTS_CONFORMANCE_HPP_

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <ropewalk/ropewalk.hpp>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "elements.hpp"

namespace ropewalk::testing {

using Json = nlohmann::json;

inline std::filesystem::path conformance_folder(std::string_view folder) {
  return std::filesystem::path(ROPEWALK_CONFORMANCE_DIR) / folder;
}

// The names of the files of a folder, without .json, sorted. One test each.
inline std::vector<std::string> case_names(std::string_view folder) {
  std::vector<std::string> names;
  std::error_code missing;  // no folder, no names: the test of their number says so
  for (const auto& file :
       std::filesystem::directory_iterator(conformance_folder(folder), missing)) {
    if (file.path().extension() == ".json") names.push_back(file.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

inline std::string case_name(const ::testing::TestParamInfo<std::string>& info) {
  return info.param;
}

inline Json read_case(std::string_view folder, const std::string& name) {
  std::ifstream file(conformance_folder(folder) / (name + ".json"));
  return Json::parse(file);
}

template <class T>
std::vector<T> values_of(const Json& array) {
  return array.get<std::vector<T>>();
}

// A float written with 9 digits, exactly.
inline double float_of(const Json& number) { return static_cast<float>(number.get<double>()); }

inline std::vector<double> floats_of(const Json& array) {
  std::vector<double> result;
  for (const Json& each : array) result.push_back(float_of(each));
  return result;
}

// A dense tensor with its dimensions in any order: layout "bhsd", "bshd" or "shd" names those of
// sizes, b batch, s tokens, h heads, d elements. Filled with NaN, or with values rounded to dtype.
class Tensor {
 public:
  Tensor(DType dtype, const std::vector<std::int64_t>& sizes, std::string_view layout)
      : elements_(dtype, product(sizes)) {
    if (layout.size() != sizes.size()) throw std::invalid_argument("layout " + std::string(layout));
    std::int64_t stride = 1;
    elements_.fill(std::numeric_limits<double>::quiet_NaN());
    for (std::size_t i = layout.size(); i-- > 0;) {
      const std::size_t dimension = std::string_view("bshd").find(layout[i]);
      shape_.at(dimension) = sizes[i];
      strides_.at(dimension) = stride;
      stride *= sizes[i];
    }
  }
  Tensor(const std::vector<double>& values, DType dtype, const std::vector<std::int64_t>& sizes,
         std::string_view layout)
      : Tensor(dtype, sizes, layout) {
    if (values.size() != elements_.size()) throw std::invalid_argument("wrong number of values");
    for (std::size_t i = 0; i < values.size(); ++i) elements_.set(i, values[i]);
  }

  [[nodiscard]] TensorView view() {
    return {elements_.data(), elements_.dtype(), shape_, strides_};
  }
  [[nodiscard]] ConstTensorView view() const {
    return ConstTensorView::Base{elements_.data(), elements_.dtype(), shape_, strides_};
  }
  [[nodiscard]] const Dims& shape() const { return shape_; }
  [[nodiscard]] std::size_t size() const { return elements_.size(); }
  [[nodiscard]] DType dtype() const { return elements_.dtype(); }
  // In the order of memory.
  [[nodiscard]] double operator[](std::size_t i) const { return elements_[i]; }
  // Where the elements of a head begin in memory; they lie side by side.
  [[nodiscard]] std::size_t head(std::int64_t b, std::int64_t t, std::int64_t h) const {
    return static_cast<std::size_t>(b * strides_[0] + t * strides_[1] + h * strides_[2]);
  }

 private:
  static std::size_t product(const std::vector<std::int64_t>& sizes) {
    std::int64_t result = 1;
    for (const std::int64_t size : sizes) result *= size;
    return static_cast<std::size_t>(result);
  }

  Elements elements_;
  Dims shape_{1, 1, 1, 1}, strides_{};
};

// Positions as the cases give them: [axes, batch, tokens], [batch, tokens] or, where rows_are_axes,
// [axes, tokens].
struct Ids {
  Ids(const Json& values, const Json& sizes, bool rows_are_axes = false)
      : ids(values_of<std::int64_t>(values)) {
    const auto size = values_of<std::int64_t>(sizes);
    if (size.size() == 3) {
      shape = {size[0], size[1], size[2]};
    } else {
      shape = {rows_are_axes ? size.at(0) : 1, rows_are_axes ? 1 : size.at(0), size.at(1)};
    }
  }
  [[nodiscard]] Positions positions() const { return Positions::ids(ids.data(), shape); }
  // A batch of one serves every sequence.
  [[nodiscard]] std::int64_t at(std::int64_t axis, std::int64_t b, std::int64_t t) const {
    const std::int64_t row = axis * shape.batch + (shape.batch == 1 ? 0 : b);
    return ids.at(static_cast<std::size_t>(row * shape.tokens + t));
  }

  std::vector<std::int64_t> ids;
  Positions::Shape shape;
};

// The largest error as a share of what is allowed: up to 1 is good. Where nothing is allowed, an
// error is infinite.
class WorstShare {
 public:
  void see(double given, double wanted, double allowed) {
    const double error = std::abs(given - wanted);
    const double share = error == 0 ? 0 : error / allowed;
    // A NaN that was not wanted is the worst of all.
    worst_ = std::max(worst_, std::isnan(share) ? std::numeric_limits<double>::infinity() : share);
  }
  // All elements. Those of a head from window.first to window.second are allowed an error, the
  // others none.
  void see(const Tensor& given, const std::vector<double>& wanted,
           std::pair<std::int64_t, std::int64_t> window, double allowed) {
    ASSERT_EQ(given.size(), wanted.size());
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      const auto element = static_cast<std::int64_t>(i) % given.shape()[3];
      const bool inside = element >= window.first && element < window.second;
      see(given[i], wanted[i], inside ? allowed : 0);
    }
  }
  [[nodiscard]] double value() const { return worst_; }

 private:
  double worst_ = 0;
};

// Runs call(options, worst) on every target of this machine; the worst of all goes into the XML.
template <class Call>
void expect_on_every_target(Call call) {
  double worst_of_all = 0;
  for (const Target target : supported_targets()) {
    WorstShare worst;
    call(Options{.target = target}, worst);
    EXPECT_LE(worst.value(), 1.0) << name(target);
    worst_of_all = std::max(worst_of_all, worst.value());
  }
  ::testing::Test::RecordProperty("worst_share", std::to_string(worst_of_all));
}

// What the README of the cases allows: the stored numbers' own distance from a float64 evaluation,
// which is large where their angles were formed in float32, twice, and a little for the arithmetic.
inline double allowed_by(const Json& json) {
  return 2 * json.at("max_abs_diff_vs_float64").get<double>() + 4e-6;
}

}  // namespace ropewalk::testing

#endif  // ROPEWALK_TESTS_CONFORMANCE_HPP_
