# SPDX-License-Identifier: Apache-2.0
"""The scenarios of tools/kernel-test, by theme. Importing the package fills registry.ALL."""
from scenarios import connections, guids, ipoib, keys, managers, nodes, ports, tables  # noqa: F401
from scenarios.registry import ALL  # noqa: F401
