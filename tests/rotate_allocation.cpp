// Nothing is allocated while rotating.

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "elements.hpp"

namespace {
std::atomic<std::size_t> allocations{0};

// Not inlined: the compiler would see malloc's memory reach delete, and warn.
[[gnu::noinline]] void* counted(std::size_t size, std::size_t alignment) {
  ++allocations;
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

}  // namespace
}  // namespace ropewalk::testing
