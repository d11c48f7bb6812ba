# SPDX-License-Identifier: Apache-2.0
"""How each subnet manager is started with the same settings:

  priority       0-15
  m_key, m_key_protect
  partitions     the text of a file in OpenSM's form, which both read
  lids           {port GUID: LID}, in OpenSM's form of guid2lid
"""
import dataclasses
import json
import os
import pathlib

BIN = pathlib.Path(__file__).resolve().parents[2] / "build/bin"


@dataclasses.dataclass
class Options:
    """Where a manager runs, and the settings that are not the default."""
    guest: object
    hca: int
    name: str
    state: str
    settings: dict

    @property
    def directory(self):
        """Of its durable state."""
        path = f"/tmp/state-{self.state}"
        os.makedirs(path, exist_ok=True)
        return path

    def file(self, name, text):
        path = os.path.join(self.directory, name)
        with open(path, "w", encoding="ascii") as out:
            out.write(text)
        return path

    def lid_table(self):
        lids = self.settings.get("lids")
        return self.file("guid2lid", "".join(f"{guid} {lid:#06x} {lid:#06x}\n\n" for guid, lid in lids.items())) \
            if lids else None


def fabricd(options):
    """Command and environment; a configuration of YAML, of which JSON is a part."""
    given = options.settings
    sm = {key: given[key] for key in ("priority", "m_key_protect") if key in given}
    if "m_key" in given:
        sm["m_key"] = f"{given['m_key']:#018x}"
    config = {"fabric": f"umad:simib{options.hca}:1", "mode": "manage", "state_dir": options.directory,
              "listen": [f"unix:/tmp/{options.name}.sock"], "sm": sm}
    if "partitions" in given:
        config["partitions"] = {"file": options.file("partitions.conf", given["partitions"])}
    if table := options.lid_table():
        config["lid"] = {"guid2lid_file": table}
    return [BIN / "fabricd", "--config", options.file("fabricd.yaml", json.dumps(config))], {}


def opensm(options):
    given = options.settings
    lines = []
    if "m_key" in given:
        lines += [f"m_key {given['m_key']:#018x}", f"m_key_protection_level {given.get('m_key_protect', 0)}"]
    if "partitions" in given:
        lines.append(f"partition_config_file {options.file('partitions.conf', given['partitions'])}")
    if options.lid_table():
        lines.append("honor_guid2lid_file TRUE")
    if "priority" in given:
        lines.append(f"sm_priority {given['priority']}")
    command = ["opensm", "-g", options.guest.guid(options.hca), "-F",
               options.file("opensm.conf", "\n".join(lines) + "\n"),
               "-f", options.guest.directory / f"{options.name}-opensm.log"]
    return command, {"OSM_TMP_DIR": "/tmp", "OSM_CACHE_DIR": options.directory}
