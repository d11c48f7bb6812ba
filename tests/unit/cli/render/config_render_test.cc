// SPDX-License-Identifier: Apache-2.0
// What the verbs about the daemon's configuration show, word for word (tests/golden/cli).
#include "cli/verbs/config_commands.h"
#include "tests/unit/cli/golden.h"
#include "tests/unit/cli/sample.h"

namespace fabricd::cli::testing {
namespace {

TEST(ConfigRenderTest, Settings) {
  const auto config = FromText<pb::GetConfigResponse>(R"(
    settings { path: "sm.priority" value: "7" default_value: "0" reload_class: RELOAD_CLASS_LIVE }
    settings { path: "sm.m_key" value: "***" default_value: "0x0"
               reload_class: RELOAD_CLASS_RESTART waiting: "***" }
    settings { path: "routing.chain" value: "[rail]" default_value: "[rail, fat_tree]"
               reload_class: RELOAD_CLASS_RESWEEP })");
  ExpectGolden("config_settings", SettingTable(config, false).Render({}) + "\n" +
                                      SettingTable(config, true).Render({}));
}

TEST(ConfigRenderTest, Changes) {
  const auto response = FromText<pb::ReloadConfigResponse>(R"(
    changes { path: "sm.priority" before: "3" after: "7" reload_class: RELOAD_CLASS_LIVE }
    changes { path: "listen" before: "[]" after: "" reload_class: RELOAD_CLASS_RESTART })");
  ExpectGolden("config_changes", ConfigChangeTable(response.changes()).Render({}));
}

TEST(ConfigRenderTest, Import) {
  const auto imported = FromText<pb::ImportOpensmResponse>(R"(
    lines { line: 3 file: "opensm.conf" key: "sm_priority" value: "7"
            verdict: IMPORT_VERDICT_TAKEN message: "sm.priority" }
    lines { line: 9 file: "opensm.conf" key: "qos" value: "TRUE"
            verdict: IMPORT_VERDICT_DROPPED message: "fabricd has no QoS manager" }
    lines { line: 11 file: "opensm.conf" key: "flowers" value: "red"
            verdict: IMPORT_VERDICT_NOT_UNDERSTOOD message: "no key of OpenSM" })");
  ExpectGolden("config_import", ImportTable(imported).Render({}));
}

TEST(ConfigRenderTest, Audit) {
  const auto records = FromText<pb::ListAuditRecordsResponse>(R"(
    records { number: 7 time { seconds: 86400 } caller: "user:alice" role: "operator"
              method: "fabric.v1.RemediationService/CreateHold" request: "{\"kind\":1}"
              reason: "bit errors" code: "OK" node: "head1" }
    records { number: 8 time { seconds: 86401 } caller: "spiffe://cluster/slurm" role: "scheduler"
              method: "fabric.v1.AdminService/ReloadConfig" code: "PERMISSION_DENIED"
              message: "needs admin" })");
  ExpectGolden("audit",
               AuditTable(records, false).Render({}) + "\n" + AuditTable(records, true).Render({}));
}

}  // namespace
}  // namespace fabricd::cli::testing
