#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <numbers>
#include <random>
#include <ropewalk/check.hpp>
#include <ropewalk/error.hpp>

#include "message.hpp"

namespace ropewalk {
namespace {

constexpr std::array<std::int64_t, 4> kShifts = {3, 1000, 1000000, 10000000};

double half_unit(DType dtype) { return dtype == DType::kF32 ? 0x1p-24 : 0x1p-8; }
double epsilon(DType dtype) { return std::numbers::sqrt2 * 0x1p-21 + half_unit(dtype); }

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

  [[nodiscard]] double at(std::size_t i) const {
    if (dtype_ == DType::kF32) return std::bit_cast<float>(bits<std::uint32_t>(i));
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits<std::uint16_t>(i)) << 16);
  }
  // bf16: cut off, which makes as good a random number as rounding.
  void set(std::size_t i, float value) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    const auto upper = static_cast<std::uint16_t>(bits >> 16);
    if (dtype_ == DType::kF32) std::memcpy(&bytes_[4 * i], &bits, 4);
    if (dtype_ == DType::kBf16) std::memcpy(&bytes_[2 * i], &upper, 2);
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
  template <class Bits>
  [[nodiscard]] Bits bits(std::size_t i) const {
    Bits result;
    std::memcpy(&result, &bytes_[i * sizeof(Bits)], sizeof(Bits));
    return result;
  }

  DType dtype_;
  Dims shape_;
  std::vector<std::byte> bytes_;
};

// The elements of pair i.
struct Pair {
  std::size_t a, b;
};
Pair pair_at(Pairing pairing, std::size_t i, std::size_t pairs) {
  return pairing == Pairing::kHalves ? Pair{i, i + pairs} : Pair{2 * i, 2 * i + 1};
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

// One dtype's tensors and what is asked of them. Sums over the rotated window only.
class Checker {
 public:
  Checker(const Rope& rope, const CheckOptions& options, DType dtype)
      : rope_(rope),
        options_(options),
        dtype_(dtype),
        m_(rope.attention_factor()),
        pairs_(rope.frequencies().size()),
        q_(heads(options.q_heads)),
        k_(heads(options.k_heads)),
        q_turned_(q_),
        k_turned_(k_) {
    std::mt19937_64 random(options.seed);
    std::normal_distribution<float> normal;
    for (std::size_t i = 0; i < q_.size(); ++i) q_.set(i, normal(random));
    for (std::size_t i = 0; i < k_.size(); ++i) k_.set(i, normal(random));
    std::uniform_int_distribution<std::int64_t> position(0, options.positions_below - 1);
    for (std::int64_t t = 0; t < options.tokens; ++t) positions_.push_back(position(random));
    turn(positions_, q_turned_, k_turned_);
  }

  void run(std::vector<CheckRow>& rows) {
    rows.push_back(position_zero());
    rows.push_back(length());
    rows.push_back(angle());
    for (const std::int64_t shift : kShifts) rows.push_back(scores(shift));
    rows.push_back(pairings());
  }

 private:
  [[nodiscard]] Heads heads(std::int64_t count) const {
    return {dtype_, options_.tokens, count, rope_.spec().head_dim()};
  }

  void turn(const std::vector<std::int64_t>& positions, Heads& q, Heads& k) {
    q = q_, k = k_;
    rotate(rope_, q.view(), k.view(), Positions::ids(positions), {.target = options_.target});
  }

  [[nodiscard]] Pair pair(std::size_t i) const {
    return pair_at(rope_.spec().pairing(), i, pairs_);
  }
  [[nodiscard]] double hypot(const Heads& x, std::size_t offset, std::size_t i) const {
    return std::hypot(x.at(offset + pair(i).a), x.at(offset + pair(i).b));
  }
  [[nodiscard]] double dot(const Heads& x, std::size_t x_at, const Heads& y,
                           std::size_t y_at) const {
    double sum = 0;
    for (std::size_t i = 0; i < pairs_; ++i) {
      const auto [a, b] = pair(i);
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
  // half an ulp of a value of the dtype
  [[nodiscard]] double half_ulp(double value) const {
    int exponent = 0;
    std::frexp(value, &exponent);
    return std::ldexp(half_unit(dtype_), std::max(exponent, -125));
  }

  CheckRow position_zero() {
    Heads q(q_), k(k_);
    turn(std::vector<std::int64_t>(positions_.size(), 0), q, k);
    Worst worst;
    const auto see = [&](const Heads& x, const Heads& turned) {
      for_each_head(x, [&](std::size_t at) {
        for (std::size_t i = 0; i < pairs_; ++i) {
          const double h = hypot(x, at, i);
          for (const std::size_t e : {at + pair(i).a, at + pair(i).b}) {
            const double value = turned.at(e);
            const double bound = m_ == 1 ? 0 : 0x1p-21 * m_ * h + half_ulp(value);
            worst.see(std::abs(value - m_ * x.at(e)), bound);
          }
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
        const double before = std::sqrt(dot(x, at, x, at));
        const double after = std::sqrt(dot(turned, at, turned, at));
        worst.see(std::abs(after / (m_ * before) - 1), epsilon(dtype_));
      });
    };
    see(q_, q_turned_);
    see(k_, k_turned_);
    return worst.row("length", dtype_);
  }

  // Of two heads of one token, which are turned alike.
  CheckRow angle() {
    Worst worst;
    const auto cosine = [&](const Heads& x, std::size_t one, std::size_t other) {
      return dot(x, one, x, other) / std::sqrt(dot(x, one, x, one) * dot(x, other, x, other));
    };
    for (std::int64_t t = 0; t < options_.tokens; ++t) {
      for (std::int64_t h = 1; h < options_.q_heads; ++h) {
        const std::size_t one = q_.offset(t, h - 1), other = q_.offset(t, h);
        worst.see(std::abs(cosine(q_turned_, one, other) - cosine(q_, one, other)),
                  4 * epsilon(dtype_));
      }
    }
    return worst.row("angle", dtype_);
  }

  // Every query with every key of its group of heads.
  CheckRow scores(std::int64_t shift) {
    std::vector<std::int64_t> shifted(positions_);
    for (std::int64_t& position : shifted) position += shift;
    Heads q(q_), k(k_);
    turn(shifted, q, k);
    const std::int64_t group = options_.q_heads / options_.k_heads;
    Worst worst;
    for (std::int64_t h = 0; h < options_.q_heads; ++h) {
      const std::vector<double> q_hypots = hypots(q_, h), k_hypots = hypots(k_, h / group);
      for (std::int64_t i = 0; i < options_.tokens; ++i) {
        for (std::int64_t j = 0; j < options_.tokens; ++j) {
          const std::size_t q_at = q_.offset(i, h), k_at = k_.offset(j, h / group);
          const double* q_hypot = &q_hypots[static_cast<std::size_t>(i) * pairs_];
          const double* k_hypot = &k_hypots[static_cast<std::size_t>(j) * pairs_];
          double lengths = 0;
          for (std::size_t p = 0; p < pairs_; ++p) lengths += q_hypot[p] * k_hypot[p];
          worst.see(std::abs(dot(q, q_at, k, k_at) - dot(q_turned_, q_at, k_turned_, k_at)),
                    4 * epsilon(dtype_) * m_ * m_ * lengths);
        }
      }
    }
    return worst.row("scores", dtype_, shift);
  }

  [[nodiscard]] std::vector<double> hypots(const Heads& x, std::int64_t head) const {
    std::vector<double> result;
    for (std::int64_t t = 0; t < options_.tokens; ++t) {
      for (std::size_t i = 0; i < pairs_; ++i) result.push_back(hypot(x, x.offset(t, head), i));
    }
    return result;
  }

  // The same spec with the other pairing, on permuted elements.
  CheckRow pairings() {
    SpecFields fields = rope_.spec().fields();
    const Pairing own = fields.pairing;
    fields.pairing = own == Pairing::kHalves ? Pairing::kAdjacent : Pairing::kHalves;
    const Rope other{Spec(fields)};
    Heads permuted(q_);
    const auto permute = [&](auto see) {
      for_each_head(q_, [&](std::size_t at) {
        for (std::size_t i = 0; i < pairs_; ++i) {
          const Pair here = pair_at(own, i, pairs_), there = pair_at(fields.pairing, i, pairs_);
          see(at + here.a, at + there.a);
          see(at + here.b, at + there.b);
        }
      });
    };
    permute([&](std::size_t here, std::size_t there) { permuted.copy_element(there, q_, here); });
    rotate(other, permuted.view(), Positions::ids(positions_), {.target = options_.target});
    Worst worst;
    permute([&](std::size_t here, std::size_t there) {
      const bool same = q_turned_.same_bits(here, permuted, there);
      worst.see(same ? 0 : std::max(std::abs(q_turned_.at(here) - permuted.at(there)), 0x1p-149),
                0);
    });
    return worst.row("pairings", dtype_);
  }

  const Rope& rope_;
  const CheckOptions& options_;
  DType dtype_;
  double m_;
  std::size_t pairs_;
  std::vector<std::int64_t> positions_;
  Heads q_, k_;                // as drawn
  Heads q_turned_, k_turned_;  // at their positions
};

void check_options(const CheckOptions& options) {
  const auto want = [](std::string_view what, std::int64_t value, std::int64_t low) {
    if (value < low) {
      throw Error(ErrorCode::kInvalidArgument, message(what, " ", value, " is less than ", low));
    }
  };
  want("q_heads", options.q_heads, 2);
  want("k_heads", options.k_heads, 1);
  want("tokens", options.tokens, 1);
  want("positions_below", options.positions_below, 1);
  if (options.q_heads % options.k_heads != 0) {
    throw Error(
        ErrorCode::kInvalidArgument,
        message("q_heads ", options.q_heads, " is no multiple of k_heads ", options.k_heads));
  }
}

}  // namespace

std::vector<CheckRow> check(const Rope& rope, const CheckOptions& options) {
  check_options(options);
  std::vector<CheckRow> rows;
  for (const DType dtype : {DType::kF32, DType::kBf16}) {
    Checker(rope, options, dtype).run(rows);
  }
  return rows;
}

}  // namespace ropewalk
