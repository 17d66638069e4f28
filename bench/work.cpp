#include "bench/work.hpp"

#include <algorithm>
#include <initializer_list>
#include <ropewalk/error.hpp>

#include "message.hpp"

namespace ropewalk::bench {
namespace {

// A line of the list, a case for each of its dtypes.
struct Line {
  Work work;
  Shape shape;
  std::initializer_list<DType> dtypes;
  Layout layout = Layout::kBthd;
  Where where = Where::kConsecutive;
  Target target = Target::kBest;
  int threads = 1;
};

// From here on a call is split, see options.hpp.
constexpr std::int64_t kWorthThreads = 256 << 10;

using enum DType;
constexpr Layout kBhtd = Layout::kBhtd, kBthd = Layout::kBthd;
constexpr Where kConsecutive = Where::kConsecutive, kRandom = Where::kRandom;

const Line kLines[] = {
    // Decode: one token.
    {Work::kRotate, {1, 32, 128}, {kF32, kBf16, kF16, kF64}},
    {Work::kRotate, {1, 32, 128}, {kBf16}, kBthd, kConsecutive, Target::kAvx3},
    {Work::kRotate, {1, 32, 128}, {kF32, kBf16}, kBthd, kConsecutive, Target::kAvx2},
    {Work::kRotate, {1, 16, 256}, {kF32, kBf16, kF16}},
    {Work::kRotateQk, {1, 40, 128}, {kF32, kBf16, kF16}},
    {Work::kRotateOut, {1, 32, 128}, {kF32, kBf16, kF16}},
    // Decode of a batch: each token somewhere below a million.
    {Work::kRotate, {64, 32, 128}, {kF32, kBf16, kF16}, kBthd, kRandom},
    // Prefill, in the last-level cache of most machines.
    {Work::kRotate, {512, 32, 128}, {kF32, kBf16, kF16, kF64}},
    {Work::kRotate, {512, 32, 128}, {kF32}, kBthd, kConsecutive, Target::kAvx2},
    {Work::kRotate, {512, 32, 128}, {kF32, kBf16}, kBthd, kConsecutive, Target::kBest, 2},
    {Work::kRotate, {512, 32, 128}, {kF32, kBf16}, kBhtd},
    {Work::kRotateQk, {512, 40, 128}, {kF32, kBf16}},
    {Work::kRotateQk, {512, 40, 128}, {kF32}, kBhtd},
    {Work::kRotateOut, {512, 32, 128}, {kF32, kBf16}},
    {Work::kRotateOut, {512, 32, 128}, {kF32}, kBhtd},
    // Few heads: as many angles as pairs, or almost.
    {Work::kRotate, {4096, 1, 64}, {kF32, kBf16, kF16}},
    {Work::kRotate, {4096, 8, 128}, {kF32, kF16}},
    // Prefill in memory.
    {Work::kRotate, {4096, 32, 128}, {kF32}},
    {Work::kRotate, {4096, 32, 128}, {kF32}, kBthd, kConsecutive, Target::kBest, 2},
    {Work::kRotate, {4096, 32, 128}, {kF32}, kBhtd},
    {Work::kRotate, {16384, 32, 128}, {kBf16, kF16}},
    {Work::kRotate, {2048, 32, 256}, {kF32}},
    {Work::kRotateOut, {4096, 32, 128}, {kF32}},
    // Rows of cos and sin alone.
    {Work::kAngles, {1, 1, 128}, {kF32, kF64}},
    {Work::kAngles, {64, 1, 128}, {kF32, kF64}, kBthd, kRandom},
    {Work::kAngles, {4096, 1, 128}, {kF32, kF64}},
    {Work::kAngles, {4096, 1, 128}, {kF32}, kBthd, kConsecutive, Target::kAvx2},
};

// As many tokens of 32 heads as so many bytes.
Case filling(std::int64_t bytes, DType dtype, int threads) {
  const std::int64_t token_bytes = 32 * 128 * static_cast<std::int64_t>(size_of(dtype));
  const std::int64_t tokens = std::max<std::int64_t>(1, bytes / token_bytes);
  return {.work = Work::kRotate, .dtype = dtype, .shape = {tokens, 32, 128}, .threads = threads};
}

// Each working set on one thread. On two, beside one, what is split and held by caches: the set of one
// second level, two of it (each thread then has its own), and that of the third.
std::vector<Case> sized_cases(const Caches& caches) {
  std::vector<Case> cases;
  const auto [l1, l2, l3, memory] = working_sets(caches);
  for (const std::int64_t set : {l1, l2, l3, memory}) {
    for (const DType dtype : {kF32, kBf16, kF16}) cases.push_back(filling(set, dtype, 1));
  }
  for (const std::int64_t set : {l2, 2 * l2, l3}) {
    for (const DType dtype : {kF32, kBf16}) {
      if (set < kWorthThreads) continue;
      for (const int threads : kThreads) cases.push_back(filling(set, dtype, threads));
    }
  }
  return cases;
}

bool is_best(Target target) {
  for (const Target compiled : compiled_targets()) {
    if (is_supported(compiled)) return target == compiled;
  }
  return false;
}

}  // namespace

std::string_view name(Work work) noexcept {
  switch (work) {
    case Work::kRotate: return "rotate";
    case Work::kRotateQk: return "rotate_qk";
    case Work::kRotateOut: return "rotate_out";
    case Work::kAngles: return "angles";
  }
  return "unknown";
}

std::string_view name(Layout layout) noexcept { return layout == Layout::kBthd ? "bthd" : "bhtd"; }

std::string_view name(Where where) noexcept {
  return where == Where::kConsecutive ? "consecutive" : "random";
}

std::int64_t Case::bytes() const noexcept {
  return shape[0] * shape[1] * shape[2] * static_cast<std::int64_t>(size_of(dtype));
}

std::int64_t Case::touched_bytes() const noexcept {
  return work == Work::kRotateOut ? 2 * bytes() : bytes();
}

std::int64_t Case::moved_bytes() const noexcept {
  return work == Work::kAngles ? bytes() : 2 * bytes();
}

std::string label(const Row& row) {
  const auto& [tokens, heads, head_dim] = row.what.shape;
  return message(name(row.what.work), " ", name(row.what.dtype), " ", name(row.pairing), " ",
                 tokens, "x", heads, "x", head_dim, " ", name(row.what.layout), " ",
                 row.is_ready ? "ready" : "fresh", " ", name(row.what.where), " ",
                 name(row.what.target), ", ", row.what.threads,
                 row.what.threads == 1 ? " thread" : " threads");
}

std::array<std::int64_t, 4> working_sets(const Caches& caches) noexcept {
  const auto known = [](std::int64_t bytes, std::int64_t otherwise) {
    return bytes > 0 ? bytes : otherwise;
  };
  const std::int64_t l3 = known(caches.l3_bytes, 32 << 20);
  return {known(caches.l1d_bytes, 32 << 10) / 2, known(caches.l2_bytes, 512 << 10) / 2, l3 / 2,
          std::min<std::int64_t>(4 * l3, 256 << 20)};
}

std::vector<Case> all_cases(const Caches& caches, Target target) {
  std::vector<Case> cases;
  const auto add = [&](Case what) {
    if (what.target == Target::kBest) {
      what.target = target;
    } else if (target != Target::kBest || !is_supported(what.target) || is_best(what.target)) {
      return;
    }
    if (std::find(cases.begin(), cases.end(), what) == cases.end()) cases.push_back(what);
  };
  for (const Line& line : kLines) {
    for (const DType dtype : line.dtypes) {
      add({line.work, dtype, line.shape, line.layout, line.where, line.target, line.threads});
    }
  }
  for (const Case& what : sized_cases(caches)) add(what);
  return cases;
}

std::vector<Case> cases_of(const Shape& shape, Target target) {
  constexpr std::int64_t kMost = std::int64_t{1} << 27;
  const auto& [tokens, heads, head_dim] = shape;
  if (tokens < 1 || heads < 1 || head_dim < 2 || head_dim % 2 != 0 || tokens > kMost ||
      heads > kMost / tokens || head_dim > kMost / (tokens * heads)) {
    throw Error(ErrorCode::kInvalidArgument,
                message(tokens, "x", heads, "x", head_dim, ": want sizes from 1, an even ",
                        "head_dim, and at most ", kMost, " elements"));
  }
  std::vector<Case> cases;
  for (const Work work : {Work::kRotate, Work::kRotateQk, Work::kRotateOut}) {
    if (work == Work::kRotateQk && heads % 5 != 0) continue;
    for (const Layout layout : kLayouts) {
      for (const DType dtype : {kF32, kBf16, kF16, kF64}) {
        for (const int threads : kThreads) {
          const Case what = {.work = work,
                             .dtype = dtype,
                             .shape = shape,
                             .layout = layout,
                             .target = target,
                             .threads = threads};
          if (threads == 1 || what.bytes() >= kWorthThreads) cases.push_back(what);
        }
      }
    }
  }
  return cases;
}

bool Filter::keeps(const Case& what) const noexcept {
  return (!work || *work == what.work) && (!dtype || *dtype == what.dtype) &&
         (!layout || *layout == what.layout) && (!shape || *shape == what.shape) &&
         (!threads || *threads == what.threads);
}

}  // namespace ropewalk::bench
