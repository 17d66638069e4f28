#!/usr/bin/env python3
"""check_includes.py on made-up trees: that it can fail, and where it must not."""

import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "scripts"))
sys.dont_write_bytecode = True

import check_includes  # noqa: E402

# The smallest house in which every file that the cases include is there.
HOUSE = {
    "include/ropewalk/error.hpp": "#include <string>\n",
    "include/ropewalk/tensor.hpp": "",
    "include/ropewalk/version.hpp": "",
    "include/ropewalk/spec.hpp": "#include <ropewalk/error.hpp>\n",
    "include/ropewalk/frequencies.hpp": "#include <ropewalk/spec.hpp>\n#include <vector>\n",
    "include/ropewalk/rope.hpp": "#include <ropewalk/frequencies.hpp>\n",
    "include/ropewalk/positions.hpp": "",
    "include/ropewalk/rotate.hpp": "#include <ropewalk/positions.hpp>\n#include <ropewalk/rope.hpp>\n",
    "include/ropewalk/model.hpp": "#include <ropewalk/spec.hpp>\n",
    "include/ropewalk/check.hpp": "#include <ropewalk/rotate.hpp>\n",
    "src/message.hpp": "#include <string>\n",
    "src/kernels.hpp": "#include <cstdint>\n",
    "src/kernels.cpp": '#include "kernels.hpp"\n#include <hwy/foreach_target.h>\n',
    "src/formats/npy.hpp": "#include <fstream>\n#include <ropewalk/tensor.hpp>\n",
    "src/model.cpp": '#include "formats/npy.hpp"\n#include <nlohmann/json.hpp>\n',
    "bench/limit.hpp": "#include <vector>\n",
    "bench/limit.cpp": '#include "bench/limit.hpp"\n#include <chrono>\n#include <unistd.h>\n',
    "cli/plan.hpp": "",
    "cli/main.cpp": '#include <CLI/CLI.hpp>\n#include "formats/npy.hpp"\n#include "plan.hpp"\n',
}


def problems(**changes):
    """What is said of the house with these files changed; a __ in a name stands for a /."""
    with tempfile.TemporaryDirectory() as directory:
        for name, text in {**HOUSE, **changes}.items():
            path = Path(directory) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return check_includes.Tree(directory).check()


class CheckIncludes(unittest.TestCase):
    def assert_refused(self, path, text, line, words):
        found = problems(**{path: text})
        self.assertEqual(len(found), 1, found)
        self.assertTrue(found[0].startswith(f"{path}:{line}: "), found)
        self.assertIn(words, found[0])

    def assert_allowed(self, path, text):
        self.assertEqual(problems(**{path: text}), [])

    def test_the_made_up_house_is_in_order(self):
        self.assertEqual(problems(), [])

    def test_a_project_of_its_own_is_let_off(self):
        self.assert_allowed("bench/peers/ggml_loop.c", "#include <ggml.h>\n")
        self.assert_refused("bench/others/ggml_loop.c", "#include <ggml.h>\n", 1, "which room")

    def test_a_header_for_c_includes_what_c_has(self):
        self.assert_allowed("include/ropewalk/version.h", "#include <stddef.h>\n#include <stdint.h>\n")
        self.assert_refused("include/ropewalk/version.h", "#include <cstdint>\n", 1, "neither")
        self.assert_refused("include/ropewalk/version.h", "#include <ropewalk/tensor.hpp>\n", 1, "no C++")
        self.assert_refused("include/ropewalk/rope.hpp", "#include <stdint.h>\n", 1, "neither")
        self.assert_refused("src/version.h", "", 1, "which room")

    def test_the_c_interface_uses_public_headers_only(self):
        self.assert_allowed("src/ropewalk-spec.cpp", "#include <ropewalk/check.hpp>\n")
        self.assert_refused("src/ropewalk.cpp", '#include "kernels.hpp"\n', 1, "public headers only")

    def test_a_room_uses_what_its_row_says(self):
        self.assert_allowed("src/rotate.cpp", '#include "kernels.hpp"\n#include "message.hpp"\n')
        self.assert_allowed("src/version.cpp", '#include "kernels.hpp"\n')

    def test_a_room_may_not_use_what_its_row_does_not_say(self):
        self.assert_refused("src/spec.cpp", "\n#include <ropewalk/rope.hpp>\n", 2,
                            "spec may not use rope")
        self.assert_refused("src/rope.cpp", '#include "kernels.hpp"\n', 1, "rope may not use kernels")
        self.assert_refused("src/kernels.cpp", "#include <ropewalk/rope.hpp>\n", 1, "kernels may not")
        self.assert_refused("src/formats/npy.cpp", "#include <ropewalk/spec.hpp>\n", 1, "formats may")

    def test_only_kernels_include_highway(self):
        self.assert_refused("src/rotate.cpp", "#include <hwy/highway.h>\n", 1, "rotate may not")
        self.assert_allowed("src/kernels-inl.hpp", "#include <hwy/highway.h>\n")

    def test_only_model_and_formats_include_json(self):
        self.assert_refused("src/spec.cpp", "#  include <nlohmann/json.hpp>\n", 1, "spec may not")

    def test_public_headers_stand_alone(self):
        header = "include/ropewalk/spec.hpp"
        self.assert_refused(header, '#include "message.hpp"\n', 1, "a public header includes")
        self.assert_refused(header, "#include <nlohmann/json.hpp>\n", 1, "neither the project's")
        self.assert_refused(header, "#include <unistd.h>\n", 1, "neither the project's")

    def test_check_uses_public_headers_only(self):
        self.assert_allowed("src/check.cpp", '#include <ropewalk/rope.hpp>\n#include "message.hpp"\n')
        self.assert_refused("src/check.cpp", '#include "kernels.hpp"\n', 1, "public headers only")

    def test_the_command_line_uses_public_headers_and_formats(self):
        self.assert_allowed("cli/check.cpp", "#include <ropewalk/check.hpp>\n#include <iostream>\n")
        self.assert_allowed("cli/check.cpp", '#include "message.hpp"\n#include "formats/npy.hpp"\n')
        self.assert_refused("cli/rotate.cpp", '#include "kernels.hpp"\n', 1, "cli may not use kernels")

    def test_the_benchmark_uses_public_headers_the_kernels_and_the_clock(self):
        self.assert_allowed("bench/work.cpp", '#include <ropewalk/rotate.hpp>\n#include "message.hpp"\n')
        self.assert_allowed("bench/work.cpp", "#include <fstream>\n")
        self.assert_allowed("cli/bench.cpp", '#include "bench/limit.hpp"\n')
        self.assert_allowed("bench/overhead.cpp", '#include "kernels.hpp"\n')
        self.assert_refused("bench/work.cpp", '#include "formats/npy.hpp"\n', 1, "bench may not use")
        self.assert_refused("bench/work.cpp", "#include <hwy/highway.h>\n", 1, "bench may not")
        self.assert_refused("bench/work.cpp", "std::cout << 1;\n", 1, "does not print")
        self.assert_refused("src/rotate.cpp", '#include "bench/limit.hpp"\n', 1, "may not use bench")
        self.assert_refused("src/rotate.cpp", "#include <chrono>\n", 1, "does not read the clock")

    def test_every_file_has_a_room(self):
        self.assert_refused("src/utils.hpp", "", 1, "which room")
        self.assert_refused("include/ropewalk/kernels.hpp", "", 1, "which room")
        self.assert_refused("src/detail/rope.cpp", "", 1, "which room")
        self.assert_refused("src/notes.txt", "", 1, "which room")
        self.assert_refused("bench/more/limit.hpp", "", 1, "which room")

    def test_includes_name_files_that_are_there(self):
        self.assert_refused("src/rope.cpp", '#include "turns.hpp"\n', 1, "no such file")
        self.assert_refused("src/rope.cpp", "#include <ropewalk/turns.hpp>\n", 1, "no such public")
        self.assert_refused("src/rope.cpp", "#include HEADER\n", 1, "name the file")

    def test_the_library_does_not_print_read_the_environment_or_end_the_process(self):
        for text in ("#include <iostream>", "#include <cstdio>", "std::cerr << 1;", "printf(f);",
                     "std::getenv(name);", "std::abort();", "exit(1);", "std::terminate();",
                     "assert(x);", "HWY_ASSERT(x);", "std::thread t;"):
            with self.subTest(text):
                self.assert_refused("src/rope.cpp", f"\n{text}\n", 2, "")

    def test_comments_strings_and_longer_names_are_no_calls(self):
        self.assert_allowed("src/rope.cpp", """
            // printf(x), and #include <iostream>
            /* std::abort()
               #include <hwy/highway.h> */
            const char* a = "exit(1) // getenv(x)"; const auto b = R"(abort())"; int c = 1'000'000;
            static_assert(sizeof(int) == 4); void on_exit_(); std::snprintf(d, 2, "x");
            """)
        self.assert_refused("src/rope.cpp", 'const char* a = "//"; std::abort();\n', 1, "abort")

    def test_formats_read_and_write_files(self):
        self.assert_allowed("src/formats/npy.cpp", "#include <cstdio>\n#include <filesystem>\n")
        self.assert_refused("src/formats/npy.cpp", "std::printf(x);\n", 1, "does not print")


if __name__ == "__main__":
    unittest.main()
