#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Shows that tools/words fails where it must, and only there: small trees with one fault each."""
import os
import subprocess
import sys
import tempfile
import unittest

TOOL = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tools", "words")
LIST = "# comment\nway, ways | path | {} | {} | one way; in a way\nleast change | repair | 0 | 0 |\n"


class WordsTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = folder.name
        self.allow(0, 0)

    def write(self, path, text):
        full = os.path.join(self.root, path)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, "w", encoding="utf-8") as file:
            file.write(text)

    def allow(self, text, identifiers):
        self.write("tools/words.txt", LIST.format(text, identifiers))

    def list(self):
        with open(os.path.join(self.root, "tools/words.txt"), encoding="utf-8") as file:
            return file.read()

    def run_tool(self, *arguments):
        """Exit code, and the findings."""
        done = subprocess.run([sys.executable, TOOL, *arguments, self.root], capture_output=True,
                              text=True, check=False)
        return done.returncode, done.stdout.splitlines()[:-1]

    def assert_uses(self, text, identifiers):
        """The counts of "way" are these, and no others."""
        self.allow(text, identifiers)
        self.assertEqual(self.run_tool(), (0, []))

    def git(self, *arguments):
        subprocess.run(["git", "-C", self.root, "-c", "user.name=n", "-c", "user.email=e",
                        *arguments], capture_output=True, check=True)

    def test_a_new_use_fails(self):
        self.write("a/a.cc", "int a;\n// The way.\n")
        code, findings = self.run_tool()
        self.assertEqual(code, 1)
        self.assertEqual(findings, [
            "a/a.cc:2: word: \"way\": write path",
            'tools/words.txt:2: more: "way" in text: 1 uses, 0 allowed: write path '
            '(docs/GLOSSARY.md)'])

    def test_a_removal_asks_for_the_update(self):
        self.write("a/a.cc", "// The way.\n")
        self.allow(3, 1)
        code, findings = self.run_tool()
        self.assertEqual(code, 1)
        self.assertEqual(findings, [
            'tools/words.txt:2: fewer: "way" in text: 1 uses, 3 allowed: tools/words --update',
            'tools/words.txt:2: fewer: "way" in identifiers: 0 uses, 1 allowed: tools/words --update'])

    def test_update_lowers_and_keeps_the_rest(self):
        self.write("a/a.cc", "// The way.\n")
        self.allow(3, 1)
        self.assertEqual(self.run_tool("--update"), (0, []))
        self.assertEqual(self.list(), LIST.format(1, 0))

    def test_update_never_raises(self):
        self.write("a/a.cc", "// The ways and the way.\nint way;\n")
        self.allow(1, 4)
        code, findings = self.run_tool("--update")
        self.assertEqual(code, 1)
        self.assertIn('more: "way" in text: 2 uses, 1 allowed', findings[-1])
        self.assertEqual(self.list(), LIST.format(1, 1))

    def test_a_misspelling_is_found(self):
        self.write("a/a.cc", "int a;\n// To reci" + "eve.\n")
        code, findings = self.run_tool()
        self.assertEqual(code, 1)
        self.assertRegex(findings[0], r"^\S*a/a\.cc:2: spelling: reci" + "eve ==> receive$")
        self.write("tools/spelling.txt", "reci" + "eve\n")
        self.assertEqual(self.run_tool(), (0, []))

    def test_text_and_identifiers(self):
        self.write("a/a.cc", 'Way way_;  // WAY and kNoWay, wayward.\nLog("way\\nways");\n')
        self.assert_uses(3, 3)
        self.write("a/a.md", "The way of `longest_way` and `RunWays()`.\n")
        self.assert_uses(4, 5)

    def test_exceptions_may_be_broken_over_lines(self):
        self.write("a/a.cc", "  // There is one\n  // way to do it.\n")
        self.write("a/a.py", 'a = ("in "\n     "a way")\n')
        self.assert_uses(0, 0)

    def test_phrases(self):
        self.write("a/a.h", "// The least\n// change.\nint LeastChange;\n")
        code, findings = self.run_tool()
        self.assertEqual(code, 1)
        self.assertIn("a/a.h:1: word: \"least change\": write repair", findings)
        self.assertIn("a/a.h:3: word: \"least change\": write repair", findings)

    def test_names_of_files_and_where_they_are_do_not_count(self):
        self.write("a/a.cc", '#include "sweep/way.h"\n// See routing/way.h.\n// A way.\n')
        self.assert_uses(1, 0)
        os.rename(os.path.join(self.root, "a/a.cc"), os.path.join(self.root, "a/way.cc"))
        self.assert_uses(1, 0)

    def test_golden_files_and_data_are_not_read(self):
        for path in ("tests/golden/a.md", "tests/data/a.md", "third_party/a.cc", "build/a.cc",
                     "docs/GLOSSARY.md"):
            self.write(path, "way\n")
        self.assert_uses(0, 0)

    def test_only_lines_that_a_branch_adds_are_shown(self):
        self.write("a/a.cc", "// The way.\n")
        self.allow(1, 0)
        self.git("init", "-q", "-b", "main")
        self.git("add", ".")
        self.git("commit", "-q", "-m", "a")
        self.git("checkout", "-q", "-b", "work")
        self.git("mv", "a/a.cc", "a/b.cc")
        self.git("commit", "-q", "-m", "b")
        self.write("a/b.cc", "// The way.\n// A way.\n")
        self.write("a/c.cc", "// Another way.\n")
        self.assertEqual(self.run_tool(), (1, [
            "a/b.cc:2: word: \"way\": write path",
            "a/c.cc:1: word: \"way\": write path",
            'tools/words.txt:2: more: "way" in text: 3 uses, 1 allowed: write path '
            '(docs/GLOSSARY.md)']))

    def test_without_history_all_uses_are_shown(self):
        self.write("a/a.cc", "// The way.\n")
        self.git("init", "-q")
        self.assertEqual(self.run_tool()[1][0], "a/a.cc:1: word: \"way\": write path")
        self.git("add", ".")
        self.git("commit", "-q", "-m", "a")  # As in a clone of one commit.
        self.assertEqual(self.run_tool()[1][0], "a/a.cc:1: word: \"way\": write path")
        self.write("b/b.cc", "// The way.\n")
        self.assertEqual(self.run_tool()[1][0], "b/b.cc:1: word: \"way\": write path")

    def test_a_row_that_is_none_is_refused(self):
        self.write("tools/words.txt", "way | path | many | 1 |\n")
        self.assertEqual(self.run_tool()[0], 1)


if __name__ == "__main__":
    unittest.main()
