#include <memory>
#include <ropewalk/error.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "formats/file.hpp"
#include "interrupt.hpp"
#include "message.hpp"
#include "plan.hpp"
#include "rotate_file.hpp"
#include "verbs.hpp"

namespace ropewalk::cli {
namespace {

struct RotateVerb {
  explicit RotateVerb(CLI::App& verb);

  PlanOptions plan;
  std::string in, out, q, k, out_q, out_k;
  bool in_place = false;
  std::string layout = "bthd";
  std::string start, positions;
};

RotateVerb::RotateVerb(CLI::App& verb) : plan(verb) {
  const auto file = [&](const char* flag, std::string& path, const char* help) {
    verb.add_option(flag, path, help)->type_name("FILE")->group("Tensors (.npy, f32)");
  };
  file("--in", in, "A tensor to rotate");
  file("--out", out, "Where to write it");
  file("--q", q, "Queries to rotate");
  file("--k", k, "Keys to rotate, at the same positions");
  file("--out-q", out_q, "Where to write the queries");
  file("--out-k", out_k, "Where to write the keys");
  verb.add_flag("--in-place", in_place, "Replace the files, once all is done")
      ->group("Tensors (.npy, f32)");
  verb.add_option("--layout", layout,
                  "Order of the dimensions: b batch, t tokens, h heads, d elements of a head; one "
                  "of bthd (the default), bhtd, thd, htd")
      ->type_name("NAME");
  verb.add_option("--start", start, "Position of the first token; by default 0")->type_name("N");
  verb.add_option("--positions", positions,
                  "A .npy file, i4 or i8, of shape [tokens], [1, tokens] or [batch, tokens]")
      ->type_name("FILE");
}

// One tensor on its way, as given on the command line.
struct Route {
  std::string in_flag, in;
  std::string out_flag, out;
};

// What is asked for; UsageError if that is not clear.
std::vector<Route> routes_of(const RotateVerb& options) {
  const bool is_pair = !options.q.empty() || !options.k.empty();
  const bool has_out_pair = !options.out_q.empty() || !options.out_k.empty();
  if (is_pair == !options.in.empty()) {
    throw UsageError("say what to rotate: --in FILE, or --q FILE and --k FILE");
  }
  if (is_pair && (options.q.empty() || options.k.empty())) {
    throw UsageError("--q and --k belong together; for one of them alone use --in");
  }
  if (is_pair ? !options.out.empty() : has_out_pair) {
    throw UsageError("--out belongs to --in, --out-q and --out-k to --q and --k");
  }
  if (options.in_place == (!options.out.empty() || has_out_pair)) {
    throw UsageError(is_pair ? "say where to: --out-q FILE and --out-k FILE, or --in-place"
                             : "say where to: --out FILE, or --in-place");
  }
  if (has_out_pair && (options.out_q.empty() || options.out_k.empty())) {
    throw UsageError("--out-q and --out-k belong together; give both");
  }
  const auto route = [&](std::string_view in, const std::string& in_path, std::string_view out,
                         const std::string& out_path) {
    if (options.in_place) return Route{message(in), in_path, "--in-place", in_path};
    return Route{message(in), in_path, message(out), out_path};
  };
  if (!is_pair) return {route("--in", options.in, "--out", options.out)};
  return {route("--q", options.q, "--out-q", options.out_q),
          route("--k", options.k, "--out-k", options.out_k)};
}

void check_extension(std::string_view flag, std::string_view path) {
  if (path.ends_with(".npy")) return;
  throw UsageError(message(flag, " ", path, ": not supported, want a name that ends in .npy"));
}

TokenPositions positions_of(const RotateVerb& options) {
  if (options.positions.empty()) {
    return TokenPositions(options.start.empty() ? 0 : parse_int64("--start", options.start));
  }
  if (!options.start.empty()) throw UsageError("--start beside --positions: give one or the other");
  check_extension("--positions", options.positions);
  return TokenPositions(options.positions);
}

void check_fit(const Rope& rope, const std::vector<TensorFile>& tensors,
               const TokenPositions& positions) {
  for (const TensorFile& tensor : tensors) {
    if (tensor.shape()[3] != rope.spec().head_dim()) {
      throw Error(ErrorCode::kShapeMismatch,
                  message(tensor.file().path(), ": has shape ", bracketed(tensor.header().shape),
                          ", so head_dim ", tensor.shape()[3], "; the rope has head_dim ",
                          rope.spec().head_dim()));
    }
    positions.check(tensor);
  }
  const Dims& q = tensors.front().shape();
  const Dims& k = tensors.back().shape();
  if (q[0] != k[0] || q[1] != k[1]) {
    throw Error(ErrorCode::kShapeMismatch,
                message(tensors.back().file().path(), ": has batch ", k[0], " and ", k[1],
                        " tokens, ", tensors.front().file().path(), " has ", q[0], " and ", q[1],
                        "; q and k must have the same"));
  }
}

// An output may replace its own input and nothing else that is read: were the run killed between
// two renames, the one would be lost.
void check_apart(const std::vector<Route>& routes, const std::vector<TensorFile>& tensors,
                 const TokenPositions& positions, const std::vector<formats::OutputPath>& outputs) {
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const auto refuse = [&](std::string_view what) {
      throw UsageError(message(routes[i].out_flag, " ", routes[i].out, ": is also ", what,
                               "; give each file of its own"));
    };
    if (positions.file() != nullptr && outputs[i].replaces(*positions.file())) {
      refuse("what --positions reads");
    }
    for (std::size_t j = 0; j < outputs.size(); ++j) {
      if (i == j) continue;
      if (outputs[i].replaces(tensors[j].file())) {
        refuse(message("what ", routes[j].in_flag, " reads"));
      }
      if (outputs[i].is_same(outputs[j])) refuse(message("where ", routes[j].out_flag, " writes"));
    }
  }
}

// All outputs, or none but for a kill between two renames.
void write_outputs(const Rope& rope, const std::vector<TensorFile>& tensors,
                   TokenPositions& positions, const std::vector<formats::OutputPath>& paths) {
  std::vector<formats::OutputFile> outputs;
  outputs.reserve(paths.size());
  {
    const SignalsHeld held;
    for (const formats::OutputPath& path : paths) {
      outputs.emplace_back(path);
      remove_on_signal(outputs.back().temporary_path());
    }
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) outputs[i].reserve(tensors[i].file().size());
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    rotate_file(rope, tensors[i], positions, outputs[i]);
  }
  const SignalsHeld held;
  for (formats::OutputFile& output : outputs) output.commit();
  forget_removals();
}

int run(const RotateVerb& options) {
  const std::vector<Route> routes = routes_of(options);
  const Layout& layout = layout_named(options.layout);
  for (const Route& route : routes) {
    check_extension(route.in_flag, route.in);
    check_extension(route.out_flag, route.out);
  }
  const Rope rope = options.plan.rope();
  TokenPositions positions = positions_of(options);
  std::vector<TensorFile> tensors;
  std::vector<formats::OutputPath> outputs;
  for (const Route& route : routes) tensors.emplace_back(route.in, layout);
  for (const Route& route : routes) outputs.emplace_back(route.out);
  check_fit(rope, tensors, positions);
  check_apart(routes, tensors, positions, outputs);
  write_outputs(rope, tensors, positions, outputs);
  return 0;
}

}  // namespace

Verb add_rotate(CLI::App& app) {
  CLI::App* verb = app.add_subcommand("rotate", "Rotate the heads of tensors in files");
  const auto options = std::make_shared<RotateVerb>(*verb);
  return {verb, [options] { return run(*options); }};
}

}  // namespace ropewalk::cli
