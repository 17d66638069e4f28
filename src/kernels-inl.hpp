// The angle and rotation loops, written once over Highway's tags. Included once per target.

// The toggle is Highway's: this header is read again for each target.
#if defined(ROPEWALK_SRC_KERNELS_INL_HPP_) == defined(HWY_TARGET_TOGGLE)
#ifdef ROPEWALK_SRC_KERNELS_INL_HPP_
#undef ROPEWALK_SRC_KERNELS_INL_HPP_
#else
#define ROPEWALK_SRC_KERNELS_INL_HPP_
#endif

#include <hwy/highway.h>

#include <cstring>

#include "kernels.hpp"

HWY_BEFORE_NAMESPACE();
namespace ropewalk::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using OneLane = hn::FixedTag<float, 1>;

// ---------------------------------------------------------------------------------------------
// Angles
//
// A phase is a 64-bit fraction of a turn; its upper half is as much as a float can use (2^-33 of a
// turn is 7e-10 rad). It is split into the nearest quarter turn and a remainder x of at most half a
// quarter, in quarters:
//
//     upper   |qq|rrrrrrrrrrrrrrrrrrrrrrrrrrrrrr|    x = r / 2^30, sign-extended, |x| <= 1/2
//
// Coefficients: scripts/coefficients.py. Largest error of cos and sin before the attention factor,
// over 10^9 phases: see the test `angles`.

// cos and sin of upper / 2^32 turns, times m.
template <class D, class V = hn::Vec<D>>
HWY_INLINE void CosSin(D d, hn::Vec<hn::RebindToUnsigned<D>> upper, V m, V& cos, V& sin) {
  const hn::RebindToUnsigned<D> du;
  const hn::RebindToSigned<D> di;
  const auto c = [&](float value) HWY_ATTR { return hn::Set(d, value); };

  const auto remainder = hn::ShiftRight<2>(hn::BitCast(di, hn::ShiftLeft<2>(upper)));
  const V x = hn::Mul(hn::ConvertTo(d, remainder), c(0x1p-30f));
  const V z = hn::Mul(x, x);

  V p = hn::MulAdd(z, c(-0x1.2cf5d4p-8f), c(0x1.465a3ep-4f));
  p = hn::MulAdd(z, p, c(-0x1.4abba8p-1f));
  p = hn::MulAdd(z, p, c(0x1.ce09f4p-25f));
  const V sine = hn::MulAdd(x, c(0x1.921fb4p+0f), hn::Mul(x, p));

  V q = hn::MulAdd(z, c(0x1.d9f7bcp-11f), c(-0x1.55c664p-6f));
  q = hn::MulAdd(z, q, c(0x1.03c1dep-2f));
  q = hn::MulAdd(z, q, c(-0x1.3bd3ccp+0f));
  const V cosine = hn::MulAdd(z, q, c(1.0f));

  // Quarter 0: (cos, sin). 1: (-sin, cos). 2: (-cos, -sin). 3: (sin, -cos).
  const auto quarter = hn::Add(upper, hn::Set(du, 0x20000000u));  // in bits 31 and 30
  const auto sign = hn::Set(du, 0x80000000u);
  const auto swap = hn::MaskFromVec(
      hn::BitCast(d, hn::BroadcastSignBit(hn::BitCast(di, hn::ShiftLeft<1>(quarter)))));
  const auto sin_sign = hn::BitCast(d, hn::And(quarter, sign));
  const auto cos_sign = hn::BitCast(d, hn::And(hn::Add(quarter, hn::Set(du, 0x40000000u)), sign));
  cos = hn::Mul(hn::Xor(hn::IfThenElse(swap, sine, cosine), cos_sign), m);
  sin = hn::Mul(hn::Xor(hn::IfThenElse(swap, cosine, sine), sin_sign), m);
}

#if HWY_TARGET == HWY_SCALAR
using AngleTag = OneLane;
#else
using AngleTag = hn::ScalableTag<float>;
#endif

// The upper halves, rounded, of position x turns for as many pairs as the tag has lanes.
HWY_INLINE hn::Vec<hn::RebindToUnsigned<AngleTag>> UpperPhases(const std::uint64_t* turns,
                                                               std::uint64_t position) {
  const hn::RebindToUnsigned<AngleTag> du;
#if HWY_TARGET == HWY_SCALAR
  return hn::Set(du, static_cast<std::uint32_t>((*turns * position + 0x80000000u) >> 32));
#else
  const hn::Repartition<std::uint64_t, AngleTag> d64;
  const auto p = hn::Set(d64, position);
  const auto half = hn::Set(d64, 0x80000000u);
  const auto low = hn::Add(hn::Mul(hn::LoadU(d64, turns), p), half);
  const auto high = hn::Add(hn::Mul(hn::LoadU(d64, turns + hn::Lanes(d64)), p), half);
  return hn::ConcatOdd(du, hn::BitCast(du, high), hn::BitCast(du, low));
#endif
}

inline void Angles(const AngleJob& job) {
  const AngleTag d;
  const std::size_t stride = padded(job.pairs);
  const auto m = hn::Set(d, job.attention_factor);
  for (std::size_t t = 0; t < job.tokens; ++t) {
    float* cos_row = job.rows + t * 2 * stride;
    float* sin_row = cos_row + stride;
    const auto position = static_cast<std::uint64_t>(job.positions[t]);
    for (std::size_t i = 0; i < stride; i += hn::Lanes(d)) {
      hn::Vec<AngleTag> cos, sin;
      CosSin(d, UpperPhases(job.turns + i, position), m, cos, sin);
      hn::StoreU(cos, d, cos_row + i);
      hn::StoreU(sin, d, sin_row + i);
    }
  }
}

// ---------------------------------------------------------------------------------------------
// Element types: how lanes of float come from memory and go back. 16-bit conversion lives here and
// nowhere else.

struct F32 {
  using Element = float;
  using HalvesTag = hn::CappedTag<float, 8>;  // 256 bits: measured faster than 512 for halves

  template <class D>
  static HWY_INLINE hn::Vec<D> Load(D d, const float* from) {
    return hn::LoadU(d, from);
  }
  template <class D>
  static HWY_INLINE void Store(D d, hn::Vec<D> v, float* to) {
    hn::StoreU(v, d, to);
  }
};

// f32 -> bf16, to nearest even, in integers: Highway's own demotion truncates. A NaN becomes the
// quiet NaN of the same sign and upper payload. The result is in the lower half of each lane.
struct RoundInIntegers {
  template <class D>
  static HWY_INLINE hn::Vec<hn::RebindToUnsigned<D>> Round(D, hn::Vec<D> v) {
    const hn::RebindToUnsigned<D> du;
    const auto bits = hn::BitCast(du, v);
    const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(du, 1u));
    const auto rounded = hn::ShiftRight<16>(hn::Add(bits, hn::Add(odd, hn::Set(du, 0x7FFFu))));
    const auto quiet = hn::Or(hn::ShiftRight<16>(bits), hn::Set(du, 0x40u));
    return hn::IfThenElse(hn::RebindMask(du, hn::IsNaN(v)), quiet, rounded);
  }
};

// The same by the instruction of AVX512-BF16, which takes subnormals for zeros.
struct RoundByInstruction {
  template <class D>
  static HWY_INLINE hn::Vec<hn::RebindToUnsigned<D>> Round(D d, hn::Vec<D> v) {
#if HWY_TARGET == HWY_AVX3
    const hn::RebindToUnsigned<D> du;
    hn::Vec<hn::Rebind<std::uint16_t, D>> halves;
    // By name, since no flag of this file may let the compiler use the extension elsewhere.
    if constexpr (sizeof(v.raw) == 64) {
      asm("vcvtneps2bf16 %1, %0" : "=v"(halves.raw) : "v"(v.raw));
    } else if constexpr (hn::MaxLanes(D()) == 8) {
      asm("vcvtneps2bf16 %t1, %x0" : "=v"(halves.raw) : "v"(v.raw));
    } else {
      asm("vcvtneps2bf16 %x1, %x0" : "=v"(halves.raw) : "v"(v.raw));
    }
    return hn::PromoteTo(du, halves);
#else
    return RoundInIntegers::Round(d, v);
#endif
  }
};

template <class Rounding>
struct Bf16 {
  using Element = std::uint16_t;
  using HalvesTag = hn::ScalableTag<float>;

  template <class D>
  static HWY_INLINE hn::Vec<D> Load(D d, const std::uint16_t* from) {
    const hn::RebindToUnsigned<D> du;
    const hn::Rebind<std::uint16_t, D> d16;
    return hn::BitCast(d, hn::ShiftLeft<16>(hn::PromoteTo(du, hn::LoadU(d16, from))));
  }
  template <class D>
  static HWY_INLINE void Store(D d, hn::Vec<D> v, std::uint16_t* to) {
    const hn::Rebind<std::uint16_t, D> d16;
    hn::StoreU(hn::TruncateTo(d16, Rounding::Round(d, v)), d16, to);
  }
};

// ---------------------------------------------------------------------------------------------
// Steps: as many pairs as the tag has lanes. Every path computes a' and b' with these operations in
// this order, so that all of them agree bit for bit.

template <class V>
HWY_INLINE void Turn(V a, V b, V c, V s, V& new_a, V& new_b) {
  new_a = hn::MulSub(a, c, hn::Mul(b, s));
  new_b = hn::MulAdd(b, c, hn::Mul(a, s));
}

// A pair's elements lie `partner` elements apart, and the a's of neighbouring pairs side by side:
// halves; or there is one lane only.
template <class Io, class D, class T = typename Io::Element>
HWY_INLINE void StepApart(D d, const T* in, T* out, std::size_t partner, hn::Vec<D> c,
                          hn::Vec<D> s) {
  hn::Vec<D> new_a, new_b;
  Turn(Io::Load(d, in), Io::Load(d, in + partner), c, s, new_a, new_b);
  Io::Store(d, new_a, out);
  Io::Store(d, new_b, out + partner);
}

// How the registers of a row are filled, and one vector of a head is turned by them.

// halves: cos and sin as they are.
template <class IoT>
struct Halves {
  using Io = IoT;
  using Element = typename Io::Element;
  using Tag = typename Io::HalvesTag;
  static constexpr std::size_t kElementsPerPair = 1;  // between the a of one pair and of the next
  static constexpr std::size_t kRowPerPair = 1;

  static const float* Spread(const float* row, std::size_t, float*) { return row; }
  static HWY_INLINE void Step(Tag d, const Element* in, Element* out, std::size_t partner,
                              hn::Vec<Tag> c, hn::Vec<Tag> s) {
    StepApart<Io>(d, in, out, partner, c, s);
  }
};

#if HWY_TARGET != HWY_SCALAR

// adjacent, f32, without deinterleaving: the row is spread once per token, so that a vector of a
// head needs one swap of neighbours.
//
//     x         a0    b0    a1    b1
//     swapped   b0    a0    b1    a1
//     c         c0    c0    c1    c1
//     s        -s0   +s0   -s1   +s1       x c + swapped s
struct AdjacentF32 {
  using Io = F32;
  using Element = float;
  using Tag = hn::ScalableTag<float>;
  static constexpr std::size_t kElementsPerPair = 2;
  static constexpr std::size_t kRowPerPair = 2;

  static HWY_INLINE const float* Spread(const float* row, std::size_t stride, float* spread) {
    const Tag d;
    for (std::size_t i = 0; i < stride; i += hn::Lanes(d)) {
      const auto c = hn::LoadU(d, row + i);
      const auto s = hn::LoadU(d, row + stride + i);
      hn::StoreInterleaved2(c, c, d, spread + 2 * i);
      hn::StoreInterleaved2(hn::Neg(s), s, d, spread + 2 * (stride + i));
    }
    return spread;
  }
  static HWY_INLINE void Step(Tag d, const float* in, float* out, std::size_t, hn::Vec<Tag> c,
                              hn::Vec<Tag> s) {
    const auto x = hn::LoadU(d, in);
    hn::StoreU(hn::MulAdd(x, c, hn::Mul(hn::Shuffle2301(x), s)), d, out);
  }
};

// adjacent, bf16: a lane of 32 bits is a pair.
template <class Rounding>
struct AdjacentBf16 {
  using Io = Bf16<Rounding>;
  using Element = std::uint16_t;
  using Tag = hn::ScalableTag<float>;
  static constexpr std::size_t kElementsPerPair = 2;
  static constexpr std::size_t kRowPerPair = 1;

  static const float* Spread(const float* row, std::size_t, float*) { return row; }
  static HWY_INLINE void Step(Tag d, const Element* in, Element* out, std::size_t, hn::Vec<Tag> c,
                              hn::Vec<Tag> s) {
    const hn::RebindToUnsigned<Tag> du;
    const hn::Repartition<std::uint16_t, Tag> d16;
    const auto pairs = hn::BitCast(du, hn::LoadU(d16, in));  // little-endian: a is the lower half
    const auto a = hn::BitCast(d, hn::ShiftLeft<16>(pairs));
    const auto b = hn::BitCast(d, hn::And(pairs, hn::Set(du, 0xFFFF0000u)));
    hn::Vec<Tag> new_a, new_b;
    Turn(a, b, c, s, new_a, new_b);
    const auto packed =
        hn::Or(hn::ShiftLeft<16>(Rounding::Round(d, new_b)), Rounding::Round(d, new_a));
    hn::StoreU(hn::BitCast(d16, packed), d16, out);
  }
};

#else

// One lane: a pair is a pair.
template <class IoT>
struct AdjacentOneLane {
  using Io = IoT;
  using Element = typename Io::Element;
  using Tag = OneLane;
  static constexpr std::size_t kElementsPerPair = 2;
  static constexpr std::size_t kRowPerPair = 1;

  static const float* Spread(const float* row, std::size_t, float*) { return row; }
  static void Step(Tag d, const Element* in, Element* out, std::size_t partner, hn::Vec<Tag> c,
                   hn::Vec<Tag> s) {
    StepApart<Io>(d, in, out, partner, c, s);
  }
};
using AdjacentF32 = AdjacentOneLane<F32>;
template <class Rounding>
using AdjacentBf16 = AdjacentOneLane<Bf16<Rounding>>;

#endif

// ---------------------------------------------------------------------------------------------
// Rows: one head of one token.

// Of any width: cos and sin are read from the row again for each head.
template <class Kind>
class AnyRow {
 public:
  using Element = typename Kind::Element;
  explicit AnyRow(std::size_t pairs) : pairs_(pairs), stride_(padded(pairs)) {}

  HWY_INLINE void Load(const float* row) {
    row_ = row;
    spread_ = Kind::Spread(row, stride_, buffer_);
  }

  HWY_INLINE void Apply(const Element* in, Element* out, std::size_t partner) const {
    const typename Kind::Tag d;
    constexpr std::size_t kPerPair = Kind::kElementsPerPair;
    const std::size_t step = hn::Lanes(d) / Kind::kRowPerPair;  // pairs of one vector
    const std::size_t spread_stride = stride_ * Kind::kRowPerPair;
    std::size_t i = 0;
    for (; i + step <= pairs_; i += step) {
      const float* c = spread_ + i * Kind::kRowPerPair;
      Kind::Step(d, in + i * kPerPair, out + i * kPerPair, partner, hn::LoadU(d, c),
                 hn::LoadU(d, c + spread_stride));
    }
    const OneLane one;
    for (; i < pairs_; ++i) {
      StepApart<typename Kind::Io>(one, in + i * kPerPair, out + i * kPerPair, partner,
                                   hn::Set(one, row_[i]), hn::Set(one, row_[stride_ + i]));
    }
  }

 private:
  std::size_t pairs_, stride_;
  const float* row_ = nullptr;
  const float* spread_ = nullptr;
  alignas(64) float buffer_[Kind::kRowPerPair == 2 ? 4 * kMaxRowPairs : 1];
};

// Of a width known to the compiler: cos and sin stay in registers for all heads of a token.
template <class Kind, std::size_t kPairs>
class FixedRow {
 public:
  using Element = typename Kind::Element;
  using Tag = typename Kind::Tag;
  using V = hn::Vec<Tag>;
  static constexpr std::size_t kLanes = hn::MaxLanes(Tag());
  static constexpr std::size_t kVectors = kPairs * Kind::kRowPerPair / kLanes;
  static constexpr bool kFits = kLanes > 1 && kVectors* kLanes == kPairs* Kind::kRowPerPair;
  explicit FixedRow(std::size_t) {}

  HWY_INLINE void Load(const float* row) {
    alignas(64) float buffer[Kind::kRowPerPair == 2 ? 4 * padded(kPairs) : 1];
    const float* spread = Kind::Spread(row, padded(kPairs), buffer);
    const Tag d;
#pragma GCC unroll 16
    for (std::size_t v = 0; v < kVectors; ++v) {
      cos_[v] = hn::LoadU(d, spread + v * kLanes);
      sin_[v] = hn::LoadU(d, spread + padded(kPairs) * Kind::kRowPerPair + v * kLanes);
    }
  }

  HWY_INLINE void Apply(const Element* in, Element* out, std::size_t partner) const {
    constexpr std::size_t kElements =
        kLanes / Kind::kRowPerPair * Kind::kElementsPerPair;  // of one vector's step
#pragma GCC unroll 16
    for (std::size_t v = 0; v < kVectors; ++v) {
      Kind::Step(Tag(), in + v * kElements, out + v * kElements, partner, cos_[v], sin_[v]);
    }
  }

 private:
  V cos_[kVectors == 0 ? 1 : kVectors];
  V sin_[kVectors == 0 ? 1 : kVectors];
};

// ---------------------------------------------------------------------------------------------
// The walk over tokens and heads, in the order of memory.

template <class Row>
inline void Walk(const RotateJob& job) {
  using Element = typename Row::Element;
  Row row(job.pairs);
  const std::size_t row_size = 2 * padded(job.pairs);
  const std::size_t partner = job.partner / sizeof(Element);
  const auto* in = static_cast<const std::uint8_t*>(job.in);
  auto* out = static_cast<std::uint8_t*>(job.out);

  const auto apply = [&](std::size_t t, std::size_t h) HWY_ATTR {
    const auto token = static_cast<std::ptrdiff_t>(t), head = static_cast<std::ptrdiff_t>(h);
    const std::uint8_t* from = in + token * job.in_steps.token + head * job.in_steps.head;
    std::uint8_t* to = out + token * job.out_steps.token + head * job.out_steps.head;
    row.Apply(reinterpret_cast<const Element*>(from), reinterpret_cast<Element*>(to), partner);
    if (job.tail_bytes != 0) std::memcpy(to + job.tail, from + job.tail, job.tail_bytes);
  };
  if (job.heads_outer) {
    for (std::size_t h = 0; h < job.heads; ++h) {
      for (std::size_t t = 0; t < job.tokens; ++t) {
        row.Load(job.rows + t * row_size);
        apply(t, h);
      }
    }
  } else {
    for (std::size_t t = 0; t < job.tokens; ++t) {
      row.Load(job.rows + t * row_size);
      for (std::size_t h = 0; h < job.heads; ++h) apply(t, h);
    }
  }
}

template <class Kind, std::size_t kPairs>
inline bool WalkFixed(const RotateJob& job) {
  if constexpr (FixedRow<Kind, kPairs>::kFits) {
    if (job.pairs == kPairs) {
      Walk<FixedRow<Kind, kPairs>>(job);
      return true;
    }
  }
  return false;
}

// rotary_dim in steps of 16 up to 128, where most models are, and any other.
template <class Kind>
void Rotate(const RotateJob& job) {
  if (WalkFixed<Kind, 8>(job) || WalkFixed<Kind, 16>(job) || WalkFixed<Kind, 24>(job) ||
      WalkFixed<Kind, 32>(job) || WalkFixed<Kind, 40>(job) || WalkFixed<Kind, 48>(job) ||
      WalkFixed<Kind, 56>(job) || WalkFixed<Kind, 64>(job)) {
    return;
  }
  Walk<AnyRow<Kind>>(job);
}

template <class Rounding>
constexpr Table MakeTable(Target target) {
  return {target,
          &Angles,
          {{{&Rotate<Halves<F32>>, &Rotate<AdjacentF32>},
            {&Rotate<Halves<Bf16<Rounding>>>, &Rotate<AdjacentBf16<Rounding>>}}}};
}

#if HWY_TARGET == HWY_SCALAR
inline constexpr Table kTable = MakeTable<RoundInIntegers>(Target::kScalar);
#elif HWY_TARGET == HWY_AVX2
inline constexpr Table kTable = MakeTable<RoundInIntegers>(Target::kAvx2);
#elif HWY_TARGET == HWY_AVX3
inline constexpr Table kTable = MakeTable<RoundInIntegers>(Target::kAvx3);
inline constexpr Table kTableBf16 = MakeTable<RoundByInstruction>(Target::kAvx3Bf16);
#elif HWY_TARGET == HWY_NEON
inline constexpr Table kTable = MakeTable<RoundInIntegers>(Target::kNeon);
#endif

}  // namespace ropewalk::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // toggle
