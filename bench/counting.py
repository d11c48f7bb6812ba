# SPDX-License-Identifier: Apache-2.0
"""The counters of count_mads.c, read while the program that it is loaded into runs, or after it was
killed. Imported by the programs beside it, and by tools/ha-soak."""
import mmap
import os
import struct
import subprocess

from peers import HERE, RunError

# Attribute ids of SMPs (IBA vol 1 §14.2.5).
ATTRIBUTES = {
    0x02: "Notice", 0x10: "NodeDescription", 0x11: "NodeInfo", 0x12: "SwitchInfo", 0x14: "GUIDInfo",
    0x15: "PortInfo", 0x16: "P_KeyTable", 0x17: "SLtoVLMappingTable", 0x18: "VLArbitrationTable",
    0x19: "LinearForwardingTable", 0x1A: "RandomForwardingTable",
    0x1B: "MulticastForwardingTable", 0x20: "SMInfo", 0x30: "VendorDiag", 0x31: "LedInfo",
    0x33: "PortInfoExtended", 0x34: "SwitchPortStateTable", 0xFF: "vendor",
}
METHODS = ("Get", "Set", "other")  # The rows of count_mads.c.
COUNT_CELLS = len(METHODS) * 256
RING = 256
(TABLE_ANSWERED, REREGISTERS, PORT_INFO_SET, FIRST_SET, SETS,
 SET_TIMES) = range(COUNT_CELLS, COUNT_CELLS + 6)
FILE_CELLS = SET_TIMES + RING


def build_shim(directory):
    """Compiles the counting shim; its path."""
    shim = os.path.join(directory, "count_mads.so")
    command = [os.environ.get("CC", "cc"), "-O2", "-fPIC", "-shared", "-o", shim,
               os.path.join(HERE, "count_mads.c"), "-ldl", "-pthread"]
    try:
        subprocess.run(command, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise RunError(f"the shim that counts MADs cannot be built: {error}") from error
    return shim


class Counters:
    """Of one program, started with COUNT_MADS_FILE=path."""

    def __init__(self, directory, name="counters"):
        self.path = os.path.join(directory, name)
        with open(self.path, "wb") as file:
            file.truncate(FILE_CELLS * 8)

    def read(self):
        """{"PortInfo.Set": number sent}, of those that were sent."""
        cells = self.cells()
        return {f"{ATTRIBUTES.get(i % 256, hex(i % 256))}.{METHODS[i // 256]}": sent
                for i, sent in enumerate(cells[:COUNT_CELLS]) if sent}

    def cells(self):
        with open(self.path, "rb") as file, \
                mmap.mmap(file.fileno(), FILE_CELLS * 8, access=mmap.ACCESS_READ) as view:
            return struct.unpack(f"={FILE_CELLS}Q", view[:])

    def last_table_answer(self):
        """time.monotonic() when the last answer about a forwarding table came; 0: none has."""
        return self.cells()[TABLE_ANSWERED] / 1e9

    def reregisters(self):
        """PortInfo Sets with ClientReregister."""
        return self.cells()[REREGISTERS]

    def last_port_info_set(self):
        """time.monotonic() when the last Set of PortInfo was sent; 0: none was."""
        return self.cells()[PORT_INFO_SET] / 1e9

    def forget_first_set(self):
        """From here on first_set() is about what follows."""
        with open(self.path, "r+b") as file, mmap.mmap(file.fileno(), FILE_CELLS * 8) as view:
            view[FIRST_SET * 8:FIRST_SET * 8 + 8] = bytes(8)

    def first_set(self):
        """time.monotonic() of the first Set since forget_first_set(); 0: there was none."""
        return self.cells()[FIRST_SET] / 1e9

    def set_times(self):
        """time.monotonic() of the last Sets, those of SMInfo not among them: at most RING, oldest
        first."""
        cells = self.cells()
        return [cells[SET_TIMES + n % RING] / 1e9
                for n in range(max(0, cells[SETS] - RING), cells[SETS])]
