// Element types: how lanes come from memory and go back. 16-bit conversion lives here and nowhere
// else. Included once per target.

#if defined(ROPEWALK_SRC_KERNELS_ELEMENTS_INL_HPP_) == defined(HWY_TARGET_TOGGLE)
#ifdef ROPEWALK_SRC_KERNELS_ELEMENTS_INL_HPP_
#undef ROPEWALK_SRC_KERNELS_ELEMENTS_INL_HPP_
#else
#define ROPEWALK_SRC_KERNELS_ELEMENTS_INL_HPP_
#endif

#include <hwy/highway.h>

#include <bit>
#include <type_traits>

#include "kernels.hpp"

HWY_BEFORE_NAMESPACE();
namespace ropewalk::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// f32 and f64: elements are lanes.
template <class T>
struct Whole {
  static constexpr bool kStreams = false;
  using Element = T;
  using Lane = T;
  using Tag = hn::CappedTag<T, 32 / sizeof(T)>;  // 256 bits: measured faster than 512 for halves
  using WideTag = hn::ScalableTag<T>;            // but not for neighbours

  template <class D>
  static HWY_INLINE hn::Vec<D> Load(D d, const T* from) {
    return hn::LoadU(d, from);
  }
  template <class D>
  static HWY_INLINE void Store(D d, hn::Vec<D> v, T* to) {
    hn::StoreU(v, d, to);
  }
  // What Store would write, given to put(vector, tag).
  template <class D, class F>
  static HWY_INLINE void Put(D d, hn::Vec<D> v, F put) {
    put(v, d);
  }
  template <class D>
  static HWY_INLINE void LoadPairs(D d, const T* from, hn::Vec<D>& a, hn::Vec<D>& b) {
    hn::LoadInterleaved2(d, from, a, b);
  }
  template <class D>
  static HWY_INLINE void StorePairs(D d, hn::Vec<D> a, hn::Vec<D> b, T* to) {
    hn::StoreInterleaved2(a, b, d, to);
  }
};

// 16-bit elements, widened to float. A conversion goes between lanes of float and the lower halves
// of lanes of 32 bits; one lane of 32 bits is an adjacent pair, its a in the lower half.
template <class Conversion, class TagT>
struct Half {
  static constexpr bool kStreams = false;
  using Element = std::uint16_t;
  using Lane = float;
  using Tag = TagT;

  template <class D>
  static HWY_INLINE hn::Vec<D> Load(D d, const Element* from) {
    const hn::RebindToUnsigned<D> du;
    const hn::Rebind<Element, D> d16;
    return Conversion::Widen(d, hn::PromoteTo(du, hn::LoadU(d16, from)));
  }
  template <class D>
  static HWY_INLINE void Store(D d, hn::Vec<D> v, Element* to) {
    const hn::Rebind<Element, D> d16;
    hn::StoreU(hn::TruncateTo(d16, Conversion::Round(d, v)), d16, to);
  }
#if HWY_TARGET != HWY_SCALAR
  template <class D>
  static HWY_INLINE void LoadPairs(D d, const Element* from, hn::Vec<D>& a, hn::Vec<D>& b) {
    const hn::RebindToUnsigned<D> du;
    const hn::Repartition<Element, D> d16;
    const auto pairs = hn::BitCast(du, hn::LoadU(d16, from));
    Conversion::WidenPairs(d, pairs, a, b);
  }
  template <class D, class F>
  static HWY_INLINE void PutPairs(D d, hn::Vec<D> a, hn::Vec<D> b, F put) {
    const hn::Repartition<Element, D> d16;
    put(hn::BitCast(d16, Conversion::RoundPairs(d, a, b)), d16);
  }
  template <class D>
  static HWY_INLINE void StorePairs(D d, hn::Vec<D> a, hn::Vec<D> b, Element* to) {
    PutPairs(d, a, b, [to](auto raw, auto tag) HWY_ATTR { hn::StoreU(raw, tag, to); });
  }
#endif
};

struct WidenBf16 {
  template <class D>
  static HWY_INLINE hn::Vec<D> Widen(D d, hn::Vec<hn::RebindToUnsigned<D>> lower) {
    return hn::BitCast(d, hn::ShiftLeft<16>(lower));
  }
  template <class D>
  static HWY_INLINE void WidenPairs(D d, hn::Vec<hn::RebindToUnsigned<D>> pairs, hn::Vec<D>& a,
                                    hn::Vec<D>& b) {
    const hn::RebindToUnsigned<D> du;
    a = Widen(d, pairs);
    b = hn::BitCast(d, hn::And(pairs, hn::Set(du, 0xFFFF0000u)));
  }
};

// f32 -> bf16, to nearest even, in integers: Highway's own demotion truncates. There is no need to
// look for NaNs: one that comes of bf16 elements and finite factors is theirs made quiet, or the
// CPU's own, with nothing in the lower half that could carry.
struct RoundInIntegers : WidenBf16 {
  template <class D>
  static HWY_INLINE hn::Vec<hn::RebindToUnsigned<D>> Round(D d, hn::Vec<D> v) {
    return hn::ShiftRight<16>(Rounded(d, v));
  }
#if HWY_TARGET != HWY_SCALAR
  // a in the lower halves of lanes, b in the upper ones. All upper halves are put together, and all
  // lower ones, and a carry goes from these to those: of more than half a unit, or of half a unit
  // where the upper half is odd.
  template <class D>
  static HWY_INLINE hn::Vec<hn::RebindToUnsigned<D>> RoundPairs(D, hn::Vec<D> a, hn::Vec<D> b) {
    const hn::RebindToUnsigned<D> du;
    const hn::RepartitionToNarrow<hn::RebindToSigned<D>> d16;
    const auto halves = [d16](auto v) HWY_ATTR { return hn::BitCast(d16, v); };
    const auto a_bits = hn::BitCast(du, a), b_bits = hn::BitCast(du, b);
    const auto upper = hn::OddEven(halves(b_bits), halves(hn::ShiftRight<16>(a_bits)));
    const auto lower = hn::OddEven(halves(hn::ShiftLeft<16>(b_bits)), halves(a_bits));
    const auto odd = hn::And(upper, hn::Set(d16, 1));
    const auto beyond_half =
        hn::Xor(lower, hn::Set(d16, std::int16_t{-0x8000}));  // as signed numbers
    const auto carries = hn::Gt(hn::SaturatedAdd(beyond_half, odd), hn::Zero(d16));
    return hn::BitCast(du, hn::Sub(upper, hn::VecFromMask(d16, carries)));  // -1 where there is one
  }
#endif

 private:
  // In the upper halves.
  template <class D>
  static HWY_INLINE hn::Vec<hn::RebindToUnsigned<D>> Rounded(D, hn::Vec<D> v) {
    const hn::RebindToUnsigned<D> du;
    const auto bits = hn::BitCast(du, v);
    const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(du, 1u));
    return hn::Add(hn::Add(bits, hn::Set(du, 0x7FFFu)), odd);
  }
};

// The same by the instruction of AVX512-BF16, which takes subnormals for zeros.
struct RoundByInstruction : WidenBf16 {
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

#if HWY_TARGET == HWY_AVX3
  // All of a, then all of b: and one permutation of 16-bit lanes.
  template <class D>
  static HWY_INLINE hn::Vec<hn::RebindToUnsigned<D>> RoundPairs(D d, hn::Vec<D> a, hn::Vec<D> b) {
    const hn::RebindToUnsigned<D> du;
    constexpr std::uint32_t kLanes = hn::MaxLanes(D());
    const auto order = hn::Add(hn::Iota(du, kLanes << 16), hn::ShiftLeft<16>(hn::Iota(du, 0)));
    hn::Vec<decltype(du)> halves, pairs;
    if constexpr (sizeof(a.raw) == 64) {
      asm("vcvtne2ps2bf16 %1, %2, %0" : "=v"(halves.raw) : "v"(a.raw), "v"(b.raw));
      asm("vpermw %1, %2, %0" : "=v"(pairs.raw) : "v"(halves.raw), "v"(order.raw));
    } else {
      asm("vcvtne2ps2bf16 %t1, %t2, %t0" : "=v"(halves.raw) : "v"(a.raw), "v"(b.raw));
      asm("vpermw %t1, %t2, %t0" : "=v"(pairs.raw) : "v"(halves.raw), "v"(order.raw));
    }
    return pairs;
  }
#elif HWY_TARGET != HWY_SCALAR
  template <class D>
  static HWY_INLINE hn::Vec<hn::RebindToUnsigned<D>> RoundPairs(D d, hn::Vec<D> a, hn::Vec<D> b) {
    return RoundInIntegers::RoundPairs(d, a, b);
  }
#endif
};

template <class Rounding>
using Bf16 = Half<Rounding, hn::ScalableTag<float>>;

#if HWY_TARGET == HWY_SCALAR

// IEEE binary16 in integers: Highway's demotion is wrong on this target.
struct ConvertF16 {
  template <class D>
  static HWY_INLINE hn::Vec<D> Widen(D d, hn::Vec<hn::RebindToUnsigned<D>> lower) {
    const std::uint32_t half = hn::GetLane(lower);
    const std::uint32_t sign = (half & 0x8000u) << 16, magnitude = half & 0x7FFFu;
    // Shifted into place, the exponent lacks 127 - 15; a product with 2^112 adds it, and is exact
    // for subnormals too.
    const float finite = std::bit_cast<float>(magnitude << 13) * 0x1p112f;
    const std::uint32_t infinite = 0x7F800000u | (magnitude & 0x3FFu) << 13;
    std::uint32_t bits = magnitude < 0x7C00u ? std::bit_cast<std::uint32_t>(finite) : infinite;
    if (magnitude > 0x7C00u) bits |= 0x00400000u;
    return hn::Set(d, std::bit_cast<float>(bits | sign));
  }
  template <class D>
  static HWY_INLINE hn::Vec<hn::RebindToUnsigned<D>> Round(D, hn::Vec<D> v) {
    const hn::RebindToUnsigned<D> du;
    const auto bits = std::bit_cast<std::uint32_t>(hn::GetLane(v));
    const std::uint32_t sign = bits >> 16 & 0x8000u, magnitude = bits & 0x7FFFFFFFu;
    std::uint32_t half;
    if (magnitude > 0x7F800000u) {
      half = 0x7E00u | (magnitude >> 13 & 0x3FFu);
    } else if (magnitude >= 0x477FF000u) {  // 65520, where rounding reaches 2^16
      half = 0x7C00u;
    } else if (magnitude < 0x38800000u) {  // 2^-14: beside 1/2 the unit is f16's subnormal, 2^-24
      const float sum = std::bit_cast<float>(magnitude) + 0.5f;
      half = std::bit_cast<std::uint32_t>(sum) - 0x3F000000u;
    } else {
      half = (magnitude - 0x38000000u + 0xFFFu + (magnitude >> 13 & 1u)) >> 13;
    }
    return hn::Set(du, half | sign);
  }
};
using F16 = Half<ConvertF16, hn::FixedTag<float, 1>>;

#else

struct ConvertF16 {
  template <class D>
  static HWY_INLINE void WidenPairs(D d, hn::Vec<hn::RebindToUnsigned<D>> pairs, hn::Vec<D>& a,
                                    hn::Vec<D>& b) {
    const hn::RebindToUnsigned<D> du;
    a = Widen(d, hn::And(pairs, hn::Set(du, 0xFFFFu)));
    b = Widen(d, hn::ShiftRight<16>(pairs));
  }
  template <class D>
  static HWY_INLINE hn::Vec<hn::RebindToUnsigned<D>> RoundPairs(D d, hn::Vec<D> a, hn::Vec<D> b) {
    return hn::Or(hn::ShiftLeft<16>(Round(d, b)), Round(d, a));
  }
  template <class D>
  static HWY_INLINE hn::Vec<D> Widen(D d, hn::Vec<hn::RebindToUnsigned<D>> lower) {
    const hn::Rebind<std::uint16_t, D> d16;
    const hn::Rebind<hwy::float16_t, D> dh;
    return hn::PromoteTo(d, hn::BitCast(dh, hn::TruncateTo(d16, lower)));
  }
  template <class D>
  static HWY_INLINE hn::Vec<hn::RebindToUnsigned<D>> Round(D, hn::Vec<D> v) {
    const hn::RebindToUnsigned<D> du;
    const hn::Rebind<std::uint16_t, D> d16;
    const hn::Rebind<hwy::float16_t, D> dh;
    return hn::PromoteTo(du, hn::BitCast(d16, hn::DemoteTo(dh, v)));
  }
};
// 256 bits: as fast, and no 512-bit clock. Whole vectors are converted as they come from memory.
struct F16 : Half<ConvertF16, hn::CappedTag<float, 8>> {
  using WideTag = Tag;

  template <class D>
  static HWY_INLINE hn::Vec<D> Load(D d, const Element* from) {
    const hn::Rebind<std::uint16_t, D> d16;
    const hn::Rebind<hwy::float16_t, D> dh;
    return hn::PromoteTo(d, hn::BitCast(dh, hn::LoadU(d16, from)));
  }
  template <class D, class F>
  static HWY_INLINE void Put(D, hn::Vec<D> v, F put) {
    const hn::Rebind<std::uint16_t, D> d16;
    const hn::Rebind<hwy::float16_t, D> dh;
    put(hn::BitCast(d16, hn::DemoteTo(dh, v)), d16);
  }
  template <class D>
  static HWY_INLINE void Store(D d, hn::Vec<D> v, Element* to) {
    Put(d, v, [to](auto raw, auto tag) HWY_ATTR { hn::StoreU(raw, tag, to); });
  }
};

#endif

// The same, stored past the caches: to whole vectors of memory that will not be read soon.
template <class IoT>
struct Streaming : IoT {
  static constexpr bool kStreams = true;
#if HWY_TARGET != HWY_SCALAR
  template <class D>
  static HWY_INLINE void Store(D d, hn::Vec<D> v, typename IoT::Element* to) {
    IoT::Put(d, v, [to](auto raw, auto tag) HWY_ATTR { hn::Stream(raw, tag, to); });
  }
  template <class D>
  static HWY_INLINE void StorePairs(D d, hn::Vec<D> a, hn::Vec<D> b, typename IoT::Element* to) {
    IoT::PutPairs(d, a, b, [to](auto raw, auto tag) HWY_ATTR { hn::Stream(raw, tag, to); });
  }
#endif
};

}  // namespace ropewalk::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // toggle
