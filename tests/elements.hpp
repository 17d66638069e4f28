// Buffers of either dtype for tests: exactly as large as asked, on the heap, compared in bits.

#ifndef ROPEWALK_TESTS_ELEMENTS_HPP_
#define ROPEWALK_TESTS_ELEMENTS_HPP_

#include <array>
#include <cmath>
#include <cstring>
#include <memory>
#include <random>
#include <ropewalk/ropewalk.hpp>
#include <string>
#include <vector>

#include "reference.hpp"

namespace ropewalk::testing {

inline constexpr std::array kDTypes = {DType::kF32, DType::kBf16};
inline constexpr std::array kPairings = {Pairing::kHalves, Pairing::kAdjacent};

inline int mantissa_bits(DType dtype) { return dtype == DType::kF32 ? 24 : 8; }

inline std::vector<Target> supported_targets() {
  std::vector<Target> targets;
  for (const Target target : compiled_targets()) {
    if (is_supported(target)) targets.push_back(target);
  }
  return targets;
}

class Elements {
 public:
  Elements(DType dtype, std::size_t count)
      : dtype_(dtype), count_(count), bytes_(new std::byte[count * size_of(dtype)]) {}
  Elements(const Elements& other) : Elements(other.dtype_, other.count_) {
    std::memcpy(bytes_.get(), other.bytes_.get(), count_ * size_of(dtype_));
  }
  Elements(Elements&&) = default;

  [[nodiscard]] DType dtype() const { return dtype_; }
  [[nodiscard]] std::size_t size() const { return count_; }
  [[nodiscard]] void* data() { return bytes_.get(); }
  [[nodiscard]] const void* data() const { return bytes_.get(); }

  [[nodiscard]] std::uint32_t bits(std::size_t i) const {
    std::uint32_t result = 0;
    std::memcpy(&result, bytes_.get() + i * size_of(dtype_), size_of(dtype_));
    return result;
  }
  void set_bits(std::size_t i, std::uint32_t bits) {
    std::memcpy(bytes_.get() + i * size_of(dtype_), &bits, size_of(dtype_));
  }
  [[nodiscard]] float operator[](std::size_t i) const {
    return dtype_ == DType::kF32 ? std::bit_cast<float>(bits(i))
                                 : reference::from_bf16(static_cast<std::uint16_t>(bits(i)));
  }
  // Rounds to the dtype.
  void set(std::size_t i, float value) {
    set_bits(
        i, dtype_ == DType::kF32 ? std::bit_cast<std::uint32_t>(value) : reference::to_bf16(value));
  }
  void fill(float value) {
    for (std::size_t i = 0; i < count_; ++i) set(i, value);
  }
  bool operator==(const Elements& other) const {
    return dtype_ == other.dtype_ && count_ == other.count_ &&
           std::memcmp(bytes_.get(), other.bytes_.get(), count_ * size_of(dtype_)) == 0;
  }

 private:
  DType dtype_;
  std::size_t count_;
  std::unique_ptr<std::byte[]> bytes_;
};

// Values of both signs whose magnitudes spread over 2^-spread .. 2^spread.
inline Elements random_elements(DType dtype, std::size_t count, std::uint64_t seed,
                                double spread = 3) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> exponent(-spread, spread), sign(-1, 1);
  Elements result(dtype, count);
  for (std::size_t i = 0; i < count; ++i) {
    result.set(i, static_cast<float>(std::copysign(std::exp2(exponent(random)), sign(random))));
  }
  return result;
}

inline std::size_t count_of(const Dims& shape) {
  return static_cast<std::size_t>(shape[0] * shape[1] * shape[2] * shape[3]);
}

inline TensorView view(Elements& x, const Dims& shape) {
  return TensorView::bthd(x.data(), x.dtype(), shape);
}
inline ConstTensorView view(const Elements& x, const Dims& shape) {
  return ConstTensorView::bthd(x.data(), x.dtype(), shape);
}

// The text of the Error that a call throws; "" if it throws none.
template <class Call>
std::string error_of(Call call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace ropewalk::testing

#endif  // ROPEWALK_TESTS_ELEMENTS_HPP_
