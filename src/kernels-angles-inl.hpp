// Angles: phases to rows of cos and sin. Included once per target.

#if defined(ROPEWALK_SRC_KERNELS_ANGLES_INL_HPP_) == defined(HWY_TARGET_TOGGLE)
#ifdef ROPEWALK_SRC_KERNELS_ANGLES_INL_HPP_
#undef ROPEWALK_SRC_KERNELS_ANGLES_INL_HPP_
#else
#define ROPEWALK_SRC_KERNELS_ANGLES_INL_HPP_
#endif

#include <hwy/highway.h>

#include "kernels.hpp"

HWY_BEFORE_NAMESPACE();
namespace ropewalk::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// A phase is a 64-bit fraction of a turn; a row of float uses its upper half (2^-33 of a turn is
// 7e-10 rad), a row of double all of it. It is split into the nearest quarter turn and a remainder
// x of at most half a quarter, in quarters:
//
//     phase   |qq|rrrrrrrrrrrrrrrrrrrrrrrrrrrrrr|    x = r / 2^30 (2^62), sign-extended, |x| <= 1/2

// scripts/coefficients.py. S0 is a sum of two, the rest are those of z = x^2 ascending.
template <class T>
struct Polynomials;
template <>
struct Polynomials<float> {
  static constexpr float kSin0 = 0x1.921fb4p+0f, kSin0Rest = 0x1.ce0a20p-25f;
  static constexpr float kSin[] = {-0x1.4abba8p-1f, 0x1.465a3ep-4f, -0x1.2cf5d4p-8f};
  static constexpr float kCos[] = {-0x1.3bd3ccp+0f, 0x1.03c1dep-2f, -0x1.55c664p-6f,
                                   0x1.d9f7bcp-11f};
};
template <>
struct Polynomials<double> {
  static constexpr double kSin0 = 0x1.921fb54442d18p+0, kSin0Rest = 0x1.1a4646a564f9ap-54;
  static constexpr double kSin[] = {
      -0x1.4abbce625be53p-1,  0x1.466bc6775aacfp-4,  -0x1.32d2cce62a083p-8, 0x1.50783484e8934p-13,
      -0x1.e3074a26720c2p-19, 0x1.e8ee0adaac1ecp-25, -0x1.6c26a4846aaa7p-31};
  static constexpr double kCos[] = {
      -0x1.3bd3cc9be45dep+0,  0x1.03c1f081b5ac4p-2,  -0x1.55d3c7e3cbfefp-6,  0x1.e1f5068919cd3p-11,
      -0x1.a6d1f29f3f5f6p-16, 0x1.f9d3856ddbb9bp-22, -0x1.b6dd82ab93dcep-28, 0x1.1e2f898d1192ep-34};
};

template <class D, std::size_t kCount, class T>
HWY_INLINE hn::Vec<D> Polynomial(D d, const T (&coefficients)[kCount], hn::Vec<D> z) {
  auto sum = hn::Set(d, coefficients[kCount - 1]);
#pragma GCC unroll 8
  for (std::size_t j = kCount - 1; j > 0; --j) {
    sum = hn::MulAdd(z, sum, hn::Set(d, coefficients[j - 1]));
  }
  return sum;
}

template <class D, class V = hn::Vec<D>, class T = hn::TFromD<D>>
HWY_INLINE void CosSin(D d, hn::Vec<hn::RebindToUnsigned<D>> phase, V& cos, V& sin) {
  const hn::RebindToUnsigned<D> du;
  const hn::RebindToSigned<D> di;
  using Bits = hn::TFromD<decltype(du)>;
  constexpr int kBits = 8 * sizeof(T);
  using P = Polynomials<T>;

  const auto remainder = hn::ShiftRight<2>(hn::BitCast(di, hn::ShiftLeft<2>(phase)));
  const V x = hn::Mul(hn::ConvertTo(d, remainder),
                      hn::Set(d, T{1} / static_cast<T>(Bits{1} << (kBits - 2))));
  const V z = hn::Mul(x, x);
  const V rest = hn::MulAdd(z, Polynomial(d, P::kSin, z), hn::Set(d, P::kSin0Rest));
  const V sine = hn::MulAdd(x, hn::Set(d, P::kSin0), hn::Mul(x, rest));
  const V cosine = hn::MulAdd(z, Polynomial(d, P::kCos, z), hn::Set(d, T{1}));

  // Quarter 0: (cos, sin). 1: (-sin, cos). 2: (-cos, -sin). 3: (sin, -cos).
  const auto quarter = hn::Add(phase, hn::Set(du, Bits{1} << (kBits - 3)));  // in the upper 2 bits
  const auto sign = hn::Set(du, Bits{1} << (kBits - 1));
  const auto odd = hn::BroadcastSignBit(hn::BitCast(di, hn::ShiftLeft<1>(quarter)));
  const auto swap = hn::MaskFromVec(hn::BitCast(d, odd));
  const auto next = hn::Add(quarter, hn::Set(du, Bits{1} << (kBits - 2)));
  cos = hn::Xor(hn::IfThenElse(swap, sine, cosine), hn::BitCast(d, hn::And(next, sign)));
  sin = hn::Xor(hn::IfThenElse(swap, cosine, sine), hn::BitCast(d, hn::And(quarter, sign)));
}

#if HWY_TARGET == HWY_SCALAR
template <class T>
using AngleTag = hn::FixedTag<T, 1>;
#else
template <class T>
using AngleTag = hn::ScalableTag<T>;
#endif

// from[i] x factor, as much of it as a row of T uses, for as many pairs as the tag has lanes.
template <class T>
HWY_INLINE hn::Vec<hn::RebindToUnsigned<AngleTag<T>>> Phases(const std::uint64_t* from,
                                                             std::uint64_t factor) {
  const AngleTag<T> d;
  const hn::RebindToUnsigned<decltype(d)> du;
  if constexpr (sizeof(T) == 8) {
    return hn::Mul(hn::LoadU(du, from), hn::Set(du, factor));
  } else {
#if HWY_TARGET == HWY_SCALAR
    return hn::Set(du, static_cast<std::uint32_t>((*from * factor + 0x80000000u) >> 32));
#else
    const hn::Repartition<std::uint64_t, decltype(d)> d64;
    const auto f = hn::Set(d64, factor), half = hn::Set(d64, std::uint64_t{0x80000000u});
    const auto low = hn::Add(hn::Mul(hn::LoadU(d64, from), f), half);
    const auto high = hn::Add(hn::Mul(hn::LoadU(d64, from + hn::Lanes(d64)), f), half);
    return hn::ConcatOdd(du, hn::BitCast(du, high), hn::BitCast(du, low));
#endif
  }
}

template <class T>
void Angles(const AngleJob& job) {
  const AngleTag<T> d;
  const std::size_t stride = padded(job.pairs);
  for (std::size_t t = 0; t < job.tokens; ++t) {
    T* cos_row = static_cast<T*>(job.rows) + t * job.row_stride;
    T* sin_row = cos_row + job.sines;
    const std::uint64_t* from = job.turns != nullptr ? job.turns : job.phases + t * stride;
    const std::uint64_t factor =
        job.turns != nullptr ? static_cast<std::uint64_t>(job.positions[t]) : 1;
    for (std::size_t i = 0; i < stride; i += hn::Lanes(d)) {
      hn::Vec<AngleTag<T>> cos, sin;
      CosSin(d, Phases<T>(from + i, factor), cos, sin);
      hn::StoreU(cos, d, cos_row + i);
      hn::StoreU(sin, d, sin_row + i);
    }
  }
}

}  // namespace ropewalk::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // toggle
