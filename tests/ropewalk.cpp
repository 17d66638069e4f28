// The C interface beside the library it stands on: the same bits, the same names, no exceptions.
// Its own tests are in C, in tests/c.

#include "ropewalk.hpp"

#include <gtest/gtest.h>

#include <string>

#include "elements.hpp"

namespace ropewalk::testing {
namespace {

ropewalk_tensor c_view(TensorView view) {
  ropewalk_tensor result =
      ropewalk_tensor_bthd(view.data, static_cast<ropewalk_dtype>(view.dtype), view.shape[0],
                           view.shape[1], view.shape[2], view.shape[3]);
  std::copy(view.strides.begin(), view.strides.end(), result.strides);
  return result;
}

struct CRope {
  explicit CRope(const ropewalk_spec& spec) {
    ropewalk_error error = ROPEWALK_ERROR_INIT;
    EXPECT_EQ(ropewalk_rope_create(&spec, &rope, &error), ROPEWALK_OK) << error.message;
  }
  CRope(const CRope&) = delete;
  CRope& operator=(const CRope&) = delete;
  ~CRope() { ropewalk_rope_destroy(rope); }
  ropewalk_rope* rope = nullptr;
};

TEST(Ropewalk, strides_of_dense_tensors_are_those_of_cpp) {
  for (const bool heads_first : {false, true}) {
    const ropewalk_tensor c = heads_first ? ropewalk_tensor_bhtd(nullptr, ROPEWALK_F16, 2, 3, 5, 7)
                                          : ropewalk_tensor_bthd(nullptr, ROPEWALK_F16, 2, 3, 5, 7);
    const TensorView view = heads_first ? TensorView::bhtd(nullptr, DType::kF16, {2, 3, 5, 7})
                                        : TensorView::bthd(nullptr, DType::kF16, {2, 3, 5, 7});
    EXPECT_TRUE(std::equal(view.shape.begin(), view.shape.end(), c.shape));
    EXPECT_TRUE(std::equal(view.strides.begin(), view.strides.end(), c.strides));
    EXPECT_EQ(c.dtype, ROPEWALK_F16);
  }
}

TEST(Ropewalk, results_are_those_of_cpp_bit_for_bit) {
  const std::vector<double> ids = {3, 1e6, -2.5, 0.125, 7, 123456789.75};
  for (const DType dtype : kAllDTypes) {
    for (const Pairing pairing : kPairings) {
      for (const Target target : supported_targets()) {
        const Rope rope(Spec({.head_dim = 90,
                              .rotary_dim = 66,
                              .pairing = pairing,
                              .base = 5e5,
                              .attention_factor = 1.1}));
        ropewalk_spec spec = ropewalk_spec_default(90);
        spec.rotary_dim = 66;
        spec.pairing = static_cast<ropewalk_pairing>(pairing);
        spec.base = 5e5;
        spec.attention_factor = 1.1;
        const CRope c(spec);
        const Positions positions = Positions::ids(ids.data(), {1, 2, 3});
        const ropewalk_positions c_positions = ropewalk_positions_f64(ids.data(), 1, 2, 3);
        ropewalk_options options = ROPEWALK_OPTIONS_INIT;
        options.target = static_cast<ropewalk_target>(target);

        // One fused row per token: q, then k.
        Elements x = random_elements(dtype, 2 * 3 * 5 * 90, 1), c_x(x);
        const auto part = [&](Elements& all, std::int64_t first, std::int64_t heads) {
          TensorView result = view(all, {2, 3, 5, 90});
          result.shape[2] = heads;
          result.data = static_cast<std::byte*>(result.data) +
                        static_cast<std::size_t>(first * 90) * size_of(dtype);
          return result;
        };
        const ropewalk_tensor q = c_view(part(c_x, 0, 4)), k = c_view(part(c_x, 4, 1));
        rotate(rope, part(x, 0, 4), part(x, 4, 1), positions, {.target = target});
        EXPECT_EQ(ropewalk_rotate(c.rope, &q, &k, &c_positions, &options, nullptr), ROPEWALK_OK);
        EXPECT_TRUE(x == c_x) << name(dtype) << " " << name(pairing) << " " << name(target);
        unrotate(rope, part(x, 0, 4), positions, {.target = target});
        EXPECT_EQ(ropewalk_unrotate(c.rope, &q, nullptr, &c_positions, &options, nullptr),
                  ROPEWALK_OK);
        EXPECT_TRUE(x == c_x) << name(dtype) << " " << name(pairing) << " " << name(target);
      }
    }
  }
}

TEST(Ropewalk, names_are_those_of_cpp_value_for_value) {
  for (int i = 0; i < static_cast<int>(kDTypes); ++i) {
    EXPECT_EQ(ropewalk_dtype_name(static_cast<ropewalk_dtype>(i)), name(static_cast<DType>(i)));
  }
  for (int i = 0; i <= static_cast<int>(Target::kNeon); ++i) {
    EXPECT_EQ(ropewalk_target_name(static_cast<ropewalk_target>(i)), name(static_cast<Target>(i)));
    EXPECT_EQ(ropewalk_is_supported(static_cast<ropewalk_target>(i)) == 1,
              is_supported(static_cast<Target>(i)));
  }
  for (int i = 0; i <= static_cast<int>(Axes::Order::kRoundRobin); ++i) {
    EXPECT_EQ(ropewalk_axes_order_name(static_cast<ropewalk_axes_order>(i)),
              name(static_cast<Axes::Order>(i)));
  }
  const std::pair<int, int> same[] = {
      {ROPEWALK_F32, static_cast<int>(DType::kF32)},
      {ROPEWALK_BF16, static_cast<int>(DType::kBf16)},
      {ROPEWALK_F16, static_cast<int>(DType::kF16)},
      {ROPEWALK_F64, static_cast<int>(DType::kF64)},
      {ROPEWALK_HALVES, static_cast<int>(Pairing::kHalves)},
      {ROPEWALK_ADJACENT, static_cast<int>(Pairing::kAdjacent)},
      {ROPEWALK_SCALING_DEFAULT, static_cast<int>(Scaling::Type::kDefault)},
      {ROPEWALK_SCALING_LINEAR, static_cast<int>(Scaling::Type::kLinear)},
      {ROPEWALK_BLOCKS, static_cast<int>(Axes::Order::kBlocks)},
      {ROPEWALK_CYCLE, static_cast<int>(Axes::Order::kCycle)},
      {ROPEWALK_GGML_CYCLE, static_cast<int>(Axes::Order::kGgmlCycle)},
      {ROPEWALK_ERNIE, static_cast<int>(Axes::Order::kErnie)},
      {ROPEWALK_ROUND_ROBIN, static_cast<int>(Axes::Order::kRoundRobin)},
      {ROPEWALK_TARGET_BEST, static_cast<int>(Target::kBest)},
      {ROPEWALK_TARGET_SCALAR, static_cast<int>(Target::kScalar)},
      {ROPEWALK_TARGET_AVX2, static_cast<int>(Target::kAvx2)},
      {ROPEWALK_TARGET_AVX3, static_cast<int>(Target::kAvx3)},
      {ROPEWALK_TARGET_AVX3_BF16, static_cast<int>(Target::kAvx3Bf16)},
      {ROPEWALK_TARGET_NEON, static_cast<int>(Target::kNeon)},
      {ROPEWALK_XPOS_QUERY, static_cast<int>(XPos::Role::kQuery)},
      {ROPEWALK_XPOS_KEY, static_cast<int>(XPos::Role::kKey)},
  };
  for (const auto& [c_value, value] : same) EXPECT_EQ(c_value, value);
}

TEST(Ropewalk, an_exception_of_the_callers_threads_does_not_leave) {
  const CRope c(ropewalk_spec_default(128));
  std::vector<float> x(std::size_t{1000} * 128);  // enough for threads to be used
  const ropewalk_tensor q = ropewalk_tensor_bthd(x.data(), ROPEWALK_F32, 1, 1000, 1, 128);
  const ropewalk_positions positions = ropewalk_positions_from(0);
  ropewalk_options options = ROPEWALK_OPTIONS_INIT;
  options.parallel.threads = 2;
  ropewalk_error error = ROPEWALK_ERROR_INIT;
  options.parallel.run = [](void*, std::int64_t, void (*)(void*, std::int64_t), void*) {
    throw std::runtime_error("no threads today");
  };
  EXPECT_EQ(ropewalk_rotate(c.rope, &q, nullptr, &positions, &options, &error), ROPEWALK_INTERNAL);
  EXPECT_STREQ(error.message, "no threads today");
  options.parallel.run = [](void*, std::int64_t, void (*)(void*, std::int64_t), void*) { throw 5; };
  EXPECT_EQ(ropewalk_rotate(c.rope, &q, nullptr, &positions, &options, &error), ROPEWALK_INTERNAL);
  EXPECT_STREQ(error.message, "an exception of unknown type");
  options.parallel.threads = 0;
  EXPECT_EQ(ropewalk_rotate(c.rope, &q, nullptr, &positions, &options, &error),
            ROPEWALK_INVALID_ARGUMENT);
  EXPECT_STREQ(error.message, "options.parallel.threads is 0, want at least 1");
}

TEST(Ropewalk, a_message_is_cut_between_characters) {
  char buffer[8];
  const auto cut = [&](std::string_view text) {
    std::fill(std::begin(buffer), std::end(buffer), 'x');
    c::copy_cut(buffer, sizeof(buffer), text);
    return std::string_view(buffer);
  };
  EXPECT_EQ(cut(""), "");
  EXPECT_EQ(cut("1234567"), "1234567");
  EXPECT_EQ(cut("12345678"), "1234567");
  EXPECT_EQ(cut("12345ω"), "12345ω");          // two bytes, the last that fit
  EXPECT_EQ(cut("123456ω"), "123456");         // one byte of two would fit
  EXPECT_EQ(cut("12345ωω"), "12345ω");         // cut just before the second
  EXPECT_EQ(cut("12345\U0001D6FC"), "12345");  // two of four
  EXPECT_EQ(cut("1234\U0001D6FC!"), "1234");   // three of four
  EXPECT_EQ(cut("123\U0001D6FC!"), "123\U0001D6FC");
}

TEST(Ropewalk, an_error_without_its_size_is_still_filled_in) {
  ropewalk_error error{};
  EXPECT_EQ(ropewalk_angles_create(nullptr, &error), ROPEWALK_INVALID_ARGUMENT);
  EXPECT_STREQ(error.message, "error.size is 0: begin with ROPEWALK_ERROR_INIT");
}

}  // namespace
}  // namespace ropewalk::testing
