#include "bench/work.hpp"

#include "message.hpp"

namespace ropewalk::bench {
namespace {

// A line of the list: which dtypes of it are measured.
struct Line {
  Work work;
  Shape shape;
  Layout layout = Layout::kBthd;
  Where where = Where::kConsecutive;
  bool is_beyond_cache = false;
};

constexpr bool kBeyondCache = true;
constexpr Line kLines[] = {
    // Decode: one token.
    {Work::kRotate, {1, 32, 128}},
    {Work::kRotate, {1, 16, 256}},
    {Work::kRotateQk, {1, 40, 128}},
    {Work::kRotateOut, {1, 32, 128}},
    // Decode of a batch: each token somewhere below a million.
    {Work::kRotate, {64, 32, 128}, Layout::kBthd, Where::kRandom},
    // Prefill, in the last-level cache of most machines.
    {Work::kRotate, {512, 32, 128}},
    {Work::kRotate, {512, 32, 128}, Layout::kBhtd},
    {Work::kRotateQk, {512, 40, 128}},
    {Work::kRotateQk, {512, 40, 128}, Layout::kBhtd},
    {Work::kRotateOut, {512, 32, 128}},
    {Work::kRotateOut, {512, 32, 128}, Layout::kBhtd},
    // One head: as many angles as pairs.
    {Work::kRotate, {4096, 1, 64}},
    // Prefill in memory.
    {Work::kRotate, {4096, 32, 128}, Layout::kBthd, Where::kConsecutive, kBeyondCache},
    {Work::kRotate, {2048, 32, 256}, Layout::kBthd, Where::kConsecutive, kBeyondCache},
    {Work::kRotateOut, {4096, 32, 128}, Layout::kBthd, Where::kConsecutive, kBeyondCache},
    {Work::kAngles, {1, 1, 128}},
    {Work::kAngles, {64, 1, 128}, Layout::kBthd, Where::kRandom},
    {Work::kAngles, {512, 1, 128}},
    {Work::kAngles, {4096, 1, 64}},
};

bool has_dtype(const Line& line, DType dtype) {
  if (line.work == Work::kAngles) return dtype == DType::kF32 || dtype == DType::kF64;
  return !line.is_beyond_cache || dtype == DType::kF32 || dtype == DType::kBf16;
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
                 name(row.target));
}

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  for (const Line& line : kLines) {
    for (const DType dtype : {DType::kF32, DType::kBf16, DType::kF16, DType::kF64}) {
      if (has_dtype(line, dtype)) {
        cases.push_back({line.work, dtype, line.shape, line.layout, line.where});
      }
    }
  }
  return cases;
}

bool Filter::keeps(const Case& what) const noexcept {
  return (!work || *work == what.work) && (!dtype || *dtype == what.dtype) &&
         (!layout || *layout == what.layout) && (!shape || *shape == what.shape);
}

}  // namespace ropewalk::bench
