// Vision: the rotary embeddings of image and video models, one function a form -> a Spec.
//
// Wherever a form has rows and columns, position axis 0 is the row (y, counted downwards) and axis 1
// the column (x); with frames, axis 0 is the frame (t), 1 the row, 2 the column. What a model turns
// first is a matter of its axis_of_pair, so one grid of positions (grids.hpp) serves them all.
//
// Notation of the pictures, for n pairs: r2 is a pair that turns by row * ω_2, c2 by column * ω_2,
// t2 by frame * ω_2. D is head_dim. Pairs are numbered in the order of the spec; which two elements a
// pair is, the pairing says (spec.hpp).

#ifndef ROPEWALK_VISION_HPP_
#define ROPEWALK_VISION_HPP_

#include <array>
#include <cstdint>
#include <optional>
#include <ropewalk/spec.hpp>
#include <span>
#include <string_view>
#include <vector>

namespace ropewalk {

// What the forms have in common. Throws of every function here: Error (kInvalidArgument) naming the
// form, the field, what was given and what is allowed.
struct VisionFields {
  std::int64_t head_dim = 0;
  std::optional<double> base = {};      // the form's own, named below
  std::optional<Pairing> pairing = {};  // the form's own; converted weights may have the other one
  FrequencyRounding frequency_rounding = FrequencyRounding::kNone;
};

// ---- Frequencies start again for every axis ----

// Any form in which each axis has a number of elements of its own, widths[a], and frequencies of its
// own, base^(-2k / widths[a]), k = 0 .. widths[a]/2 - 1. What widths leave of the head passes through.
//
//   blocks        widths 4, 8:       |t0 t1|r0 r1 r2 r3|
//   alternating   widths 8, 8:       |r0 c0|r1 c1|r2 c2|r3 c3|     all widths equal
struct AxialFields {
  std::int64_t head_dim = 0;
  std::vector<std::int64_t> widths = {};  // elements of each block: even, from 2; 1 to 16 of them
  std::vector<std::int64_t> axes = {};    // the position axis of each block; 0, 1, 2, ...
  std::vector<double> bases = {};         // one for each block, or one for all; 10000
  bool alternating = false;
  Pairing pairing = Pairing::kAdjacent;
  FrequencyRounding frequency_rounding = FrequencyRounding::kNone;
};
Spec axial_spec(const AxialFields& fields);

// Qwen2-VL, Qwen2.5-VL, Qwen3-VL, GLM-4V, PaddleOCR-VL, MLCD, ERNIE-4.5-VL: D a multiple of 4.
//   halves, base 10000, ω_k = base^(-2k / (D/2)):     |r0 r1 ... r(D/4-1)|c0 c1 ... c(D/4-1)|
// huggingface/transformers, src/transformers/models/qwen2_vl/modeling_qwen2_vl.py,
// Qwen2VLVisionRotaryEmbedding; tokens in merged blocks: Grid::merge.
Spec qwen_vision_spec(const VisionFields& fields);

// Step-3.7: as qwen_vision, columns first:            |c0 c1 ... c(D/4-1)|r0 r1 ... r(D/4-1)|
// huggingface/transformers, .../step3p7/modeling_step3p7.py.
Spec step_vision_spec(const VisionFields& fields);

// Llama 4: as step_vision, but adjacent. Patches are counted from 1; the class token, last in the
// sequence, is not turned: Grid{.first_row = 1, .first_column = 1, .origin_after = 1}.
// huggingface/transformers, .../llama4/modeling_llama4.py, Llama4VisionRotaryEmbedding.
Spec llama4_vision_spec(const VisionFields& fields);

// SAM 2 (memory attention), SAM 3, EdgeTAM: the same as llama4_vision, patches counted from 0.
// SAM 3's ViT scales them to its pre-training size. huggingface/transformers,
// .../sam2_video/modeling_sam2_video.py, .../sam3/modeling_sam3.py.
Spec sam_spec(const VisionFields& fields);

// EVA-02, EVA-CLIP with freqs_for 'lang', timm's RotaryEmbeddingCat with in_pixels=False: as
// qwen_vision, but adjacent. Positions are scaled to the pre-training size: stepped_image_positions.
// baaivision/EVA, EVA-02/asuka/rope.py; huggingface/pytorch-image-models,
// timm/layers/pos_embed_sincos.py.
Spec eva_spec(const VisionFields& fields);

// Gemma 4: the head in two parts, each with halves of its own; columns first; base 100.
//   x0 .. x(D/4-1) | x(D/4) .. x(D/2-1) | x(D/2) ..        | x(3D/4) ..
//   '---- c0 c1 ... -----'               '----- r0 r1 ... -----'
// huggingface/transformers, .../gemma4/modeling_gemma4.py, apply_multidimensional_rope; patch ids are
// (x, y): .../gemma4/image_processing_gemma4.py.
Spec gemma4_vision_spec(const VisionFields& fields);

// MoonViT (Kimi-VL, Kimi-K2.5): adjacent, base 10000, ω_k = base^(-4k / D), columns and rows in turn:
//   |c0 r0|c1 r1| ...
// The original's comment names them the other way round, its code does this. transformers has halves,
// of permuted weights: .../kimi_k25/modeling_kimi_k25.py.
Spec moonvit_spec(const VisionFields& fields);

// EfficientLoFTR: as moonvit, rows first. One head as wide as the model (its heads are split later),
// patches counted from 1. huggingface/transformers, .../efficientloftr/modeling_efficientloftr.py.
Spec efficientloftr_spec(const VisionFields& fields);

// MiniMax-M3's vision tower: halves, base 10000; three axes of 2 ((D/3)/2) elements each, t, r, c;
// the rest of the head passes through. huggingface/transformers,
// .../minimax_m3_vl/modeling_minimax_m3_vl.py.
Spec minimax_m3_vision_spec(const VisionFields& fields);

// ---- Generators of images and videos: adjacent, blocks ----

// FLUX.1, Chroma, Qwen-Image, HunyuanVideo (base 256): D 128, widths 16, 56, 56, base 10000:
//   |t0 .. t7|r0 .. r27|c0 .. c27|
// black-forest-labs/flux, src/flux/math.py (rope) and src/flux/sampling.py (ids);
// huggingface/diffusers, .../transformer_qwenimage.py.
Spec flux_spec(const VisionFields& fields);

// FLUX.2: D 128, four axes of 32, base 2000: t, r, c, and l, which counts the tokens of a text.
// huggingface/diffusers, src/diffusers/models/transformers/transformer_flux2.py.
Spec flux2_spec(const VisionFields& fields);

// Wan 2: widths D - 2w, w, w with w = 2 (D/6), base 10000; D 128: 44, 42, 42.
// huggingface/diffusers, .../transformer_wan.py, WanRotaryPosEmbed.
Spec wan_spec(const VisionFields& fields);

// CogVideoX: widths D/4, 3D/8, 3D/8, base 10000; D a multiple of 16.
// huggingface/diffusers, src/diffusers/models/embeddings.py, get_3d_rotary_pos_embed.
Spec cogvideox_spec(const VisionFields& fields);

// Cosmos: halves; widths as Wan's; the base of axis a is 10000 scale[a]^(w / (w - 2)), w its width:
// the rule ntk of frequencies.hpp, axis by axis. In videos the frame counts 24 / fps.
// huggingface/diffusers, .../transformer_cosmos.py, CosmosRotaryPosEmbed.
struct CosmosFields {
  std::int64_t head_dim = 0;
  std::array<double, 3> scale = {2.0, 1.0, 1.0};  // t, r, c: rope_scale
  FrequencyRounding frequency_rounding = FrequencyRounding::kNone;
};
Spec cosmos_spec(const CosmosFields& fields);

// LTX-Video: one head as wide as the model; adjacent; n = D/6 frequencies from π/2 up to base π/2,
// ω_k = base^(k / (n - 1)) π/2, the axes t, r, c in turn; D mod 6 elements in front stand still.
//   |-|t0 r0 c0|t1 r1 c1| ...      for real positions 2 x - 1, x the share of the largest size
// huggingface/diffusers, .../transformer_ltx.py, LTXVideoRotaryPosEmbed.
Spec ltx_spec(const VisionFields& fields);

// ---- Frequencies that are shared out between the axes ----

// Pixtral, Mistral 3: ω_i = base^(-2i / D); rows take the even i, columns the odd ones; base 10000:
//   |r0 r2 r4 ... |c1 c3 c5 ... |
// halves in transformers (.../pixtral/modeling_pixtral.py); adjacent in Mistral's own weights
// (mistralai/mistral-inference, src/mistral_inference/rope.py): .pairing says so.
Spec pixtral_spec(const VisionFields& fields);

// ---- Whole turns: for real positions from -1 to 1 ----

// DINOv3, EoMT-DINOv3: halves; ω_k = 2π / period_k, k = 0 .. D/4 - 1, rows then columns:
//   |r0 r1 ... |c0 c1 ... |
// period_k = base^(2k / (D/2)); or, with min_period and max_period instead of base, from the one up
// to the other by equal ratios. Positions: centred_positions; class and register tokens stand at 0.
// facebookresearch/dinov3, dinov3/layers/rope_position_encoding.py. The original keeps the periods in
// bf16; transformers computes them in float32.
struct Dinov3Fields {
  std::int64_t head_dim = 0;
  std::optional<double> base = {};  // 100
  std::optional<double> min_period = {};
  std::optional<double> max_period = {};
  FrequencyRounding frequency_rounding = FrequencyRounding::kNone;
};
Spec dinov3_spec(const Dinov3Fields& fields);

// Frequencies in pixels: timm's RotaryEmbeddingCat with in_pixels=True, EVA's freqs_for 'pixel' (linear,
// max_frequency 10), lucidrains' too. Adjacent; ω_k = π f_k, f from 1 to max_frequency / 2 in D/4
// steps, equal ones or (linear = false) by equal ratios; rows then columns. Positions: spanned_positions.
// huggingface/pytorch-image-models, timm/layers/pos_embed_sincos.py, pixel_freq_bands.
struct PixelFields {
  std::int64_t head_dim = 0;
  double max_frequency = 224.0;  // > 0; timm: max_res
  bool linear = false;
  std::optional<Pairing> pairing = {};  // adjacent
  FrequencyRounding frequency_rounding = FrequencyRounding::kNone;
};
Spec pixel_spec(const PixelFields& fields);

// ---- By name ----

// vision_spec("moonvit", {.head_dim = 72}): the function of that name without _spec, its other fields as
// they are by themselves. Throws kUnsupported with the reason for a form of refused_forms(), and
// kInvalidArgument with the list of names for an unknown one.
Spec vision_spec(std::string_view form, const VisionFields& fields);

// The names that vision_spec knows.
std::vector<std::string_view> vision_forms();

// What no Spec can say: a rotation of each pair by one frequency times one axis of the position.
struct RefusedForm {
  std::string_view name;    // rope_mixed
  std::string_view key;     // what gives it away in a config: a model_type or a key; may be empty
  std::string_view reason;  // a sentence without a full stop
  std::string_view source;  // repository and file
};
std::span<const RefusedForm> refused_forms() noexcept;

// The one of this name or key, or null.
const RefusedForm* refused_form(std::string_view name_or_key) noexcept;

}  // namespace ropewalk

#endif  // ROPEWALK_VISION_HPP_
