// How cos and sin meet the elements of a head: a step of a few pairs, from memory to memory. Included
// once per target.

#if defined(ROPEWALK_SRC_KERNELS_STEPS_INL_HPP_) == defined(HWY_TARGET_TOGGLE)
#ifdef ROPEWALK_SRC_KERNELS_STEPS_INL_HPP_
#undef ROPEWALK_SRC_KERNELS_STEPS_INL_HPP_
#else
#define ROPEWALK_SRC_KERNELS_STEPS_INL_HPP_
#endif

#include <hwy/highway.h>

#include "kernels-elements-inl.hpp"
#include "kernels.hpp"

HWY_BEFORE_NAMESPACE();
namespace ropewalk::kernels::HWY_NAMESPACE {

// Every path computes a' and b' with these
// operations in this order, so that all of them agree bit for bit.

template <class V>
HWY_INLINE void Turned(V a, V b, V c, V s, V& new_a, V& new_b) {
  new_a = hn::MulSub(a, c, hn::Mul(b, s));
  new_b = hn::MulAdd(b, c, hn::Mul(a, s));
}

// Keeps a loaded vector in its register: short of registers, g++ would rather read x from memory
// again for each use, and then loads are what a step waits for.
template <class V>
HWY_INLINE void Pin([[maybe_unused]] V& v) {
#if defined(__x86_64__)
  asm("" : "+v"(v.raw));
#elif defined(__aarch64__)
  asm("" : "+w"(v.raw));
#endif
}

// cos and sin of the pairs of one step, for all heads of a token.
template <class D>
struct Factors {
  using Lane = hn::TFromD<D>;
  static constexpr std::size_t kLanes = 2 * hn::MaxLanes(D());
  hn::Vec<D> c, s;

  static HWY_INLINE Factors From(const Lane* memory) {
    return {hn::LoadU(D(), memory), hn::LoadU(D(), memory + hn::MaxLanes(D()))};
  }
  HWY_INLINE void To(Lane* memory) const {
    hn::StoreU(c, D(), memory);
    hn::StoreU(s, D(), memory + hn::MaxLanes(D()));
  }
};

// One pair, or the pairs of halves: each kind of element lies together, its partners `partner`
// elements behind.
template <class IoT, class TagT = typename IoT::Tag>
struct Apart {
  using Io = IoT;
  using F = Factors<TagT>;
  using Element = typename Io::Element;
  using Lane = typename Io::Lane;
  using Tag = TagT;
  static constexpr std::size_t kPairs = hn::MaxLanes(Tag());
  static constexpr bool kPrepares = false;
  static constexpr std::size_t kSteps = 2;         // side by side, in cache
  static constexpr std::size_t kIn = 1, kOut = 1;  // elements from a to the next pair's a

  static HWY_INLINE Factors<Tag> Load(const Lane* cos, const Lane* sin) {
    return {hn::LoadU(Tag(), cos), hn::LoadU(Tag(), sin)};
  }
  static HWY_INLINE void Step(const Element* in, Element* out, std::size_t in_partner,
                              std::size_t out_partner, const Factors<Tag>& f) {
    const Tag d;
    hn::Vec<Tag> a = Io::Load(d, in), b = Io::Load(d, in + in_partner), new_a, new_b;
    Pin(a);
    Pin(b);
    Turned(a, b, f.c, f.s, new_a, new_b);
    Io::Store(d, new_a, out);
    Io::Store(d, new_b, out + out_partner);
  }
};

#if HWY_TARGET == HWY_SCALAR
template <class Io, bool kAdjacentIn, bool kAdjacentOut>
struct Pairwise : Apart<Io> {
  static constexpr std::size_t kIn = kAdjacentIn ? 2 : 1, kOut = kAdjacentOut ? 2 : 1;
};
template <class Io>
using Neighbours = Pairwise<Io, true, true>;
#else
// Any pairing in, any pairing out.
template <class Io, bool kAdjacentIn, bool kAdjacentOut>
struct Pairwise : Apart<Io> {
  using typename Apart<Io>::Element;
  using typename Apart<Io>::Tag;
  static constexpr std::size_t kIn = kAdjacentIn ? 2 : 1, kOut = kAdjacentOut ? 2 : 1;

  static HWY_INLINE void Step(const Element* in, Element* out, std::size_t in_partner,
                              std::size_t out_partner, const Factors<Tag>& f) {
    const Tag d;
    hn::Vec<Tag> a, b, new_a, new_b;
    if constexpr (kAdjacentIn) {
      Io::LoadPairs(d, in, a, b);
    } else {
      a = Io::Load(d, in);
      b = Io::Load(d, in + in_partner);
    }
    Turned(a, b, f.c, f.s, new_a, new_b);
    if constexpr (kAdjacentOut) {
      Io::StorePairs(d, new_a, new_b, out);
    } else {
      Io::Store(d, new_a, out);
      Io::Store(d, new_b, out + out_partner);
    }
  }
};

// Adjacent to adjacent without deinterleaving: cos and sin are doubled once for all heads, so that a
// vector of a head needs one swap of neighbours.
//
//     x         a0    b0    a1    b1
//     swapped   b0    a0    b1    a1
//     c         c0    c0    c1    c1
//     s        -s0   +s0   -s1   +s1       x c + swapped s
template <class IoT>
struct Neighbours {
  using Io = IoT;
  using F = Factors<typename Io::WideTag>;
  using Element = typename Io::Element;
  using Lane = typename Io::Lane;
  using Tag = typename Io::WideTag;
  static constexpr std::size_t kPairs = hn::MaxLanes(Tag()) / 2;
  static constexpr bool kPrepares = true;
  static constexpr std::size_t kSteps = 2;
  static constexpr std::size_t kIn = 2, kOut = 2;

  static HWY_INLINE Factors<Tag> Load(const Lane* cos, const Lane* sin) {
    const auto s = Doubled(sin);
    return {Doubled(cos), hn::OddEven(s, hn::Neg(s))};
  }
  static HWY_INLINE void Step(const Element* in, Element* out, std::size_t, std::size_t,
                              const Factors<Tag>& f) {
    const Tag d;
    auto x = Io::Load(d, in);
    Pin(x);
    Io::Store(d, hn::MulAdd(x, f.c, hn::Mul(hn::Reverse2(d, x), f.s)), out);
  }

 private:
  // v0 v0 v1 v1 ...
  static HWY_INLINE hn::Vec<Tag> Doubled(const Lane* from) {
    const Tag d;
    const hn::Half<Tag> half;
    const auto v = hn::LoadU(half, from);
    if constexpr (hn::MaxLanes(half) == 1) {
      return hn::Combine(d, v, v);
    } else if constexpr (hn::MaxLanes(half) * sizeof(Lane) <= 16) {
      return hn::Combine(d, hn::InterleaveUpper(half, v, v), hn::InterleaveLower(half, v, v));
    } else {  // interleaving stays inside blocks of 128 bits
      const auto lower = hn::InterleaveLower(half, v, v), upper = hn::InterleaveUpper(half, v, v);
      return hn::Combine(d, hn::ConcatUpperUpper(half, upper, lower),
                         hn::ConcatLowerLower(half, upper, lower));
    }
  }
};

// bf16 in halves: a vector of 16-bit elements is split into lanes of float that were at even places
// and at odd ones, which is a shift and a mask, and joined as easily.
//
//     a          a0 a1 | a2 a3 | a4 a5 ..        even   a0 a2 a4 ..   c   c0 c2 c4 ..
//     (lanes of 32 bits)                         odd    a1 a3 a5 ..       c1 c3 c5 ..
template <class IoT>
struct EvenOdd {
  using Io = IoT;
  using Element = typename Io::Element;
  using Lane = typename Io::Lane;
  using Tag = typename Io::Tag;
  static constexpr std::size_t kLanes = hn::MaxLanes(Tag());
  static constexpr std::size_t kPairs = 2 * kLanes;
  static constexpr bool kPrepares = true;
  static constexpr std::size_t kSteps = 1;
  static constexpr std::size_t kIn = 1, kOut = 1;

  struct F {
    static constexpr std::size_t kLanes = 2 * kPairs;
    Factors<Tag> even, odd;
    static HWY_INLINE F From(const Lane* memory) {
      return {Factors<Tag>::From(memory), Factors<Tag>::From(memory + kPairs)};
    }
    HWY_INLINE void To(Lane* memory) const {
      even.To(memory);
      odd.To(memory + kPairs);
    }
  };
  static HWY_INLINE F Load(const Lane* cos, const Lane* sin) {
    const Tag d;
    const auto c0 = hn::LoadU(d, cos), c1 = hn::LoadU(d, cos + kLanes);
    const auto s0 = hn::LoadU(d, sin), s1 = hn::LoadU(d, sin + kLanes);
    return {{hn::ConcatEven(d, c1, c0), hn::ConcatEven(d, s1, s0)},
            {hn::ConcatOdd(d, c1, c0), hn::ConcatOdd(d, s1, s0)}};
  }
  static HWY_INLINE void Step(const Element* in, Element* out, std::size_t in_partner,
                              std::size_t out_partner, const F& f) {
    const Tag d;
    hn::Vec<Tag> a_even, a_odd, b_even, b_odd, even, odd, even_b, odd_b;
    Io::LoadPairs(d, in, a_even, a_odd);
    Io::LoadPairs(d, in + in_partner, b_even, b_odd);
    Turned(a_even, b_even, f.even.c, f.even.s, even, even_b);
    Turned(a_odd, b_odd, f.odd.c, f.odd.s, odd, odd_b);
    Io::StorePairs(d, even, odd, out);
    Io::StorePairs(d, even_b, odd_b, out + out_partner);
  }
};
#endif

// A single pair, of heads that a Kind turns. Stored as ever: no vector is to be had of it.
template <class Io>
struct PlainOf {
  using Type = Io;
};
template <class Io>
struct PlainOf<Streaming<Io>> {
  using Type = Io;
};
template <class Kind>
struct One
    : Apart<typename PlainOf<typename Kind::Io>::Type, hn::FixedTag<typename Kind::Lane, 1>> {
  static constexpr std::size_t kIn = Kind::kIn, kOut = Kind::kOut;
};

// How dense heads of one pairing are turned.
template <class Io>
struct DenseKinds {
  using Halves = Apart<Io>;
  using Adjacent = Neighbours<Io>;
};
#if HWY_TARGET != HWY_SCALAR
template <class Io>
struct Bf16Kinds {
  using Halves = EvenOdd<Io>;
  using Adjacent = Pairwise<Io, true, true>;
};
template <class Rounding>
struct DenseKinds<Bf16<Rounding>> : Bf16Kinds<Bf16<Rounding>> {};
template <class Rounding>
struct DenseKinds<Streaming<Bf16<Rounding>>> : Bf16Kinds<Streaming<Bf16<Rounding>>> {};
#endif

}  // namespace ropewalk::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // toggle
