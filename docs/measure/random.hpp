// The same random numbers on every machine: the standard's distributions are not.

#ifndef ROPEWALK_DOCS_MEASURE_RANDOM_HPP_
#define ROPEWALK_DOCS_MEASURE_RANDOM_HPP_

#include <cmath>
#include <cstdint>
#include <numbers>
#include <random>
#include <vector>

namespace measure {

class Random {
 public:
  explicit Random(std::uint64_t seed) : bits_(seed) {}

  std::uint64_t bits() { return bits_(); }
  // In (0, 1).
  double uniform() { return (static_cast<double>(bits_() >> 11) + 0.5) * 0x1p-53; }
  // Of mean 0 and variance 1 (Box and Muller).
  double normal() {
    const double radius = std::sqrt(-2 * std::log(uniform()));
    return radius * std::cos(2 * std::numbers::pi * uniform());
  }
  std::vector<float> normals(std::size_t count) {
    std::vector<float> values(count);
    for (float& value : values) value = static_cast<float>(normal());
    return values;
  }

 private:
  std::mt19937_64 bits_;
};

}  // namespace measure

#endif  // ROPEWALK_DOCS_MEASURE_RANDOM_HPP_
