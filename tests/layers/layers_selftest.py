#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Shows that tools/layers fails where it must, and only there: small trees with one fault each."""
import importlib.machinery
import importlib.util
import os
import tempfile
import unittest

TOOL = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tools", "layers")
LOADER = importlib.machinery.SourceFileLoader("layers", TOOL)
SPEC = importlib.util.spec_from_loader("layers", LOADER)
layers = importlib.util.module_from_spec(SPEC)
LOADER.exec_module(layers)

SPDX = "// SPDX-License-Identifier: Apache-2.0\n"


def function(lines, head="void Long(int n) {"):
    return head + "\n" + "  Use(n);\n" * (lines - 2) + "}\n"


class LayersTest(unittest.TestCase):
    def tree(self, sources, rule="rooms"):
        """The findings of this rule in a tree of these sources: path → text below the first line."""
        with tempfile.TemporaryDirectory() as root:
            for path, text in sources.items():
                full = os.path.join(root, path)
                os.makedirs(os.path.dirname(full), exist_ok=True)
                with open(full, "w", encoding="utf-8") as file:
                    file.write(SPDX + text)
            found, _ = layers.check_tree(root)
            return [(path, message) for path, _, kind, message in found if kind == rule]

    def findings(self, path, text):
        with tempfile.TemporaryDirectory() as root:
            full = os.path.join(root, path)
            os.makedirs(os.path.dirname(full))
            with open(full, "w", encoding="utf-8") as file:
                file.write(text)
            found, count = layers.check_tree(root)
            self.assertEqual(count, 1)
            return [(number, rule) for _, number, rule, _ in found if rule not in ("rooms", "tested", "built")]

    def check(self, path, body, *expected):
        self.assertEqual(self.findings(path, SPDX + body), list(expected), path + "\n" + body)

    def test_project_includes(self):
        self.check("routing/a.cc", '#include "fabric/snapshot.h"\n#include "routing/b.h"\n')
        self.check("fabric/a.cc", '#include "routing/plan/engine.h"\n', (2, "layers"))
        self.check("fabric/a.cc", '#include "mad/wire/smp.h"\n')
        self.check("fabric/a.cc", '#include "mad/transport.h"\n', (2, "layers"))
        self.check("mad/wire/a.cc", '#include "mad/transport.h"\n', (2, "layers"))
        self.check("common/a.cc", '#include "fabric/names.h"\n', (2, "layers"))
        self.check("sim/a.cc", '#include "daemon/app.h"\n', (2, "layers"))
        self.check("daemon/rpc/a.cc", '#include "sim/fabric/control.h"\n#include "daemon/app.h"\n')
        self.check("sweep/a.cc", '  #  include <sa/a.h>\n', (2, "layers"))
        self.check("tests/unit/a.cc", '#include "daemon/app.h"\n#include "cli/a.h"\n')

    def test_classes_have_few_members_and_bools(self):
        def members(count, what="int"):
            return "class A {\n public:\n  int Get() const { return x_; }\n private:\n" + "".join(
                f"  {what} x{i}_ = 0;  // y_\n" for i in range(count)) + "};\n"
        self.check("sweep/a.h", "#pragma once\n" + members(20))
        self.check("sweep/a.h", "#pragma once\n" + members(21), (3, "size"))
        self.check("mad/a.h", "#pragma once\n" + members(3, "bool"))
        self.check("mad/a.h", "#pragma once\n" + members(4, "bool"), (3, "size"))

    def test_only_data_members_count(self):
        body = ("class A {\n  using B = int;\n  static constexpr int c_ = 1;\n  void F(int d_);\n"
                "  std::function<bool(int)> e_;\n  std::map<int, bool> f_, g_;\n"
                "  int h_ GUARDED_BY(mutex_);\n  struct J {\n    int k_;\n  } l_;\n"
                "  absl::Status M() { int n_ = 1; return n_; }\n  const int o_{1};\n};\n")
        code = layers.blank_out(body)
        names, bools = layers.members_of(code[code.index("{") + 1:code.rindex("}")])
        self.assertEqual(names, ["e_", "f_", "g_", "h_", "l_", "o_"])
        self.assertEqual(bools, 0)

    def test_files_are_short(self):
        self.check("daemon/a.cc", "int x;\n" * 499)
        self.check("daemon/a.cc", "int x;\n" * 500, (1, "size"))
        self.check("tests/unit/a.cc", "int x;\n" * 501, (1, "size"))

    def test_single_headers_and_rooms_of_another_part(self):
        self.check("telemetry/a.cc", '#include "policy/evidence.h"\n#include "policy/holds.h"\n',
                   (3, "layers"))
        self.check("telemetry/a.cc",
                   '#include "routing/plan/plan.h"\n#include "routing/graph/graph.h"\n',
                   (3, "layers"))

    def room(self, path, *includes):
        """A header that names its room and includes these."""
        name = path.rsplit("/", 1)[0]
        return {path: f"// {name}: something.\n#pragma once\n" +
                      "".join(f'#include "{header}"\n' for header in includes)}

    def test_rooms_do_not_include_each_other_in_a_cycle(self):
        a, b, c = (f"sweep/{name}/{name}.h" for name in "abc")
        self.assertEqual(self.tree(self.room(a, b) | self.room(b, c) | self.room(c)), [])
        found = self.tree(self.room(a, b) | self.room(b, c) | self.room(c, a))
        self.assertEqual(found, [(a, "rooms include each other: "
                                     "sweep/a -> sweep/b -> sweep/c -> sweep/a")])
        # The folder of the part itself is one of them.
        found = self.tree(self.room(a, "sweep/core.h") |
                          {"sweep/core.h": f'#pragma once\n#include "{a}"\n'})
        self.assertEqual([path for path, _ in found], ["sweep/core.h"])

    def test_proof_includes_no_engine(self):
        head = self.room("routing/proof/a.h")
        self.assertEqual(self.tree(head | {"routing/proof/a.cc": '#include "routing/plan/b.h"\n'}),
                         [])
        for header in ("routing/graph/b.h", "routing/engines/core/b.h"):
            found = self.tree(head | {"routing/proof/a.cc": f'#include "{header}"\n'})
            self.assertEqual(found, [("routing/proof/a.cc", "routing/proof may not know " +
                                      header.rsplit("/", 1)[0])])

    def test_one_header_of_a_room_describes_it(self):
        self.assertEqual(self.tree(self.room("sim/a/a.h")), [])
        self.assertEqual([path for path, _ in self.tree({"sim/a/a.h": "#pragma once\n"})], ["sim/a"])
        twice = self.room("sim/a/a.h") | self.room("sim/a/b.h")
        self.assertEqual([path for path, _ in self.tree(twice)], ["sim/a"])

    def test_headers_that_unit_tests_must_include(self):
        header, text = "sweep/write/a.h", "#pragma once\n"
        include = f'#include "{header}"\n'
        for test in ("tests/unit/sweep/write/a_test.cc", "tests/unit/sweep/fixture.h"):
            self.assertEqual(self.tree({header: text, test: include}, "tested"), [])
        for test in ("tests/unit/sa/a_test.cc", "tests/sim/a_test.cc", "sweep/write/a.cc"):
            found = self.tree({header: text, test: include}, "tested")
            self.assertEqual([path for path, _ in found], [header])
        self.assertEqual(self.tree({"sa/a.h": text}, "tested"), [])

    def test_tests_that_are_not_built(self):
        test, lists = "tests/unit/sa/state/a_test.cc", "tests/unit/sa/CMakeLists.txt"
        for text in ("fabricd_test(sa_test state/a_test.cc)", "file(GLOB all state/*_test.cc)"):
            self.assertEqual(self.tree({test: "", lists: text}, "built"), [])
        for text in ("", "fabricd_test(sa_test a_test.cc state/aa_test.cc)"):
            found = self.tree({test: "", lists: text}, "built")
            self.assertEqual([path for path, _ in found], [test])

    def test_size_of_a_folder(self):
        many = {f"fabric/f{i}.cc": "int a;\n" for i in range(40)}
        self.assertEqual(self.tree(many), [])
        self.assertEqual([path for path, _ in self.tree(many | {"fabric/one.cc": "int a;\n"})],
                         ["fabric"])

    def test_generated_includes(self):
        self.check("cli/a.cc", '#include "fabric/v1/a.pb.h"\n#include "fabric/v1/a.grpc.pb.h"\n')
        self.check("cli/a.cc", '#include "fabric/names.h"\n', (2, "layers"))
        self.check("config/a.cc", '#include "fabric/config/v1/config.pb.h"\n')
        self.check("config/a.cc", '#include "fabric/v1/fabric.pb.h"\n', (2, "layers"))
        self.check("sweep/a.cc", '#include "fabric/v1/fabric.pb.h"\n', (2, "layers"))

    def test_libraries(self):
        self.check("mad/umad_transport.cc", "#include <infiniband/umad.h>\n")
        self.check("mad/other.cc", "#include <infiniband/umad.h>\n", (2, "layers"))
        self.check("daemon/a.cc", "#include <spdlog/spdlog.h>\n")
        self.check("daemon/http/a.cc", "#include <grpcpp/grpcpp.h>\n", (2, "layers"))
        self.check("store/a.cc", "#include <grpcpp/grpcpp.h>\n", (2, "layers"))
        self.check("sim/cli/a.cc", "#include <CLI/CLI.hpp>\n")
        self.check("sim/a.cc", "#include <CLI/CLI.hpp>\n", (2, "layers"))
        self.check("routing/a.cc", "#include <tbb/parallel_for.h>\n")
        self.check("fabric/a.cc", "#include <tbb/parallel_for.h>\n", (2, "layers"))
        self.check("sweep/a.cc", "#include <yaml-cpp/yaml.h>\n", (2, "layers"))

    def test_pure_headers(self):
        for header in ("thread", "mutex", "fstream", "filesystem", "sys/socket.h",
                       "common/published.h"):
            self.check("sweep/a.cc", f"#include <{header}>\n", (2, "pure"))
            self.check("mad/transaction_engine.cc", f"#include <{header}>\n", (2, "pure"))
            self.check("store/a.cc", f"#include <{header}>\n")
        self.check("mad/umad_transport.cc", "#include <thread>\n")

    def test_pure_code(self):
        self.check("sa/a.cc", "auto t = std::chrono::steady_clock::now();\n", (2, "pure"))
        self.check("sa/a.cc", "int r = rand();\n", (2, "pure"))
        self.check("sa/a.cc", "int r = std::rand ();\n", (2, "pure"))
        self.check("sa/a.cc", "int r = rng.rand() + operand(2) + brand();\n")
        self.check("daemon/a.cc", "auto t = Clock::now();\n")
        self.check("sa/a.cc", '// Clock::now() is not read.\nconst char* s = "::now()";\n')

    def test_wall_clock(self):
        for code in ("std::chrono::system_clock::now()", "TimeUtil::GetCurrentTime()",
                     "time(nullptr)", "time( &now )", "gettimeofday(&now, nullptr)"):
            self.check("daemon/a.cc", f"auto t = {code};\n", (2, "clock"))
        self.check("daemon/a.cc", "auto t = steady_clock::now();\nauto u = set_time(0);\n"
                   "auto v = time(when);\n")
        self.check("cli/a.cc", "auto t = std::chrono::system_clock::now();\n")
        self.check("daemon/base/wall_clock.h",
                   "#pragma once\nauto t = std::chrono::system_clock::now();\n")

    def test_prints(self):
        for code in ('fmt::print(stderr, "a")', 'std::fwrite(a, 1, 2, stdout)', 'std::cout << a',
                     'fputs(a, stderr)'):
            self.check("cli/a.cc", f"void F() {{ {code}; }}\n", (2, "print"))
        self.check("cli/a.cc", "void F() { Print(a); PrintError(b); printer.Print(c); }\n")
        self.check("cli/terminal/print.cc", "void F() { std::fwrite(a, 1, 2, stdout); }\n")
        self.check("daemon/a.cc", 'void F() { fmt::print("a"); }\n')

    def test_throw(self):
        self.check("daemon/a.cc", "void F() { throw 1; }\n", (2, "throw"))
        self.check("daemon/a.cc", "// Never throw.\nvoid F() { throw_away(); }\n")
        self.check("tests/a.cc", "void F() { throw 1; }\n")

    def test_function_length(self):
        inside = "namespace a {\nclass B : public C<int> {\n public:\n%s};\n}  // namespace a\n"
        self.check("common/a.cc", function(70))
        self.check("common/a.cc", function(71), (2, "length"))
        self.check("common/a.cc", inside % function(71), (5, "length"))
        self.check("common/a.cc", "int before = 1;\n\n" + function(71), (4, "length"))
        self.check("common/a.cc", function(71, "TEST(Suite, Name) {"), (2, "length"))
        self.check("common/a.cc", function(71, "A::A(int n) : n_(n), m_{n} {"), (2, "length"))
        self.check("common/a.cc", function(71, "auto F(int n) -> std::set<int> {"), (2, "length"))
        self.check("common/a.cc", function(71, "struct A MakeA(int n) {"), (2, "length"))
        # The head counts, a lambda is part of its function, data is no function.
        self.check("common/a.cc", "template <typename T>\n" + function(70), (2, "length"))
        self.check("common/a.cc", function(68, "void F() {\n  G([&](int n) {") + ");\n}\n",
                   (2, "length"))
        self.check("common/a.cc", "const int kTable[] = {\n" + "  1,\n" * 90 + "};\n")
        self.check("common/a.cc", "struct alignas(8) S {\n" + "  int n;\n" * 90 + "};\n")
        self.check("common/a.cc", "enum class E {\n" + "  kA,\n" * 90 + "};\n")
        self.check("common/a.cc", "const char* kText = R\"({\n" + "(){\n" * 90 + ")\";\n")

    def test_text(self):
        self.assertEqual(self.findings("common/a.cc", "int a;\n"), [(1, "spdx")])
        self.assertEqual(self.findings("common/a.h", SPDX), [(1, "once")])
        self.assertEqual(self.findings("common/a.h", SPDX + "#pragma once\n"), [])
        self.assertEqual(self.findings("tools/run", "#!/bin/sh\n" + SPDX.replace("//", "#")), [])
        self.assertEqual(self.findings("tools/run", "#!/bin/sh\n\n"), [(2, "spdx")])
        self.check("common/a.cc", "// " + "é" * 97 + "\n")
        self.check("common/a.cc", "// " + "x" * 98 + "\n", (2, "columns"))
        self.check("common/a.cc", "// https://example.org/" + "x" * 98 + "\n")

    def test_names_of_tests(self):
        self.check("tests/unit/a_test.cc", "TEST(Who, RefusesWholeTables) {}\n")
        for name in ("KeepsWhatIsThere", "WhoAsksTwice", "IsForWhom", "NobodyWaits", "8_WhatIsOld"):
            self.check("tests/unit/a_test.cc", f"TEST_F(A, {name}) {{\n}}\n", (2, "names"))
        self.check("tests/unit/a_test.cc", "\nTEST_P(A,\n       SeesWhatChanged) {\n}\n", (3, "names"))
        self.check("common/a.cc", "TEST(A, KeepsWhatIsThere) {}\n")
        spdx = SPDX.replace("//", "#")
        for name, expected in (("test_who_asks", [(3, "names")]), ("test_whole_tables", [])):
            text = f"{spdx}class A:\n    def {name}(self):\n"
            self.assertEqual(self.findings("tests/a/a_test.py", text), expected)

    def test_every_source_folder_has_a_rule(self):
        root = os.path.join(os.path.dirname(TOOL), "..")
        folders = {name for name in os.listdir(root) if os.path.isdir(os.path.join(root, name))
                   and not name.startswith("build")  # generated, as .gitignore has it
                   and any(file.endswith(".cc") for file in os.listdir(os.path.join(root, name)))}
        known = {layer.split("/")[0] for layer in layers.ALLOWED} | set(layers.FREE)
        self.assertEqual(folders - known, set())

    def test_an_empty_tree_is_no_success(self):
        with tempfile.TemporaryDirectory() as root:
            self.assertEqual(layers.main([root]), 1)


if __name__ == "__main__":
    unittest.main()
