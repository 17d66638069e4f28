// A few calls, each counted by callgrind: see instructions.py.
//
// With valgrind they are run once before they are counted. Without, nothing is counted.

#include <valgrind/callgrind.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <ropewalk/ropewalk.hpp>
#include <string>
#include <vector>

namespace {

using namespace ropewalk;

#ifdef __clang__
constexpr const char* kCompiler = "Clang";
constexpr int kMajor = __clang_major__;
#else
constexpr const char* kCompiler = "GNU";
constexpr int kMajor = __GNUC__;
#endif

// One that valgrind knows, whatever the CPU has beyond.
constexpr Options kOptions = {.target = Target::kAvx2};
constexpr std::int64_t kPosition = 1000, kHeadDim = 128, kHeads = 32, kKHeads = 8, kPrefill = 64;
constexpr int kNotToBeHad = 77;

struct Call {
  std::string name;
  std::function<void()> run;
};

class Calls {
 public:
  Calls() {
    for (const Pairing pairing : {Pairing::kHalves, Pairing::kAdjacent}) {
      add(pairing, DType::kF32, 1, true, true);
      add(pairing, DType::kBf16, 1, false, true);
      add(pairing, DType::kF16, 1, false, true);
      add(pairing, DType::kF32, kPrefill, true, false);
    }
    const Rope rope(Spec({.head_dim = kHeadDim}));
    calls_.push_back({"decode q and k f32 halves fresh", [=, this] {
                        rotate(rope, view(DType::kF32, 1, kHeads), k_view(),
                               Positions::from(kPosition), kOptions);
                      }});
    calls_.push_back({"angles of 64 positions f32", [=, this] {
                        angles_.assign(rope, Positions::from(kPosition, kPrefill),
                                       {.run = kOptions});
                      }});
  }

  [[nodiscard]] const std::vector<Call>& all() const { return calls_; }

 private:
  void add(Pairing pairing, DType dtype, std::int64_t tokens, bool fresh, bool ready) {
    const Rope rope(Spec({.head_dim = kHeadDim, .pairing = pairing}));
    const std::string name = (tokens == 1 ? "decode " : "prefill 64 ") +
                             std::string(ropewalk::name(dtype)) + " " +
                             std::string(ropewalk::name(pairing));
    const TensorView x = view(dtype, tokens, kHeads);
    if (fresh) {
      calls_.push_back(
          {name + " fresh", [=] { rotate(rope, x, Positions::from(kPosition), kOptions); }});
    }
    if (ready) {
      Angles angles;
      angles.assign(rope, Positions::from(kPosition, tokens), {.run = kOptions});
      calls_.push_back({name + " ready", [=] { rotate(angles, x, kOptions); }});
    }
  }

  TensorView view(DType dtype, std::int64_t tokens, std::int64_t heads) {
    return TensorView::bthd(q_.data(), dtype, {1, tokens, heads, kHeadDim});
  }
  TensorView k_view() { return TensorView::bthd(k_.data(), {1, 1, kKHeads, kHeadDim}); }

  // Zeros, of any type.
  std::vector<float> q_ = std::vector<float>(kPrefill * kHeads * kHeadDim);
  std::vector<float> k_ = std::vector<float>(kKHeads * kHeadDim);
  Angles angles_;
  std::vector<Call> calls_;
};

}  // namespace

int main() {
  if (!is_supported(Target::kAvx2)) {
    std::puts("this CPU has no AVX2");
    return kNotToBeHad;
  }
  std::printf("%s %d\n", kCompiler, kMajor);
  const Calls calls;
  for (const Call& call : calls.all()) {
    call.run();
    CALLGRIND_ZERO_STATS;
    CALLGRIND_TOGGLE_COLLECT;
    call.run();
    CALLGRIND_TOGGLE_COLLECT;
    CALLGRIND_DUMP_STATS_AT(call.name.c_str());
  }
  return 0;
}
