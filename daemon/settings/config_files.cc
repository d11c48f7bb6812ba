// SPDX-License-Identifier: Apache-2.0
#include "daemon/settings/config_files.h"

#include <algorithm>
#include <string>
#include <utility>

#include "common/status.h"
#include "daemon/base/side_file.h"
#include "daemon/rpc/security/certificates.h"
#include "daemon/rpc/security/listen.h"
#include "daemon/settings/core_options.h"
#include "daemon/settings/partitions_file.h"
#include "daemon/settings/sa_files.h"
#include "daemon/settings/verdict_options.h"
#include "fabric/names.h"
#include "store/guid2lid.h"

namespace fabricd::daemon {
namespace {

// A message that begins with its key, as those of readers do.
void Add(const absl::Status& status, std::vector<config::Fault>& faults) {
  if (status.ok()) return;
  const std::string message = Message(status);
  const size_t colon = std::min(message.find(": "), message.size());
  faults.push_back(
      {message.substr(0, colon), 0, message.substr(std::min(message.size(), colon + 2))});
}

template <typename Parse>
void JudgeLines(const char* key, const std::string& path, Parse parse,
                std::vector<config::Fault>& faults) {
  if (path.empty()) return;
  const auto text = ReadFileOf(key, path);
  if (text.ok()) WarnSkipped(path, parse(*text));
  Add(text.status(), faults);
}

}  // namespace

std::vector<config::Fault> JudgeFiles(const config::Config& config) {
  std::vector<config::Fault> faults;
  JudgeLines("lid.guid2lid_file", config.lid.guid2lid_file, store::ParseGuid2Lid, faults);
  Add(ReadMKeys(config.sm).status(), faults);
  Add(ReadPrefixRoutes(config.sm).status(), faults);
  Add(ReadSaDump(config.sm).status(), faults);
  Add(ReadMKeySecret(config.sm).status(), faults);
  Add(ReadRoots(config.routing).status(), faults);
  JudgeLines("topology.node_name_map", config.topology.node_name_map, fabric::NodeNameMap::Parse,
             faults);
  if (!config.partitions.file.empty())
    Add(ReadPartitionsFile(config.partitions.file).status(), faults);
  const config::Security& security = config.security;
  const bool named =
      !security.tls_cert.empty() || !security.tls_key.empty() || !security.tls_ca.empty();
  if (named || std::any_of(config.listen.begin(), config.listen.end(), rpc::IsTcpAddress))
    Add(rpc::ReadCertificates(security).status(), faults);
  for (config::Fault& fault : CheckVerdicts(config)) faults.push_back(std::move(fault));
  return faults;
}

}  // namespace fabricd::daemon
