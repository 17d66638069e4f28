// The forms of vision.hpp by name, and those that are none.

#include <algorithm>
#include <array>
#include <ropewalk/error.hpp>
#include <ropewalk/vision.hpp>
#include <vector>

#include "message.hpp"

namespace ropewalk {
namespace {

Spec dinov3(const VisionFields& fields) {
  if (fields.pairing == Pairing::kAdjacent) {
    throw Error(ErrorCode::kInvalidArgument, "dinov3: pairing adjacent, want halves");
  }
  return dinov3_spec({.head_dim = fields.head_dim,
                      .base = fields.base,
                      .frequency_rounding = fields.frequency_rounding});
}

Spec cosmos(const VisionFields& fields) {
  if (fields.pairing == Pairing::kAdjacent) {
    throw Error(ErrorCode::kInvalidArgument, "cosmos: pairing adjacent, want halves");
  }
  if (fields.base) {
    throw Error(ErrorCode::kInvalidArgument, "cosmos: base is not given, but made from 10000");
  }
  return cosmos_spec(
      {.head_dim = fields.head_dim, .frequency_rounding = fields.frequency_rounding});
}

Spec pixel(const VisionFields& fields) {
  if (fields.base) {
    throw Error(ErrorCode::kInvalidArgument, "pixel: has no base, its frequencies are in pixels");
  }
  return pixel_spec({.head_dim = fields.head_dim,
                     .pairing = fields.pairing,
                     .frequency_rounding = fields.frequency_rounding});
}

struct Form {
  std::string_view name;
  Spec (*spec)(const VisionFields&);
};
constexpr std::array<Form, 18> kForms = {{
    {"cogvideox", cogvideox_spec},
    {"cosmos", cosmos},
    {"dinov3", dinov3},
    {"efficientloftr", efficientloftr_spec},
    {"eva", eva_spec},
    {"flux", flux_spec},
    {"flux2", flux2_spec},
    {"gemma4_vision", gemma4_vision_spec},
    {"llama4_vision", llama4_vision_spec},
    {"ltx", ltx_spec},
    {"minimax_m3_vision", minimax_m3_vision_spec},
    {"moonvit", moonvit_spec},
    {"pixel", pixel},
    {"pixtral", pixtral_spec},
    {"qwen_vision", qwen_vision_spec},
    {"sam", sam_spec},
    {"step_vision", step_vision_spec},
    {"wan", wan_spec},
}};

constexpr std::array<RefusedForm, 6> kRefused = {{
    {"fope", "use_fope",
     "an element is multiplied by a sum of cosines with learned coefficients, one for each head",
     "vllm-project/vllm, vllm/model_executor/layers/rotary_embedding/fope.py"},
    {"lightglue", "lightglue",
     "the angles are a learned projection of the keypoints, each of both axes",
     "huggingface/transformers, src/transformers/models/lightglue/modeling_lightglue.py"},
    {"mochi", "MochiTransformer3DModel",
     "the angles are learned sums over all axes, others for each head",
     "huggingface/diffusers, src/diffusers/models/transformers/transformer_mochi.py"},
    {"rope_mixed", "RotaryEmbeddingMixed",
     "a pair turns by x f_x + y f_y with f learned for each head, not by one axis",
     "naver-ai/rope-vit, self-attn/rope_self_attn.py; huggingface/pytorch-image-models, "
     "timm/layers/pos_embed_sincos.py"},
    {"vjepa2", "vjepa2",
     "the two elements of a pair get the cosines of two frequencies, so it is no rotation",
     "huggingface/transformers, src/transformers/models/vjepa2/modeling_vjepa2.py"},
    {"xpos", "use_xpos", "lengths change with the position, by inverse factors for q and for k",
     "microsoft/torchscale, torchscale/component/xpos_relative_position.py"},
}};

}  // namespace

std::vector<std::string_view> vision_forms() {
  std::vector<std::string_view> names;
  for (const Form& form : kForms) names.push_back(form.name);
  return names;
}

std::span<const RefusedForm> refused_forms() noexcept { return kRefused; }

const RefusedForm* refused_form(std::string_view name_or_key) noexcept {
  const auto* const found = std::find_if(
      kRefused.begin(), kRefused.end(),
      [&](const RefusedForm& form) { return form.name == name_or_key || form.key == name_or_key; });
  return found == kRefused.end() ? nullptr : found;
}

Spec vision_spec(std::string_view form, const VisionFields& fields) {
  for (const Form& known : kForms) {
    if (known.name == form) return known.spec(fields);
  }
  if (const RefusedForm* refused = refused_form(form)) {
    throw Error(ErrorCode::kUnsupported,
                message(refused->name, " is no rotation by one axis per pair: ", refused->reason));
  }
  throw Error(ErrorCode::kInvalidArgument,
              message("form ", form, " is unknown, want one of ", bracketed(vision_forms())));
}

}  // namespace ropewalk
