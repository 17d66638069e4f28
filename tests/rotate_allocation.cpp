// Nothing is allocated while rotating.

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include <ropewalk/ropewalk.h>

#include "elements.hpp"

namespace {
std::atomic<std::size_t> allocations{0};
std::atomic<std::size_t> allocations_left{SIZE_MAX};  // then memory is at its end

// Not inlined: the compiler would see malloc's memory reach delete, and warn.
[[gnu::noinline]] void* counted(std::size_t size, std::size_t alignment) {
  ++allocations;
  if (allocations_left-- == 0) throw std::bad_alloc();
  void* memory = std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
[[gnu::noinline]] void release(void* memory) { std::free(memory); }
}  // namespace

// All the forms of new of this program; delete of each is release().
void* operator new(std::size_t size) { return counted(size, alignof(std::max_align_t)); }
void* operator new[](std::size_t size) { return counted(size, alignof(std::max_align_t)); }
void* operator new(std::size_t size, std::align_val_t alignment) {
  return counted(size, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t size, std::align_val_t alignment) {
  return counted(size, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept { release(memory); }
void operator delete[](void* memory) noexcept { release(memory); }
void operator delete(void* memory, std::size_t) noexcept { release(memory); }
void operator delete[](void* memory, std::size_t) noexcept { release(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { release(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { release(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { release(memory); }
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept { release(memory); }

namespace ropewalk::testing {
namespace {

TEST(Allocation, the_counter_counts) {
  const std::size_t before = allocations;
  const auto memory = std::make_unique<std::vector<int>>(100);
  EXPECT_EQ(allocations, before + 2);
}

TEST(Allocation, rotating_allocates_nothing) {
  for (const DType dtype : kAllDTypes) {
    for (const Pairing pairing : kPairings) {
      for (const std::int64_t dim : {128, 130, 3000}) {
        const Rope rope(Spec({.head_dim = dim, .pairing = pairing}));
        const auto size = static_cast<std::size_t>(dim);
        Elements q = random_elements(dtype, 100 * 4 * size, 1), q_out(q);
        Elements k = random_elements(dtype, 100 * 2 * size, 2), k_out(k);
        const std::vector<std::int32_t> ids(100, 7), lengths = {0, 30, 30, 100};
        const std::vector<std::int64_t> starts = {5}, packed_starts = {1, 2, 3};
        const Dims q_shape = {1, 100, 4, dim}, k_shape = {1, 100, 2, dim};
        for (const Target target : supported_targets()) {
          const std::size_t before = allocations;
          rotate(rope, view(q, q_shape), Positions::from(3), {.target = target});
          rotate(rope, view(q, q_shape), view(k, k_shape), Positions::ids(ids), {.target = target});
          rotate(rope, ConstTensorView(view(q, q_shape)), ConstTensorView(view(k, k_shape)),
                 Positions::ids(ids), view(q_out, q_shape), view(k_out, k_shape),
                 {.target = target});
          unrotate(rope, view(q, q_shape), Positions::ids(ids), {.target = target});
          backward(rope, view(q, q_shape), Positions::ids(ids), {.target = target});
          rerotate(rope, rope, view(k, k_shape), Positions::from(5), Positions::ids(ids),
                   {.target = target});
          rotate(rope, view(k, k_shape), Positions::starts(starts), {.target = target});
          rotate(rope, view(k, k_shape), Positions::packed(lengths, packed_starts),
                 {.target = target});
          EXPECT_EQ(allocations, before) << name(target) << " " << dim;
        }
      }
    }
  }
}

TEST(Allocation, ready_angles_allocate_nothing_once_they_have_their_storage) {
  const Rope rope(Spec({.head_dim = 128}));
  const std::vector<double> factors(100, 1.5);
  Elements x = random_elements(DType::kF32, 100 * 2 * 128, 1);
  Angles angles;
  angles.assign(rope, Positions::from(0, 100), {.token_factors = factors});
  const std::size_t before = allocations;
  rotate(angles, view(x, {1, 100, 2, 128}));
  backward(angles, view(x, {1, 100, 2, 128}));
  EXPECT_EQ(allocations, before);
}

TEST(Allocation, copying_a_rope_allocates_nothing) {
  const Rope rope(Spec({.head_dim = 128}));
  const std::size_t before = allocations;
  const Rope copy = rope;  // NOLINT: the copy is the point
  EXPECT_EQ(allocations, before);
  EXPECT_EQ(copy.turns().size(), 64u);
}

TEST(Allocation, the_c_interface_allocates_nothing_while_rotating) {
  ropewalk_spec spec = ropewalk_spec_default(128);
  ropewalk_rope* rope = nullptr;
  ropewalk_angles* angles = nullptr;
  ropewalk_error error = ROPEWALK_ERROR_INIT;
  const ropewalk_options options = ROPEWALK_OPTIONS_INIT;
  const std::int64_t starts[] = {5};
  const ropewalk_positions positions = ropewalk_positions_starts(starts, 1, 10);
  ASSERT_EQ(ropewalk_rope_create(&spec, &rope, &error), ROPEWALK_OK);
  ASSERT_EQ(ropewalk_angles_create(&angles, &error), ROPEWALK_OK);
  ASSERT_EQ(ropewalk_angles_assign(angles, rope, &positions, nullptr, &error), ROPEWALK_OK);
  std::vector<float> x(10 * 4 * 128, 1.0F), y(x);
  const ropewalk_tensor q = ropewalk_tensor_bthd(x.data(), ROPEWALK_F32, 1, 10, 4, 128);
  const ropewalk_tensor k = ropewalk_tensor_bthd(y.data(), ROPEWALK_F32, 1, 10, 4, 128);
  const std::size_t before = allocations;
  EXPECT_EQ(ropewalk_rotate(rope, &q, &k, &positions, &options, &error), ROPEWALK_OK);
  EXPECT_EQ(ropewalk_backward(rope, &q, nullptr, &positions, nullptr, nullptr), ROPEWALK_OK);
  EXPECT_EQ(ropewalk_unrotate_into(rope, &q, nullptr, &positions, &k, nullptr, nullptr, &error),
            ROPEWALK_OK);
  EXPECT_EQ(ropewalk_rotate_angles(angles, &q, &k, nullptr, &error), ROPEWALK_OK);
  EXPECT_EQ(ropewalk_rotate_angles_into(angles, &q, nullptr, &k, nullptr, nullptr, &error),
            ROPEWALK_OK);
  EXPECT_EQ(ropewalk_rerotate(rope, rope, &k, &positions, &positions, nullptr, &error),
            ROPEWALK_OK);
  EXPECT_EQ(ropewalk_angles_assign(angles, rope, &positions, nullptr, &error), ROPEWALK_OK);
  EXPECT_EQ(allocations, before);
  ropewalk_angles_destroy(angles);
  ropewalk_rope_destroy(rope);
}

// Each allocation fails once, first the first one.
TEST(Allocation, rows_stay_when_there_is_no_memory_for_others) {
  const std::vector<std::int64_t> axis_of_pair = {0, 1, 0, 0};
  const Rope rope(Spec({.head_dim = 8})),
      other(Spec({.head_dim = 8, .axis_of_pair = axis_of_pair}));
  const std::vector<double> factors(100, 1.5);
  const Elements x = random_elements(DType::kF32, 3 * 8, 1);
  Elements wanted(x);
  rotate(rope, view(wanted, {1, 3, 1, 8}), Positions::from(7));
  std::size_t failures = 0;
  for (bool done = false; !done; ++failures) {
    Angles angles;
    angles.assign(rope, Positions::from(7, 3));
    allocations_left = failures;
    try {
      angles.assign(other, Positions::from(0, 100),
                    {.dtype = DType::kF64, .token_factors = factors});
      done = true;
    } catch (const std::bad_alloc&) {
    }
    allocations_left = SIZE_MAX;
    if (done) break;
    Elements y(x);
    rotate(angles, view(y, {1, 3, 1, 8}));
    EXPECT_TRUE(y == wanted) << failures;
  }
  EXPECT_GE(failures, 3u);  // rows, factors, axes
}

// Each allocation fails once, first the first one: nothing is thrown, and nothing is left behind.
TEST(Allocation, out_of_memory_is_a_status_of_the_c_interface) {
  ropewalk_spec spec = ropewalk_spec_default(8);
  const std::int64_t sections[] = {2, 1, 1};
  spec.sections = sections;
  spec.section_count = 3;
  const ropewalk_positions positions = ropewalk_positions_from_tokens(0, 100);
  ropewalk_error error = ROPEWALK_ERROR_INIT;
  std::size_t failures = 0;
  for (bool done = false; !done; ++failures) {
    ropewalk_rope* rope = nullptr;
    ropewalk_angles* angles = nullptr;
    allocations_left = failures;
    ropewalk_status status = ropewalk_rope_create(&spec, &rope, &error);
    if (status == ROPEWALK_OK) status = ropewalk_angles_create(&angles, &error);
    if (status == ROPEWALK_OK) {
      status = ropewalk_angles_assign(angles, rope, &positions, nullptr, &error);
    }
    allocations_left = SIZE_MAX;
    done = status == ROPEWALK_OK;
    EXPECT_EQ(status, done ? ROPEWALK_OK : ROPEWALK_OUT_OF_MEMORY) << error.message;
    EXPECT_STREQ(error.message, done ? "" : "out of memory");
    ropewalk_angles_destroy(angles);
    ropewalk_rope_destroy(rope);
  }
  EXPECT_GT(failures, 5u);
}

}  // namespace
}  // namespace ropewalk::testing
