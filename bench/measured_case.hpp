// A case with its memory: its rotations and the loops of the limit, as contenders.

#ifndef ROPEWALK_BENCH_MEASURED_CASE_HPP_
#define ROPEWALK_BENCH_MEASURED_CASE_HPP_

#include <cstddef>
#include <memory>
#include <ropewalk/angles.hpp>
#include <ropewalk/options.hpp>
#include <ropewalk/positions.hpp>
#include <ropewalk/rope.hpp>
#include <string>
#include <vector>

#include "bench/exact.hpp"
#include "bench/limit.hpp"
#include "bench/measure.hpp"
#include "bench/work.hpp"

namespace ropewalk::bench {

class MeasuredCase {
 public:
  // The target may be kBest. Throws Error (kUnsupported) if it is not to be had.
  explicit MeasuredCase(const Case& what);

  // Runs everything once and compares. Returns what is wrong, naming the row, or "".
  std::string check();

  // One for each row: for both pairings fresh and ready angles; for the work of angles only one. The
  // rows and the loops of the limit are measured in the same rounds, on the same memory. On several
  // threads each has its share of a loop's elements, by the same fork and join as the library's.
  std::vector<Row> measure(const MeasureOptions& options, const Clock& clock);

 private:
  struct Subject {
    Row row;
    Rope rope;
    Angles angles;  // ready; or those that are made, for the work of angles
  };
  struct Free {
    void operator()(std::byte* memory) const noexcept;
  };
  using Memory = std::unique_ptr<std::byte, Free>;

  static Memory allocate(std::size_t bytes);
  void add_subject(Pairing pairing, bool is_ready);
  void call(Subject& subject);
  std::string check_subject(Subject& subject, const ExactAngles& exact);
  [[nodiscard]] Positions positions() const;
  [[nodiscard]] TensorView view(std::byte* data, std::int64_t heads) const;
  void call_limit(const LimitLoops& loop);
  void call_limit(const LimitLoops& loop, std::size_t first, std::size_t count);
  std::string check_limit(const LimitLoops& loop);
  void refill(const Memory& from);

  Case what_;
  Options options_;
  std::size_t bytes_;
  std::vector<std::int64_t> ids_;  // the position of each token
  std::vector<Subject> subjects_;
  std::vector<LimitLoops> loops_ = limit_loops();
  Memory x_, out_;          // what all contenders work on
  Memory values_, floats_;  // what is put into x before a turn, of a rotation or of a loop
};

}  // namespace ropewalk::bench

#endif  // ROPEWALK_BENCH_MEASURED_CASE_HPP_
