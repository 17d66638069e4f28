#include <cmath>
#include <ropewalk/frequencies.hpp>

namespace ropewalk {
namespace {

// ω_i = base^(-2i / d). Su et al. 2021, "RoFormer", section 3.2.2.
//
// Rounding the exponent alone would cost ln(base) / 2 units in the last place, so what the rounding
// left over is put back: base^-(e + rest) = base^-e (1 - rest ln base) to first order.
std::vector<double> plain(double base, std::int64_t rotary_dim) {
  std::vector<double> radians(static_cast<std::size_t>(rotary_dim / 2));
  const auto d = static_cast<double>(rotary_dim);
  for (std::size_t i = 0; i < radians.size(); ++i) {
    const double twice = 2 * static_cast<double>(i);
    const double exponent = twice / d;
    const double rest = std::fma(-exponent, d, twice) / d;
    const double power = std::pow(base, -exponent);
    radians[i] = std::fma(-power * rest, std::log(base), power);
  }
  return radians;
}

// ω_i / factor. Chen et al. 2023, "Extending context window of large language models via position
// interpolation", equation 4.
std::vector<double> linear(std::vector<double> radians, double factor) {
  for (double& omega : radians) omega /= factor;
  return radians;
}

// Each part of a window starts again at i = 0.
std::vector<double> repeated(const std::vector<double>& part, std::int64_t parts) {
  std::vector<double> radians;
  for (std::int64_t p = 0; p < parts; ++p) radians.insert(radians.end(), part.begin(), part.end());
  return radians;
}

}  // namespace

Frequencies frequencies(const Spec& spec) {
  const double m = spec.attention_factor().value_or(1.0);
  if (spec.frequencies()) return {*spec.frequencies(), m};
  const std::int64_t parts = spec.window_parts();
  std::vector<double> radians = repeated(plain(spec.base(), spec.rotary_dim() / parts), parts);
  switch (const Scaling scaling = spec.scaling(); scaling.type) {
    case Scaling::Type::kDefault: break;
    case Scaling::Type::kLinear: radians = linear(std::move(radians), *scaling.factor); break;
  }
  return {std::move(radians), m};
}

}  // namespace ropewalk
