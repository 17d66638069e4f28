// Angles: rows of cos and sin for a batch of tokens, computed once and used by every layer, by q
// and by k.
//
// The cache worth having, and the caller's: assign() once per step, then rotate(angles, ...) in each
// layer. The results are those of rotate(rope, ..., positions, ...), bit for bit.

#ifndef ROPEWALK_ANGLES_HPP_
#define ROPEWALK_ANGLES_HPP_

#include <cstdint>
#include <optional>
#include <ropewalk/options.hpp>
#include <ropewalk/positions.hpp>
#include <ropewalk/rope.hpp>
#include <ropewalk/tensor.hpp>
#include <span>
#include <vector>

namespace ropewalk {

// xPos (Sun et al. 2022, "A length-extrapolatable transformer", section 3): the rows of pair i are
// multiplied by ζ_i^((position - origin) / scale_base) for queries and divided by it for keys,
// ζ_i = (2 i + 0.4 d) / (1.4 d) with d = rotary_dim. Only the distance of a query and a key is left
// in their score, if both are made with the same origin.
struct XPos {
  enum class Role : std::uint8_t { kQuery, kKey };
  Role role = Role::kQuery;
  double scale_base = 512;
  std::int64_t origin = 0;
};

struct AnglesOptions {
  // Of the tensors. Rows of float serve f32, bf16 and f16; f64 tensors want rows of double.
  DType dtype = DType::kF32;
  // A constant factor on cos and sin, and one per token, [tokens] or [batch x tokens]: a query's
  // temperature, log-n. Finite and > 0. The span is read by assign() only.
  double factor = 1;
  std::span<const double> token_factors = {};
  // The angles as a checkpoint saw them: float32 position x float32 frequency in float32, cos and
  // sin of that, times m, rounded to this type (kF32, kBf16 or kF16). For parity with a model that
  // was trained so, and to see what it costs: outside the promise of accuracy.
  std::optional<DType> as_seen_in = {};
  std::optional<XPos> xpos = {};
  Options run = {};
};

// cos and sin that someone else computed: dense [batch, rows, width], of f32, f64, f16 or bf16. They
// need not lie on the unit circle. width is the number of pairs, or rotary_dim with every value
// twice: as the two elements of its pair, [c0 c1 .. c0 c1 ..] or [c0 c0 c1 c1 ..].
struct GivenRows {
  const void* cos = nullptr;
  const void* sin = nullptr;
  DType dtype = DType::kF32;
  std::int64_t batch = 1;
  std::int64_t rows = 0;
  std::int64_t width = 0;
};

class Angles {
 public:
  // Rows of a plan. The positions must say how many tokens there are: ids do, and
  // Positions::from(start, tokens). Storage is kept and reused. Throws Error (the old rows stay).
  void assign(const Rope& rope, const Positions& positions, const AnglesOptions& options = {});

  // Given rows, one per token: GivenRows [1 or batch, tokens, width]. Of spec, the dimensions and
  // pairings are used. dtype: kF32 (for f32, bf16, f16 tensors) or kF64.
  void assign(const Spec& spec, const GivenRows& rows, DType dtype = DType::kF32);

  // Given rows, one per position: GivenRows [1, largest position + 1, width], picked by integer
  // positions. An id outside is an error with its index.
  void assign(const Spec& spec, const GivenRows& table, const Positions& positions,
              DType dtype = DType::kF32);

  // 1 if the rows serve every sequence of a batch.
  [[nodiscard]] std::int64_t batch() const noexcept { return batch_; }
  [[nodiscard]] std::int64_t tokens() const noexcept { return tokens_; }
  [[nodiscard]] std::int64_t pairs() const noexcept { return spec_ ? spec_->rotary_dim() / 2 : 0; }
  // kF32 or kF64: of the rows.
  [[nodiscard]] DType dtype() const noexcept { return is_double_ ? DType::kF64 : DType::kF32; }

  // What rotate multiplies by, all factors included, for kernels of one's own. Row b * tokens() + t:
  //
  //   compact      cos, sin [rows, pairs]
  //   duplicated   cos, sin [rows, rotary_dim], as the elements of a head are paired
  //   complex      [rows, pairs, 2]: cos, sin side by side
  //
  // T is float or double, whatever the rows are. Throws Error if a span has another size.
  template <class T>
  void read_compact(std::span<T> cos, std::span<T> sin) const;
  template <class T>
  void read_duplicated(std::span<T> cos, std::span<T> sin) const;
  template <class T>
  void read_complex(std::span<T> complex) const;

 private:
  friend struct AnglesAccess;  // src/angles.hpp: how rotate reads rows

  struct Value {
    double cos, sin;
  };
  std::size_t reserve(const Spec& spec, std::int64_t batch, std::int64_t tokens, DType dtype);
  void reset(const Spec& spec, std::int64_t batch, std::int64_t tokens, DType dtype);
  void fill(const Rope& rope, const Positions& positions, const Options& run);
  void fill_as_seen(const Rope& rope, const Positions& positions, DType dtype);
  void set(std::size_t row, std::size_t pair, double cos, double sin) noexcept;
  [[nodiscard]] Value value(std::size_t row, std::size_t pair) const noexcept;  // scaled

  std::optional<Spec> spec_;
  std::int64_t batch_ = 0, tokens_ = 0;
  bool is_double_ = false;
  std::vector<float> floats_;         // [batch, tokens, 2 padded pairs] and slack
  std::vector<double> doubles_;       // likewise
  double scale_ = 1;                  // of all rows
  std::vector<double> token_scales_;  // [batch x tokens] or empty
  bool is_turn_ = false;              // rows are cos and sin, unscaled: they can be undone
};

}  // namespace ropewalk

#endif  // ROPEWALK_ANGLES_HPP_
