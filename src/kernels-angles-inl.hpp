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
//     phase   |qq|rrrrrrrrrrrrrrrrrrrrrrrrrrrrrr|    x = signed r00 / 2^32 (2^64), |x| <= 1/2

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

  const auto remainder = hn::BitCast(di, hn::ShiftLeft<2>(phase));
  const V x = hn::Mul(hn::ConvertTo(d, remainder),
                      hn::Set(d, T{0.25} / static_cast<T>(Bits{1} << (kBits - 2))));
  const V z = hn::Mul(x, x);
  const V rest = hn::MulAdd(z, Polynomial(d, P::kSin, z), hn::Set(d, P::kSin0Rest));
  const V sine = hn::MulAdd(x, hn::Set(d, P::kSin0), hn::Mul(x, rest));
  const V cosine = hn::MulAdd(z, Polynomial(d, P::kCos, z), hn::Set(d, T{1}));

  // Quarter 0: (cos, sin). 1: (-sin, cos). 2: (-cos, -sin). 3: (sin, -cos).
  const auto quarter = hn::Add(phase, hn::Set(du, Bits{1} << (kBits - 3)));  // in the upper 2 bits
  const auto sign = hn::Set(du, Bits{1} << (kBits - 1));
  const auto odd = hn::BitCast(di, hn::ShiftLeft<1>(quarter));  // by its sign
  const auto next = hn::Add(quarter, hn::Set(du, Bits{1} << (kBits - 2)));
  const auto pick = [&](V if_odd, V else_this, auto negative) HWY_ATTR {
    const auto picked =
        hn::IfNegativeThenElse(odd, hn::BitCast(di, if_odd), hn::BitCast(di, else_this));
    return hn::BitCast(d, hn::Xor(picked, hn::BitCast(di, hn::And(negative, sign))));
  };
  cos = pick(sine, cosine, next);
  sin = pick(cosine, sine, quarter);
}

#if HWY_TARGET == HWY_SCALAR
template <class T>
using AngleTag = hn::FixedTag<T, 1>;
#else
template <class T>
using AngleTag = hn::ScalableTag<T>;
#endif

#if HWY_TARGET == HWY_SCALAR

template <class T>
void Angles(const AngleJob& job) {
  const AngleTag<T> d;
  using Bits = hn::TFromD<hn::RebindToUnsigned<AngleTag<T>>>;
  constexpr int kShift = 64 - 8 * sizeof(T);
  constexpr std::uint64_t kHalf = (std::uint64_t{1} << kShift) / 2;
  const std::size_t stride = padded(job.pairs);
  for (std::size_t t = 0; t < job.tokens; ++t) {
    T* const cos_row = static_cast<T*>(job.rows) + t * job.row_stride;
    for (std::size_t i = 0; i < stride; ++i) {
      const std::uint64_t phase =
          job.turns == nullptr ? job.phases[t * stride + i]
          : job.is_consecutive ? job.turns[i] * (static_cast<std::uint64_t>(job.positions[0]) + t)
                               : job.turns[i] * static_cast<std::uint64_t>(job.positions[t]);
      hn::Vec<AngleTag<T>> cos, sin;
      CosSin(d,
             hn::Set(hn::RebindToUnsigned<decltype(d)>(),
                     static_cast<Bits>((phase + kHalf) >> kShift)),
             cos, sin);
      hn::StoreU(cos, d, cos_row + i);
      hn::StoreU(sin, d, cos_row + job.sines + i);
    }
  }
}
template <class T>
void AnglesOfToken(const AngleJob& job) {
  Angles<T>(job);
}

#else

using Tag64 = hn::ScalableTag<std::uint64_t>;
using V64 = hn::Vec<Tag64>;

// Turns to be multiplied by positions, modulo 2^64, in products of 32 bits: on AVX2 there are no others.
class Factor {
 public:
  HWY_INLINE explicit Factor(V64 turns) : low_(turns), high_(hn::ShiftRight<32>(turns)) {}
  HWY_INLINE V64 Times(std::int64_t position) const {
    const Tag64 d;
    const hn::Repartition<std::uint32_t, Tag64> d32;
    const auto p = static_cast<std::uint64_t>(position);
    const auto low = hn::BitCast(d32, hn::Set(d, p)), high = hn::BitCast(d32, hn::Set(d, p >> 32));
    const auto turns = hn::BitCast(d32, low_);
    const V64 cross = hn::Add(hn::MulEven(hn::BitCast(d32, high_), low), hn::MulEven(turns, high));
    return hn::Add(hn::MulEven(turns, low), hn::ShiftLeft<32>(cross));
  }

 private:
  V64 low_, high_;
};

// Phases of as many pairs as a row's vector has lanes; a row of float takes their upper halves, rounded.
template <class T>
struct Phases;
template <>
struct Phases<double> {
  V64 all;
  static HWY_INLINE Phases Load(const std::uint64_t* from) { return {hn::LoadU(Tag64(), from)}; }
  template <class Map>
  HWY_INLINE Phases Each(Map map) const {
    return {map(all)};
  }
  HWY_INLINE Phases Plus(const Phases& more) const { return {hn::Add(all, more.all)}; }
  HWY_INLINE V64 Row() const { return all; }
};
template <>
struct Phases<float> {
  V64 even,
      odd;  // the pairs 0, 2, 4 .. and 1, 3, 5 .., so that joining them is a shift and a blend
  static HWY_INLINE Phases Load(const std::uint64_t* from) {
    const Tag64 d;
    const V64 low = hn::LoadU(d, from), high = hn::LoadU(d, from + hn::Lanes(d));
    return {hn::ConcatEven(d, high, low), hn::ConcatOdd(d, high, low)};
  }
  template <class Map>
  HWY_INLINE Phases Each(Map map) const {
    return {map(even), map(odd)};
  }
  HWY_INLINE Phases Plus(const Phases& more) const {
    return {hn::Add(even, more.even), hn::Add(odd, more.odd)};
  }
  HWY_INLINE auto Row() const {
    const hn::Repartition<std::uint32_t, Tag64> d32;
    return hn::OddEven(hn::BitCast(d32, odd), hn::BitCast(d32, hn::ShiftRight<32>(even)));
  }
};
template <class T>
HWY_INLINE Phases<T> Rounded(const Phases<T>& phases) {
  if constexpr (sizeof(T) == 8) return phases;
  const V64 half = hn::Set(Tag64(), std::uint64_t{0x80000000u});
  return phases.Each([&](V64 v) HWY_ATTR { return hn::Add(v, half); });
}

// Of a row: cos and sin of as many pairs as a vector has lanes.
template <class T, class V>
HWY_INLINE void StoreCosSin(V phases, T* cosines, T* sines) {
  const AngleTag<T> d;
  hn::Vec<AngleTag<T>> cos, sin;
  CosSin(d, phases, cos, sin);
  hn::StoreU(cos, d, cosines);
  hn::StoreU(sin, d, sines);
}

// The turns of as many pairs as a row's vector has lanes, to be multiplied by any positions.
template <class T>
class Turns;
template <>
class Turns<double> {
 public:
  HWY_INLINE explicit Turns(const std::uint64_t* from) : turns_(hn::LoadU(Tag64(), from)) {}
  HWY_INLINE V64 Row(std::int64_t position) const { return Factor(turns_).Times(position); }

 private:
  V64 turns_;
};
// Of a product its upper half, rounded; of the halves' products what reaches it:
//
//     low  x p_low     | upper | lower |
//     high x p_low     | lower |
//     low  x p_high    | lower |           nothing for positions below 2^32
template <>
class Turns<float> {
 public:
  using Tag32 = hn::Repartition<std::uint32_t, Tag64>;
  HWY_INLINE explicit Turns(const std::uint64_t* from) {
    const Tag32 d;
    const auto first = hn::BitCast(d, hn::LoadU(Tag64(), from));
    const auto second = hn::BitCast(d, hn::LoadU(Tag64(), from + hn::Lanes(Tag64())));
    low_ = hn::ConcatEven(d, second, first);
    low_odd_ = hn::BitCast(d, hn::ShiftRight<32>(hn::BitCast(Tag64(), low_)));
    high_ = hn::ConcatOdd(d, second, first);
  }
  HWY_INLINE hn::Vec<Tag32> Row(std::int64_t position) const {
    const Tag32 d;
    const Tag64 d64;
    const auto p = static_cast<std::uint64_t>(position);
    const auto p_low = hn::Set(d, static_cast<std::uint32_t>(p));
    const auto p_high = static_cast<std::uint32_t>(p >> 32);
    const auto half = hn::Set(d64, std::uint64_t{1} << 31);
    const auto even = hn::Add(hn::MulEven(low_, p_low), half);
    const auto odd = hn::Add(hn::MulEven(low_odd_, p_low), half);
    const auto carry = hn::OddEven(hn::BitCast(d, odd), hn::BitCast(d, hn::ShiftRight<32>(even)));
    auto row = hn::Add(hn::Mul(high_, p_low), carry);
    if (HWY_UNLIKELY(p_high != 0)) row = hn::Add(row, hn::Mul(low_, hn::Set(d, p_high)));
    return row;
  }

 private:
  hn::Vec<Tag32> low_, low_odd_, high_;  // low_odd_: at the even places
};

// Of the only token.
template <class T>
HWY_NOINLINE void AnglesOfToken(const AngleJob& job) {
  constexpr std::size_t kLanes = hn::MaxLanes(AngleTag<T>());
  const std::uint64_t* const turns = job.turns == nullptr ? job.phases : job.turns;
  const std::int64_t position = job.turns == nullptr ? 1 : job.positions[0];
  T* const cosines = static_cast<T*>(job.rows);
  T* const sines = cosines + job.sines;
  for (std::size_t i = 0, end = padded(job.pairs); i < end; i += kLanes) {
    StoreCosSin<T>(Turns<T>(turns + i).Row(position), cosines + i, sines + i);
  }
}

// A vector of pairs at a time, for all tokens: their turns stay in registers. At consecutive positions
// the next phase is the turn more; exactly so, since phases wrap as angles do.
template <class T>
void Angles(const AngleJob& job) {
  // Copies, which no store of a row can change.
  const std::size_t stride = padded(job.pairs), tokens = job.tokens, row = job.row_stride;
  const std::size_t sines = job.sines;
  const std::int64_t* const positions = job.positions;
  if (tokens == 1) return AnglesOfToken<T>(job);
  for (std::size_t i = 0; i < stride; i += hn::MaxLanes(AngleTag<T>())) {
    T* to = static_cast<T*>(job.rows) + i;
    const auto for_each_token = [&](auto phases_of) HWY_ATTR {
      for (std::size_t t = 0; t < tokens; ++t, to += row) {
        StoreCosSin<T>(phases_of(t), to, to + sines);
      }
    };
    if (job.turns == nullptr) {
      const std::uint64_t* const phases = job.phases + i;
      for_each_token([&](std::size_t t) HWY_ATTR { return Turns<T>(phases + t * stride).Row(1); });
    } else if (job.is_consecutive) {
      const auto turns = Phases<T>::Load(job.turns + i);
      auto next =
          Rounded(turns.Each([&](V64 v) HWY_ATTR { return Factor(v).Times(positions[0]); }));
      for_each_token([&](std::size_t) HWY_ATTR {
        const auto phases = next.Row();
        next = next.Plus(turns);
        return phases;
      });
    } else {
      const Turns<T> turns(job.turns + i);
      for_each_token([&](std::size_t t) HWY_ATTR { return turns.Row(positions[t]); });
    }
  }
}

#endif

}  // namespace ropewalk::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // toggle
