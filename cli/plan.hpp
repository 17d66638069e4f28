// The options that say which rope, shared by the verbs.

#ifndef ROPEWALK_CLI_PLAN_HPP_
#define ROPEWALK_CLI_PLAN_HPP_

#include <CLI/CLI.hpp>
#include <cstdint>
#include <map>
#include <optional>
#include <ropewalk/model.hpp>
#include <ropewalk/rope.hpp>
#include <string>
#include <vector>

namespace ropewalk::cli {

// --config FILE, --preset NAME, --spec FILE, or a flag for each scalar key of a Spec.
class PlanOptions {
 public:
  // Adds the options to a verb. They are parsed into this object, which must stay where it is.
  explicit PlanOptions(CLI::App& verb);
  PlanOptions(const PlanOptions&) = delete;
  PlanOptions& operator=(const PlanOptions&) = delete;

  // Of a model, that of the layer asked for; without one, of the only kind that rotates. The model's
  // warnings are added to these.
  [[nodiscard]] Rope rope(std::vector<std::string>& warnings) const;
  // Of this kind of a model's layers, or of a Spec. What it throws names the file, and the kind.
  [[nodiscard]] Rope rope(const LayerKind& kind, std::optional<std::int64_t> length) const;
  [[nodiscard]] Rope rope(const Spec& spec, std::optional<std::int64_t> length) const;
  // Of --config or --preset; nothing without them. Throws what Model::from_file does, and UsageError
  // for a preset that there is not.
  [[nodiscard]] std::optional<Model> model() const;
  // The kind of layer that --layer or --layer-type asks for, else nullptr.
  [[nodiscard]] const LayerKind* kind_of(const Model& model) const;
  // --length N, at least 1.
  [[nodiscard]] std::optional<std::int64_t> length() const;
  // A model's file that is given without --config. Throws UsageError beside it.
  void set_config(const std::string& file);
  // The first of these options that was given, or nothing.
  [[nodiscard]] std::optional<std::string> first_given() const;
  // The file that is read, if one is.
  [[nodiscard]] const std::string& file() const noexcept {
    return config_file_.empty() ? spec_file_ : config_file_;
  }

 private:
  void check_sources() const;
  [[nodiscard]] std::string source() const;
  [[nodiscard]] bool has_model() const noexcept {
    return !config_file_.empty() || !preset_.empty();
  }
  [[nodiscard]] Spec spec() const;

  std::string config_file_;
  std::string preset_;
  std::string spec_file_;
  std::string layer_;
  std::string layer_type_;
  std::string length_;
  std::map<std::string, std::string> values_;  // of the flags, by the key of the Spec
};

// "head_dim 128, rotary_dim 128, halves, base 10000, attention factor 1"
std::string summary(const Rope& rope);

// The whole text as an integer; UsageError otherwise. (CLI11 would read 010 as 8, and numbers
// beyond 64 bits as the nearest that fits.)
std::int64_t parse_int64(const std::string& flag, const std::string& text);
std::uint64_t parse_uint64(const std::string& flag, const std::string& text);

}  // namespace ropewalk::cli

#endif  // ROPEWALK_CLI_PLAN_HPP_
