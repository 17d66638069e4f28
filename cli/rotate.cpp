#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <ropewalk/error.hpp>
#include <ropewalk/frequencies.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "formats/file.hpp"
#include "interrupt.hpp"
#include "message.hpp"
#include "plan.hpp"
#include "printed.hpp"
#include "progress.hpp"
#include "rotate_file.hpp"
#include "tensor_file.hpp"
#include "token_positions.hpp"
#include "verbs.hpp"

namespace ropewalk::cli {
namespace {

struct RotateVerb {
  explicit RotateVerb(CLI::App& verb);

  PlanOptions plan;
  std::string in, out, q, k, out_q, out_k;
  bool in_place = false;
  std::string layout = "bthd";
  std::string operation = "rotate";
  std::string start, positions;
};

RotateVerb::RotateVerb(CLI::App& verb) : plan(verb) {
  constexpr const char* kTensors =
      "Tensors (FILE.npy, FILE.safetensors, FILE.safetensors:TENSOR; f32, f16, bf16 or f64)";
  const auto file = [&](const char* flag, std::string& path, const char* help) {
    verb.add_option(flag, path, help)->type_name("FILE")->group(kTensors)->check(refuse_empty);
  };
  file("--in", in, "A tensor to rotate");
  file("--out", out, "Where to write it, with all else that is in its file");
  file("--q", q, "Queries to rotate");
  file("--k", k, "Keys to rotate, at the same positions");
  file("--out-q", out_q, "Where to write the queries");
  file("--out-k", out_k, "Where to write the keys; of one file, both may go to one");
  verb.add_flag("--in-place", in_place, "Replace the files, once all is done")->group(kTensors);
  verb.add_option("--layout", layout,
                  "Order of the dimensions: b batch, t tokens, h heads, d elements of a head; one "
                  "of bthd (the default), bhtd, thd, htd")
      ->type_name("NAME");
  verb.add_option("--operation", operation,
                  "rotate (the default), unrotate, which undoes it, or backward, its gradient")
      ->type_name("NAME");
  verb.add_option("--start", start, "Position of the first token; by default 0")
      ->type_name("N")
      ->check(refuse_empty);
  verb.add_option("--positions", positions,
                  "A .npy file of i4, i8, f4 or f8 and of shape [tokens], [1 or batch, tokens] or "
                  "[axes, 1 or batch, tokens]")
      ->type_name("FILE")
      ->check(refuse_empty);
  verb.footer(
      "Say which rope, which tensor or tensors, and where to:\n"
      "  ropewalk rotate --head-dim 128 --in x.npy --out y.npy\n"
      "  ropewalk rotate --spec rope.json --q q.npy --k k.npy --in-place --positions ids.npy\n"
      "Exit codes: 0 done, 1 the input failed, 2 wrong usage.");
}

// One tensor on its way, as given on the command line.
struct Route {
  std::string in_flag;
  TensorPath in;
  std::string out_flag;
  std::string out;  // a file
};

Route route_of(std::string_view in_flag, const std::string& in, std::string_view out_flag,
               const std::string& out, bool in_place) {
  const TensorPath from = parse_tensor_path(in_flag, in);
  if (in_place) return {text(in_flag), from, "--in-place", from.file};
  const TensorPath to = parse_tensor_path(out_flag, out);
  if (!to.tensor.empty()) {
    throw UsageError(message(out_flag, " ", out,
                             ": want the name of a file alone; its tensors are ", "named as in ",
                             from.file));
  }
  if (to.format != from.format) {
    throw UsageError(message(out_flag, " ", out, ": want a name that ends in ",
                             from.format == Format::kNpy ? ".npy" : ".safetensors", ", as ",
                             in_flag, " does"));
  }
  return {text(in_flag), from, text(out_flag), to.file};
}

// What is asked for; UsageError if that is not clear.
std::vector<Route> routes_of(const RotateVerb& options) {
  const bool is_pair = !options.q.empty() || !options.k.empty();
  const bool has_out_pair = !options.out_q.empty() || !options.out_k.empty();
  if (is_pair && !options.in.empty()) {
    throw UsageError("--in beside --q and --k: give one tensor or two");
  }
  if (!is_pair && options.in.empty()) {
    throw UsageError("say what to rotate: --in FILE, or --q FILE and --k FILE");
  }
  if (is_pair && (options.q.empty() || options.k.empty())) {
    throw UsageError("--q and --k belong together; for one of them alone use --in");
  }
  if (is_pair ? !options.out.empty() : has_out_pair) {
    throw UsageError("--out belongs to --in, --out-q and --out-k to --q and --k");
  }
  const bool has_out = !options.out.empty() || has_out_pair;
  if (options.in_place && has_out) {
    throw UsageError(is_pair ? "--in-place beside --out-q and --out-k: give one or the other"
                             : "--in-place beside --out: give one or the other");
  }
  if (!options.in_place && !has_out) {
    throw UsageError(is_pair ? "say where to: --out-q FILE and --out-k FILE, or --in-place"
                             : "say where to: --out FILE, or --in-place");
  }
  if (has_out_pair && (options.out_q.empty() || options.out_k.empty())) {
    throw UsageError("--out-q and --out-k belong together; give both");
  }
  if (!is_pair) return {route_of("--in", options.in, "--out", options.out, options.in_place)};
  return {route_of("--q", options.q, "--out-q", options.out_q, options.in_place),
          route_of("--k", options.k, "--out-k", options.out_k, options.in_place)};
}

TokenPositions positions_of(const RotateVerb& options) {
  if (options.positions.empty()) {
    return TokenPositions(options.start.empty() ? 0 : parse_int64("--start", options.start));
  }
  if (!options.start.empty()) throw UsageError("--start beside --positions: give one or the other");
  if (!options.positions.ends_with(".npy")) {
    throw UsageError(message("--positions ", options.positions,
                             ": not supported, want a name that ends in .npy"));
  }
  return TokenPositions(options.positions);
}

void check_fit(const Rope& rope, const std::vector<TensorFile>& tensors,
               TokenPositions& positions) {
  for (const TensorFile& tensor : tensors) {
    const std::int64_t width = tensor.shape()[3];
    const Spec& spec = rope.spec();
    if (width != spec.head_dim() && width != spec.rotary_dim()) {
      throw Error(ErrorCode::kShapeMismatch,
                  message(tensor.name(), ": has shape ", bracketed(tensor.given_shape()),
                          ", so head_dim ", width, "; the rope has head_dim ", spec.head_dim(),
                          spec.rotary_dim() == spec.head_dim()
                              ? ""
                              : message(", of which rotary_dim ", spec.rotary_dim())));
    }
    positions.check(tensor, rope.axes());
  }
  const Dims& q = tensors.front().shape();
  const Dims& k = tensors.back().shape();
  if (q[0] != k[0] || q[1] != k[1]) {
    throw Error(ErrorCode::kShapeMismatch,
                message(tensors.back().name(), ": has batch ", k[0], " and ", k[1], " tokens, ",
                        tensors.front().name(), " has ", q[0], " and ", q[1],
                        "; q and k must have the same"));
  }
}

// A length is what a prompt has, or will have; a file may hold some of its tokens only. So the rope is
// wrong for sure only where a position is beyond the length it was made for.
std::optional<std::string> warning_of_length(const Rope& rope, std::optional<std::int64_t> length,
                                             TokenPositions& positions,
                                             const std::vector<TensorFile>& tensors) {
  if (!depends_on_length(rope.spec())) return std::nullopt;
  const std::int64_t last = positions.last(tensors.front().shape()[1]);
  if (last < 0 || last == std::numeric_limits<std::int64_t>::max()) return std::nullopt;
  const std::int64_t wanted = last + 1;
  if (length && *length >= wanted) return std::nullopt;
  const Frequencies longer = frequencies(rope.spec(), wanted);
  if (std::ranges::equal(longer.radians, rope.frequencies()) &&
      longer.attention_factor == rope.attention_factor()) {
    return std::nullopt;
  }
  return message("the scaling depends on the length, and ",
                 length ? message("--length ", *length) : "that of short texts",
                 " is not for position ", last, ": say --length ", wanted,
                 ", or the whole length if it is more");
}

// One file that is written: a copy of what its tensors lie in, with them rotated.
struct Output {
  formats::OutputPath path;
  std::vector<const TensorFile*> tensors;
};

// Two tensors of one file go to one file together: were each written alone, in place, the second
// would undo the first.
bool go_together(const Route& q, const TensorFile& q_file, const Route& k,
                 const TensorFile& k_file) {
  if (q.in.format != Format::kSafetensors || q_file.file().id() != k_file.file().id()) return false;
  if (!formats::OutputPath(q.out).is_same(formats::OutputPath(k.out))) return false;
  if (q_file.begin() == k_file.begin() && q_file.end() == k_file.end()) {
    throw UsageError(message(k.in_flag, " ", k_file.name(), ": is the same tensor as that of ",
                             q.in_flag, "; name another"));
  }
  return true;
}

std::vector<Output> outputs_of(const std::vector<Route>& routes,
                               const std::vector<TensorFile>& tensors) {
  std::vector<Output> outputs;
  for (std::size_t i = 0; i < routes.size(); ++i) {
    if (i == 1 && go_together(routes[0], tensors[0], routes[1], tensors[1])) {
      outputs.front().tensors.push_back(&tensors[1]);
    } else {
      outputs.push_back({formats::OutputPath(routes[i].out), {&tensors[i]}});
    }
  }
  return outputs;
}

// An output may replace its own input and nothing else that is read: were the run killed between
// two renames, the one would be lost.
void check_apart(const std::vector<Route>& routes, const std::vector<TensorFile>& tensors,
                 const TokenPositions& positions, const std::string& spec_path,
                 const std::vector<Output>& outputs) {
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const formats::OutputPath& path = outputs[i].path;
    const auto refuse = [&](std::string_view what) {
      throw UsageError(message(routes[i].out_flag, " ", routes[i].out, ": is also ", what,
                               "; give each file of its own"));
    };
    if (positions.file() != nullptr && path.replaces(*positions.file())) {
      refuse("what --positions reads");
    }
    if (!spec_path.empty() && path.replaces(formats::InputFile(spec_path))) {
      refuse("what --config or --spec reads");
    }
    for (std::size_t j = 0; j < outputs.size(); ++j) {
      if (i == j) continue;
      if (path.replaces(tensors[j].file())) refuse(message("what ", routes[j].in_flag, " reads"));
      if (path.is_same(outputs[j].path)) refuse(message("where ", routes[j].out_flag, " writes"));
    }
  }
}

// All outputs, or none but for a kill between two of them.
void write_outputs(const Rope& rope, Operation operation, TokenPositions& positions,
                   const std::vector<Output>& outputs) {
  std::uint64_t bytes = 0;
  for (const Output& output : outputs) bytes += output.tensors.front()->file().size();
  Progress progress(bytes);
  std::vector<formats::OutputFile> files;
  files.reserve(outputs.size());
  {
    const SignalsHeld held;
    for (const Output& output : outputs) {
      files.emplace_back(output.path);
      remove_on_signal(files.back().temporary_path());
    }
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    files[i].reserve(outputs[i].tensors.front()->file().size());
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    rotate_file(rope, operation, outputs[i].tensors, positions, files[i], progress);
  }
  const SignalsHeld held;
  for (formats::OutputFile& file : files) file.commit();
  for (formats::OutputFile& file : files) file.finish();
  forget_removals();
}

int run(const RotateVerb& options) {
  const std::vector<Route> routes = routes_of(options);
  const Layout& layout = layout_named(options.layout);
  const Operation operation = operation_named(options.operation);
  std::vector<std::string> warnings;
  const Rope rope = options.plan.rope(warnings);
  TokenPositions positions = positions_of(options);
  std::vector<TensorFile> tensors;
  for (const Route& route : routes) tensors.emplace_back(route.in, layout);
  const std::vector<Output> outputs = outputs_of(routes, tensors);
  check_fit(rope, tensors, positions);
  check_apart(routes, tensors, positions, options.plan.file(), outputs);
  if (const auto warning = warning_of_length(rope, options.plan.length(), positions, tensors)) {
    warnings.push_back(*warning);
  }
  if (positions.axes() > 1 && rope.axes() == 1) {
    warnings.push_back(message(positions.file()->path(), ": has positions of ", positions.axes(),
                               " axes, and the rope has one: all but the first are ignored"));
  }
  for (const std::string& warning : warnings) print_warning(warning);
  write_outputs(rope, operation, positions, outputs);
  return 0;
}

}  // namespace

Verb add_rotate(CLI::App& app) {
  CLI::App* verb = app.add_subcommand("rotate", "Rotate the heads of tensors in files");
  const auto options = std::make_shared<RotateVerb>(*verb);
  return {verb, [options] { return run(*options); }};
}

}  // namespace ropewalk::cli
