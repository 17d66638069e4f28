// The C interface: rows of cos and sin.

#include "ropewalk.hpp"

namespace ropewalk::c {
namespace {

XPos xpos_from(const ropewalk_xpos* from) {
  const Received given(from, "options.xpos");
  return {enum_from(given->role, XPos::Role::kKey, "options.xpos", ".role"), given->scale_base,
          given->origin};
}

AnglesOptions angles_options_from(const ropewalk_angles_options* from) {
  AnglesOptions options;
  if (from == nullptr) return options;
  const Received given(from, "options");
  options.dtype = dtype_from(given->dtype, "options", ".dtype");
  if (given->as_seen_in != ROPEWALK_DTYPE_NOT_GIVEN) {
    options.as_seen_in = dtype_from(given->as_seen_in, "options", ".as_seen_in");
  }
  options.factor = given->factor;
  options.token_factors =
      array_from(given->token_factors, given->token_factor_count, "options.token_factors");
  if (given->xpos != nullptr) options.xpos = xpos_from(given->xpos);
  options.run = options_from(given->run, "options.run");
  return options;
}

GivenRows given_rows_from(const ropewalk_given_rows* from, std::string_view who) {
  const Received given(from, who);
  return {given->cos,   given->sin,  dtype_from(given->dtype, who, ".dtype"),
          given->batch, given->rows, given->width};
}

template <class T>
ropewalk_status read_two(void (Angles::*read)(std::span<T>, std::span<T>) const,
                         const ropewalk_angles* angles, T* cos, T* sin, std::int64_t count,
                         ropewalk_error* error) noexcept {
  return guarded(error, [&] {
    const Angles& rows = required(angles, "angles").angles;
    const std::span<T> cosines = array_from(cos, count, "cos");
    (rows.*read)(cosines, array_from(sin, count, "sin"));
  });
}

template <class T>
ropewalk_status read_complex(const ropewalk_angles* angles, T* values, std::int64_t count,
                             ropewalk_error* error) noexcept {
  return guarded(error, [&] {
    const Angles& rows = required(angles, "angles").angles;
    rows.read_complex(array_from(values, count, "values"));
  });
}

}  // namespace
}  // namespace ropewalk::c

using namespace ropewalk::c;  // NOLINT(google-build-using-namespace): the functions below are of C

ropewalk_status ropewalk_angles_create(ropewalk_angles** angles, ropewalk_error* error) {
  if (angles != nullptr) *angles = nullptr;
  return guarded(error, [&] {
    ropewalk_angles*& made = required(angles, "angles");  // before anything is made
    made = new ropewalk_angles;
  });
}

void ropewalk_angles_destroy(ropewalk_angles* angles) { delete angles; }

ropewalk_status ropewalk_angles_assign(ropewalk_angles* angles, const ropewalk_rope* rope,
                                       const ropewalk_positions* positions,
                                       const ropewalk_angles_options* options,
                                       ropewalk_error* error) {
  return guarded(error, [&] {
    ropewalk::Angles& to = required(angles, "angles").angles;
    const ropewalk::Rope& from = required(rope, "rope").rope;
    to.assign(from, positions_from(positions, "positions"), angles_options_from(options));
  });
}

ropewalk_status ropewalk_angles_assign_rows(ropewalk_angles* angles, const ropewalk_spec* spec,
                                            const ropewalk_given_rows* rows, ropewalk_dtype dtype,
                                            ropewalk_error* error) {
  return guarded(error, [&] {
    ropewalk::Angles& to = required(angles, "angles").angles;
    const ropewalk::Spec shape = spec_from(spec);
    to.assign(shape, given_rows_from(rows, "rows"), dtype_from(dtype, "dtype", ""));
  });
}

ropewalk_status ropewalk_angles_assign_table(ropewalk_angles* angles, const ropewalk_spec* spec,
                                             const ropewalk_given_rows* table,
                                             const ropewalk_positions* positions,
                                             ropewalk_dtype dtype, ropewalk_error* error) {
  return guarded(error, [&] {
    ropewalk::Angles& to = required(angles, "angles").angles;
    const ropewalk::Spec shape = spec_from(spec);
    const ropewalk::GivenRows rows = given_rows_from(table, "table");
    to.assign(shape, rows, positions_from(positions, "positions"), dtype_from(dtype, "dtype", ""));
  });
}

ropewalk_status ropewalk_angles_shape(const ropewalk_angles* angles, std::int64_t* batch,
                                      std::int64_t* tokens, std::int64_t* pairs,
                                      ropewalk_dtype* dtype, ropewalk_error* error) {
  return guarded(error, [&] {
    const ropewalk::Angles& told = required(angles, "angles").angles;
    if (batch != nullptr) *batch = told.batch();
    if (tokens != nullptr) *tokens = told.tokens();
    if (pairs != nullptr) *pairs = told.pairs();
    if (dtype != nullptr) *dtype = static_cast<ropewalk_dtype>(told.dtype());
  });
}

ropewalk_status ropewalk_angles_read_compact_f32(const ropewalk_angles* angles, float* cos,
                                                 float* sin, std::int64_t count,
                                                 ropewalk_error* error) {
  return read_two<float>(&ropewalk::Angles::read_compact, angles, cos, sin, count, error);
}
ropewalk_status ropewalk_angles_read_compact_f64(const ropewalk_angles* angles, double* cos,
                                                 double* sin, std::int64_t count,
                                                 ropewalk_error* error) {
  return read_two<double>(&ropewalk::Angles::read_compact, angles, cos, sin, count, error);
}
ropewalk_status ropewalk_angles_read_duplicated_f32(const ropewalk_angles* angles, float* cos,
                                                    float* sin, std::int64_t count,
                                                    ropewalk_error* error) {
  return read_two<float>(&ropewalk::Angles::read_duplicated, angles, cos, sin, count, error);
}
ropewalk_status ropewalk_angles_read_duplicated_f64(const ropewalk_angles* angles, double* cos,
                                                    double* sin, std::int64_t count,
                                                    ropewalk_error* error) {
  return read_two<double>(&ropewalk::Angles::read_duplicated, angles, cos, sin, count, error);
}
ropewalk_status ropewalk_angles_read_complex_f32(const ropewalk_angles* angles, float* values,
                                                 std::int64_t count, ropewalk_error* error) {
  return read_complex(angles, values, count, error);
}
ropewalk_status ropewalk_angles_read_complex_f64(const ropewalk_angles* angles, double* values,
                                                 std::int64_t count, ropewalk_error* error) {
  return read_complex(angles, values, count, error);
}
