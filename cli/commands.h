// SPDX-License-Identifier: Apache-2.0
// fabricctl's verbs. Each asks the daemon and prints to stdout; errors come back as Results.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/client.h"
#include "cli/table.h"

namespace fabricd::cli {

enum class Format {
  kTable,
  kWide,
  kJson,
  kYaml,
  kName,
  kIbnetdiscover,
  kIbroute,
  kIbtracert,
  kConf
};

struct Globals {
  std::string server;
  std::optional<Timeout> timeout;
  Format format = Format::kTable;
  bool format_given = false;
  TableStyle style;
};

enum class Resource {
  kNode,
  kHost,
  kSwitch,
  kPort,
  kLink,
  kSm,
  kHold,
  kCondition,
  kEvent,
  kPartition,
  kRecord,
  kService,
  kSubscription,
  kMulticast
};
// Singular, plural and short forms ("node", "nodes", "no").
std::optional<Resource> ParseResource(const std::string& word);

struct GetOptions {
  Resource resource = Resource::kNode;
  std::vector<std::string> names;
  bool degraded = false;            // Ports and links.
  bool damped = false;              // Links: those that have flapped, with their penalty.
  std::vector<std::string> states;  // Ports.
  std::string owner;                // Holds.
};
// A listing as it is now.
struct Listing {
  std::unique_ptr<google::protobuf::Message> document;  // What JSON and YAML show.
  Table table{{}};
  std::vector<std::string> names;  // One for each row, "node/leaf1".
};
Result FetchListing(Client& client, const GetOptions& options, bool wide, Listing* listing);
Result Get(Client& client, const Globals& globals, const GetOptions& options);
// Prints the listing, then what changes in it, until the daemon cannot be reached.
Result Watch(Client& client, const Globals& globals, const GetOptions& options);

Result Describe(Client& client, const Globals& globals, Resource resource,
                const std::vector<std::string>& names);

struct TraceOptions {
  std::string source, destination;
  bool all_lids = false;
};
Result Trace(Client& client, const Globals& globals, const TraceOptions& options);

struct RoutesOptions {
  std::string node, destination;
  bool balance = false;
};
Result Routes(Client& client, const Globals& globals, const RoutesOptions& options);

Result Topology(Client& client, const Globals& globals);
Result Sweep(Client& client, bool heavy, bool wait);
Result Dump(Client& client, const std::string& directory, const std::vector<std::string>& files);
// Until `condition` (fields.h) holds of the GetSm answer, or the timeout ends: kUnavailable.
Result WaitSm(Client& client, const std::string& condition, Timeout timeout);
Result Version(Client& client, const std::string& own_version);

Result SimUnlink(Client& client, const std::string& port);
Result SimLink(Client& client, const std::string& port);
Result SimConnect(Client& client, const std::string& a, const std::string& b);
Result SimReboot(Client& client, const std::string& node);
Result SimLinks(Client& client, const Globals& globals);

// Writes a message as JSON or YAML, whichever globals ask for. False: neither.
bool PrintDocument(const Globals& globals, const google::protobuf::Message& message);
void Print(const std::string& text);
// kUsage: this command has no such form.
Result NoSuchFormat(const char* formats);

}  // namespace fabricd::cli
