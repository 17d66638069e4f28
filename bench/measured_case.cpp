#include "bench/measured_case.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>
#include <random>
#include <ropewalk/rotate.hpp>

#include "bench/parallel.hpp"
#include "message.hpp"

namespace ropewalk::bench {
namespace {

constexpr std::int64_t kStart = 1000;                // of consecutive positions
constexpr std::int64_t kPositionsBelow = 1'000'000;  // of random ones
constexpr std::size_t kPage = 4096;
// x and out each begin at a page, as large allocations do, but out some lines further: a load and a
// store at the same place of two pages hold up one another on some CPUs, by chance of the allocator.
constexpr std::size_t kOutOffset = 33 * std::size_t{64};

constexpr float kFactor = -1.0F;
constexpr float kWritten = 1.5F;

Target resolved(Target target) {
  if (target != Target::kBest) return target;
  for (const Target compiled : compiled_targets()) {
    if (is_supported(compiled)) return compiled;
  }
  return target;
}

// Random elements of both signs, magnitudes from 1/4 to 4, so none that a CPU is slow with.
void fill(std::byte* to, std::size_t bytes, DType dtype, std::uint64_t seed) {
  struct Type {
    int mantissa_bits, exponent_bits;
  };
  constexpr Type kTypes[kDTypes] = {{23, 8}, {7, 8}, {10, 5}, {52, 11}};
  const Type type = kTypes[static_cast<std::size_t>(dtype)];
  const std::size_t size = size_of(dtype);
  const std::uint64_t bias = (std::uint64_t{1} << (type.exponent_bits - 1)) - 1;
  std::mt19937_64 random(seed);
  for (std::size_t i = 0; i < bytes; i += size) {
    const std::uint64_t bits = random();
    const std::uint64_t exponent = bias - 2 + (bits >> 60 & 3);
    const std::uint64_t element = bits >> 63 << (8 * size - 1) | exponent << type.mantissa_bits |
                                  (bits & ((std::uint64_t{1} << type.mantissa_bits) - 1));
    std::memcpy(to + i, &element, size);  // x86-64 and aarch64 are little-endian
  }
}

}  // namespace

void MeasuredCase::Free::operator()(std::byte* memory) const noexcept { std::free(memory); }

MeasuredCase::Memory MeasuredCase::allocate(std::size_t bytes) {
  void* const memory = std::aligned_alloc(kPage, (bytes + kPage - 1) / kPage * kPage);
  if (memory == nullptr) throw std::bad_alloc();
  return Memory(static_cast<std::byte*>(memory));
}

MeasuredCase::MeasuredCase(const Case& what)
    : what_(what),
      options_{.target = what.target, .parallel = parallel_of(what.threads)},
      bytes_(static_cast<std::size_t>(what.bytes())) {
  what_.target = resolved(what.target);
  std::mt19937_64 random(1);
  std::uniform_int_distribution<std::int64_t> below(0, kPositionsBelow - 1);
  for (std::int64_t t = 0; t < what.shape[0]; ++t) {
    ids_.push_back(what.where == Where::kRandom ? below(random) : kStart + t);
  }
  if (what.work == Work::kAngles) {
    add_subject(Pairing::kHalves, false);
  } else {
    for (const Pairing pairing : {Pairing::kHalves, Pairing::kAdjacent}) {
      for (const bool is_ready : {false, true}) add_subject(pairing, is_ready);
    }
  }
  x_ = allocate(bytes_);
  values_ = allocate(bytes_);
  floats_ = allocate(bytes_);
  fill(values_.get(), bytes_, what.dtype, 1);
  fill(floats_.get(), bytes_, DType::kF32, 2);
  if (what.work == Work::kRotateOut) out_ = allocate(bytes_ + kOutOffset);
}

void MeasuredCase::add_subject(Pairing pairing, bool is_ready) {
  const Rope rope(Spec({.head_dim = what_.shape[2], .pairing = pairing}));
  subjects_.push_back({{what_, pairing, is_ready}, rope, {}});
  const DType rows = what_.dtype == DType::kF64 ? DType::kF64 : DType::kF32;
  if (is_ready) {
    subjects_.back().angles.assign(rope, Positions::ids(ids_), {.dtype = rows, .run = options_});
  }
}

Positions MeasuredCase::positions() const {
  if (what_.where == Where::kRandom) return Positions::ids(ids_);
  return Positions::from(kStart, what_.shape[0]);
}

TensorView MeasuredCase::view(std::byte* data, std::int64_t heads) const {
  const Dims shape = {1, what_.shape[0], heads, what_.shape[2]};
  return what_.layout == Layout::kBthd ? TensorView::bthd(data, what_.dtype, shape)
                                       : TensorView::bhtd(data, what_.dtype, shape);
}

void MeasuredCase::call(Subject& subject) {
  const auto& [tokens, heads, head_dim] = what_.shape;
  const bool is_ready = subject.row.is_ready;
  switch (what_.work) {
    case Work::kRotate: {
      const TensorView x = view(x_.get(), heads);
      if (is_ready) return rotate(subject.angles, x, options_);
      return rotate(subject.rope, x, positions(), options_);
    }
    case Work::kRotateQk: {
      const TensorView q = view(x_.get(), heads / 5 * 4);
      const TensorView k = view(x_.get() + bytes_ / 5 * 4, heads / 5);
      if (is_ready) return rotate(subject.angles, q, k, options_);
      return rotate(subject.rope, q, k, positions(), options_);
    }
    case Work::kRotateOut: {
      const TensorView x = view(x_.get(), heads), out = view(out_.get() + kOutOffset, heads);
      if (is_ready) return rotate(subject.angles, ConstTensorView(x), Into{out}, options_);
      return rotate(subject.rope, ConstTensorView(x), positions(), out, options_);
    }
    case Work::kAngles:
      return subject.angles.assign(subject.rope, positions(),
                                   {.dtype = what_.dtype, .run = options_});
  }
}

void MeasuredCase::call_limit(const LimitLoops& loop) {
  const std::size_t count = bytes_ / sizeof(float);
  if (options_.parallel.run == nullptr) return call_limit(loop, 0, count);
  const auto tasks = static_cast<std::size_t>(options_.parallel.threads);
  on_threads(options_.parallel, [&](std::int64_t task) {
    const auto i = static_cast<std::size_t>(task);
    call_limit(loop, count * i / tasks, count * (i + 1) / tasks - count * i / tasks);
  });
}

void MeasuredCase::call_limit(const LimitLoops& loop, std::size_t first, std::size_t count) {
  auto* const x = reinterpret_cast<float*>(x_.get()) + first;
  switch (what_.work) {
    case Work::kRotate:
    case Work::kRotateQk: return loop.scale(x, count, kFactor);
    case Work::kRotateOut:
      return loop.scale_to(x, reinterpret_cast<float*>(out_.get() + kOutOffset) + first, count,
                           kFactor);
    case Work::kAngles: return loop.write(x, count, kWritten);
  }
}

void MeasuredCase::refill(const Memory& from) { std::memcpy(x_.get(), from.get(), bytes_); }

std::string MeasuredCase::check_subject(Subject& subject, const ExactAngles& exact) {
  refill(values_);
  // What stood in out before must not pass for a result.
  if (out_) std::memset(out_.get() + kOutOffset, 0xFF, bytes_);
  call(subject);
  if (what_.work == Work::kAngles) return wrong_row(exact, subject.angles);
  std::byte* const result = out_ ? out_.get() + kOutOffset : x_.get();
  const auto compare = [&](std::size_t offset, std::int64_t heads) {
    return wrong_element(exact, subject.row.pairing, view(values_.get() + offset, heads),
                         view(result + offset, heads));
  };
  const std::int64_t heads = what_.shape[1];
  if (what_.work != Work::kRotateQk) return compare(0, heads);
  const std::string wrong = compare(0, heads / 5 * 4);
  return wrong.empty() ? compare(bytes_ / 5 * 4, heads / 5) : wrong;
}

std::string MeasuredCase::check_limit(const LimitLoops& loop) {
  refill(floats_);
  if (out_) std::memset(out_.get() + kOutOffset, 0xFF, bytes_);
  call_limit(loop);
  const auto* const x = reinterpret_cast<const float*>(floats_.get());
  const auto* const y = reinterpret_cast<const float*>(out_ ? out_.get() + kOutOffset : x_.get());
  for (std::size_t i = 0; i < bytes_ / sizeof(float); ++i) {
    const float wanted = what_.work == Work::kAngles ? kWritten : x[i] * kFactor;
    if (y[i] != wanted) return message("element ", i, " is ", y[i], ", exactly ", wanted);
  }
  return "";
}

std::string MeasuredCase::check() {
  // The frequencies are the same in both pairings.
  const ExactAngles exact(subjects_.front().rope.frequencies(), ids_);
  for (Subject& subject : subjects_) {
    const std::string wrong = check_subject(subject, exact);
    if (!wrong.empty()) return message(label(subject.row), ": ", wrong);
  }
  for (const LimitLoops& loop : loops_) {
    const std::string wrong = check_limit(loop);
    if (!wrong.empty()) {
      return message(label(subjects_.front().row), ", limit ", loop.name, ": ", wrong);
    }
  }
  return "";
}

// All contenders work on the same memory: the same pages at the same places of the caches, which are
// left by each as by any other, full of the end of x. Before a turn it is filled anew. A rotation in
// place keeps lengths, but 16-bit rounding would let data drift in some ten thousand calls; and the
// loops must not scale what is no normal float, as the halves of an f64 are not.
std::vector<Row> MeasuredCase::measure(const MeasureOptions& options, const Clock& clock) {
  const bool reads = what_.work != Work::kAngles;
  std::vector<Contender> contenders;
  contenders.reserve(subjects_.size() + loops_.size());
  for (Subject& subject : subjects_) {
    contenders.push_back({[=, this] {
                            if (reads) refill(values_);
                          },
                          [this, &subject](std::int64_t calls) {
                            for (std::int64_t i = 0; i < calls; ++i) call(subject);
                          }});
  }
  for (const LimitLoops& loop : loops_) {
    contenders.push_back({[=, this] {
                            if (reads) refill(floats_);
                          },
                          [this, &loop](std::int64_t calls) {
                            for (std::int64_t i = 0; i < calls; ++i) call_limit(loop);
                          }});
  }
  const std::vector<double> ns = bench::measure(contenders, options, clock);
  const auto first_limit = ns.begin() + static_cast<std::ptrdiff_t>(subjects_.size());
  const double limit_ns = *std::min_element(first_limit, ns.end());
  std::vector<Row> rows;
  rows.reserve(subjects_.size());
  for (std::size_t i = 0; i < subjects_.size(); ++i) {
    rows.push_back(subjects_[i].row);
    rows.back().times = {ns[i], limit_ns};
  }
  return rows;
}

}  // namespace ropewalk::bench
