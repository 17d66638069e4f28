// Which walk and which step serve a job, and the table of a target. Included once per target.

// The toggle is Highway's: this header is read again for each target.
#if defined(ROPEWALK_SRC_KERNELS_INL_HPP_) == defined(HWY_TARGET_TOGGLE)
#ifdef ROPEWALK_SRC_KERNELS_INL_HPP_
#undef ROPEWALK_SRC_KERNELS_INL_HPP_
#else
#define ROPEWALK_SRC_KERNELS_INL_HPP_
#endif

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include "kernels-angles-inl.hpp"
#include "kernels-steps-inl.hpp"
#include "kernels-walks-inl.hpp"
#include "kernels.hpp"

HWY_BEFORE_NAMESPACE();
namespace ropewalk::kernels::HWY_NAMESPACE {

template <class Kind>
HWY_INLINE void TurnColumnsOf(const TurnJob& job, bool in_place) {
  in_place ? TurnColumns<Kind, true>(job) : TurnColumns<Kind, false>(job);
}
// Of one pairing or of two.
template <class Kind, bool kInPlace>
HWY_INLINE void TurnRowsOf(const TurnJob& job) {
  job.heads_outer&& job.heads > 1 ? TurnRowsHeadsOuter<Kind, kInPlace>(job)
                                  : TurnRows<Kind, kInPlace>(job);
}

// Dense heads of one pairing, out of cache. For a single head nothing is worth being prepared.
template <class Io, bool kInPlace>
void TurnFarAway(const TurnJob& job, bool adjacent) {
  using Kinds = DenseKinds<Io>;
  if (job.heads == 1) {
    adjacent ? TurnRows<Pairwise<Io, true, true>, kInPlace>(job)
             : TurnRows<Apart<Io>, kInPlace>(job);
  } else {
    adjacent ? TurnRowsOf<typename Kinds::Adjacent, kInPlace>(job)
             : TurnRowsOf<typename Kinds::Halves, kInPlace>(job);
  }
}

template <class Io>
void TurnFarAway(const TurnJob& job, bool adjacent, bool in_place) {
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2
  if (job.may_stream) {
    using Kinds = DenseKinds<Streaming<Io>>;
    adjacent ? TurnRowsOf<typename Kinds::Adjacent, false>(job)
             : TurnRowsOf<typename Kinds::Halves, false>(job);
    return hwy::FlushStream();
  }
#endif
  in_place ? TurnFarAway<Io, true>(job, adjacent) : TurnFarAway<Io, false>(job, adjacent);
}

template <class Io>
void TurnFromOnePairingToAnother(const TurnJob& job, bool adjacent, bool is_dense, bool in_place) {
  if (is_dense && !in_place) {
    return adjacent ? TurnRowsOf<Pairwise<Io, true, false>, false>(job)
                    : TurnRowsOf<Pairwise<Io, false, true>, false>(job);
  }
  adjacent ? TurnGathered<Pairwise<Io, true, false>>(job)
           : TurnGathered<Pairwise<Io, false, true>>(job);
}

// All but TurnColumns().
template <class Io>
HWY_NOINLINE void TurnOtherwise(const TurnJob& job, bool is_dense, bool in_place) {
  const bool adjacent = job.in.pairs.adjacent;
  if (adjacent != job.out.pairs.adjacent) {
    return TurnFromOnePairingToAnother<Io>(job, adjacent, is_dense, in_place);
  }
  if (is_dense) return TurnFarAway<Io>(job, adjacent, in_place);
  adjacent ? TurnGathered<Pairwise<Io, true, true>>(job)
           : TurnGathered<Pairwise<Io, false, false>>(job);
}

template <class Io>
void Turn(const TurnJob& job) {
  constexpr auto kDense = static_cast<std::ptrdiff_t>(sizeof(typename Io::Element));
  const bool adjacent = job.in.pairs.adjacent;
  const bool in_place = job.in.data == job.out.data;
  const bool is_dense = job.in.element == kDense && job.out.element == kDense;
  const bool is_one_by_one = job.heads == 1 && job.tokens > 1;  // no heads to go down
  if (HWY_UNLIKELY(!is_dense || !job.fits_cache || is_one_by_one ||
                   adjacent != job.out.pairs.adjacent)) {
    return TurnOtherwise<Io>(job, is_dense, in_place);
  }
  using Kinds = DenseKinds<Io>;
  adjacent ? TurnColumnsOf<typename Kinds::Adjacent>(job, in_place)
           : TurnColumnsOf<typename Kinds::Halves>(job, in_place);
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
