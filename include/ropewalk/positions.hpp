// Positions: where each token of a tensor stands.

#ifndef ROPEWALK_POSITIONS_HPP_
#define ROPEWALK_POSITIONS_HPP_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace ropewalk {

// A view: what it was made from stays the caller's, is read while rotating and must not be written
// meanwhile. Integers may have any value, negative ones too; real numbers must be finite and
// |p| < 2^63. A real position that is an integer gives the same bits as that integer.
//
// A position has one coordinate per axis (text 1, images 2, video 3). Positions of one axis serve a
// rope of several: all coordinates are then the same, as for text in the models that have axes.
class Positions {
 public:
  // How ids lie in memory, densely: [tokens] or [batch, tokens] or [axes, batch, tokens].
  struct Shape {
    std::int64_t axes = 1;
    std::int64_t batch = 1;  // 1 serves every batch
    std::int64_t tokens = 0;
  };

  // Token t of every sequence stands at start + t. tokens is wanted only where no tensor says it:
  // by Angles.
  static Positions from(std::int64_t start) noexcept { return from(start, kUnknown); }
  static Positions from(std::int64_t start, std::int64_t tokens) noexcept {
    Positions result(Kind::kStart, nullptr, {1, 1, tokens});
    result.start_ = start;
    return result;
  }

  // Token t of sequence b stands at starts[b] + t.
  static Positions starts(std::span<const std::int64_t> starts) noexcept;
  static Positions starts(std::span<const std::int64_t> starts, std::int64_t tokens) noexcept;

  // ids[t] for token t, the same in every sequence of the batch.
  static Positions ids(std::span<const std::int32_t> ids) noexcept;
  static Positions ids(std::span<const std::int64_t> ids) noexcept;
  static Positions ids(std::span<const float> ids) noexcept;
  static Positions ids(std::span<const double> ids) noexcept;

  // ids[(axis * batch + b) * tokens + t].
  static Positions ids(const std::int32_t* ids, const Shape& shape) noexcept;
  static Positions ids(const std::int64_t* ids, const Shape& shape) noexcept;
  static Positions ids(const float* ids, const Shape& shape) noexcept;
  static Positions ids(const double* ids, const Shape& shape) noexcept;
  static Positions ids(const std::int32_t* ids, std::int64_t batch, std::int64_t tokens) noexcept;
  static Positions ids(const std::int64_t* ids, std::int64_t batch, std::int64_t tokens) noexcept;

  // Sequences packed one after another into one row of tokens, as of batch 1: sequence s has the tokens
  // lengths[s] .. lengths[s + 1], of which the first stands at starts[s], or at 0 without starts.
  // lengths are cumulative: they begin with 0 and do not fall. Empty sequences are allowed.
  // A tensor of a larger batch has every row packed alike.
  static Positions packed(std::span<const std::int32_t> lengths,
                          std::span<const std::int64_t> starts = {}) noexcept;
  static Positions packed(std::span<const std::int64_t> lengths,
                          std::span<const std::int64_t> starts = {}) noexcept;

  // What rank `rank` of `ranks` holds of `tokens` tokens that stand at start, start + 1, ...:
  //
  //   contiguous   4 ranks of 16:  [0..3] [4..7] [8..11] [12..15]
  //   zigzag       4 ranks of 16:  [0 1 14 15] [2 3 12 13] [4 5 10 11] [6 7 8 9]
  //
  // Throws Error unless tokens is a multiple of ranks (contiguous) or of 2 ranks (zigzag).
  static Positions contiguous(std::int64_t tokens, std::int64_t ranks, std::int64_t rank,
                              std::int64_t start = 0);
  static Positions zigzag(std::int64_t tokens, std::int64_t ranks, std::int64_t rank,
                          std::int64_t start = 0);

  // ---- For the rooms that read positions. ----

  // Throws Error unless these positions serve a tensor of so many sequences and tokens, and a rope
  // of so many axes; that is, if a shape does not fit, ids are null, a real one is not allowed (the
  // message has its index), or a start leaves the 64 bits.
  void check(std::int64_t batch, std::int64_t tokens, std::size_t axes) const;

  // Whether token t of every sequence stands at start() + t, in a tensor of any size: so it is in most
  // calls, and check() has nothing more to look at if all of `tokens` are 64-bit integers.
  [[nodiscard]] bool counts_on() const noexcept {
    return kind_ == Kind::kStart && shape_.tokens == kUnknown;
  }
  [[nodiscard]] std::int64_t start() const noexcept { return start_; }

  // The coordinate `axis` of tokens first .. first + whole.size() of sequence b: whole + fraction,
  // |fraction| <= 1/2. fractions is filled only if is_real(). check() was passed.
  void copy(std::size_t axis, std::int64_t b, std::int64_t first, std::span<std::int64_t> whole,
            std::span<double> fractions) const noexcept;

  [[nodiscard]] bool is_real() const noexcept { return kind_ == Kind::kF32 || kind_ == Kind::kF64; }
  // Whether sequences differ, so that rows of angles are wanted for each.
  [[nodiscard]] bool is_per_sequence() const noexcept;
  // kUnknown where only a tensor can say.
  [[nodiscard]] std::int64_t batch() const noexcept { return shape_.batch; }
  [[nodiscard]] std::int64_t tokens() const noexcept { return shape_.tokens; }
  [[nodiscard]] std::size_t axes() const noexcept { return static_cast<std::size_t>(shape_.axes); }
  static constexpr std::int64_t kUnknown = -1;

  // What is read: two ranges of memory, either may be empty; and whether one is not.
  [[nodiscard]] bool has_memory() const noexcept { return ids_ != nullptr || !starts_.empty(); }
  [[nodiscard]] std::array<std::span<const std::byte>, 2> memory() const noexcept;

 private:
  enum class Kind : std::uint8_t {
    kStart,
    kStarts,
    kInt32,
    kInt64,
    kF32,
    kF64,
    kPacked32,
    kPacked64,
    kSlices
  };

  Positions(Kind kind, const void* ids, const Shape& shape) noexcept
      : kind_(kind), ids_(ids), shape_(shape) {}
  [[nodiscard]] std::size_t element_size() const noexcept;  // of ids; 0 without
  template <class Length>
  static Positions packed_as(Kind kind, std::span<const Length> lengths,
                             std::span<const std::int64_t> starts) noexcept;
  [[nodiscard]] bool is_packed() const noexcept {
    return kind_ == Kind::kPacked32 || kind_ == Kind::kPacked64;
  }
  void check_shape(std::int64_t batch, std::int64_t tokens, std::size_t axes) const;
  void check_ids() const;
  void check_starts(std::int64_t batch, std::int64_t tokens) const;
  template <class Length>
  void check_packed(std::int64_t batch, std::int64_t tokens, std::size_t axes) const;
  template <class Real>
  void check_real() const;
  template <class Length>
  void copy_packed(std::int64_t first, std::span<std::int64_t> whole) const noexcept;

  Kind kind_;
  const void* ids_;
  Shape shape_;
  bool is_flat_ = false;                  // ids of shape [tokens], for messages
  std::span<const std::int64_t> starts_;  // kStarts, kPacked
  std::int64_t start_ = 0;                // kStart, kSlices
  std::int64_t count_ = 0;                // kPacked: lengths; kSlices: tokens of a slice
  std::int64_t second_ = 0;               // kSlices: where the second slice starts
};

}  // namespace ropewalk

#endif  // ROPEWALK_POSITIONS_HPP_
