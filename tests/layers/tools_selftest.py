#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What tools and benches need and leave behind: each tool installs what it runs, and nothing that
talks to ibsim runs in the work tree, where libumad2sim makes a folder sys-PID."""
import ast
import glob
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SHIM = "umad2sim"
sys.path.insert(0, ROOT + "/tests/kernel")
import vehicle  # noqa: E402


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def dev_packages():
    """What tools/deps installs with --dev alone."""
    return re.search(r"--dev\) packages\+=\(([^)]*)\)", read(ROOT + "/tools/deps"))[1].split()


def missing_installs(text, packages):
    """Packages of which a shell tool runs the program of the same name, and installs them not."""
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    runs = {p for p in packages for line in lines if re.match(rf"\s*{re.escape(p)}(\s|$)", line)}
    return sorted(p for p in runs if not re.search(rf"deps\"?.* --only .*\b{re.escape(p)}\b", text))


def popens_without_cwd(text):
    """Lines of Popen calls that say nothing of the folder to run in."""
    return [node.lineno for node in ast.walk(ast.parse(text))
            if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "Popen"
            and not any(word.arg == "cwd" for word in node.keywords)]


class Tools(unittest.TestCase):
    def test_each_tool_installs_its_programs(self):
        for path in glob.glob(ROOT + "/tools/*"):
            text = read(path) if os.path.isfile(path) else ""
            if text.startswith("#!/usr/bin/env bash"):
                self.assertEqual(missing_installs(text, dev_packages()), [], path)

    def test_a_tool_that_does_not_is_found(self):
        self.assertEqual(missing_installs("./tools/deps\n  lintian x\n", ["lintian"]), ["lintian"])
        self.assertEqual(
            missing_installs("./tools/deps --only lintian\nlintian x\n", ["lintian"]), [])

    def test_deps_refuses_unknown_options(self):
        done = subprocess.run([ROOT + "/tools/deps", "--nonsense"], capture_output=True, check=False)
        self.assertEqual(done.returncode, 2)

    def test_clients_of_ibsim_run_in_a_folder_of_their_own(self):
        paths = glob.glob(ROOT + "/tests/**/*.py", recursive=True) + glob.glob(ROOT + "/bench/*")
        for path in paths:
            if not os.path.isfile(path) or path.endswith((".cc", ".c", ".h", ".txt", ".png")):
                continue
            text = read(path)
            if SHIM not in text or "Popen" not in text:
                continue
            # The simulator itself makes no such folder.
            calls = [line for line in popens_without_cwd(text)
                     if '"ibsim"' not in "".join(text.splitlines()[line - 1:line + 3])]
            if path != os.path.abspath(__file__):
                self.assertEqual(calls, [], f"{path}: Popen without cwd")

    def test_a_client_without_one_is_found(self):
        self.assertEqual(popens_without_cwd("subprocess.Popen([1], env={})\n"), [1])
        self.assertEqual(popens_without_cwd("subprocess.Popen([1], cwd='x')\n"), [])

    def test_the_cache_keeps_the_newest_kernels_and_those_that_are_held(self):
        bound = re.search(r"^bound\(\) \{.*?^\}", read(ROOT + "/tools/kernel-build"), re.M | re.S)[0]
        with tempfile.TemporaryDirectory() as cache:
            entries = [pathlib.Path(cache, f"qemu-{age}") for age in range(4)]
            for age, entry in enumerate(entries):
                entry.mkdir()
                os.utime(entry, (1000 - age, 1000 - age))
            self.assertTrue(vehicle.hold(entries[3]))
            subprocess.run(["bash", "-euc", f"cache={cache}; say() {{ :; }}; {bound}; bound qemu 2"], check=True)
            self.assertEqual([entry.exists() for entry in entries], [True, True, False, True])
            self.assertFalse(vehicle.hold(entries[2]))


if __name__ == "__main__":
    unittest.main()
