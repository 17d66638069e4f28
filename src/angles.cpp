#include "angles.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <ropewalk/error.hpp>
#include <utility>

#include "given.hpp"
#include "message.hpp"
#include "rows.hpp"

namespace ropewalk {
namespace {

template <class... Parts>
[[noreturn]] void refuse(ErrorCode code, const Parts&... parts) {
  throw Error(code, message(parts...));
}

// ---- Checks of assign ----

const kernels::Table& table_of(const Options& options) {
  const kernels::Table* table = kernels::table_for(options.target);
  if (table == nullptr) {
    refuse(ErrorCode::kUnsupported, "target ", name(options.target),
           " is not to be had in this build or on this CPU");
  }
  return *table;
}

void check_factor(double factor, std::string_view who) {
  if (!(factor >= 0x1p-100 && factor <= 0x1p100)) {
    refuse(ErrorCode::kInvalidArgument, who, " is ", factor,
           ", want a number from 2^-100 to 2^100");
  }
}

void check_options(const AnglesOptions& options, std::int64_t rows) {
  check_factor(options.factor, "factor");
  if (!options.token_factors.empty() &&
      options.token_factors.size() != static_cast<std::size_t>(rows)) {
    refuse(ErrorCode::kShapeMismatch, "token_factors has ", options.token_factors.size(),
           " values, the positions have ", rows, " tokens");
  }
  for (std::size_t i = 0; i < options.token_factors.size(); ++i) {
    check_factor(options.token_factors[i], message("token_factors[", i, "]"));
  }
  if (options.as_seen_in == DType::kF64) {
    refuse(ErrorCode::kInvalidArgument, "as_seen_in f64: want f32, bf16 or f16");
  }
  if (options.as_seen_in && options.dtype == DType::kF64) {
    refuse(ErrorCode::kInvalidArgument, "as_seen_in ", name(*options.as_seen_in),
           " with dtype f64: such angles are float");
  }
}

// To nearest even in `bits` bits of mantissa, exponents from `smallest` on.
float rounded(float value, int bits, int smallest) {
  int exponent = 0;
  std::frexp(value, &exponent);
  const int unit = std::max(exponent - bits, smallest);
  return std::ldexp(std::nearbyint(std::ldexp(value, -unit)), unit);
}

float rounded_to(DType dtype, float value) {
  if (dtype == DType::kBf16) return rounded(value, 8, -133);
  if (dtype == DType::kF16) return rounded(value, 11, -24);
  return value;
}

// xPos multiplies pair i by ζ_i to this power.
double xpos_power(const XPos& xpos, double position) {
  const double power = (position - static_cast<double>(xpos.origin)) / xpos.scale_base;
  return xpos.role == XPos::Role::kQuery ? power : -power;
}

double zeta(std::size_t pair, std::int64_t rotary_dim) {
  const auto d = static_cast<double>(rotary_dim);
  return (2 * static_cast<double>(pair) + 0.4 * d) / (1.4 * d);
}

// see(row, token's position) for all tokens, on the first axis.
template <class See>
void for_each_position(const Positions& positions, std::int64_t batch, See see) {
  std::int64_t whole = 0;
  double fraction = 0;
  for (std::int64_t b = 0; b < batch; ++b) {
    for (std::int64_t t = 0; t < positions.tokens(); ++t) {
      positions.copy(0, b, t, {&whole, 1}, {&fraction, 1});
      see(static_cast<std::size_t>(b * positions.tokens() + t),
          static_cast<double>(whole) + fraction);
    }
  }
}

// Of all pairs, ζ of pair 0 is the farthest from 1.
void check_xpos(const XPos& xpos, const Positions& positions, std::int64_t batch,
                const Rope& rope) {
  if (!(xpos.scale_base > 0 && std::isfinite(xpos.scale_base))) {
    refuse(ErrorCode::kInvalidArgument, "xpos scale_base ", xpos.scale_base,
           " is not a finite number > 0");
  }
  if (rope.axes() > 1) {
    refuse(ErrorCode::kInvalidArgument, "xpos with a rope of ", rope.axes(), " axes: want 1");
  }
  for_each_position(positions, batch, [&](std::size_t, double position) {
    const double scale = std::pow(zeta(0, rope.spec().rotary_dim()), xpos_power(xpos, position));
    if (!(scale >= 0x1p-100 && scale <= 0x1p100)) {
      refuse(ErrorCode::kInvalidArgument, "xpos multiplies position ", position, " by ", scale,
             ", beyond the range of f32: choose an origin nearer to it than ", xpos.origin);
    }
  });
}

// The number of tokens and sequences that positions say by themselves.
std::int64_t batch_of(const Positions& positions) {
  if (positions.tokens() == Positions::kUnknown) {
    refuse(ErrorCode::kInvalidArgument,
           "positions do not say how many tokens there are: give that number beside the start");
  }
  return positions.is_per_sequence() ? positions.batch() : 1;
}

}  // namespace

// ---- Angles ----

// Makes room for the rows, and leaves what is there as it is. Returns how many values they have.
std::size_t Angles::reserve(const Spec& spec, std::int64_t batch, std::int64_t tokens,
                            DType dtype) {
  const std::size_t stride = 2 * kernels::padded(static_cast<std::size_t>(spec.rotary_dim() / 2));
  const auto rows = static_cast<unsigned __int128>(batch) * static_cast<std::uint64_t>(tokens);
  if (rows > std::numeric_limits<std::size_t>::max() / 32 / stride) {
    refuse(ErrorCode::kInvalidArgument, "angles for batch ", batch, " and ", tokens,
           " tokens are larger than the memory");
  }
  // Kernels read whole vectors, so the last row is followed by one.
  const std::size_t size = static_cast<std::size_t>(rows) * stride + kernels::kPadding;
  dtype == DType::kF64 ? doubles_.reserve(size) : floats_.reserve(size);
  return size;
}

void Angles::reset(const Spec& spec, std::int64_t batch, std::int64_t tokens, DType dtype) {
  Spec copy = spec;  // what may throw comes first: then the old rows are whole
  const std::size_t size = reserve(spec, batch, tokens, dtype);
  dtype == DType::kF64 ? doubles_.resize(size) : floats_.resize(size);
  is_double_ = dtype == DType::kF64;
  spec_ = std::move(copy);
  batch_ = batch;
  tokens_ = tokens;
  scale_ = 1;
  token_scales_.clear();
  is_turn_ = false;
}

void Angles::set(std::size_t row, std::size_t pair, double cos, double sin) noexcept {
  const std::size_t padded = kernels::padded(static_cast<std::size_t>(pairs()));
  const std::size_t at = row * 2 * padded + pair;
  if (is_double_) {
    doubles_[at] = cos;
    doubles_[at + padded] = sin;
  } else {
    floats_[at] = static_cast<float>(cos);
    floats_[at + padded] = static_cast<float>(sin);
  }
}

Angles::Value Angles::value(std::size_t row, std::size_t pair) const noexcept {
  const std::size_t padded = kernels::padded(static_cast<std::size_t>(pairs()));
  const std::size_t at = row * 2 * padded + pair;
  const double scale = scale_ * (token_scales_.empty() ? 1.0 : token_scales_[row]);
  if (is_double_) return {doubles_[at] * scale, doubles_[at + padded] * scale};
  const auto scale_f = static_cast<float>(scale);  // as the kernels do
  return {floats_[at] * scale_f, floats_[at + padded] * scale_f};
}

void Angles::fill(const Rope& rope, const Positions& positions, const Options& run) {
  const kernels::Table& table = *kernels::table_for(run.target);
  const auto pairs = static_cast<std::size_t>(this->pairs());
  const std::size_t padded = kernels::padded(pairs);
  const std::size_t block = std::min(pairs, kernels::kMaxRowPairs);
  const auto step = static_cast<std::int64_t>(tile_tokens(block));
  const Turning turning{&rope, &positions};
  AngleMemory memory;
  kernels::AngleJob job;
  for (std::int64_t b = 0; b < batch_; ++b) {
    for (std::int64_t t = 0; t < tokens_; t += step) {
      const auto tokens = static_cast<std::size_t>(std::min(step, tokens_ - t));
      for (std::size_t i = 0; i < pairs; i += block) {
        const std::size_t at = static_cast<std::size_t>(b * tokens_ + t) * 2 * padded + i;
        void* data = is_double_ ? static_cast<void*>(doubles_.data() + at)
                                : static_cast<void*>(floats_.data() + at);
        make_angle_job(turning, {b, t, tokens, i, std::min(block, pairs - i)},
                       {data, is_double_, 2 * padded, padded}, memory, job);
        table.angles[is_double_ ? 1 : 0](job);
      }
    }
  }
}

// float32 position x float32 frequency in float32, cos and sin of that times m in float32, rounded.
void Angles::fill_as_seen(const Rope& rope, const Positions& positions, DType dtype) {
  const auto m = static_cast<float>(rope.attention_factor());
  const auto& axis_of_pair = rope.spec().axis_of_pair();
  const float clockwise = rope.spec().clockwise() ? -1.0f : 1.0f;
  for (std::int64_t b = 0; b < batch_; ++b) {
    for (std::int64_t t = 0; t < tokens_; ++t) {
      for (std::size_t i = 0; i < rope.frequencies().size(); ++i) {
        std::int64_t whole = 0;
        double fraction = 0;
        positions.copy(axis_of_pair.empty() ? 0 : axis_of_pair[i], b, t, {&whole, 1},
                       {&fraction, 1});
        const auto position = static_cast<float>(static_cast<double>(whole) + fraction);
        const float angle = position * static_cast<float>(rope.frequencies()[i]);
        set(static_cast<std::size_t>(b * tokens_ + t), i,
            rounded_to(dtype, static_cast<float>(std::cos(double{angle})) * m),
            rounded_to(dtype, static_cast<float>(std::sin(double{angle})) * m * clockwise));
      }
    }
  }
}

void Angles::assign(const Rope& rope, const Positions& positions, const AnglesOptions& options) {
  const std::int64_t batch = batch_of(positions);
  positions.check(batch, positions.tokens(), rope.axes());
  reserve(rope.spec(), batch, positions.tokens(), options.dtype);
  check_options(options, batch * positions.tokens());
  if (options.xpos) check_xpos(*options.xpos, positions, batch, rope);
  table_of(options.run);

  token_scales_.reserve(options.token_factors.size());
  reset(rope.spec(), batch, positions.tokens(), options.dtype);
  options.as_seen_in ? fill_as_seen(rope, positions, *options.as_seen_in)
                     : fill(rope, positions, options.run);
  if (options.xpos) {
    for_each_position(positions, batch, [&](std::size_t row, double position) {
      const double power = xpos_power(*options.xpos, position);
      for (std::size_t i = 0; i < rope.frequencies().size(); ++i) {
        const double scale = std::pow(zeta(i, rope.spec().rotary_dim()), power);
        const Value unscaled = value(row, i);
        set(row, i, unscaled.cos * scale, unscaled.sin * scale);
      }
    });
  }
  scale_ = options.factor * (options.as_seen_in ? 1.0 : rope.attention_factor());
  token_scales_.assign(options.token_factors.begin(), options.token_factors.end());
  is_turn_ = !options.as_seen_in && !options.xpos;
}

void Angles::assign(const Spec& spec, const GivenRows& rows, DType dtype) {
  const GivenReader reader(spec, rows);
  reset(spec, rows.batch, rows.rows, dtype);
  for (std::size_t row = 0; row < static_cast<std::size_t>(rows.batch * rows.rows); ++row) {
    for (std::size_t i = 0; i < static_cast<std::size_t>(pairs()); ++i) {
      set(row, i, reader.cos(row, i), reader.sin(row, i));
    }
  }
}

void Angles::assign(const Spec& spec, const GivenRows& table, const Positions& positions,
                    DType dtype) {
  const GivenReader reader(spec, table);
  const std::int64_t batch = batch_of(positions);
  positions.check(batch, positions.tokens(), 1);
  if (positions.is_real()) {
    refuse(ErrorCode::kInvalidArgument, "positions are real numbers: a table wants integers");
  }
  if (table.batch != 1) {
    refuse(ErrorCode::kShapeMismatch, "a table of cos and sin has batch ", table.batch, ", want 1");
  }
  for_each_position(positions, batch, [&](std::size_t row, double position) {
    if (position < 0 || position >= static_cast<double>(table.rows)) {
      refuse(ErrorCode::kInvalidArgument, "positions[", row, "] is ", position,
             ", the table of cos and sin has rows 0 to ", table.rows - 1);
    }
  });
  reset(spec, batch, positions.tokens(), dtype);
  for_each_position(positions, batch, [&](std::size_t row, double position) {
    for (std::size_t i = 0; i < static_cast<std::size_t>(pairs()); ++i) {
      const auto picked = static_cast<std::size_t>(position);
      set(row, i, reader.cos(picked, i), reader.sin(picked, i));
    }
  });
}

// ---- Reading out ----

namespace {

template <class T>
void check_size(std::span<T> values, std::size_t wanted, std::string_view who) {
  if (values.size() != wanted) {
    refuse(ErrorCode::kShapeMismatch, who, " has ", values.size(), " values, want ", wanted);
  }
}

}  // namespace

template <class T>
void Angles::read_compact(std::span<T> cos, std::span<T> sin) const {
  const auto rows = static_cast<std::size_t>(batch_ * tokens_),
             n = static_cast<std::size_t>(pairs());
  check_size(cos, rows * n, "cos");
  check_size(sin, rows * n, "sin");
  for (std::size_t at = 0; at < rows * n; ++at) {
    const Value each = value(at / n, at % n);
    cos[at] = static_cast<T>(each.cos);
    sin[at] = static_cast<T>(each.sin);
  }
}

template <class T>
void Angles::read_duplicated(std::span<T> cos, std::span<T> sin) const {
  const auto rows = static_cast<std::size_t>(batch_ * tokens_),
             n = static_cast<std::size_t>(pairs());
  check_size(cos, rows * 2 * n, "cos");
  check_size(sin, rows * 2 * n, "sin");
  if (rows == 0) return;
  const bool adjacent = spec_->pairing() == Pairing::kAdjacent;
  const std::size_t part = n / static_cast<std::size_t>(spec_->window_parts());
  for (std::size_t at = 0; at < rows * n; ++at) {
    const Value each = value(at / n, at % n);
    const std::size_t i = at % n % part;
    const std::size_t a = at / n * 2 * n + at % n / part * 2 * part + (adjacent ? 2 * i : i);
    for (const std::size_t element : {a, a + (adjacent ? 1 : part)}) {
      cos[element] = static_cast<T>(each.cos);
      sin[element] = static_cast<T>(each.sin);
    }
  }
}

template <class T>
void Angles::read_complex(std::span<T> complex) const {
  const auto rows = static_cast<std::size_t>(batch_ * tokens_),
             n = static_cast<std::size_t>(pairs());
  check_size(complex, rows * 2 * n, "complex");
  for (std::size_t at = 0; at < rows * n; ++at) {
    const Value each = value(at / n, at % n);
    complex[2 * at] = static_cast<T>(each.cos);
    complex[2 * at + 1] = static_cast<T>(each.sin);
  }
}

template void Angles::read_compact(std::span<float>, std::span<float>) const;
template void Angles::read_compact(std::span<double>, std::span<double>) const;
template void Angles::read_duplicated(std::span<float>, std::span<float>) const;
template void Angles::read_duplicated(std::span<double>, std::span<double>) const;
template void Angles::read_complex(std::span<float>) const;
template void Angles::read_complex(std::span<double>) const;

}  // namespace ropewalk
