// The angle and turning loops, written once over Highway's tags. Included once per target.

// The toggle is Highway's: this header is read again for each target.
#if defined(ROPEWALK_SRC_KERNELS_INL_HPP_) == defined(HWY_TARGET_TOGGLE)
#ifdef ROPEWALK_SRC_KERNELS_INL_HPP_
#undef ROPEWALK_SRC_KERNELS_INL_HPP_
#else
#define ROPEWALK_SRC_KERNELS_INL_HPP_
#endif

#include <hwy/highway.h>

#include <cstring>

#include "kernels-angles-inl.hpp"
#include "kernels-elements-inl.hpp"
#include "kernels.hpp"

HWY_BEFORE_NAMESPACE();
namespace ropewalk::kernels::HWY_NAMESPACE {

// ---------------------------------------------------------------------------------------------
// Steps: as many pairs as the tag has lanes. Every path computes a' and b' with these operations in
// this order, so that all of them agree bit for bit.

template <class V>
HWY_INLINE void Turned(V a, V b, V c, V s, V& new_a, V& new_b) {
  new_a = hn::MulSub(a, c, hn::Mul(b, s));
  new_b = hn::MulAdd(b, c, hn::Mul(a, s));
}

// One pair, or the pairs of halves: each kind of element lies together, its partners `partner`
// elements behind.
template <class Io, class D, class E = typename Io::Element>
HWY_INLINE void StepApart(D d, const E* in, E* out, std::size_t in_partner, std::size_t out_partner,
                          hn::Vec<D> c, hn::Vec<D> s) {
  hn::Vec<D> a, b;
  Turned(Io::Load(d, in), Io::Load(d, in + in_partner), c, s, a, b);
  Io::Store(d, a, out);
  Io::Store(d, b, out + out_partner);
}

// Any pairing in, any pairing out.
template <class IoT, bool kAdjacentIn, bool kAdjacentOut>
struct Pairwise {
  using Io = IoT;
  using Element = typename Io::Element;
  using Tag = typename Io::Tag;
  static constexpr std::size_t kIn = kAdjacentIn ? 2 : 1;  // elements from a to the next pair's a
  static constexpr std::size_t kOut = kAdjacentOut ? 2 : 1;
  static constexpr std::size_t kRowPerPair = 1;

  static HWY_INLINE void Step(Tag d, const Element* in, Element* out, std::size_t in_partner,
                              std::size_t out_partner, hn::Vec<Tag> c, hn::Vec<Tag> s) {
#if HWY_TARGET == HWY_SCALAR
    StepApart<Io>(d, in, out, in_partner, out_partner, c, s);
#else
    hn::Vec<Tag> a, b, new_a, new_b;
    if constexpr (kAdjacentIn) {
      Io::LoadPairs(d, in, a, b);
    } else {
      a = Io::Load(d, in);
      b = Io::Load(d, in + in_partner);
    }
    Turned(a, b, c, s, new_a, new_b);
    if constexpr (kAdjacentOut) {
      Io::StorePairs(d, new_a, new_b, out);
    } else {
      Io::Store(d, new_a, out);
      Io::Store(d, new_b, out + out_partner);
    }
#endif
  }
};

#if HWY_TARGET == HWY_SCALAR
template <class Io>
using Neighbours = Pairwise<Io, true, true>;
#else
// Adjacent to adjacent for whole lanes, without deinterleaving: the row is spread once per token,
// so that a vector of a head needs one swap of neighbours.
//
//     x         a0    b0    a1    b1
//     swapped   b0    a0    b1    a1
//     c         c0    c0    c1    c1
//     s        -s0   +s0   -s1   +s1       x c + swapped s
template <class IoT>
struct Neighbours {
  using Io = IoT;
  using Element = typename Io::Element;
  using Tag = hn::ScalableTag<Element>;
  static constexpr std::size_t kIn = 2, kOut = 2;
  static constexpr std::size_t kRowPerPair = 2;

  static HWY_INLINE void Step(Tag d, const Element* in, Element* out, std::size_t, std::size_t,
                              hn::Vec<Tag> c, hn::Vec<Tag> s) {
    const auto x = hn::LoadU(d, in);
    hn::StoreU(hn::MulAdd(x, c, hn::Mul(hn::Reverse2(d, x), s)), d, out);
  }
};
#endif

// ---------------------------------------------------------------------------------------------
// Rows: cos and sin of one token, scaled, as a kind of step wants them; applied to one head.

template <class Kind>
struct RowTypes {
  using Lane = typename Kind::Io::Lane;
  using Element = typename Kind::Element;
  using Tag = typename Kind::Tag;
  using V = hn::Vec<Tag>;
  static constexpr std::size_t kPer = Kind::kRowPerPair;

  struct Scaled {
    const Lane* cos;
    const Lane* sin;
    Lane cos_scale, sin_scale;
  };

  // To buffer: kPer `stride` of cosines, then as many sines; pairs 0 .. stride.
  static HWY_INLINE void Spread(const Scaled& row, std::size_t stride, Lane* buffer) {
    const Tag d;
    const V cos_scale = hn::Set(d, row.cos_scale), sin_scale = hn::Set(d, row.sin_scale);
    for (std::size_t i = 0; i < stride; i += hn::Lanes(d)) {
      const V c = hn::Mul(hn::LoadU(d, row.cos + i), cos_scale);
      const V s = hn::Mul(hn::LoadU(d, row.sin + i), sin_scale);
      if constexpr (kPer == 2) {
        hn::StoreInterleaved2(c, c, d, buffer + 2 * i);
        hn::StoreInterleaved2(hn::Neg(s), s, d, buffer + 2 * (stride + i));
      } else {
        hn::StoreU(c, d, buffer + i);
        hn::StoreU(s, d, buffer + stride + i);
      }
    }
  }
};

// Of any width: cos and sin are read again for each head.
template <class Kind>
class AnyRow : RowTypes<Kind> {
  using Types = RowTypes<Kind>;
  using typename Types::Lane;
  static constexpr std::size_t kPer = Types::kPer;

 public:
  using typename Types::Element;
  using typename Types::Scaled;
  explicit AnyRow(std::size_t pairs) : pairs_(pairs), stride_(padded(pairs)) {}

  HWY_INLINE void Load(const Scaled& row) { Types::Spread(row, stride_, buffer_); }

  HWY_INLINE void Apply(const Element* in, Element* out, std::size_t in_partner,
                        std::size_t out_partner) const {
    const typename Kind::Tag d;
    const std::size_t step = hn::Lanes(d) / kPer;  // pairs of one vector
    const Lane* cos = buffer_;
    const Lane* sin = buffer_ + kPer * stride_;
    std::size_t i = 0;
    for (; i + step <= pairs_; i += step) {
      Kind::Step(d, in + i * Kind::kIn, out + i * Kind::kOut, in_partner, out_partner,
                 hn::LoadU(d, cos + i * kPer), hn::LoadU(d, sin + i * kPer));
    }
    const hn::FixedTag<Lane, 1> one;
    for (; i < pairs_; ++i) {
      StepApart<typename Kind::Io>(one, in + i * Kind::kIn, out + i * Kind::kOut, in_partner,
                                   out_partner, hn::Set(one, cos[i * kPer]),
                                   hn::Set(one, sin[i * kPer + kPer - 1]));
    }
  }

 private:
  std::size_t pairs_, stride_;
  alignas(64) Lane buffer_[2 * kPer * kMaxRowPairs];
};

// Of a width known to the compiler: cos and sin stay in registers for all heads of a token.
template <class Kind, std::size_t kPairs>
class FixedRow : RowTypes<Kind> {
  using Types = RowTypes<Kind>;
  using typename Types::Lane;
  using typename Types::Tag;
  using typename Types::V;
  static constexpr std::size_t kPer = Types::kPer;
  static constexpr std::size_t kLanes = hn::MaxLanes(Tag());
  static constexpr std::size_t kVectors = kPairs * kPer / kLanes;

 public:
  using typename Types::Element;
  using typename Types::Scaled;
  static constexpr bool kFits = kLanes > 1 && kVectors* kLanes == kPairs* kPer;
  explicit FixedRow(std::size_t) {}

  HWY_INLINE void Load(const Scaled& row) {
    const Tag d;
    if constexpr (kPer == 2) {
      alignas(64) Lane buffer[2 * kPer * padded(kPairs)];
      Types::Spread(row, padded(kPairs), buffer);
#pragma GCC unroll 32
      for (std::size_t v = 0; v < kVectors; ++v) {
        cos_[v] = hn::Load(d, buffer + v * kLanes);
        sin_[v] = hn::Load(d, buffer + kPer * padded(kPairs) + v * kLanes);
      }
    } else {
      const V cos_scale = hn::Set(d, row.cos_scale), sin_scale = hn::Set(d, row.sin_scale);
#pragma GCC unroll 32
      for (std::size_t v = 0; v < kVectors; ++v) {
        cos_[v] = hn::Mul(hn::LoadU(d, row.cos + v * kLanes), cos_scale);
        sin_[v] = hn::Mul(hn::LoadU(d, row.sin + v * kLanes), sin_scale);
      }
    }
  }

  HWY_INLINE void Apply(const Element* in, Element* out, std::size_t in_partner,
                        std::size_t out_partner) const {
#pragma GCC unroll 32
    for (std::size_t v = 0; v < kVectors; ++v) {
      constexpr std::size_t kStep = kLanes / kPer;  // pairs of one vector
      Kind::Step(Tag(), in + v * kStep * Kind::kIn, out + v * kStep * Kind::kOut, in_partner,
                 out_partner, cos_[v], sin_[v]);
    }
  }

 private:
  V cos_[kVectors == 0 ? 1 : kVectors];
  V sin_[kVectors == 0 ? 1 : kVectors];
};

// ---------------------------------------------------------------------------------------------
// The walk over tokens and heads, in the order of memory.

HWY_INLINE const std::uint8_t* At(const Side<const void>& side, std::size_t t, std::size_t h) {
  return static_cast<const std::uint8_t*>(side.data) + static_cast<std::ptrdiff_t>(t) * side.token +
         static_cast<std::ptrdiff_t>(h) * side.head;
}
HWY_INLINE std::uint8_t* At(const Side<void>& side, std::size_t t, std::size_t h) {
  return static_cast<std::uint8_t*>(side.data) + static_cast<std::ptrdiff_t>(t) * side.token +
         static_cast<std::ptrdiff_t>(h) * side.head;
}

template <class Row, class Apply>
HWY_INLINE void ForEachHead(const TurnJob& job, Row& row, Apply apply) {
  using Lane = std::remove_const_t<std::remove_pointer_t<decltype(typename Row::Scaled().cos)>>;
  const auto load = [&](std::size_t t) HWY_ATTR {
    double scale = job.token_scales == nullptr ? 1.0 : job.token_scales[t];
    if (job.divides_by_token_scales) scale = 1 / scale;
    const Lane* cos = static_cast<const Lane*>(job.rows) + t * job.row_stride;
    row.Load({cos, cos + job.sines, static_cast<Lane>(scale * job.cos_scale),
              static_cast<Lane>(scale * job.sin_scale)});
  };
  if (job.heads_outer) {
    for (std::size_t h = 0; h < job.heads; ++h) {
      for (std::size_t t = 0; t < job.tokens; ++t) {
        load(t);
        apply(t, h);
      }
    }
  } else {
    for (std::size_t t = 0; t < job.tokens; ++t) {
      load(t);
      for (std::size_t h = 0; h < job.heads; ++h) apply(t, h);
    }
  }
}

// Dense heads, one pairing.
template <class Row>
void WalkDense(const TurnJob& job) {
  using Element = typename Row::Element;
  Row row(job.pairs);
  const auto& pairs = job.in.pairs;
  ForEachHead(job, row, [&](std::size_t t, std::size_t h) HWY_ATTR {
    const auto* from = reinterpret_cast<const Element*>(At(job.in, t, h));
    auto* to = reinterpret_cast<Element*>(At(job.out, t, h));
    row.Apply(from + pairs.first, to + pairs.first, pairs.partner, pairs.partner);
    for (const auto& [begin, end] : job.copies) {
      if (begin < end) std::memcpy(to + begin, from + begin, (end - begin) * sizeof(Element));
    }
  });
}

// Elements that do not lie together, or two pairings: a head's pairs are gathered first, and
// scattered last, so that the input may be the output.
template <class Kind>
void WalkGathered(const TurnJob& job) {
  using Element = typename Kind::Element;
  alignas(64) Element gathered[2 * kMaxRowPairs], turned[2 * kMaxRowPairs];
  AnyRow<Kind> row(job.pairs);
  const auto move = [](const std::uint8_t* from, std::uint8_t* to)
                        HWY_ATTR { std::memcpy(to, from, sizeof(Element)); };
  const auto offset = [](std::size_t element, std::ptrdiff_t step) {
    return static_cast<std::ptrdiff_t>(element) * step;
  };
  // See(buffer's element, head's element) for all elements of the pairs.
  const auto for_each_element = [&](const Pairs& pairs, auto see) HWY_ATTR {
    const std::size_t step = pairs.adjacent ? 2 : 1, partner = pairs.adjacent ? 1 : job.pairs;
    for (std::size_t i = 0; i < job.pairs; ++i) {
      see(i * step, pairs.first + i * step);
      see(i * step + partner, pairs.first + i * step + pairs.partner);
    }
  };
  ForEachHead(job, row, [&](std::size_t t, std::size_t h) HWY_ATTR {
    const std::uint8_t* from = At(job.in, t, h);
    std::uint8_t* to = At(job.out, t, h);
    for_each_element(job.in.pairs, [&](std::size_t here, std::size_t there) HWY_ATTR {
      move(from + offset(there, job.in.element), reinterpret_cast<std::uint8_t*>(gathered + here));
    });
    row.Apply(gathered, turned, job.in.pairs.adjacent ? 1 : job.pairs,
              job.out.pairs.adjacent ? 1 : job.pairs);
    for_each_element(job.out.pairs, [&](std::size_t here, std::size_t there) HWY_ATTR {
      move(reinterpret_cast<const std::uint8_t*>(turned + here),
           to + offset(there, job.out.element));
    });
    for (const auto& [begin, end] : job.copies) {
      for (std::size_t e = begin; e < end; ++e) {
        move(from + offset(e, job.in.element), to + offset(e, job.out.element));
      }
    }
  });
}

template <class Kind, std::size_t kPairs>
inline bool WalkFixed(const TurnJob& job) {
  if constexpr (FixedRow<Kind, kPairs>::kFits) {
    if (job.pairs == kPairs) {
      WalkDense<FixedRow<Kind, kPairs>>(job);
      return true;
    }
  }
  return false;
}

// rotary_dim in steps of 16 up to 128, where most models are, and any other.
template <class Kind>
void TurnDense(const TurnJob& job) {
  if (WalkFixed<Kind, 8>(job) || WalkFixed<Kind, 16>(job) || WalkFixed<Kind, 24>(job) ||
      WalkFixed<Kind, 32>(job) || WalkFixed<Kind, 40>(job) || WalkFixed<Kind, 48>(job) ||
      WalkFixed<Kind, 56>(job) || WalkFixed<Kind, 64>(job)) {
    return;
  }
  WalkDense<AnyRow<Kind>>(job);
}

// Adjacent to adjacent: lanes of 16 bits are unpacked from pairs anyway.
template <class Io>
using AdjacentKind =
    std::conditional_t<sizeof(typename Io::Element) == 2, Pairwise<Io, true, true>, Neighbours<Io>>;

template <class Io>
void Turn(const TurnJob& job) {
  constexpr auto kDense = static_cast<std::ptrdiff_t>(sizeof(typename Io::Element));
  const bool in = job.in.pairs.adjacent, out = job.out.pairs.adjacent;
  if (job.in.element == kDense && job.out.element == kDense && in == out) {
    return in ? TurnDense<AdjacentKind<Io>>(job) : TurnDense<Pairwise<Io, false, false>>(job);
  }
  if (in) {
    return out ? WalkGathered<Pairwise<Io, true, true>>(job)
               : WalkGathered<Pairwise<Io, true, false>>(job);
  }
  return out ? WalkGathered<Pairwise<Io, false, true>>(job)
             : WalkGathered<Pairwise<Io, false, false>>(job);
}

template <class Rounding>
constexpr Table MakeTable(Target target) {
  return {target,
          {&Angles<float>, &Angles<double>},
          {&Turn<Whole<float>>, &Turn<Bf16<Rounding>>, &Turn<F16>, &Turn<Whole<double>>}};
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
