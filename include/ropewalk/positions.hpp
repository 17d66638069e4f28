// Positions: where each token of a tensor stands.

#ifndef ROPEWALK_POSITIONS_HPP_
#define ROPEWALK_POSITIONS_HPP_

#include <cstddef>
#include <cstdint>
#include <span>

namespace ropewalk {

// A view: ids stay the caller's, are read while rotating and must not be written meanwhile.
// Every value of the integer type is allowed, negative ones too.
class Positions {
 public:
  // Token t of every sequence stands at start + t.
  static Positions from(std::int64_t start) noexcept;

  // ids[t] for token t, the same in every sequence of the batch: shape [tokens].
  static Positions ids(std::span<const std::int32_t> ids) noexcept;
  static Positions ids(std::span<const std::int64_t> ids) noexcept;

  // Dense ids of shape [batch, tokens]: ids[b * tokens + t]. batch 1 serves every batch.
  static Positions ids(const std::int32_t* ids, std::int64_t batch, std::int64_t tokens) noexcept;
  static Positions ids(const std::int64_t* ids, std::int64_t batch, std::int64_t tokens) noexcept;

  // Throws Error (kShapeMismatch, kInvalidArgument) unless these positions serve a tensor of so
  // many sequences and tokens.
  void check(std::int64_t batch, std::int64_t tokens) const;

  // The positions of tokens first .. first + out.size() of sequence b. check() was passed.
  void copy(std::int64_t b, std::int64_t first, std::span<std::int64_t> out) const noexcept;

  // The ids' memory; empty for from().
  [[nodiscard]] std::span<const std::byte> memory() const noexcept;

 private:
  enum class Kind : std::uint8_t { kStart, kInt32, kInt64 };
  Positions(Kind kind, const void* ids, std::int64_t batch, std::int64_t tokens,
            std::int64_t start) noexcept
      : kind_(kind), ids_(ids), batch_(batch), tokens_(tokens), start_(start) {}

  static constexpr std::int64_t kNoBatch = INT64_MIN;

  Kind kind_;
  const void* ids_;
  std::int64_t batch_;  // kNoBatch: shape [tokens]
  std::int64_t tokens_;
  std::int64_t start_;
};

}  // namespace ropewalk

#endif  // ROPEWALK_POSITIONS_HPP_
