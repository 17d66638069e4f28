// The C interface: version, names, targets, errors and sizes, check. Its other parts are
// ropewalk-spec, -positions, -angles and -rotate.

#include "ropewalk.hpp"

#include <array>
#include <iterator>
#include <ropewalk/check.hpp>

namespace ropewalk::c {

static_assert(ROPEWALK_INVALID_ARGUMENT == static_cast<int>(ErrorCode::kInvalidArgument) &&
              ROPEWALK_SHAPE_MISMATCH == static_cast<int>(ErrorCode::kShapeMismatch) &&
              ROPEWALK_OVERLAP == static_cast<int>(ErrorCode::kOverlap) &&
              ROPEWALK_UNSUPPORTED == static_cast<int>(ErrorCode::kUnsupported) &&
              ROPEWALK_BAD_FORMAT == static_cast<int>(ErrorCode::kBadFormat) &&
              ROPEWALK_IO == static_cast<int>(ErrorCode::kIo));

void copy_cut(char* to, std::size_t size, std::string_view text) noexcept {
  std::size_t length = std::min(text.size(), size - 1);
  // A byte 10xxxxxx goes on with a character: what would begin after the cut must not be one.
  while (length > 0 && length < text.size() &&
         (static_cast<unsigned char>(text[length]) & 0xC0) == 0x80) {
    --length;
  }
  // One line, whatever an exception of the caller's says.
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < ' ' || c == 0x7f; };
  std::replace_copy_if(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(length), to,
                       is_control, ' ');
  to[length] = '\0';
}

ropewalk_status report(ropewalk_error* error, ropewalk_status status,
                       std::string_view text) noexcept {
  // Whatever its size says, an error has had these fields from the first version on.
  if (error != nullptr) {
    error->status = status;
    copy_cut(error->message, sizeof(error->message), text);
  }
  return status;
}

void check_size(std::size_t given, std::size_t smallest, std::string_view who,
                std::string_view maker) {
  constexpr std::size_t kLargest = 4096;  // more is a size that was not set
  if (given < smallest || given > kLargest || given % alignof(void*) != 0) {
    refuse(who, ".size is ", given, ", which no version of it has: begin with ", maker);
  }
}

void check_excess(const void* data, std::size_t given, std::size_t known, std::string_view who) {
  const std::span bytes(static_cast<const unsigned char*>(data), given);
  const auto excess = bytes.subspan(known);
  if (std::any_of(excess.begin(), excess.end(), [](unsigned char byte) { return byte != 0; })) {
    refuse(who, ".size is ", given, ", of which this version of the library knows ", known,
           ", and the rest is not 0: it asks for what came later");
  }
}

namespace {

constexpr std::string_view kUnknown = "unknown";

// The names of the library are literals, which end with a NUL.
template <class Enum, class Given>
const char* name_of(Given given, Enum last) noexcept {
  const auto number = static_cast<std::int32_t>(given);
  const bool known = number >= 0 && number <= static_cast<std::int32_t>(last);
  return (known ? name(static_cast<Enum>(number)) : kUnknown).data();
}

CheckOptions check_options_from(const ropewalk_check_options* given, const Spec& spec) {
  CheckOptions options = check_options_for(spec);
  if (given == nullptr) return options;
  const Received wanted(given, "options");
  const auto take = [](std::int64_t& to, std::int64_t from) {
    if (from >= 0) to = from;
  };
  take(options.q_heads, wanted->q_heads);
  take(options.k_heads, wanted->k_heads);
  take(options.tokens, wanted->tokens);
  take(options.positions_below, wanted->positions_below);
  options.seed = wanted->seed;
  options.target = enum_from(wanted->target, Target::kNeon, "options", ".target");
  return options;
}

}  // namespace
}  // namespace ropewalk::c

using namespace ropewalk::c;  // NOLINT(google-build-using-namespace): the functions below are of C

std::int32_t ropewalk_version() { return ROPEWALK_VERSION; }

const char* ropewalk_status_name(ropewalk_status status) {
  constexpr std::array kNames = {"ok",        "invalid argument", "shape mismatch",
                                 "overlap",   "unsupported",      "bad format",
                                 "I/O error", "out of memory",    "internal error"};
  const auto number = static_cast<std::int32_t>(status);
  if (number < 0 || number >= static_cast<std::int32_t>(kNames.size())) return kUnknown.data();
  return kNames[static_cast<std::size_t>(number)];
}

const char* ropewalk_pairing_name(ropewalk_pairing pairing) {
  return name_of(pairing, ropewalk::Pairing::kAdjacent);
}

const char* ropewalk_scaling_name(ropewalk_scaling_type type) {
  return name_of(type, ropewalk::Scaling::Type::kDivisors);
}

const char* ropewalk_axes_order_name(ropewalk_axes_order order) {
  return name_of(order, ropewalk::Axes::Order::kRoundRobin);
}

const char* ropewalk_dtype_name(ropewalk_dtype dtype) {
  return name_of(dtype, ropewalk::DType::kF64);
}

const char* ropewalk_target_name(ropewalk_target target) {
  return name_of(target, ropewalk::Target::kNeon);
}

std::int64_t ropewalk_compiled_targets(ropewalk_target* targets, std::int64_t capacity) {
  const auto compiled = ropewalk::compiled_targets();
  const auto count = static_cast<std::int64_t>(compiled.size());
  for (std::int64_t i = 0; targets != nullptr && i < std::min(count, capacity); ++i) {
    targets[i] = static_cast<ropewalk_target>(compiled[static_cast<std::size_t>(i)]);
  }
  return count;
}

std::int32_t ropewalk_is_supported(ropewalk_target target) {
  const auto number = static_cast<std::int32_t>(target);
  const bool known = number >= 0 && number <= static_cast<std::int32_t>(ropewalk::Target::kNeon);
  return known && ropewalk::is_supported(static_cast<ropewalk::Target>(number)) ? 1 : 0;
}

ropewalk_status ropewalk_check(const ropewalk_rope* rope, const ropewalk_check_options* options,
                               void (*see)(void* context, const ropewalk_check_row* row),
                               void* context, std::int32_t* ok, ropewalk_error* error) {
  return guarded(error, [&] {
    const ropewalk::Rope& measured = required(rope, "rope").rope;
    required(ok, "ok");
    bool all = true;
    for (const auto& row :
         ropewalk::check(measured, check_options_from(options, measured.spec()))) {
      all = all && row.ok;
      if (see == nullptr) continue;
      const ropewalk_check_row handed = {
          .size = sizeof(ropewalk_check_row),
          .property = row.property.c_str(),
          .dtype = static_cast<ropewalk_dtype>(row.dtype),
          .ok = row.ok ? 1 : 0,
          .has_shift = row.shift ? 1 : 0,
          .shift = row.shift.value_or(0),
          .worst = row.worst,
          .bound = row.bound,
      };
      see(context, &handed);
    }
    *ok = all ? 1 : 0;
  });
}
