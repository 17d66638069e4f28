// rope.scaling.* and the tensors rope_freqs and rope_factors_* of a GGUF -> Scaling and m.
//
// In llama.cpp's names: freq_scale = 1 / factor, ext_factor = extrapolation_. ggml turns a pair by
//
//   p base^(-2i/d) / divisor_i x (freq_scale, or with yarn a blend of freq_scale and 1)
//
// and has on cos and sin attn_factor (1 + 0.1 ln(1 / freq_scale)) with yarn, else attn_factor;
// llama-context.cpp sets attn_factor so that this comes out as transformers' m.

#include <algorithm>
#include <cmath>

#include "model-gguf.hpp"

namespace ropewalk {
namespace {

constexpr const char* kDivisors = "rope_freqs.weight";
constexpr const char* kShort = "rope_factors_short.weight";
constexpr const char* kLong = "rope_factors_long.weight";

constexpr const char* kType = "rope.scaling.type";
constexpr const char* kFactor = "rope.scaling.factor";
constexpr const char* kAlpha = "rope.scaling.alpha";

// 0.1 mscale ln(factor) + 1: get_mscale.
double yarn_magnitude(double factor, double mscale) {
  return factor <= 1 ? 1 : 0.1 * mscale * std::log(factor) + 1;
}

double positive(const GgufKeys& keys, const char* key, double otherwise) {
  const double value = keys.number(key).value_or(otherwise);
  if (!(value > 0)) keys.refuse(key, value, " is not above 0");
  return value;
}

// Converters write p-RoPE, of which the first pairs turn as if all did, as divisors of 1 and then of 1e30.
std::optional<std::int64_t> rotating_pairs(const std::vector<double>& divisors) {
  constexpr double kStill = 1e30;  // in the file it is a float, and a little more
  const auto first =
      std::find_if(divisors.begin(), divisors.end(), [](auto by) { return by != 1; });
  const bool rest_is_still =
      std::all_of(first, divisors.end(), [](double by) { return by >= kStill; });
  if (first == divisors.end() || !rest_is_still) return {};
  return first - divisors.begin();
}

Scaling by_divisors(std::vector<double> divisors, const SpecFields& fields, double factor) {
  Scaling scaling{.type = Scaling::Type::kDivisors};
  if (factor != 1) scaling.factor = factor;
  scaling.rotating_pairs = rotating_pairs(divisors);
  if (scaling.rotating_pairs && fields.rotary_dim == fields.head_dim) {
    scaling.type = Scaling::Type::kProportional;
  } else {
    scaling.rotating_pairs.reset();
    scaling.divisors = std::move(divisors);
  }
  return scaling;
}

}  // namespace

GgufScaling::GgufScaling(const GgufModel& model)
    : keys_(model.keys), architecture_(model.architecture) {
  read_type(model);
  read_yarn(model);
  read_tensors(model);
}

void GgufScaling::read_type(const GgufModel& model) {
  const std::string type = keys_.string(kType).value_or("linear");
  constexpr const char* kTypes[] = {"none", "linear", "yarn", "longrope"};
  if (std::find(std::begin(kTypes), std::end(kTypes), type) == std::end(kTypes)) {
    keys_.refuse(kType, formats::shown(type), " is not known, want none, linear, yarn or longrope");
  }
  const char* const key = keys_.has(kFactor) ? kFactor : "rope.scale_linear";
  factor_ = keys_.number(key).value_or(0);
  const auto other = keys_.number("rope.scale_linear");
  if (other && *other != factor_) {
    model.builder.warn(keys_.line("rope.scale_linear", *other, " is not read, ", kFactor, " is"));
  }
  if (factor_ == 0) factor_ = 1;  // both mean that there is none
  if (factor_ < 1) keys_.refuse(key, factor_, " is not a number from 1, or 0 for none");
  if (type == "none" && factor_ != 1) {
    model.builder.warn(keys_.line(key, factor_, " is not applied: the type of scaling is none"));
    factor_ = 1;
  }
  // Negative: by the type.
  extrapolation_ = keys_.number("rope.scaling.yarn_ext_factor").value_or(-1);
  if (extrapolation_ < 0) extrapolation_ = type == "yarn" ? 1 : 0;
  if (extrapolation_ > 1) {
    keys_.refuse("rope.scaling.yarn_ext_factor", extrapolation_, " is not a number up to 1");
  }
  if (type == "yarn" && factor_ == 1) {
    model.builder.warn(keys_.line(kType, "yarn without a factor above 1 scales nothing"));
  }
  const auto trained = keys_.integer("rope.scaling.original_context_length");
  const auto context = keys_.integer("context_length");
  trained_ = trained.value_or(0) > 0 ? *trained : context.value_or(0);
  if (extrapolation_ != 0 && factor_ != 1 && trained.value_or(0) == 0) {
    model.builder.warn(keys_.line("rope.scaling.original_context_length",
                                  "missing, context_length ", trained_, " taken for it"));
  }
  const double alpha = keys_.number(kAlpha).value_or(0);
  if (alpha > 0 && architecture_.has_alpha) {
    alpha_ = alpha;
  } else if (alpha != 0) {
    model.builder.warn(keys_.line(
        kAlpha, alpha, " is not read",
        architecture_.has_alpha ? ": it is no number above 0" : " for this architecture"));
  }
}

void GgufScaling::read_yarn(const GgufModel& model) {
  constexpr const char* kLog = "rope.scaling.yarn_log_multiplier";
  constexpr const char* kYarnAttention = "rope.scaling.yarn_attn_factor";
  attention_ = positive(keys_, "rope.scaling.attn_factor", 1);
  yarn_attention_ = positive(keys_, kYarnAttention, 1);
  for (const auto& [key, field] : {std::pair("rope.scaling.yarn_beta_fast", &beta_fast_),
                                   std::pair("rope.scaling.yarn_beta_slow", &beta_slow_)}) {
    if (keys_.has(key)) *field = positive(keys_, key, 1);
  }
  const double log = keys_.number(kLog).value_or(0);
  if (log < 0) keys_.refuse(kLog, log, " is below 0");
  if (log != 0 && architecture_.log_multiplier == 0) {
    model.builder.warn(keys_.line(kLog, log, " is not read for this architecture"));
  } else if (log != 0) {
    // In float, as the file was written: 0.1 is 1 again.
    log_multiplier_ = static_cast<float>(log) / static_cast<float>(architecture_.log_multiplier);
  }
  if (extrapolation_ == 0 || !keys_.has(kYarnAttention)) return;
  if (std::abs(yarn_attention_ - attention_factor(factor_)) > 1e-6) {
    model.builder.warn(keys_.line(kYarnAttention, yarn_attention_,
                                  " is not applied: with yarn, llama.cpp computes it, here ",
                                  attention_factor(factor_)));
  }
}

void GgufScaling::read_tensors(const GgufModel& model) {
  const auto find = [&](const char* name) -> const std::vector<double>* {
    const auto found = model.file.tensors.find(name);
    return found == model.file.tensors.end() ? nullptr : &found->second;
  };
  const auto refuse = [&](const auto&... parts) {
    throw Error(ErrorCode::kUnsupported, message(keys_.path(), ": ", parts...));
  };
  divisors_ = find(kDivisors);
  short_ = find(kShort);
  long_ = find(kLong);
  if ((short_ == nullptr) != (long_ == nullptr)) {
    refuse("tensor ", short_ != nullptr ? kShort : kLong, " without ",
           short_ != nullptr ? kLong : kShort, ": want both");
  }
  if (divisors_ != nullptr && short_ != nullptr) {
    refuse("tensor ", kDivisors, " beside ", kShort, ": want one of them");
  }
  if (short_ == nullptr && keys_.string(kType) == "longrope") {
    refuse("no tensors ", kShort, " and ", kLong, ", which rope.scaling.type longrope wants");
  }
  if (short_ != nullptr && extrapolation_ != 0 && factor_ != 1) {
    refuse("tensor ", kShort, " beside rope.scaling.type yarn: both at once are not supported");
  }
  if (short_ != nullptr && trained_ < 1) {
    keys_.refuse("rope.scaling.original_context_length", "missing, want it with tensor ", kShort);
  }
}

double GgufScaling::magnitude() const {
  if (extrapolation_ == 0) return yarn_attention_;
  if (log_multiplier_ == 0) return yarn_magnitude(factor_, 1);
  // DeepSeek-V2 has 0.707 for both, which the file does not say.
  const bool is_both = architecture_.name == "deepseek2";
  return yarn_magnitude(factor_, is_both ? log_multiplier_ : 1) /
         yarn_magnitude(factor_, log_multiplier_);
}

// On cos and sin of layers with this factor.
double GgufScaling::attention_factor(double factor) const {
  const double whole = magnitude() * attention_;
  if (extrapolation_ == 0 || factor == factor_) return whole;
  return whole / yarn_magnitude(factor_, 1) * yarn_magnitude(factor, 1);
}

double GgufScaling::softmax_scale_factor() const {
  if (!architecture_.magnitude_in_softmax) return 1;
  double whole = magnitude() * attention_;
  if (extrapolation_ == 0) whole *= yarn_magnitude(factor_, 1);
  whole *= yarn_magnitude(factor_, log_multiplier_);
  return whole * whole;
}

Scaling GgufScaling::yarn(double factor) const {
  if (trained_ < 1) keys_.refuse("context_length", "missing, want it with yarn");
  Scaling scaling{
      .type = Scaling::Type::kYarn, .factor = factor, .original_max_position_embeddings = trained_};
  scaling.beta_fast = beta_fast_;
  scaling.beta_slow = beta_slow_;
  if (extrapolation_ != 1) scaling.extrapolation_factor = extrapolation_;
  return scaling;
}

// A list of divisors, with the factor that ggml applies beside it.
std::vector<double> GgufScaling::scaled(const std::vector<double>& divisors, const char* tensor,
                                        double factor, std::int64_t pairs) const {
  auto result = divisors;
  const auto wanted = static_cast<std::size_t>(pairs);
  // Layers that are narrower than others have the beginning of the list.
  const bool may_be_longer = architecture_.half_width_on_full ||
                             keys_.is_array("rope.dimension_count_per_layer") ||
                             keys_.is_array("rope.dimension_count");
  if (result.size() < wanted || (result.size() > wanted && !may_be_longer)) {
    throw Error(ErrorCode::kBadFormat,
                message(keys_.path(), ": tensor ", tensor, " has ", result.size(), " values, want ",
                        pairs, ", the number of pairs"));
  }
  result.resize(wanted);
  for (double& divisor : result) divisor *= factor;
  return result;
}

Scaling GgufScaling::longrope(double factor, std::int64_t pairs) const {
  Scaling scaling{.type = Scaling::Type::kLongrope, .original_max_position_embeddings = trained_};
  scaling.attention_factor = attention_factor(factor);
  scaling.short_factor = scaled(*short_, kShort, factor, pairs);
  scaling.long_factor = scaled(*long_, kLong, factor, pairs);
  return scaling;
}

// The base becomes base alpha^(d / (d - 2)), whatever the rule.
void GgufScaling::set_alpha(SpecFields& fields) const {
  if (!fields.scaling) {
    fields.scaling = Scaling{.type = Scaling::Type::kNtk, .alpha = alpha_};
  } else if (const auto d = static_cast<double>(*fields.rotary_dim); d > 2) {
    fields.base = *fields.base * std::pow(*alpha_, d / (d - 2));
  }
}

void GgufScaling::apply(SpecFields& fields, bool is_sliding) const {
  const Sliding& sliding = architecture_.sliding;
  const std::int64_t pairs = *fields.rotary_dim / 2;
  const double factor = is_sliding && !sliding.copies_factor ? 1 : factor_;
  const bool is_plain = (is_sliding && sliding.is_plain) || sliding.when == Sliding::When::kRatios;
  const double m = is_plain ? 1 : attention_factor(factor);
  const bool has_factors = !(is_sliding && architecture_.factors_on_full_only);
  if (short_ != nullptr && has_factors) {
    fields.scaling = longrope(factor, pairs);
    if (alpha_) set_alpha(fields);
    return;
  }
  double by_rule = 1;
  const auto* const divisors = has_factors ? divisors_ : nullptr;
  if (extrapolation_ != 0 && factor != 1) {
    fields.scaling = yarn(factor);
    by_rule = yarn_magnitude(factor, 1);
    if (divisors != nullptr) fields.scaling->divisors = scaled(*divisors, kDivisors, 1, pairs);
  } else if (divisors != nullptr) {
    fields.scaling = by_divisors(scaled(*divisors, kDivisors, 1, pairs), fields, factor);
  } else if (factor != 1) {
    fields.scaling = Scaling{.type = Scaling::Type::kLinear, .factor = factor};
  }
  if (alpha_) set_alpha(fields);
  if (m != by_rule) fields.attention_factor = m;
}

}  // namespace ropewalk
