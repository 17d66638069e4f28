#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <numbers>
#include <random>
#include <ropewalk/check.hpp>
#include <ropewalk/error.hpp>
#include <utility>

#include "element.hpp"
#include "message.hpp"

namespace ropewalk {
namespace {

constexpr std::array<std::int64_t, 4> kShifts = {3, 1000, 1000000, 10000000};
constexpr std::int64_t kRerotateBy = 1000;

using Ids = std::vector<std::int64_t>;

// Half a unit in the last place of 1, and the exponent (as of frexp) of the smallest normal number.
struct Type {
  double half_unit;
  int min_exponent;
};
Type type_of(DType dtype) {
  constexpr Type kTypes[kDTypes] = {
      {0x1p-24, -125}, {0x1p-8, -125}, {0x1p-11, -13}, {0x1p-53, -1021}};
  return kTypes[static_cast<std::size_t>(dtype)];
}

// What the promise allows for an element besides half an ulp, as a share of m h.
double promised(DType dtype, std::int64_t largest_position) {
  const double far = static_cast<double>(largest_position) * 0x1p-62;
  return dtype == DType::kF64 ? far + 0x1p-50 : 0x1p-21 + (largest_position > 1LL << 32 ? far : 0);
}

// Per pair, the error is at most ε m h.
double epsilon(DType dtype, std::int64_t largest_position) {
  return std::numbers::sqrt2 * promised(dtype, largest_position) + type_of(dtype).half_unit;
}

// A tensor [tokens, heads, head_dim] of its own.
class Heads {
 public:
  Heads(DType dtype, std::int64_t tokens, std::int64_t heads, std::int64_t head_dim)
      : dtype_(dtype),
        shape_{1, tokens, heads, head_dim},
        bytes_(static_cast<std::size_t>(tokens * heads * head_dim) * size_of(dtype)) {}

  [[nodiscard]] const Dims& shape() const { return shape_; }
  [[nodiscard]] TensorView view() { return TensorView::bthd(bytes_.data(), dtype_, shape_); }
  [[nodiscard]] std::size_t size() const { return bytes_.size() / size_of(dtype_); }
  [[nodiscard]] std::size_t offset(std::int64_t token, std::int64_t head) const {
    return static_cast<std::size_t>((token * shape_[2] + head) * shape_[3]);
  }
  [[nodiscard]] double at(std::size_t i) const { return element_at(bytes_.data(), dtype_, i); }

  // Cut off to the dtype, which makes as good a random number as rounding.
  void set(std::size_t i, double value) {
    const auto put = [&](auto bits) {
      std::memcpy(&bytes_[i * sizeof(bits)], &bits, sizeof(bits));
    };
    const auto f32 = std::bit_cast<std::uint32_t>(static_cast<float>(value));
    switch (dtype_) {
      case DType::kF32: return put(f32);
      case DType::kF64: return put(value);
      case DType::kBf16: return put(static_cast<std::uint16_t>(f32 >> 16));
      case DType::kF16: {  // another bias; what is no normal number there becomes 0
        const std::uint32_t magnitude = f32 & 0x7FFFFFFFu, sign = f32 >> 16 & 0x8000u;
        const std::uint32_t half = magnitude < 0x38800000u ? 0 : (magnitude - 0x38000000u) >> 13;
        return put(static_cast<std::uint16_t>(half | sign));
      }
    }
  }
  void copy_element(std::size_t to, const Heads& source, std::size_t from) {
    const std::size_t size = size_of(dtype_);
    std::memcpy(&bytes_[size * to], &source.bytes_[size * from], size);
  }
  [[nodiscard]] bool same_bits(std::size_t i, const Heads& other, std::size_t j) const {
    const std::size_t size = size_of(dtype_);
    return std::memcmp(&bytes_[size * i], &other.bytes_[size * j], size) == 0;
  }

 private:
  DType dtype_;
  Dims shape_;
  std::vector<std::byte> bytes_;
};

// The elements of pair i.
struct Pair {
  std::size_t a, b;
};
Pair pair_at(const Spec& spec, Pairing pairing, std::size_t n) {
  const auto part = static_cast<std::size_t>(spec.part_dim());
  const std::size_t i = n % (part / 2);
  const std::size_t start = static_cast<std::size_t>(spec.rotary_offset()) + n / (part / 2) * part;
  if (pairing == Pairing::kHalves) return {start + i, start + i + part / 2};
  return {start + 2 * i, start + 2 * i + 1};
}

Pairing other(Pairing pairing) {
  return pairing == Pairing::kHalves ? Pairing::kAdjacent : Pairing::kHalves;
}

// Keeps the value that is nearest to its bound, or farthest beyond it.
class Worst {
 public:
  void see(double value, double bound) {
    const bool is_nan = std::isnan(value);
    if (value <= bound) {
      if (ok_ && (!seen_ || value * bound_ > value_ * bound)) value_ = value, bound_ = bound;
      seen_ = true;
      return;
    }
    if (ok_ || is_nan || value - bound > value_ - bound_) value_ = value, bound_ = bound;
    seen_ = true, ok_ = false;
  }
  [[nodiscard]] CheckRow row(std::string property, DType dtype,
                             std::optional<std::int64_t> shift = {}) const {
    return {std::move(property), dtype, shift, value_, bound_, ok_};
  }

 private:
  double value_ = 0, bound_ = 0;
  bool seen_ = false, ok_ = true;
};

// One dtype's tensors and what is asked of them. Sums go over the rotated window only.
class Checker {
 public:
  Checker(const Rope& rope, const CheckOptions& options, DType dtype)
      : rope_(rope),
        spec_(rope.spec()),
        options_(options),
        run_{.target = options.target, .parallel = {}},
        dtype_(dtype),
        m_(rope.attention_factor()),
        epsilon_(epsilon(dtype, options.positions_below)),
        q_(heads(options.q_heads)),
        k_(heads(options.k_heads)),
        q_turned_(q_),
        k_turned_(k_) {
    std::mt19937_64 random(options.seed);
    std::normal_distribution<double> normal;
    for (std::size_t i = 0; i < q_.size(); ++i) q_.set(i, normal(random));
    for (std::size_t i = 0; i < k_.size(); ++i) k_.set(i, normal(random));
    std::uniform_int_distribution<std::int64_t> position(0, options.positions_below - 1);
    for (std::int64_t t = 0; t < options.tokens; ++t) positions_.push_back(position(random));
    turn(positions_, q_turned_, k_turned_);
    for (std::size_t i = 0; i < rope.frequencies().size(); ++i) {
      read_.push_back(pair_at(spec_, spec_.pairing(), i));
      written_.push_back(pair_at(spec_, spec_.output_pairing(), i));
    }
  }

  void run(std::vector<CheckRow>& rows) {
    rows.push_back(position_zero());
    rows.push_back(length());
    rows.push_back(angle());
    for (const std::int64_t shift : kShifts) rows.push_back(scores(shift));
    rows.push_back(pairings());
    rows.push_back(undone());
    rows.push_back(adjoint());
    rows.push_back(rerotated());
  }

 private:
  using Pairs = std::vector<Pair>;

  [[nodiscard]] Heads heads(std::int64_t count) const {
    return {dtype_, options_.tokens, count, spec_.head_dim()};
  }

  void turn(const Ids& positions, Heads& q, Heads& k) {
    q = q_, k = k_;
    rotate(rope_, q.view(), k.view(), Positions::ids(positions), run_);
  }

  [[nodiscard]] static double hypot(const Heads& x, std::size_t at, const Pair& pair) {
    return std::hypot(x.at(at + pair.a), x.at(at + pair.b));
  }
  [[nodiscard]] static double dot(const Heads& x, std::size_t x_at, const Heads& y,
                                  std::size_t y_at, const Pairs& pairs) {
    double sum = 0;
    for (const auto& [a, b] : pairs) {
      sum += x.at(x_at + a) * y.at(y_at + a) + x.at(x_at + b) * y.at(y_at + b);
    }
    return sum;
  }
  template <class See>
  void for_each_head(const Heads& x, See see) const {
    for (std::int64_t t = 0; t < options_.tokens; ++t) {
      for (std::int64_t h = 0; h < x.shape()[2]; ++h) see(x.offset(t, h));
    }
  }
  // Half an ulp of a value of the dtype.
  [[nodiscard]] double half_ulp(double value) const {
    int exponent = 0;
    std::frexp(value, &exponent);
    const Type type = type_of(dtype_);
    return std::ldexp(type.half_unit, std::max(exponent, type.min_exponent));
  }

  CheckRow position_zero() {
    Heads q(q_), k(k_);
    turn(Ids(positions_.size(), 0), q, k);
    Worst worst;
    const auto see_element = [&](double given, double x, double h) {
      const double bound = m_ == 1 ? 0 : promised(dtype_, 0) * m_ * h + half_ulp(given);
      worst.see(std::abs(given - m_ * x), bound);
    };
    const auto see = [&](const Heads& x, const Heads& turned) {
      for_each_head(x, [&](std::size_t at) {
        for (std::size_t i = 0; i < read_.size(); ++i) {
          const double h = hypot(x, at, read_[i]);
          see_element(turned.at(at + written_[i].a), x.at(at + read_[i].a), h);
          see_element(turned.at(at + written_[i].b), x.at(at + read_[i].b), h);
        }
      });
    };
    see(q_, q);
    see(k_, k);
    return worst.row("position 0", dtype_);
  }

  CheckRow length() {
    Worst worst;
    const auto see = [&](const Heads& x, const Heads& turned) {
      for_each_head(x, [&](std::size_t at) {
        const double before = std::sqrt(dot(x, at, x, at, read_));
        const double after = std::sqrt(dot(turned, at, turned, at, written_));
        worst.see(std::abs(after / (m_ * before) - 1), epsilon_);
      });
    };
    see(q_, q_turned_);
    see(k_, k_turned_);
    return worst.row("length", dtype_);
  }

  // Of two heads of one token, which are turned alike.
  CheckRow angle() {
    Worst worst;
    const auto cosine = [&](const Heads& x, std::size_t one, std::size_t two, const Pairs& pairs) {
      return dot(x, one, x, two, pairs) /
             std::sqrt(dot(x, one, x, one, pairs) * dot(x, two, x, two, pairs));
    };
    for (std::int64_t t = 0; t < options_.tokens; ++t) {
      for (std::int64_t h = 1; h < options_.q_heads; ++h) {
        const std::size_t one = q_.offset(t, h - 1), two = q_.offset(t, h);
        worst.see(std::abs(cosine(q_turned_, one, two, written_) - cosine(q_, one, two, read_)),
                  4 * epsilon_);
      }
    }
    return worst.row("angle", dtype_);
  }

  // Every query with every key of its group of heads.
  CheckRow scores(std::int64_t shift) {
    Ids shifted(positions_);
    for (std::int64_t& position : shifted) position += shift;
    Heads q(q_), k(k_);
    turn(shifted, q, k);
    const double factor = 4 * epsilon(dtype_, options_.positions_below + shift) * m_ * m_;
    const std::int64_t group = options_.q_heads / options_.k_heads;
    const std::size_t pairs = read_.size();
    Worst worst;
    for (std::int64_t h = 0; h < options_.q_heads; ++h) {
      const std::vector<double> q_hypots = hypots(q_, h), k_hypots = hypots(k_, h / group);
      for (std::int64_t i = 0; i < options_.tokens; ++i) {
        for (std::int64_t j = 0; j < options_.tokens; ++j) {
          const std::size_t q_at = q_.offset(i, h), k_at = k_.offset(j, h / group);
          const double* q_hypot = &q_hypots[static_cast<std::size_t>(i) * pairs];
          const double* k_hypot = &k_hypots[static_cast<std::size_t>(j) * pairs];
          double lengths = 0;
          for (std::size_t p = 0; p < pairs; ++p) lengths += q_hypot[p] * k_hypot[p];
          worst.see(std::abs(dot(q, q_at, k, k_at, written_) -
                             dot(q_turned_, q_at, k_turned_, k_at, written_)),
                    factor * lengths);
        }
      }
    }
    return worst.row("scores", dtype_, shift);
  }

  [[nodiscard]] std::vector<double> hypots(const Heads& x, std::int64_t head) const {
    std::vector<double> result;
    for (std::int64_t t = 0; t < options_.tokens; ++t) {
      for (const Pair& pair : read_) result.push_back(hypot(x, x.offset(t, head), pair));
    }
    return result;
  }

  // The same spec with the other pairings, on permuted elements.
  CheckRow pairings() {
    SpecFields fields = spec_.fields();
    fields.pairing = other(spec_.pairing());
    fields.output_pairing = other(spec_.output_pairing());
    const Rope swapped{Spec(fields)};
    Heads permuted(q_);
    const auto for_each_element = [&](const Pairs& pairs, Pairing pairing, auto see) {
      for_each_head(q_, [&](std::size_t at) {
        for (std::size_t i = 0; i < pairs.size(); ++i) {
          const Pair there = pair_at(spec_, pairing, i);
          see(at + pairs[i].a, at + there.a);
          see(at + pairs[i].b, at + there.b);
        }
      });
    };
    for_each_element(read_, fields.pairing, [&](std::size_t here, std::size_t there) {
      permuted.copy_element(there, q_, here);
    });
    rotate(swapped, permuted.view(), Positions::ids(positions_), run_);
    Worst worst;
    for_each_element(written_, *fields.output_pairing, [&](std::size_t here, std::size_t there) {
      const bool same = q_turned_.same_bits(here, permuted, there);
      const double difference = std::abs(q_turned_.at(here) - permuted.at(there));
      worst.see(same ? 0 : std::max(difference, 0x1p-149), 0);
    });
    return worst.row("pairings", dtype_);
  }

  // The distance of two tensors' pairs, against factor h.
  CheckRow distance(std::string property, const Heads& given, const Heads& wanted,
                    const Pairs& pairs, double factor) const {
    Worst worst;
    for_each_head(given, [&](std::size_t at) {
      for (std::size_t i = 0; i < pairs.size(); ++i) {
        const auto& [a, b] = pairs[i];
        worst.see(
            std::hypot(given.at(at + a) - wanted.at(at + a), given.at(at + b) - wanted.at(at + b)),
            factor * hypot(k_, at, read_[i]));
      }
    });
    return worst.row(std::move(property), dtype_);
  }

  CheckRow undone() {
    Heads k(k_turned_);
    unrotate(rope_, k.view(), Positions::ids(positions_), run_);
    return distance("unrotate", k, k_, read_, 2 * epsilon_);
  }

  // k with the gradient of another token's k.
  CheckRow adjoint() {
    Heads back(k_);
    backward(rope_, back.view(), Positions::ids(positions_), run_);
    Worst worst;
    for (std::int64_t t = 0; t < options_.tokens; ++t) {
      for (std::int64_t h = 1; h < options_.k_heads; ++h) {
        // g is head h - 1, x is head h.
        const std::size_t g = k_.offset(t, h - 1), x = k_.offset(t, h);
        double lengths = 0, left = 0, right = 0;
        for (std::size_t i = 0; i < read_.size(); ++i) {
          const auto& [ra, rb] = read_[i];
          const auto& [wa, wb] = written_[i];
          left += back.at(g + ra) * k_.at(x + ra) + back.at(g + rb) * k_.at(x + rb);
          right += k_.at(g + wa) * k_turned_.at(x + wa) + k_.at(g + wb) * k_turned_.at(x + wb);
          lengths += hypot(k_, g, written_[i]) * hypot(k_, x, read_[i]);
        }
        worst.see(std::abs(left - right), 2 * epsilon_ * m_ * lengths);
      }
    }
    return worst.row("backward", dtype_);
  }

  CheckRow rerotated() {
    Ids shifted(positions_);
    for (std::int64_t& position : shifted) position += kRerotateBy;
    Heads k(k_turned_), q(q_), afresh(k_);
    rerotate(rope_, rope_, k.view(), Positions::ids(positions_), Positions::ids(shifted), run_);
    turn(shifted, q, afresh);
    const double far = epsilon(dtype_, 2 * options_.positions_below + kRerotateBy);
    return distance("rerotate", k, afresh, written_, 3 * far * m_);
  }

  const Rope& rope_;
  const Spec& spec_;
  const CheckOptions& options_;
  Options run_;
  DType dtype_;
  double m_, epsilon_;
  Pairs read_, written_;  // where the elements of each pair are read, and written
  Ids positions_;
  Heads q_, k_;                // as drawn
  Heads q_turned_, k_turned_;  // at their positions
};

void check_options(const CheckOptions& options, const Spec& spec) {
  const auto want = [](std::string_view what, std::int64_t value, std::int64_t low,
                       std::int64_t high, std::string_view high_name) {
    if (value < low || value > high) {
      throw Error(ErrorCode::kInvalidArgument,
                  message(what, " ", value, " is not between ", low, " and ", high_name));
    }
  };
  constexpr std::int64_t kMostHeads = std::int64_t{1} << 20;
  want("q_heads", options.q_heads, 2, kMostHeads, "2^20");
  want("k_heads", options.k_heads, 2, kMostHeads, "2^20");
  want("tokens", options.tokens, 1, std::int64_t{1} << 20, "2^20");
  // Positions are moved by up to ten million.
  want("positions_below", options.positions_below, 1, std::int64_t{1} << 61, "2^61");
  constexpr std::int64_t kMostElements = std::int64_t{1} << 40;
  if (options.tokens * options.q_heads > kMostElements / spec.head_dim()) {
    throw Error(ErrorCode::kInvalidArgument,
                message("tokens ", options.tokens, " x q_heads ", options.q_heads, " x head_dim ",
                        spec.head_dim(), " is more than 2^40"));
  }
  if (options.q_heads % options.k_heads != 0) {
    throw Error(
        ErrorCode::kInvalidArgument,
        message("q_heads ", options.q_heads, " is no multiple of k_heads ", options.k_heads));
  }
}

}  // namespace

std::vector<CheckRow> check(const Rope& rope, const CheckOptions& options) {
  check_options(options, rope.spec());
  std::vector<CheckRow> rows;
  for (const DType dtype : {DType::kF32, DType::kBf16, DType::kF16, DType::kF64}) {
    Checker(rope, options, dtype).run(rows);
  }
  return rows;
}

CheckOptions check_options_for(const Spec& spec) {
  // Heads of up to 1024 elements: 64 tokens of 32 and 8 heads.
  CheckOptions options;
  const std::int64_t times = (spec.head_dim() + 1023) / 1024;
  if (times > 1) {
    options.tokens = std::max<std::int64_t>(64 / times, 4);
    options.q_heads = times > 16 ? 4 : 32;
    options.k_heads = times > 16 ? 2 : 8;
  }
  return options;
}

}  // namespace ropewalk
