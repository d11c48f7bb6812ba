// SPDX-License-Identifier: Apache-2.0
// fabricctl's verbs about partitions.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/verbs/commands.h"

namespace fabricd::cli {

Result FetchPartitions(Client& client, const GetOptions& options, bool wide,
                       std::unique_ptr<google::protobuf::Message>* answer);
// Prints all of them as a partitions.conf.
Result ExportPartitions(Client& client);

struct PartitionFile {
  std::string path;  // "-": standard input.
  std::string request_id;
  bool dry_run = false, wait = false;
};
// Replaces all partitions by those of the file. A faulty one changes nothing: all faults are told,
// kUsage.
Result ApplyPartitions(Client& client, const Globals& globals, const PartitionFile& file);
// Prints what ApplyPartitions() would change. kFailure: something would.
Result DiffPartitions(Client& client, const PartitionFile& file);

struct PartitionOptions {
  std::string partition;             // P_Key or name; of `create` the name.
  std::vector<std::string> members;  // GUIDs, kinds of ports, names; hostlists.
  std::string membership = "limited";
  std::string p_key;  // Of `create`; empty: the lowest that is free.
  bool index0 = false, ipoib = false;
  std::string request_id;
  bool dry_run = false, wait = false, ignore_not_found = false;
};
Result CreatePartition(Client& client, const Globals& globals, const PartitionOptions& options);
// Changes what is given, and leaves the rest.
struct PartitionUpdate {
  std::string name, index0, ipoib;  // Empty: stays; of the last two else "true" or "false".
  uint32_t mtu = 0;                 // Of the broadcast group: bytes; 0: 2048.
  double rate_gbps = 0;             // 0: 10.
};
Result UpdatePartition(Client& client, const Globals& globals, const PartitionOptions& options,
                       const PartitionUpdate& update);
Result DeletePartition(Client& client, const Globals& globals, const PartitionOptions& options);
Result AddMembers(Client& client, const Globals& globals, const PartitionOptions& options);
Result RemoveMembers(Client& client, const Globals& globals, const PartitionOptions& options);

}  // namespace fabricd::cli
