// SPDX-License-Identifier: Apache-2.0
// The kinds of things that `get` lists: what they are called, how they are asked for and shown.
// Every verb that takes a RESOURCE reads this one list.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/client/client.h"
#include "cli/render/table.h"

namespace fabricd::cli {

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
  kMulticast,
  kTelemetry,
  kVerdict
};

struct GetOptions {
  Resource resource = Resource::kNode;
  std::vector<std::string> names;
  bool degraded = false;              // Ports and links.
  bool damped = false;                // Links: those that have flapped, with their penalty.
  std::vector<std::string> states;    // Ports.
  std::string owner;                  // Holds.
  std::vector<std::string> verdicts;  // Verdicts: "NOISY_PHY", …
  bool bad = false;                   // Verdicts: those that name a culprit.
  std::string labels, fields;         // selector.h.
  std::string sort_by;                // A FieldPath; empty: as the daemon orders them.
  std::vector<std::string> label_columns;
  bool show_labels = false, ignore_not_found = false, watch = false;
};

struct ResourceKind {
  using Message = google::protobuf::Message;

  Resource resource;
  const char* singular;
  const char* plural;
  const char* short_word;
  const char* help;
  bool watched;    // `get -w` can tell when it changes.
  bool described;  // `describe` knows it.
  // How names of such things are written: not expanded, hostlists, hostlists of ports.
  enum class Names { kPlain, kHostlist, kPortlist } names;
  // What is listed, one of it.
  const google::protobuf::Descriptor* item;
  // The answer: a message whose first repeated field has the items, or the one item itself. `wide`:
  // with all that wide tables and documents show.
  std::function<Result(Client&, const GetOptions&, bool wide, std::unique_ptr<Message>*)> fetch;
  // Of that answer.
  std::function<Table(const Message& answer, bool wide)> table;
  // Of one item, "node/leaf1"; `at` is its place in the answer.
  std::function<std::string(const Message& item, const GetOptions&, int at)> name;
  // What holds for all of a listing, lines; may be missing.
  std::function<std::string(const Message& answer)> notes = nullptr;
};

// In the order of Resource.
const std::vector<ResourceKind>& ResourceKinds();
const ResourceKind& KindOf(Resource resource);
// Singular, plural and short forms ("node", "nodes", "no").
std::optional<Resource> ParseResource(const std::string& word);
// "TYPE NAME…" or "TYPE/NAME…", as `-o name` prints it; hostlists are expanded.
Result ReadResource(std::string word, std::vector<std::string> names, Resource* resource,
                    std::vector<std::string>* all_names);

}  // namespace fabricd::cli
