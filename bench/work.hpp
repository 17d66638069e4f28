// What is measured: a list of cases, each with a row for every pairing, and for angles that are
// computed in the call or were made before.

#ifndef ROPEWALK_BENCH_WORK_HPP_
#define ROPEWALK_BENCH_WORK_HPP_

#include <array>
#include <cstdint>
#include <optional>
#include <ropewalk/spec.hpp>
#include <ropewalk/tensor.hpp>
#include <ropewalk/version.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "bench/machine.hpp"
#include "bench/verdict.hpp"

namespace ropewalk::bench {

enum class Work : std::uint8_t {
  kRotate,     // one tensor, in place
  kRotateQk,   // q and k in one call, in place: 4 of 5 heads are q's
  kRotateOut,  // one tensor, to another
  kAngles,     // rows of cos and sin, of f32 or f64
};
enum class Layout : std::uint8_t { kBthd, kBhtd };
enum class Where : std::uint8_t { kConsecutive, kRandom };

inline constexpr std::array kWorks = {Work::kRotate, Work::kRotateQk, Work::kRotateOut,
                                      Work::kAngles};
inline constexpr std::array kLayouts = {Layout::kBthd, Layout::kBhtd};
inline constexpr std::array kThreads = {1, 2};

std::string_view name(Work work) noexcept;      // "rotate", "rotate_qk", "rotate_out", "angles"
std::string_view name(Layout layout) noexcept;  // "bthd", "bhtd"
std::string_view name(Where where) noexcept;    // "consecutive", "random"

// tokens, heads, head_dim.
using Shape = std::array<std::int64_t, 3>;

struct Case {
  Work work;
  DType dtype;
  Shape shape;  // for angles, heads is 1
  Layout layout = Layout::kBthd;
  Where where = Where::kConsecutive;
  Target target = Target::kBest;
  int threads = 1;

  bool operator==(const Case&) const = default;

  // Of the tensor that is read, or of the rows that are written.
  [[nodiscard]] std::int64_t bytes() const noexcept;
  // Of all memory that is read or written.
  [[nodiscard]] std::int64_t touched_bytes() const noexcept;
  // What goes through a core: bytes read and bytes written.
  [[nodiscard]] std::int64_t moved_bytes() const noexcept;
};

// What one number is of.
struct Row {
  Case what;  // target is one that is supported, not kBest
  Pairing pairing;
  bool is_ready;  // angles made before
  Times times{};

  // What the limit takes, as a share of what this takes: 1 is the best to be had.
  [[nodiscard]] double fraction() const noexcept { return times.limit_ns / times.ns; }
};

// "rotate f32 halves 1x32x128 bthd fresh consecutive AVX2, 2 threads".
std::string label(const Row& row);

// Bytes that lie well inside the first, second and third level of cache (half of each), and four
// times the third, at most 256 MiB. Where a level is unknown or is none, it is taken to be as in
// many CPUs.
std::array<std::int64_t, 4> working_sets(const Caches& caches) noexcept;

// The whole list. Where the CPU's best target is another, some cases are measured on others too. It
// takes two minutes, most of it for the tensors that no cache holds: those are of few kinds.
//
// target: kBest, or the only one
std::vector<Case> all_cases(const Caches& caches, Target target);

// Of a shape that need not be in the list: every work on rotations, dtype and layout, at consecutive
// positions, and on two threads if such a call is split. Throws Error (kInvalidArgument) unless sizes are
// from 1, head_dim is even and there are at most 2^27 elements.
std::vector<Case> cases_of(const Shape& shape, Target target);

struct Filter {
  std::optional<Work> work = {};
  std::optional<DType> dtype = {};
  std::optional<Layout> layout = {};
  std::optional<Shape> shape = {};
  std::optional<int> threads = {};

  [[nodiscard]] bool keeps(const Case& what) const noexcept;
};

}  // namespace ropewalk::bench

#endif  // ROPEWALK_BENCH_WORK_HPP_
