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

inline constexpr std::array kAllDTypes = {DType::kF32, DType::kBf16, DType::kF16, DType::kF64};
inline constexpr std::array kPairings = {Pairing::kHalves, Pairing::kAdjacent};

inline reference::Type type_of(DType dtype) {
  constexpr reference::Type kTypes[] = {reference::kF32, reference::kBf16, reference::kF16,
                                        reference::kF64};
  return kTypes[static_cast<std::size_t>(dtype)];
}

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
  Elements& operator=(Elements other) {
    std::swap(dtype_, other.dtype_);
    std::swap(count_, other.count_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }

  [[nodiscard]] DType dtype() const { return dtype_; }
  [[nodiscard]] std::size_t size() const { return count_; }
  [[nodiscard]] void* data() { return bytes_.get(); }
  [[nodiscard]] const void* data() const { return bytes_.get(); }

  [[nodiscard]] std::uint64_t bits(std::size_t i) const {
    std::uint64_t result = 0;
    std::memcpy(&result, bytes_.get() + i * size_of(dtype_), size_of(dtype_));
    return result;
  }
  void set_bits(std::size_t i, std::uint64_t bits) {
    std::memcpy(bytes_.get() + i * size_of(dtype_), &bits, size_of(dtype_));
  }
  [[nodiscard]] double operator[](std::size_t i) const {
    const std::uint64_t raw = bits(i);
    switch (dtype_) {
      case DType::kF32: return std::bit_cast<float>(static_cast<std::uint32_t>(raw));
      case DType::kBf16: return reference::from_bf16(static_cast<std::uint16_t>(raw));
      case DType::kF16: return reference::from_f16(static_cast<std::uint16_t>(raw));
      case DType::kF64: return std::bit_cast<double>(raw);
    }
    return 0;
  }
  // Rounds to the dtype.
  void set(std::size_t i, double value) {
    switch (dtype_) {
      case DType::kF32: return set_bits(i, std::bit_cast<std::uint32_t>(static_cast<float>(value)));
      case DType::kBf16: return set_bits(i, reference::to_bf16(value));
      case DType::kF16: return set_bits(i, reference::to_f16(value));
      case DType::kF64: return set_bits(i, std::bit_cast<std::uint64_t>(value));
    }
  }
  void fill(double value) {
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
    result.set(i, std::copysign(std::exp2(exponent(random)), sign(random)));
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
