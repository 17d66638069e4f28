#include "scaling.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>
#include <ropewalk/error.hpp>
#include <string>

#include "message.hpp"
#include "words.hpp"

namespace ropewalk {
namespace {

using Type = Scaling::Type;

template <class... Parts>
[[noreturn]] void refuse(const Parts&... parts) {
  throw Error(ErrorCode::kInvalidArgument, message("scaling ", parts...));
}

// ---- Fields: a row each, with the range of its values. ----

constexpr double kLargest = 0x1p40;
constexpr double kSmallest = 0x1p-100;

struct Range {
  double low, high;
  std::string_view words;
};
constexpr Range kFactors{1, kLargest, "a number from 1 to 2^40"};
constexpr Range kAlphas{0x1p-30, kLargest, "a number from 2^-30 to 2^40"};
constexpr Range kLengths{1, kLargest, "an integer from 1 to 2^40"};
constexpr Range kPositive{kSmallest, 1 / kSmallest, "a number from 2^-100 to 2^100"};
constexpr Range kMagnitudes{0, kLargest, "a number from 0 to 2^40"};
constexpr Range kShares{0, 1, "a number from 0 to 1"};

struct Field {
  std::string_view name;
  bool (*is_given)(const Scaling& scaling);
  void (*check)(const Scaling& scaling, const Field& field, std::int64_t pairs);
  Range range;
};

void check_value(std::string_view name, double value, const Range& range) {
  if (!(value >= range.low && value <= range.high)) {
    refuse(name, " ", value, " is not ", range.words);
  }
}

template <class Number>
void check_field(Number value, const Field& field, std::int64_t) {
  check_value(field.name, static_cast<double>(value), field.range);
}

void check_field(bool, const Field&, std::int64_t) {}

void check_field(const std::vector<double>& values, const Field& field, std::int64_t pairs) {
  if (static_cast<std::int64_t>(values.size()) != pairs) {
    refuse(field.name, " has ", values.size(), " values, want ", pairs, ", the number of pairs");
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    check_value(message(field.name, "[", i, "]"), values[i], field.range);
  }
}

template <auto member>
constexpr Field field(std::string_view name, const Range& range) {
  return {name, [](const Scaling& scaling) { return (scaling.*member).has_value(); },
          [](const Scaling& scaling, const Field& row, std::int64_t pairs) {
            check_field(*(scaling.*member), row, pairs);
          },
          range};
}

constexpr std::array kFields = {
    field<&Scaling::factor>("factor", kFactors),
    field<&Scaling::alpha>("alpha", kAlphas),
    field<&Scaling::original_max_position_embeddings>("original_max_position_embeddings", kLengths),
    field<&Scaling::beta_fast>("beta_fast", kPositive),
    field<&Scaling::beta_slow>("beta_slow", kPositive),
    field<&Scaling::truncate>("truncate", {}),
    field<&Scaling::mscale>("mscale", kMagnitudes),
    field<&Scaling::mscale_all_dim>("mscale_all_dim", kMagnitudes),
    field<&Scaling::attention_factor>("attention_factor", kPositive),
    field<&Scaling::extrapolation_factor>("extrapolation_factor", kShares),
    field<&Scaling::low_freq_factor>("low_freq_factor", kPositive),
    field<&Scaling::high_freq_factor>("high_freq_factor", kPositive),
    field<&Scaling::short_factor>("short_factor", kPositive),
    field<&Scaling::long_factor>("long_factor", kPositive),
    field<&Scaling::short_mscale>("short_mscale", kPositive),
    field<&Scaling::long_mscale>("long_mscale", kPositive),
    field<&Scaling::rotating_pairs>("rotating_pairs", kMagnitudes),
    field<&Scaling::divisors>("divisors", kPositive),
};

// ---- Rules: a row each. ----

struct Rule {
  Type type;
  std::string_view name;
  std::string_view wants;  // fields, separated by spaces
  std::string_view takes;  // and these, if they are given
};

constexpr std::array kRules = {
    Rule{Type::kDefault, "default", "", ""},
    Rule{Type::kLinear, "linear", "factor", ""},
    Rule{Type::kNtk, "ntk", "alpha", ""},
    Rule{Type::kDynamic, "dynamic", "", "factor alpha original_max_position_embeddings"},
    Rule{Type::kDynamicStepwise, "dynamic_stepwise", "original_max_position_embeddings", ""},
    Rule{Type::kNtkByParts, "ntk_by_parts", "factor original_max_position_embeddings",
         "extrapolation_factor"},
    Rule{Type::kYarn, "yarn", "factor original_max_position_embeddings",
         "beta_fast beta_slow truncate mscale mscale_all_dim attention_factor extrapolation_factor "
         "divisors"},
    Rule{Type::kLlama3, "llama3",
         "factor low_freq_factor high_freq_factor original_max_position_embeddings", ""},
    Rule{Type::kLongrope, "longrope", "short_factor long_factor original_max_position_embeddings",
         "factor attention_factor short_mscale long_mscale"},
    Rule{Type::kProportional, "proportional", "", "rotating_pairs factor"},
    Rule{Type::kDivisors, "divisors", "divisors", "factor"},
};

const Rule& rule_of(Type type) noexcept { return kRules[static_cast<std::size_t>(type)]; }

// One of these two, and not both.
void want_one_of(const Scaling& scaling, const char* first, bool has_first, const char* second,
                 bool has_second) {
  const std::string_view rule = name(scaling.type);
  if (has_first && has_second) refuse("type ", rule, ": ", first, " beside ", second);
  if (!has_first && !has_second) refuse("type ", rule, " wants ", first, " or ", second);
}

void check_together(const Scaling& scaling, double base, std::int64_t pairs) {
  const std::string_view rule = name(scaling.type);
  if (scaling.type == Type::kDynamic) {
    want_one_of(scaling, "factor", scaling.factor.has_value(), "alpha", scaling.alpha.has_value());
    if (scaling.original_max_position_embeddings.has_value() != scaling.factor.has_value()) {
      refuse("type dynamic: factor and original_max_position_embeddings belong together");
    }
  }
  if (scaling.type == Type::kLongrope) {
    if (!scaling.factor && !scaling.attention_factor) {
      refuse("type longrope wants a factor, or an attention_factor");
    }
    if (scaling.short_mscale.has_value() != scaling.long_mscale.has_value()) {
      refuse("type longrope: short_mscale and long_mscale belong together");
    }
    if (!scaling.attention_factor && *scaling.factor > 1 &&
        *scaling.original_max_position_embeddings < 2) {
      refuse("original_max_position_embeddings 1 of type longrope: want at least 2");
    }
  }
  if (scaling.type == Type::kLlama3 && *scaling.low_freq_factor > *scaling.high_freq_factor) {
    refuse("low_freq_factor ", *scaling.low_freq_factor, " is larger than high_freq_factor ",
           *scaling.high_freq_factor);
  }
  if ((scaling.type == Type::kYarn || scaling.type == Type::kNtkByParts) && base <= 1) {
    refuse("type ", rule, " wants a base above 1, got ", base);
  }
  if (scaling.rotating_pairs && *scaling.rotating_pairs > pairs) {
    refuse("rotating_pairs ", *scaling.rotating_pairs, " is more than the ", pairs,
           " pairs there are");
  }
}

}  // namespace

std::string_view name(Scaling::Type type) noexcept { return rule_of(type).name; }

void check_scaling(const Scaling& scaling, double base, std::int64_t pairs) {
  const Rule& rule = rule_of(scaling.type);
  for (const Field& row : kFields) {
    const bool wanted = has_word(rule.wants, row.name);
    if (!row.is_given(scaling)) {
      if (wanted) refuse("type ", rule.name, " wants ", row.name);
      continue;
    }
    if (!wanted && !has_word(rule.takes, row.name)) {
      refuse("type ", rule.name, " takes no ", row.name);
    }
    row.check(scaling, row, pairs);
  }
  check_together(scaling, base, pairs);
}

}  // namespace ropewalk
