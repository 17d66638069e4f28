// ropewalk, the command line: one verb is one call of the library.
//
// Exit codes: 0 done, 1 the check or the input failed, 2 wrong usage. Errors are one line on
// stderr that says what to do.

#include <csignal>
#include <exception>
#include <iostream>
#include <ropewalk/version.hpp>
#include <string>

#include "message.hpp"
#include "printed.hpp"
#include "verbs.hpp"

namespace ropewalk::cli {
namespace {

constexpr int kFailed = 1;
constexpr int kWrongUsage = 2;

// What was printed may still be on its way to a full disk.
int flushed(int code) {
  if (std::cout.flush()) return code;
  print_error("writing to the standard output failed; is the disk full?");
  return kFailed;
}

int run(int argc, char** argv) {
  CLI::App app("Rotary position embeddings, exact at any position.", "ropewalk");
  const std::string version = message("ropewalk ", ROPEWALK_VERSION_MAJOR, ".",
                                      ROPEWALK_VERSION_MINOR, ".", ROPEWALK_VERSION_PATCH);
  app.set_version_flag("--version", version, "Print the version and exit");
  app.require_subcommand(0, 1);
  const Verb verbs[] = {add_rotate(app), add_inspect(app), add_check(app), add_bench(app)};
  try {
    app.parse(argc, argv);
    for (const Verb& verb : verbs) {
      if (verb.app->parsed()) return flushed(verb.run());
    }
    std::cerr << app.help();
    return kWrongUsage;
  } catch (const CLI::Success& success) {  // --help, --version
    return flushed(app.exit(success));
  } catch (const CLI::ParseError& error) {
    std::string help = "ropewalk";
    for (const Verb& verb : verbs) {
      if (verb.app->parsed()) help += " " + verb.app->get_name();
    }
    print_error(message(error.what(), "; see ", help, " --help"));
    return kWrongUsage;
  } catch (const UsageError& error) {
    print_error(error.what());
    return kWrongUsage;
  }
}

}  // namespace
}  // namespace ropewalk::cli

int main(int argc, char** argv) {
  // Beyond a limit on the size of files writing shall fail, not kill: there is something to remove.
  std::signal(SIGXFSZ, SIG_IGN);
  try {
    return ropewalk::cli::run(argc, argv);
  } catch (const std::bad_alloc&) {
    ropewalk::cli::print_error("out of memory");
  } catch (const std::exception& error) {
    ropewalk::cli::print_error(error.what());
  }
  return ropewalk::cli::kFailed;
}
