#include <gtest/gtest.h>

#include "elements.hpp"

namespace ropewalk::testing {
namespace {

TEST(Tensor, layouts_are_only_strides) {
  float data[1];
  const Dims shape = {2, 3, 4, 8};
  EXPECT_EQ(TensorView::bthd(data, shape).strides, (Dims{96, 32, 8, 1}));
  EXPECT_EQ(TensorView::bhtd(data, shape).strides, (Dims{96, 8, 24, 1}));
  EXPECT_EQ(TensorView::bhtd(data, shape).shape, shape);
  EXPECT_EQ(TensorView::bthd(data, shape).dtype, DType::kF32);
}

TEST(Tensor, a_view_to_write_is_also_one_to_read) {
  float data[8];
  const TensorView written = TensorView::bthd(data, {1, 1, 1, 8});
  const ConstTensorView read = written;
  EXPECT_EQ(read.data, data);
  EXPECT_EQ(read.shape, written.shape);
  EXPECT_EQ(read.strides, written.strides);
}

TEST(Tensor, dtypes_have_a_size_and_a_name) {
  EXPECT_EQ(size_of(DType::kF32), 4u);
  EXPECT_EQ(size_of(DType::kBf16), 2u);
  EXPECT_EQ(name(DType::kF32), "f32");
  EXPECT_EQ(name(DType::kBf16), "bf16");
  EXPECT_EQ(size_of(DType::kF16), 2u);
  EXPECT_EQ(size_of(DType::kF64), 8u);
  EXPECT_EQ(name(DType::kF16), "f16");
  EXPECT_EQ(name(DType::kF64), "f64");
}

}  // namespace
}  // namespace ropewalk::testing
