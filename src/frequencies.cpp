#include <algorithm>
#include <cmath>
#include <numbers>
#include <ropewalk/error.hpp>
#include <ropewalk/frequencies.hpp>

#include "message.hpp"

namespace ropewalk {
namespace {

using Radians = std::vector<double>;
using Length = std::optional<std::int64_t>;

// What a rule is given, beside its fields: the window, or each part of it.
struct Window {
  double base;
  std::int64_t dim;       // elements, d
  std::int64_t head_dim;  // of the head, or its share for the part
  bool in_float32 = false;
};

// ω_i = base^(-2i / d). Su et al. 2021, "RoFormer", section 3.2.2.
//
// Rounding the exponent alone would cost ln(base) / 2 units in the last place, so what the rounding
// left over is put back: base^-(e + rest) = base^-e (1 - rest ln base) to first order.
Radians plain(double base, std::int64_t pairs, std::int64_t dim) {
  Radians radians(static_cast<std::size_t>(pairs));
  const auto d = static_cast<double>(dim);
  for (std::size_t i = 0; i < radians.size(); ++i) {
    const double twice = 2 * static_cast<double>(i);
    const double exponent = twice / d;
    const double rest = std::fma(-exponent, d, twice) / d;
    const double power = std::pow(base, -exponent);
    radians[i] = std::fma(-power * rest, std::log(base), power);
  }
  return radians;
}

Radians plain(const Window& window) { return plain(window.base, window.dim / 2, window.dim); }

// ω_i / factor. Chen et al. 2023, "Extending context window of large language models via position
// interpolation", equation 4.
Radians linear(const Window& window, double factor) {
  Radians radians = plain(window);
  for (double& omega : radians) omega /= factor;
  return radians;
}

// The plain rule with base alpha^(d / (d - 2)), which divides the slowest frequency by alpha and leaves
// the fastest: "NTK-aware scaled RoPE" (bloc97 2023); Peng et al. 2023, "YaRN", definition 1. Of one
// pair, the fastest and slowest are the same and stay.
Radians ntk(const Window& window, double alpha) {
  if (window.dim == 2) return plain(window);
  const auto d = static_cast<double>(window.dim);
  return plain(window.base * std::pow(alpha, d / (d - 2)), window.dim / 2, window.dim);
}

// ntk with an alpha that grows with the length (emozilla 2023, "Dynamically scaled RoPE"; transformers'
// _compute_dynamic_ntk_parameters): factor length / L - (factor - 1), which is 1 at the trained length
// L. HunYuan's form has a fixed alpha under the same name.
Radians dynamic(const Window& window, const Scaling& scaling, Length length) {
  if (scaling.alpha) return ntk(window, *scaling.alpha);
  const std::int64_t trained = *scaling.original_max_position_embeddings;
  if (!length || *length <= trained) return plain(window);
  const double ratio = static_cast<double>(*length) / static_cast<double>(trained);
  return ntk(window, *scaling.factor * ratio - (*scaling.factor - 1));
}

// ntk with alpha = max(2^ceil(log2(length / L) + 1) - 1, 1): 1, 3, 7, 15 ... at 1, 2, 4, 8 times the
// trained length L. Qwen-1 (get_ntk_alpha of its modeling_qwen.py), where length is that of the prompt.
Radians dynamic_stepwise(const Window& window, const Scaling& scaling, Length length) {
  const auto trained = static_cast<double>(*scaling.original_max_position_embeddings);
  double power = 1;
  while (length && trained * power < static_cast<double>(*length)) power *= 2;
  return ntk(window, power == 1 ? 1 : 2 * power - 1);
}

// The pair, as a real number, that completes so many turns within the trained length L: d ln(L / (2π
// turns)) / (2 ln base). Peng et al. 2023, "YaRN", section 3.2, solved for the pair.
double pair_of(double turns, const Window& window, double trained) {
  const auto d = static_cast<double>(window.dim);
  return d * std::log(trained / (turns * 2 * std::numbers::pi)) / (2 * std::log(window.base));
}

// How much of each pair is interpolated: 0 up to the pair that completes `fast` turns, 1 from the pair
// that completes `slow` turns on, linear between. The bounds are clamped to 0 and d - 1 (not d/2 - 1:
// so did the original, github.com/jquesnelle/yarn, and everyone since) and, where they are equal, moved
// apart by 0.001. Near 1 what is left of a frequency is a difference, and a checkpoint whose frequencies
// were computed in float32 was trained with that of the rounded ramp: 2e-6 away where factor is 32.
Radians ramp(const Window& window, const Scaling& scaling, double fast, double slow,
             bool truncate) {
  const auto trained = static_cast<double>(*scaling.original_max_position_embeddings);
  double low = pair_of(fast, window, trained);
  double high = pair_of(slow, window, trained);
  if (truncate) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  low = std::max(low, 0.0);
  high = std::min(high, static_cast<double>(window.dim - 1));
  if (low == high) high += 0.001;
  const auto rounded = [&](double x) {
    return window.in_float32 ? static_cast<double>(static_cast<float>(x)) : x;
  };
  Radians share(static_cast<std::size_t>(window.dim / 2));
  for (std::size_t i = 0; i < share.size(); ++i) {
    const double place = rounded(static_cast<double>(i) - rounded(low));
    share[i] = std::clamp(rounded(place / rounded(high - low)), 0.0, 1.0);
  }
  return share;
}

// from, and of `to` as much as share says.
void blend(Radians& from, const Radians& to, const Radians& share, double most) {
  for (std::size_t i = 0; i < from.size(); ++i) {
    const double kept = (1 - share[i]) * most;
    from[i] = to[i] * (1 - kept) + from[i] * kept;
  }
}

// "NTK by parts" (bloc97 2023; github.com/jquesnelle/yarn, LlamaPartNTKScaledRotaryEmbedding, whose
// constants these are): linear for pairs below 0.75 turns within the trained length, ntk from 1.25,
// then plain from 16 turns, ntk or linear below 2.
Radians ntk_by_parts(const Window& window, const Scaling& scaling) {
  constexpr double kBeta0 = 1.25, kBeta1 = 0.75, kGamma0 = 16, kGamma1 = 2;
  Radians radians = ntk(window, *scaling.factor);
  blend(radians, linear(window, *scaling.factor), ramp(window, scaling, kBeta0, kBeta1, true), 1);
  Radians result = plain(window);
  blend(result, radians, ramp(window, scaling, kGamma0, kGamma1, true),
        scaling.extrapolation_factor.value_or(1));
  return result;
}

// Peng et al. 2023, "YaRN: Efficient context window extension of large language models", section 3.2:
// plain for pairs with more than beta_fast turns within the trained length, linear below beta_slow.
Radians yarn(const Window& window, const Scaling& scaling) {
  Radians radians = plain(window);
  const Radians share = ramp(window, scaling, scaling.beta_fast.value_or(32),
                             scaling.beta_slow.value_or(1), scaling.truncate.value_or(true));
  blend(radians, linear(window, *scaling.factor), share, scaling.extrapolation_factor.value_or(1));
  return radians;
}

// 0.1 mscale ln(factor) + 1: YaRN's equation 15, with DeepSeek-V2's mscale.
double yarn_magnitude(double factor, double mscale) {
  return factor <= 1 ? 1 : 0.1 * mscale * std::log(factor) + 1;
}

// mscale counts only together with mscale_all_dim, as transformers has it: the ratio of the two is
// on cos and sin, the other part on the scale of the softmax.
double yarn_attention_factor(const Scaling& scaling) {
  if (scaling.attention_factor) return *scaling.attention_factor;
  const double mscale = scaling.mscale.value_or(0);
  const double all_dim = scaling.mscale_all_dim.value_or(0);
  if (mscale == 0 || all_dim == 0) return yarn_magnitude(*scaling.factor, 1);
  return yarn_magnitude(*scaling.factor, mscale) / yarn_magnitude(*scaling.factor, all_dim);
}

// Llama 3.1 (Meta's llama-models, apply_scaling): plain for wavelengths below L / high_freq_factor,
// linear above L / low_freq_factor, between them a blend over L / wavelength.
Radians llama3(const Window& window, const Scaling& scaling) {
  const auto trained = static_cast<double>(*scaling.original_max_position_embeddings);
  const double low = *scaling.low_freq_factor;
  const double high = *scaling.high_freq_factor;
  Radians radians = plain(window);
  for (double& omega : radians) {
    const double turns = trained * omega / (2 * std::numbers::pi);
    if (turns > high) continue;
    const double smooth = turns <= low ? 0 : (turns - low) / (high - low);
    omega = (1 - smooth) * omega / *scaling.factor + smooth * omega;
  }
  return radians;
}

// GGUF's rope_freqs: a divisor for every frequency, on top of the rule. In ggml's rope_yarn
// (src/ggml-cpu/ops.cpp) the angle is divided first, and then blended with itself / factor: the blend is
// of the pair's number alone, so which comes first makes no difference.
void divide(Radians& radians, const Radians& divisors) {
  for (std::size_t i = 0; i < radians.size(); ++i) radians[i] /= divisors[i];
}

bool is_long(const Scaling& scaling, Length length) {
  return length && *length > *scaling.original_max_position_embeddings;
}

// Ding et al. 2024, "LongRoPE": every frequency has a divisor of its own, one list for texts up to the
// trained length L and one beyond. Which is in force is a matter of the plan: keys of one list do not
// fit queries of the other.
Radians longrope(const Window& window, const Scaling& scaling, Length length) {
  const auto& divisors = is_long(scaling, length) ? *scaling.long_factor : *scaling.short_factor;
  Radians radians = plain(window);
  divide(radians, divisors);
  return radians;
}

// sqrt(1 + ln factor / ln L), section 3.3 of the paper; Phi-3.5-MoE has a number for each list.
double longrope_attention_factor(const Scaling& scaling, Length length) {
  if (scaling.short_mscale) {
    return is_long(scaling, length) ? *scaling.long_mscale : *scaling.short_mscale;
  }
  if (scaling.attention_factor) return *scaling.attention_factor;
  if (*scaling.factor <= 1) return 1;
  const auto trained = static_cast<double>(*scaling.original_max_position_embeddings);
  return std::sqrt(1 + std::log(*scaling.factor) / std::log(trained));
}

// The exponent is over head_dim, and only the first rotating_pairs turn: Gemma 4 (transformers'
// _compute_proportional_rope_parameters). Not the same as a window of fewer elements.
Radians proportional(const Window& window, const Scaling& scaling) {
  Radians radians = plain(window.base, window.dim / 2, window.head_dim);
  const auto rotating = static_cast<std::size_t>(scaling.rotating_pairs.value_or(window.dim / 2));
  for (std::size_t i = 0; i < radians.size(); ++i) {
    radians[i] = i < rotating ? radians[i] / scaling.factor.value_or(1) : 0;
  }
  return radians;
}

Frequencies by_rule(const Window& window, const Scaling& scaling, Length length) {
  switch (scaling.type) {
    case Scaling::Type::kDefault: break;
    case Scaling::Type::kLinear: return {linear(window, *scaling.factor)};
    case Scaling::Type::kNtk: return {ntk(window, *scaling.alpha)};
    case Scaling::Type::kDynamic: return {dynamic(window, scaling, length)};
    case Scaling::Type::kDynamicStepwise: return {dynamic_stepwise(window, scaling, length)};
    case Scaling::Type::kNtkByParts: return {ntk_by_parts(window, scaling)};
    case Scaling::Type::kYarn: return {yarn(window, scaling), yarn_attention_factor(scaling)};
    case Scaling::Type::kLlama3: return {llama3(window, scaling)};
    case Scaling::Type::kLongrope:
      return {longrope(window, scaling, length), longrope_attention_factor(scaling, length)};
    case Scaling::Type::kProportional: return {proportional(window, scaling)};
    case Scaling::Type::kDivisors: return {linear(window, scaling.factor.value_or(1))};
  }
  return {plain(window)};
}

// Each part of a window starts again at i = 0.
Radians repeated(const Radians& part, std::int64_t parts) {
  Radians radians;
  for (std::int64_t p = 0; p < parts; ++p) radians.insert(radians.end(), part.begin(), part.end());
  return radians;
}

// The turns of a plan are exact for |ω| < 2^32.
void check_limit(const Spec& spec, const Radians& radians) {
  for (std::size_t i = 0; i < radians.size(); ++i) {
    if (!(std::abs(radians[i]) < 0x1p32)) {
      throw Error(ErrorCode::kInvalidArgument,
                  message("the frequency of pair ", i, ", scaling type ", name(spec.scaling().type),
                          ", is ", radians[i], ", want less than 2^32"));
    }
  }
}

}  // namespace

bool depends_on_length(const Spec& spec) noexcept {
  const auto& scaling = spec.fields().scaling;
  if (!scaling) return false;
  return scaling->type == Scaling::Type::kDynamicStepwise ||
         scaling->type == Scaling::Type::kLongrope ||
         (scaling->type == Scaling::Type::kDynamic && !scaling->alpha);
}

Frequencies frequencies(const Spec& spec, std::optional<std::int64_t> length) {
  if (length && *length < 1) {
    throw Error(ErrorCode::kInvalidArgument, message("length ", *length, " is less than 1"));
  }
  Frequencies made;
  if (spec.frequencies()) {
    made.radians = *spec.frequencies();
  } else {
    const std::int64_t parts = spec.window_parts();
    const Window part{spec.base(), spec.rotary_dim() / parts, spec.head_dim() / parts,
                      spec.frequency_rounding() == FrequencyRounding::kFloat32};
    made = by_rule(part, spec.scaling(), length);
    if (spec.scaling().divisors) divide(made.radians, *spec.scaling().divisors);
    made.radians = repeated(made.radians, parts);
  }
  if (spec.attention_factor()) made.attention_factor = *spec.attention_factor();
  if (spec.frequency_rounding() == FrequencyRounding::kFloat32) {
    for (double& omega : made.radians) omega = static_cast<double>(static_cast<float>(omega));
  }
  check_limit(spec, made.radians);
  return made;
}

}  // namespace ropewalk
