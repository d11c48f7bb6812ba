#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Shows that tools/thread-safety finds a member that is used without its lock, and only that."""
import contextlib
import importlib.machinery
import importlib.util
import io
import json
import os
import shutil
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LOADER = importlib.machinery.SourceFileLoader("thread_safety", ROOT + "/tools/thread-safety")
SPEC = importlib.util.spec_from_loader("thread_safety", LOADER)
thread_safety = importlib.util.module_from_spec(SPEC)
LOADER.exec_module(thread_safety)

CLASS = """#include "common/mutex.h"
namespace fabricd {
class Counter {
 public:
  void Add() {
    MutexLock lock(mutex_);
    ++count_;
  }
  int Get() { %s return count_; }
  int WaitFor(int least) {
    MutexLock lock(mutex_);
    changed_.Wait(lock, [&]() FABRICD_REQUIRES(mutex_) { return count_ >= least; });
    lock.Unlock();
    %s
    lock.Lock();
    return count_;
  }

 private:
  Mutex mutex_;
  Condition changed_;
  int count_ FABRICD_GUARDED_BY(mutex_) = 0;
};
}  // namespace fabricd
"""


@unittest.skipUnless(shutil.which(thread_safety.COMPILER), "no clang")
class ThreadSafety(unittest.TestCase):
    def run_on(self, text, part="daemon"):
        """The exit code and the output of the tool for one source of a part."""
        with tempfile.TemporaryDirectory() as root:
            for folder in ("common", "daemon", "sim"):
                os.mkdir(os.path.join(root, folder))
            for header in ("mutex.h", "thread_annotations.h"):
                shutil.copy(f"{ROOT}/common/{header}", f"{root}/common/{header}")
            source = f"{root}/{part}/a.cc"
            with open(source, "w", encoding="utf-8") as file:
                file.write(text)
            command = f"c++ -I{root} -Wall -Wno-of-gcc -std=c++20 -o a.o -c {source}"
            with open(root + "/compile_commands.json", "w", encoding="utf-8") as file:
                json.dump([{"directory": root, "file": source, "command": command}], file)
            output = io.StringIO()
            thread_safety.ROOT = os.path.realpath(root)
            with contextlib.redirect_stdout(output):
                code = thread_safety.main([root])
            return code, output.getvalue()

    def test_a_read_without_the_lock_fails(self):
        code, output = self.run_on(CLASS % ("", ""))
        self.assertEqual(code, 1)
        self.assertIn("reading variable 'count_' requires holding mutex 'mutex_'", output)

    def test_a_write_between_unlock_and_lock_fails(self):
        code, output = self.run_on(CLASS % ("MutexLock lock(mutex_);", "++count_;"))
        self.assertEqual(code, 1)
        self.assertIn("writing variable 'count_' requires holding mutex 'mutex_'", output)

    def test_locked_use_passes(self):
        self.assertEqual(self.run_on(CLASS % ("MutexLock lock(mutex_);", "")),
                         (0, "1 compilations, 0 with findings\n"))

    def test_no_source_at_all_is_a_failure(self):
        self.assertEqual(self.run_on("int x;\n")[0], 1)
        self.assertEqual(self.run_on(CLASS % ("", ""), "sim")[0], 1)


if __name__ == "__main__":
    unittest.main(argv=sys.argv)
