#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What comes with the packages: the bill of materials names every library that the programs load,
maintainer scripts are shell, units are as closed as they are meant to be.

usage: packages_test.py SOURCE_DIR BUILD_DIR
"""
import json
import os
import shutil
import subprocess
import sys
import unittest

SOURCE, BUILD = sys.argv[1:3]


class BillOfMaterials(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        made = subprocess.run([os.path.join(SOURCE, "tools/sbom"), BUILD], check=True,
                              capture_output=True, text=True)
        cls.document = json.loads(made.stdout)
        cls.packages = {package["SPDXID"]: package for package in cls.document["packages"]}

    def test_it_is_spdx(self):
        self.assertEqual(self.document["spdxVersion"], "SPDX-2.3")
        for field in ("dataLicense", "SPDXID", "name", "documentNamespace", "creationInfo"):
            self.assertTrue(self.document[field], field)
        self.assertEqual(len(self.packages), len(self.document["packages"]), "identifiers are unique")

    def test_relations_lead_to_packages(self):
        for relation in self.document["relationships"]:
            self.assertIn(relation["relatedSpdxElement"], self.packages)

    def test_each_program_has_its_libraries(self):
        linked = {}
        for relation in self.document["relationships"]:
            if relation["relationshipType"] == "DYNAMIC_LINK":
                name = self.packages[relation["relatedSpdxElement"]]["name"]
                linked.setdefault(relation["spdxElementId"], set()).add(name)
        self.assertIn("libibumad3", linked["SPDXRef-program-fabricd"])
        self.assertIn("libgrpc++1.51", linked["SPDXRef-program-fabricctl"])
        self.assertNotIn("libibumad3", linked["SPDXRef-program-fabricctl"])
        for package in self.packages.values():
            self.assertTrue(package["versionInfo"], package["name"])


class Scripts(unittest.TestCase):
    def test_they_are_shell(self):
        for name in ("postinst", "prerm", "postrm"):
            subprocess.run(["sh", "-n", os.path.join(SOURCE, "packaging", name)], check=True)


class Units(unittest.TestCase):
    @unittest.skipUnless(shutil.which("systemd-analyze"), "no systemd-analyze")
    def test_they_are_closed(self):
        for unit in ("fabricd.service", "fabricd@.service"):
            judged = subprocess.run(
                ["systemd-analyze", "security", "--no-pager", "--offline=yes", "--threshold=25",
                 os.path.join(BUILD, "systemd", unit)], capture_output=True, text=True)
            self.assertEqual(judged.returncode, 0, judged.stdout[-300:] + judged.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
