// SPDX-License-Identifier: Apache-2.0
// fabricctl's verbs about the daemon's configuration, and about who did what.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/verbs/globals.h"

namespace fabricd::cli {

// As YAML that fabricd takes, as a table of its keys, or as JSON.
Result ViewConfig(Client& client, const Globals& globals);
// kUsage: the file is faulty, each fault is told with its line.
Result ValidateConfig(Client& client, const Globals& globals, const std::string& path);
// What a reload of this file would change. kFailure: something would; kUsage: it is faulty.
Result DiffConfig(Client& client, const Globals& globals, const std::string& path);
// The daemon reads its own file again.
Result ReloadConfig(Client& client, const Globals& globals, bool dry_run,
                    const std::string& reason);

struct ImportOptions {
  std::string path;                // opensm.conf; "-": standard input.
  std::vector<std::string> files;  // Files beside it: partitions.conf, guid2lid, root_guids.
  std::string directory;           // Where they are on fabricd's machine.
};
// Prints the configuration; what became of each line of the old one goes to the standard error,
// with -o yaml nowhere, and with -o table takes the place of the configuration.
Result ImportOpensm(Client& client, const Globals& globals, const ImportOptions& options);

struct AuditOptions {
  std::optional<Timeout> since;
  std::string caller, method;
  uint32_t last = 0;  // 0: 500.
};
Result ShowAudit(Client& client, const Globals& globals, const AuditOptions& options);
// Who fabricd takes the caller for.
Result ShowCaller(Client& client, const Globals& globals);

// Pure.
Table SettingTable(const pb::GetConfigResponse& config, bool wide);
Table ConfigChangeTable(
    const google::protobuf::RepeatedPtrField<::fabric::v1::ConfigChange>& changes);
Table ImportTable(const pb::ImportOpensmResponse& imported);
Table AuditTable(const pb::ListAuditRecordsResponse& records, bool wide);

}  // namespace fabricd::cli
