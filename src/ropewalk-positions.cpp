// The C interface: the structs that a call is described by.

#include <limits>

#include "ropewalk.hpp"

namespace ropewalk::c {
namespace {

// -1 says to the library that a tensor knows: from a caller it is a mistake where ids are given.
void check_tokens(std::int64_t tokens, std::int64_t least, std::string_view who) {
  if (tokens < least) {
    refuse(who, ".tokens is ", tokens, ", want at least 0",
           least < 0 ? " or ROPEWALK_NOT_GIVEN" : "");
  }
}

void check_batch(std::int64_t batch, std::string_view who) {
  if (batch < 0) refuse(who, ".batch is ", batch, ", want at least 0");
}

Positions starts_from(const ropewalk_positions& given, std::string_view who) {
  check_batch(given.batch, who);
  check_tokens(given.tokens, ROPEWALK_NOT_GIVEN, who);
  if (given.batch > 0 && given.starts == nullptr) refuse(who, ".starts is NULL");
  return Positions::starts({given.starts, static_cast<std::size_t>(given.batch)}, given.tokens);
}

Positions::Shape shape_from(const ropewalk_positions& given, std::string_view who) {
  if (given.axes < 1) refuse(who, ".axes is ", given.axes, ", want at least 1");
  check_batch(given.batch, who);
  check_tokens(given.tokens, 0, who);
  const std::int64_t most = std::numeric_limits<std::int64_t>::max() / 8;  // bytes of an id
  if (given.axes > most || (given.batch != 0 && given.axes > most / given.batch) ||
      (given.batch != 0 && given.tokens > most / given.axes / given.batch)) {
    refuse(who, " of ", given.axes, " axes, batch ", given.batch, " and ", given.tokens,
           " tokens are larger than the memory");
  }
  return {given.axes, given.batch, given.tokens};
}

template <class Id>
Positions ids_from(const ropewalk_positions& given, std::string_view who) {
  return Positions::ids(static_cast<const Id*>(given.ids), shape_from(given, who));
}

// The library looks at the last length before it checks.
template <class Length>
Positions packed_from(const ropewalk_positions& given, std::string_view who) {
  if (given.count < 1) {
    refuse(who, ".count is ", given.count, ", want at least 1: packed lengths begin with 0");
  }
  if (given.ids == nullptr) refuse(who, ".ids is NULL");
  if (reinterpret_cast<std::uintptr_t>(given.ids) % alignof(Length) != 0) {
    refuse(who, ".ids begins at an address that is no multiple of ", alignof(Length));
  }
  const std::span lengths(static_cast<const Length*>(given.ids),
                          static_cast<std::size_t>(given.count));
  if (given.starts == nullptr) return Positions::packed(lengths);
  return Positions::packed(lengths, {given.starts, lengths.size() - 1});
}

}  // namespace

Positions positions_from(const ropewalk_positions* from, std::string_view who) {
  const Received given(from, who);
  if (reinterpret_cast<std::uintptr_t>(given->starts) % alignof(std::int64_t) != 0) {
    refuse(who, ".starts begins at an address that is no multiple of ", alignof(std::int64_t));
  }
  switch (given->kind) {
    case ROPEWALK_POSITIONS_FROM:
      check_tokens(given->tokens, ROPEWALK_NOT_GIVEN, who);
      if (given->ids != nullptr || given->starts != nullptr) {
        refuse(who, ".kind is ROPEWALK_POSITIONS_FROM, which takes no ids and no starts");
      }
      return Positions::from(given->start, given->tokens);
    case ROPEWALK_POSITIONS_STARTS: return starts_from(*given, who);
    case ROPEWALK_POSITIONS_I32: return ids_from<std::int32_t>(*given, who);
    case ROPEWALK_POSITIONS_I64: return ids_from<std::int64_t>(*given, who);
    case ROPEWALK_POSITIONS_F32: return ids_from<float>(*given, who);
    case ROPEWALK_POSITIONS_F64: return ids_from<double>(*given, who);
    case ROPEWALK_POSITIONS_PACKED_I32: return packed_from<std::int32_t>(*given, who);
    case ROPEWALK_POSITIONS_PACKED_I64: return packed_from<std::int64_t>(*given, who);
    case ROPEWALK_POSITIONS_CONTIGUOUS:
      return Positions::contiguous(given->tokens, given->ranks, given->rank, given->start);
    case ROPEWALK_POSITIONS_ZIGZAG:
      return Positions::zigzag(given->tokens, given->ranks, given->rank, given->start);
  }
  refuse(who, ".kind is ", static_cast<std::int32_t>(given->kind), ", want 0 to ",
         static_cast<std::int32_t>(ROPEWALK_POSITIONS_ZIGZAG));
}

TensorView tensor_from(const ropewalk_tensor* from, std::string_view who) {
  const Received given(from, who);
  const auto& shape = given->shape;
  const auto& strides = given->strides;
  return {given->data,
          dtype_from(given->dtype, who, ".dtype"),
          {shape[0], shape[1], shape[2], shape[3]},
          {strides[0], strides[1], strides[2], strides[3]}};
}

Options options_from(const ropewalk_options* from, std::string_view who) {
  if (from == nullptr) return {};
  const Received given(from, who);
  const ropewalk_parallel_for& parallel = given->parallel;
  if (parallel.run != nullptr && parallel.threads < 1) {
    refuse(who, ".parallel.threads is ", parallel.threads, ", want at least 1");
  }
  return {.target = enum_from(given->target, Target::kNeon, who, ".target"),
          .parallel = {parallel.run, parallel.pool, parallel.threads}};
}

}  // namespace ropewalk::c
