#include <cmath>
#include <ropewalk/error.hpp>
#include <ropewalk/spec.hpp>
#include <utility>

#include "message.hpp"

namespace ropewalk {
namespace {

// Far above any model, far below what would let a typing error exhaust the memory.
constexpr std::int64_t kMaxHeadDim = std::int64_t{1} << 20;

// ω_i <= 1/base for a base below 1; the turns of a plan are exact for |ω| < 2^32.
constexpr double kMinBase = 0x1p-30;
constexpr double kFrequencyLimit = 0x1p32;

// Within these, m cos φ and m sin φ are float32 values at full precision for every φ that matters
// to the accuracy promise.
constexpr double kMinAttentionFactor = 0x1p-100;
constexpr double kMaxAttentionFactor = 0x1p100;

template <class... Parts>
[[noreturn]] void refuse(const Parts&... parts) {
  throw Error(ErrorCode::kInvalidArgument, message(parts...));
}

void check_dims(const SpecFields& fields) {
  const std::int64_t head_dim = fields.head_dim;
  const std::int64_t rotary_dim = *fields.rotary_dim;
  if (head_dim < 1 || head_dim > kMaxHeadDim) {
    refuse("head_dim ", head_dim, " is not between 1 and ", kMaxHeadDim);
  }
  if (rotary_dim > head_dim) {
    refuse("rotary_dim ", rotary_dim, " is larger than head_dim ", head_dim);
  }
  if (rotary_dim < 2 || rotary_dim % 2 != 0) {
    refuse("rotary_dim ", rotary_dim, " is not an even number from 2 to head_dim ", head_dim);
  }
}

void check_base(double base) {
  if (!std::isfinite(base) || base < kMinBase) {
    refuse("base ", base, " is not a finite number of at least 2^-30");
  }
}

void check_scaling(const Scaling& scaling) {
  if (scaling.type == Scaling::Type::kDefault) {
    if (scaling.factor) refuse("scaling type default takes no factor, got ", *scaling.factor);
    return;
  }
  if (!scaling.factor) refuse("scaling type ", name(scaling.type), " wants a factor");
  if (!std::isfinite(*scaling.factor) || *scaling.factor < 1) {
    refuse("scaling factor ", *scaling.factor, " is not a finite number of at least 1");
  }
}

void check_frequencies(const SpecFields& fields) {
  if (fields.base) refuse("base ", *fields.base, " beside frequencies: give one or the other");
  if (fields.scaling) {
    refuse("scaling ", name(fields.scaling->type), " beside frequencies: give one or the other");
  }
  const auto& frequencies = *fields.frequencies;
  const auto wanted = static_cast<std::size_t>(*fields.rotary_dim / 2);
  if (frequencies.size() != wanted) {
    refuse("frequencies has ", frequencies.size(), " values, rotary_dim ", *fields.rotary_dim,
           " wants ", wanted);
  }
  for (std::size_t i = 0; i < frequencies.size(); ++i) {
    if (!(std::abs(frequencies[i]) < kFrequencyLimit)) {
      refuse("frequencies[", i, "] is ", frequencies[i], ", want a number between -2^32 and 2^32");
    }
  }
}

}  // namespace

std::string_view name(Pairing pairing) noexcept {
  return pairing == Pairing::kHalves ? "halves" : "adjacent";
}

std::string_view name(Scaling::Type type) noexcept {
  return type == Scaling::Type::kDefault ? "default" : "linear";
}

Spec::Spec(SpecFields fields) : fields_(std::move(fields)) {
  if (!fields_.rotary_dim) {
    if (fields_.head_dim > 0 && fields_.head_dim % 2 != 0) {
      refuse("head_dim ", fields_.head_dim,
             " is odd: give a rotary_dim, an even number of elements to rotate");
    }
    fields_.rotary_dim = fields_.head_dim;
  }
  check_dims(fields_);
  if (fields_.frequencies) {
    check_frequencies(fields_);
  } else {
    if (fields_.base) check_base(*fields_.base);
    if (fields_.scaling) check_scaling(*fields_.scaling);
  }
  if (const auto m = fields_.attention_factor;
      m && !(*m >= kMinAttentionFactor && *m <= kMaxAttentionFactor)) {
    refuse("attention_factor ", *m, " is not a number from 2^-100 to 2^100");
  }
}

}  // namespace ropewalk
