// The walks over tokens and heads: in cache, further away, and of elements that do not lie together.
// Included once per target.

#if defined(ROPEWALK_SRC_KERNELS_WALKS_INL_HPP_) == defined(HWY_TARGET_TOGGLE)
#ifdef ROPEWALK_SRC_KERNELS_WALKS_INL_HPP_
#undef ROPEWALK_SRC_KERNELS_WALKS_INL_HPP_
#else
#define ROPEWALK_SRC_KERNELS_WALKS_INL_HPP_
#endif

#include <hwy/highway.h>

#include <cstring>

#include "kernels-angles-inl.hpp"
#include "kernels-steps-inl.hpp"
#include "kernels.hpp"

HWY_BEFORE_NAMESPACE();
namespace ropewalk::kernels::HWY_NAMESPACE {

// ---------------------------------------------------------------------------------------------
// Rows: cos and sin of one token, scaled.

template <class Lane>
class Row {
 public:
  explicit Row(const TurnJob& job)
      : job_(job),
        is_scaled_(job.token_scales != nullptr || job.cos_scale != 1 || job.sin_scale != 1) {}

  // Scales of 1 change nothing: the row is read where it is.
  HWY_INLINE void Load(std::size_t t) {
    cos = static_cast<const Lane*>(job_.rows) + t * job_.row_stride;
    sin = cos + job_.sines;
    if (HWY_UNLIKELY(is_scaled_)) Scale(t);
  }

  const Lane* cos;
  const Lane* sin;

 private:
  HWY_NOINLINE void Scale(std::size_t t) {
    double scale = job_.token_scales == nullptr ? 1.0 : job_.token_scales[t];
    if (job_.divides_by_token_scales) scale = 1 / scale;
    const AngleTag<Lane> d;
    const auto c = hn::Set(d, static_cast<Lane>(scale * job_.cos_scale));
    const auto s = hn::Set(d, static_cast<Lane>(scale * job_.sin_scale));
    const std::size_t stride = padded(job_.pairs);
    Lane* const scaled = static_cast<Lane*>(job_.scaled);
    for (std::size_t i = 0; i < stride; i += hn::Lanes(d)) {
      hn::StoreU(hn::Mul(hn::LoadU(d, cos + i), c), d, scaled + i);
      hn::StoreU(hn::Mul(hn::LoadU(d, sin + i), s), d, scaled + stride + i);
    }
    cos = scaled;
    sin = scaled + stride;
  }

  const TurnJob& job_;
  const bool is_scaled_;
};

// The heads of one token, all or some: where the first pair of the first one lies, and in elements how
// far the next head is.
template <class Element>
struct Heads {
  const Element* in;
  Element* out;
  std::ptrdiff_t in_head, out_head;
  std::size_t in_partner, out_partner;
  std::size_t count;

  HWY_INLINE void Advance(std::ptrdiff_t in_step, std::ptrdiff_t out_step) {
    in += in_step;
    out += out_step;
  }
};

template <class Element>
HWY_INLINE Heads<Element> HeadsAt(const TurnJob& job, std::size_t t, std::size_t h,
                                  std::size_t count) {
  constexpr auto kSize = static_cast<std::ptrdiff_t>(sizeof(Element));
  const auto at = [t, h](const auto& side) HWY_ATTR {
    return static_cast<std::ptrdiff_t>(t) * side.token + static_cast<std::ptrdiff_t>(h) * side.head;
  };
  const auto* in = static_cast<const std::uint8_t*>(job.in.data) + at(job.in);
  auto* out = static_cast<std::uint8_t*>(job.out.data) + at(job.out);
  return {reinterpret_cast<const Element*>(in) + job.in.pairs.first,
          reinterpret_cast<Element*>(out) + job.out.pairs.first,
          job.in.head / kSize,
          job.out.head / kSize,
          job.in.pairs.partner,
          job.out.pairs.partner,
          count};
}

// ---------------------------------------------------------------------------------------------
// Dense heads in cache: down the heads of a token with a few cosines and sines in registers, then
// again with the next ones.
//
//     head 0   | 1 | 2 | 3 |
//     head 1   | 1 | 2 | 3 |      cos and sin of column 1, 2, 3
//     head 2   | 1 | 2 | 3 |

// In place, one pointer serves both sides.
template <class Kind, std::size_t kSteps, bool kInPlace, class Lane, class Element>
HWY_INLINE void TurnColumn(const Lane* cos, const Lane* sin, const Heads<Element>& heads,
                           std::size_t i) {
  static_assert(kSteps <= 2);
  const auto first = Kind::Load(cos + i, sin + i);
  const std::size_t next = (kSteps - 1) * Kind::kPairs;
  const auto second = Kind::Load(cos + i + next, sin + i + next);
  const Element* in = heads.in + i * Kind::kIn;
  Element* out = heads.out + i * Kind::kOut;
  const std::ptrdiff_t in_head = heads.in_head, out_head = heads.out_head;
  const std::size_t in_partner = heads.in_partner;
  const std::size_t out_partner = kInPlace ? in_partner : heads.out_partner;
#pragma GCC unroll 2
  for (std::size_t left = heads.count; left > 0; --left) {
    if constexpr (kInPlace) out = const_cast<Element*>(in);
    Kind::Step(in, out, in_partner, out_partner, first);
    if constexpr (kSteps == 2) {
      Kind::Step(in + next * Kind::kIn, out + next * Kind::kOut, in_partner, out_partner, second);
    }
    in += in_head;
    if constexpr (!kInPlace) out += out_head;
  }
}

template <class Element>
HWY_INLINE void CopyRest(const TurnJob& job, const Heads<Element>& heads) {
  const Element* from = heads.in - job.in.pairs.first;
  Element* to = heads.out - job.out.pairs.first;
  for (std::size_t h = 0; h < heads.count; ++h, from += heads.in_head, to += heads.out_head) {
    for (std::size_t n = 0; n < job.copies_count; ++n) {
      const auto& [begin, end] = job.copies[n];
      std::memcpy(to + begin, from + begin, (end - begin) * sizeof(Element));
    }
  }
}

template <class Kind, bool kInPlace>
void TurnColumns(const TurnJob& job) {
  using Element = typename Kind::Element;
  const std::size_t pairs = job.pairs;
  Row<typename Kind::Lane> row(job);
  for (std::size_t t = 0; t < job.tokens; ++t) {
    row.Load(t);
    const Heads<Element> heads = HeadsAt<Element>(job, t, 0, job.heads);
    std::size_t i = 0;
    const auto column = [&]<class K, std::size_t kSteps>() HWY_ATTR {
      TurnColumn<K, kSteps, kInPlace>(row.cos, row.sin, heads, i);
      i += kSteps * K::kPairs;
    };
    while (i + Kind::kSteps * Kind::kPairs <= pairs) {
      column.template operator()<Kind, Kind::kSteps>();
    }
    if constexpr (Kind::kSteps > 1) {
      while (HWY_UNLIKELY(i + Kind::kPairs <= pairs)) column.template operator()<Kind, 1>();
    }
    while (HWY_UNLIKELY(i < pairs)) column.template operator()<One<Kind>, 1>();
    if (!kInPlace && job.copies_count != 0) CopyRest(job, heads);
  }
}

// ---------------------------------------------------------------------------------------------
// Dense heads further away: one line after the other, in the order of memory, is what counts there.
// A head at a time, then, with cosines and sines from their row; where more than a load has to be
// done for these, or heads are outer, from copies that are prepared once for all heads of some tokens.

template <class Kind>
struct Direct {
  const typename Kind::Lane* cos;
  const typename Kind::Lane* sin;
  HWY_INLINE auto Get(std::size_t i) const { return Kind::Load(cos + i, sin + i); }
};

template <class Kind>
struct Prepared {
  using F = typename Kind::F;
  const typename Kind::Lane* factors;
  HWY_INLINE F Get(std::size_t i) const {
    return F::From(factors + i * (F::kLanes / Kind::kPairs));
  }
};

template <class Kind, std::size_t kHeads, bool kInPlace, class Source, class Lane, class Element>
HWY_INLINE void TurnHeads(const Source source, const Lane* cos, const Lane* sin,
                          const std::size_t pairs, const Heads<Element>& heads) {
  const std::size_t in_partner = heads.in_partner;
  const std::size_t out_partner = kInPlace ? in_partner : heads.out_partner;
  const auto turn = [&]<class K>(std::size_t i, const auto& f) HWY_ATTR {
#pragma GCC unroll 2
    for (std::size_t h = 0; h < kHeads; ++h) {
      const auto n = static_cast<std::ptrdiff_t>(h);
      const Element* const in = heads.in + n * heads.in_head + i * K::kIn;
      Element* const out =
          kInPlace ? const_cast<Element*>(in) : heads.out + n * heads.out_head + i * K::kOut;
      K::Step(in, out, in_partner, out_partner, f);
    }
  };
  std::size_t i = 0;
#pragma GCC unroll 2
  for (; i + Kind::kPairs <= pairs; i += Kind::kPairs) {
    turn.template operator()<Kind>(i, source.Get(i));
  }
  for (; HWY_UNLIKELY(i < pairs); ++i) {
    turn.template operator()<One<Kind>>(i, One<Kind>::Load(cos + i, sin + i));
  }
}

template <class Kind, bool kInPlace, class Source, class Lane, class Element>
HWY_INLINE void TurnAllHeads(const Source source, const Lane* cos, const Lane* sin,
                             const std::size_t pairs, Heads<Element> heads) {
  // Two heads at a time share cosines and sines in registers, where arithmetic takes longer than memory:
  // that is so of 16-bit elements. Of others, lines of memory come slower from two places.
  if (sizeof(Element) == 2 && !Kind::Io::kStreams) {
    for (; heads.count >= 2; heads.count -= 2) {
      TurnHeads<Kind, 2, kInPlace>(source, cos, sin, pairs, heads);
      heads.Advance(2 * heads.in_head, 2 * heads.out_head);
    }
  }
  for (; heads.count > 0; --heads.count) {
    TurnHeads<Kind, 1, kInPlace>(source, cos, sin, pairs, heads);
    heads.Advance(heads.in_head, heads.out_head);
  }
}

// Makes Prepared::factors.
template <class Kind, class Lane>
HWY_INLINE void Prepare(const Row<Lane>& row, std::size_t pairs, Lane* factors) {
  using F = typename Kind::F;
  for (std::size_t i = 0; i + Kind::kPairs <= pairs; i += Kind::kPairs) {
    Kind::Load(row.cos + i, row.sin + i).To(factors + i * (F::kLanes / Kind::kPairs));
  }
}

// All heads of a token, then the next token.
template <class Kind, bool kInPlace>
void TurnRows(const TurnJob& job) {
  using Element = typename Kind::Element;
  constexpr auto kSize = static_cast<std::ptrdiff_t>(sizeof(Element));
  constexpr std::size_t kFactors = Kind::F::kLanes / Kind::kPairs;
  alignas(64) typename Kind::Lane factors[Kind::kPrepares ? kMaxRowPairs * kFactors : 1];
  const std::size_t pairs = job.pairs, tokens = job.tokens;
  const std::ptrdiff_t in_token = job.in.token / kSize, out_token = job.out.token / kSize;
  const bool copies = !kInPlace && job.copies_count != 0;
  Row<typename Kind::Lane> row(job);
  Heads<Element> heads = HeadsAt<Element>(job, 0, 0, job.heads);
  for (std::size_t t = 0; t < tokens; ++t) {
    row.Load(t);
    if (HWY_UNLIKELY(copies)) CopyRest(job, heads);
    if (Kind::kPrepares && heads.count > 1) {
      Prepare<Kind>(row, pairs, factors);
      TurnAllHeads<Kind, kInPlace>(Prepared<Kind>{factors}, row.cos, row.sin, pairs, heads);
    } else {
      TurnAllHeads<Kind, kInPlace>(Direct<Kind>{row.cos, row.sin}, row.cos, row.sin, pairs, heads);
    }
    heads.Advance(in_token, out_token);
  }
}

// Some tokens of a head, then the same ones of the next head.
template <class Kind, bool kInPlace>
void TurnRowsHeadsOuter(const TurnJob& job) {
  using Element = typename Kind::Element;
  constexpr std::size_t kFactors = Kind::F::kLanes / Kind::kPairs;
  alignas(64) typename Kind::Lane factors[kMaxRowPairs * kFactors];
  const std::size_t pairs = job.pairs, stride = padded(pairs) * kFactors;
  const std::size_t most_tokens = kMaxRowPairs / padded(pairs);
  const bool has_rest = pairs % Kind::kPairs != 0;  // for which single cosines and sines are wanted
  Row<typename Kind::Lane> row(job);
  for (std::size_t first = 0; first < job.tokens; first += most_tokens) {
    const std::size_t tokens = HWY_MIN(most_tokens, job.tokens - first);
    for (std::size_t n = 0; n < tokens; ++n) {
      row.Load(first + n);
      Prepare<Kind>(row, pairs, factors + n * stride);
    }
    for (std::size_t h = 0; h < job.heads; ++h) {
      for (std::size_t n = 0; n < tokens; ++n) {
        if (has_rest) row.Load(first + n);
        const Heads<Element> head = HeadsAt<Element>(job, first + n, h, 1);
        if (!kInPlace && job.copies_count != 0) CopyRest(job, head);
        TurnHeads<Kind, 1, kInPlace>(Prepared<Kind>{factors + n * stride}, row.cos, row.sin, pairs,
                                     head);
      }
    }
  }
}

// ---------------------------------------------------------------------------------------------
// Elements that do not lie together, or two pairings in place: a head's pairs are gathered first, and
// scattered last, so that the input may be the output.

// see(token, first head, heads): all heads of a token, or one at a time if heads are outer.
template <class See>
HWY_INLINE void ForEachRow(const TurnJob& job, See see) {
  if (job.heads_outer) {
    for (std::size_t h = 0; h < job.heads; ++h) {
      for (std::size_t t = 0; t < job.tokens; ++t) see(t, h, std::size_t{1});
    }
  } else {
    for (std::size_t t = 0; t < job.tokens; ++t) see(t, 0, job.heads);
  }
}

template <class Kind>
void TurnGathered(const TurnJob& job) {
  using Element = typename Kind::Element;
  alignas(64) Element gathered[2 * kMaxRowPairs], turned[2 * kMaxRowPairs];
  Row<typename Kind::Lane> row(job);
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
  const auto turn_head = [&](const std::uint8_t* from, std::uint8_t* to) HWY_ATTR {
    for_each_element(job.in.pairs, [&](std::size_t here, std::size_t there) HWY_ATTR {
      move(from + offset(there, job.in.element), reinterpret_cast<std::uint8_t*>(gathered + here));
    });
    const Heads<Element> heads{gathered,
                               turned,
                               0,
                               0,
                               job.in.pairs.adjacent ? 1 : job.pairs,
                               job.out.pairs.adjacent ? 1 : job.pairs,
                               1};
    TurnHeads<Kind, 1, false>(Direct<Kind>{row.cos, row.sin}, row.cos, row.sin, job.pairs, heads);
    for_each_element(job.out.pairs, [&](std::size_t here, std::size_t there) HWY_ATTR {
      move(reinterpret_cast<const std::uint8_t*>(turned + here),
           to + offset(there, job.out.element));
    });
    for (std::size_t n = 0; n < job.copies_count; ++n) {
      const auto& [begin, end] = job.copies[n];
      for (std::size_t e = begin; e < end; ++e) {
        move(from + offset(e, job.in.element), to + offset(e, job.out.element));
      }
    }
  };
  ForEachRow(job, [&](std::size_t t, std::size_t h, std::size_t count) HWY_ATTR {
    row.Load(t);
    for (std::size_t i = h; i < h + count; ++i) {
      const auto at = [t, i](const auto& side) HWY_ATTR {
        return static_cast<std::ptrdiff_t>(t) * side.token +
               static_cast<std::ptrdiff_t>(i) * side.head;
      };
      turn_head(static_cast<const std::uint8_t*>(job.in.data) + at(job.in),
                static_cast<std::uint8_t*>(job.out.data) + at(job.out));
    }
  });
}

}  // namespace ropewalk::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // toggle
