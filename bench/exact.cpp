#include "bench/exact.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <type_traits>

#include "element.hpp"
#include "message.hpp"

namespace ropewalk::bench {
namespace {

// ω is split so that both products are exact in long double.
ExactAngles::Turn turn(double omega, std::int64_t position) {
  const long double high = static_cast<float>(omega), low = omega - high;
  const auto p = static_cast<long double>(position);
  const long double big = p * high, small = p * low;
  const long double cos_big = std::cos(big), sin_big = std::sin(big);
  const long double cos_small = std::cos(small), sin_small = std::sin(small);
  return {cos_big * cos_small - sin_big * sin_small, sin_big * cos_small + cos_big * sin_small};
}

// f64 is compared in long double. For the others double is enough, and several times faster: its own
// errors are a part in 2^29 of what is promised, and let off.
template <DType kType>
using Real = std::conditional_t<kType == DType::kF64, long double, double>;

// How far off an element may be that belongs to a pair of length h: by as much as was promised, and
// half an ulp, of what was given or of what is exact.
template <DType kType>
struct Promise {
  explicit Promise(std::int64_t position)
      : relative(static_cast<Real<kType>>(
            kType == DType::kF64
                ? std::abs(static_cast<long double>(position)) * 0x1p-62L + 0x1p-50L
                : 0x1p-21L + 0x1p-50L)) {}

  // NaN is not near to anything.
  [[nodiscard]] bool is_near(double given, Real<kType> exact, Real<kType> h) const {
    const double larger = std::max(std::abs(given), std::abs(static_cast<double>(exact)));
    return std::abs(given - exact) <= relative * h + half_ulp(larger);
  }

  static double half_ulp(double value) {
    struct Type {
      double least, half;  // the smallest normal number; half an ulp of 1
    };
    constexpr Type kTypes[kDTypes] = {
        {0x1p-126, 0x1p-24}, {0x1p-126, 0x1p-8}, {0x1p-14, 0x1p-11}, {0x1p-1022, 0x1p-53}};
    constexpr Type kOf = kTypes[static_cast<std::size_t>(kType)];
    constexpr std::uint64_t kExponent = std::uint64_t{0x7FF} << 52;
    const auto power = std::bit_cast<double>(std::bit_cast<std::uint64_t>(value) & kExponent);
    return std::max(power, kOf.least) * kOf.half;
  }

  Real<kType> relative;
};

std::string wrong(std::string_view what, std::size_t pair, std::int64_t token, std::int64_t head,
                  double given, long double exact) {
  return message(what, " of pair ", pair, " of token ", token, ", head ", head, ", is ", given,
                 ", exactly ", static_cast<double>(exact));
}

// A head of x and of y, and a token's exact angles, in the type that they are compared in: arrays, so
// that a compiler makes vectors of the loops.
template <DType kType>
class Head {
 public:
  explicit Head(std::size_t pairs)
      : pairs_(pairs), cos_(pairs), sin_(pairs), x_(2 * pairs), y_(2 * pairs) {}

  void set_turns(std::span<const ExactAngles::Turn> turns) {
    for (std::size_t i = 0; i < pairs_; ++i) {
      cos_[i] = static_cast<Real<kType>>(turns[i].cos);
      sin_[i] = static_cast<Real<kType>>(turns[i].sin);
    }
  }
  void set_elements(const void* x, const void* y, std::size_t start) {
    for (std::size_t i = 0; i < x_.size(); ++i) x_[i] = element_at(x, kType, start + i);
    for (std::size_t i = 0; i < y_.size(); ++i) y_[i] = element_at(y, kType, start + i);
  }

  // What a pair should be and is, and whether it is near enough.
  struct Pair {
    Real<kType> exact_a, exact_b;
    double given_a, given_b;
    bool is_near_a, is_near_b;
  };
  template <bool kHalves>
  [[nodiscard]] Pair pair(std::size_t i, const Promise<kType>& promise) const {
    const std::size_t first = kHalves ? i : 2 * i, second = kHalves ? i + pairs_ : 2 * i + 1;
    const Real<kType> a = x_[first], b = x_[second];
    const Real<kType> h = std::sqrt(a * a + b * b);
    const Real<kType> exact_a = a * cos_[i] - b * sin_[i], exact_b = a * sin_[i] + b * cos_[i];
    return {exact_a,
            exact_b,
            y_[first],
            y_[second],
            promise.is_near(y_[first], exact_a, h),
            promise.is_near(y_[second], exact_b, h)};
  }

  // The first pair of which an element is wrong, or pairs().
  template <bool kHalves>
  [[nodiscard]] std::size_t wrong_pair(const Promise<kType>& promise) const {
    std::int64_t near = 0;
    for (std::size_t i = 0; i < pairs_; ++i) {
      const Pair of = pair<kHalves>(i, promise);
      near += of.is_near_a ? 1 : 0;
      near += of.is_near_b ? 1 : 0;
    }
    if (near == std::ssize(x_)) return pairs_;
    std::size_t i = 0;
    while (pair<kHalves>(i, promise).is_near_a && pair<kHalves>(i, promise).is_near_b) ++i;
    return i;
  }

 private:
  std::size_t pairs_;
  std::vector<Real<kType>> cos_, sin_;
  std::vector<double> x_, y_;
};

template <DType kType, bool kHalves>
std::string wrong_element_of(const ExactAngles& exact, const ConstTensorView& x,
                             const ConstTensorView& y) {
  Head<kType> elements(exact.pairs());
  for (std::int64_t token = 0; token < x.shape[1]; ++token) {
    elements.set_turns(exact.of_token(static_cast<std::size_t>(token)));
    const Promise<kType> promise(exact.position(static_cast<std::size_t>(token)));
    for (std::int64_t head = 0; head < x.shape[2]; ++head) {
      const std::int64_t start = token * x.strides[1] + head * x.strides[2];
      elements.set_elements(x.data, y.data, static_cast<std::size_t>(start));
      const std::size_t i = elements.template wrong_pair<kHalves>(promise);
      if (i == exact.pairs()) continue;
      const auto pair = elements.template pair<kHalves>(i, promise);
      return pair.is_near_a
                 ? wrong("the second element", i, token, head, pair.given_b, pair.exact_b)
                 : wrong("the first element", i, token, head, pair.given_a, pair.exact_a);
    }
  }
  return "";
}

template <DType kType>
std::string wrong_element_of(const ExactAngles& exact, Pairing pairing, const ConstTensorView& x,
                             const ConstTensorView& y) {
  return pairing == Pairing::kHalves ? wrong_element_of<kType, true>(exact, x, y)
                                     : wrong_element_of<kType, false>(exact, x, y);
}

template <DType kType>
std::string wrong_row_of(const ExactAngles& exact, const Angles& angles) {
  const auto tokens = static_cast<std::size_t>(angles.tokens());
  const std::size_t pairs = exact.pairs();
  std::vector<double> cos(tokens * pairs), sin(cos.size());
  angles.read_compact<double>(cos, sin);
  for (std::size_t token = 0; token < tokens; ++token) {
    const Promise<kType> promise(exact.position(token));
    for (std::size_t i = 0; i < pairs; ++i) {
      const auto& [exact_cos, exact_sin] = exact.of_token(token)[i];
      const double given_cos = cos[token * pairs + i], given_sin = sin[token * pairs + i];
      const auto at = static_cast<std::int64_t>(token);
      if (!promise.is_near(given_cos, static_cast<Real<kType>>(exact_cos), 1)) {
        return wrong("the cosine", i, at, 0, given_cos, exact_cos);
      }
      if (!promise.is_near(given_sin, static_cast<Real<kType>>(exact_sin), 1)) {
        return wrong("the sine", i, at, 0, given_sin, exact_sin);
      }
    }
  }
  return "";
}

}  // namespace

ExactAngles::ExactAngles(std::span<const double> frequencies,
                         std::span<const std::int64_t> positions)
    : pairs_(frequencies.size()), positions_(positions.begin(), positions.end()) {
  turns_.reserve(positions.size() * pairs_);
  for (const std::int64_t position : positions) {
    for (const double omega : frequencies) turns_.push_back(turn(omega, position));
  }
}

std::string wrong_element(const ExactAngles& exact, Pairing pairing, const ConstTensorView& x,
                          const ConstTensorView& y) {
  switch (x.dtype) {
    case DType::kF32: return wrong_element_of<DType::kF32>(exact, pairing, x, y);
    case DType::kBf16: return wrong_element_of<DType::kBf16>(exact, pairing, x, y);
    case DType::kF16: return wrong_element_of<DType::kF16>(exact, pairing, x, y);
    case DType::kF64: return wrong_element_of<DType::kF64>(exact, pairing, x, y);
  }
  return "of no known dtype";
}

std::string wrong_row(const ExactAngles& exact, const Angles& angles) {
  return angles.dtype() == DType::kF64 ? wrong_row_of<DType::kF64>(exact, angles)
                                       : wrong_row_of<DType::kF32>(exact, angles);
}

}  // namespace ropewalk::bench
