// SPDX-License-Identifier: Apache-2.0
// What the fabric is made of is watched by a stream of its changes; of other things the generation
// is asked for, and they are listed again when it has moved.
#include "cli/verbs/watch.h"

#include <algorithm>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "cli/verbs/verdict_commands.h"

namespace fabricd::cli {
namespace {

using google::protobuf::Message;

constexpr std::chrono::milliseconds kWatchInterval{500};
constexpr char kStatus[] = "STATUS";

Result WatchListing(Client& client, const Globals& globals, const GetOptions& options) {
  WatchPrinter printer(globals);
  constexpr int64_t kNone = -1;
  int64_t shown = kNone;  // Generation.
  const auto look = [&]() -> Result {
    pb::GetSmResponse sm;
    Result result =
        client.Call(client.topology(), &pb::TopologyService::Stub::GetSm, pb::GetSmRequest(), &sm);
    if (!result.ok() || shown == sm.generation()) return result;
    Listing listing;
    if (result = FetchListing(client, globals, options, &listing); !result.ok()) return result;
    printer.Print(listing);
    shown = sm.generation();
    return {};
  };
  for (int failed = 0;;) {
    const Result result = look();
    failed = result.ok() ? 0 : failed + 1;
    if (!result.ok()) {
      if (result.code != kUnavailable || failed > Client::kListAttempts) return result;
      if (!client.GoElsewhere()) return result;
      shown = kNone;  // Each node counts its own views.
    }
    std::this_thread::sleep_for(kWatchInterval);
  }
}

}  // namespace

void WatchPrinter::Print(const Listing& listing) {
  std::map<std::string, Shown> now;
  Table changed = listing.table.EmptyCopy();
  std::string names;
  for (size_t i = 0; i < listing.names.size(); ++i) {
    Shown& item = now[listing.names[i]];
    item.text = listing.items[i]->SerializeAsString();
    if (i < listing.table.size()) item.row = listing.table.rows()[i];
    const auto before = shown_.find(listing.names[i]);
    if (before != shown_.end() && before->second.text == item.text) continue;
    if (!item.row.empty()) changed.AddRow(item.row);
    names += listing.names[i] + "\n";
  }
  PrintGone(changed, now);
  shown_ = std::move(now);
  PrintRows(*listing.document, names, changed);
}

// What was listed and is not any more, as it was. A list does not tell why.
void WatchPrinter::PrintGone(const Table& like, const std::map<std::string, Shown>& now) {
  Table gone = like.EmptyCopy();
  for (const auto& [name, item] : shown_)
    if (!item.row.empty() && !now.contains(name)) gone.AddRow(item.row);
  if (!gone.HasColumn(kStatus) || gone.size() == 0) return;
  gone.SetColumn(kStatus, Cell("Gone", Tone::kWarning));
  widths_ = gone.Widths(style_, widths_);
  cli::Print(gone.Render(style_, widths_));
}

void WatchPrinter::PrintRows(const Message& document, const std::string& names,
                             const Table& table) {
  if (PrintDocument(globals_, document)) return;
  if (globals_.format == Format::kName) return cli::Print(names);
  if (table.size() == 0) return;
  // Later rows stand below the first ones.
  widths_ = table.Widths(style_, widths_);
  cli::Print(table.Render(style_, widths_));
  style_.headers = false;
}

std::optional<pb::TopologyKind> StreamWatch::KindOf(const GetOptions& options) {
  if (options.damped) return std::nullopt;
  switch (options.resource) {
    case Resource::kNode:
    case Resource::kSwitch: return pb::TOPOLOGY_KIND_NODE;
    case Resource::kHost: return pb::TOPOLOGY_KIND_HOST;
    case Resource::kPort: return pb::TOPOLOGY_KIND_PORT;
    case Resource::kLink: return pb::TOPOLOGY_KIND_LINK;
    default: return std::nullopt;
  }
}

StreamWatch::StreamWatch(const Globals& globals, const GetOptions& options)
    : globals_(globals),
      options_(options),
      unselected_(options),
      printer_(globals),
      answer_(NewAnswer()) {
  unselected_.labels.clear();
  unselected_.fields.clear();
}

pb::WatchTopologyRequest StreamWatch::Request() const {
  pb::WatchTopologyRequest request;
  request.set_kind(*KindOf(options_));
  request.mutable_names()->Assign(options_.names.begin(), options_.names.end());
  request.set_view(globals_.wide() || !options_.fields.empty() ? pb::PORT_VIEW_FULL
                                                               : pb::PORT_VIEW_BASIC);
  return request;
}

Result StreamWatch::Take(const pb::WatchTopologyResponse& message) {
  if (message.has_change()) {
    const pb::TopologyChange& change = message.change();
    // Other nodes are not switches that are left out: they are no switches.
    if (options_.resource == Resource::kSwitch && change.node().type() != "SWITCH") return {};
    if (synced_) return ShowChange(change);
    if (IsChosen(change)) Add(change, answer_.get());
  } else if (message.has_synced() && !synced_) {
    synced_ = true;
    return ShowFirst();
  }
  return {};
}

std::unique_ptr<Message> StreamWatch::NewAnswer() const {
  switch (options_.resource) {
    case Resource::kHost: return std::make_unique<pb::ListHostsResponse>();
    case Resource::kPort: return std::make_unique<pb::ListPortsResponse>();
    case Resource::kLink: return std::make_unique<pb::ListLinksResponse>();
    default: return std::make_unique<pb::ListNodesResponse>();
  }
}

bool StreamWatch::IsChosen(const pb::TopologyChange& change) const {
  if (change.has_port()) {
    const auto& states = options_.states;
    const bool is_state = states.empty() || std::find(states.begin(), states.end(),
                                                      change.port().state()) != states.end();
    return is_state && (!options_.degraded || change.port().degraded());
  }
  return !change.has_link() || !options_.degraded || change.link().degraded();
}

void StreamWatch::Add(const pb::TopologyChange& change, Message* answer) {
  if (change.has_node()) {
    *static_cast<pb::ListNodesResponse*>(answer)->add_nodes() = change.node();
  } else if (change.has_host()) {
    *static_cast<pb::ListHostsResponse*>(answer)->add_hosts() = change.host();
  } else if (change.has_port()) {
    *static_cast<pb::ListPortsResponse*>(answer)->add_ports() = change.port();
  } else if (change.has_link()) {
    *static_cast<pb::ListLinksResponse*>(answer)->add_links() = change.link();
  }
}

Result StreamWatch::ShowFirst() {
  Listing listing;
  Result result = MakeListing(globals_, options_, std::move(answer_), &listing);
  if (!result.ok()) return result;
  std::string names;
  for (size_t i = 0; i < listing.names.size(); ++i) {
    shown_[listing.names[i]] = listing.items[i]->SerializeAsString();
    names += listing.names[i] + "\n";
  }
  printer_.PrintRows(*listing.document, names, listing.table);
  return {};
}

Result StreamWatch::ShowChange(const pb::TopologyChange& change) {
  Listing chosen, listing;
  auto answer = NewAnswer();
  if (IsChosen(change)) Add(change, answer.get());
  Result result = MakeListing(globals_, options_, std::move(answer), &chosen);
  if (!result.ok()) return result;
  answer = NewAnswer();
  Add(change, answer.get());
  result = MakeListing(globals_, unselected_, std::move(answer), &listing);
  if (!result.ok() || listing.items.empty()) return result;
  const std::string& name = listing.names.front();
  const bool deleted = change.type() == pb::CHANGE_TYPE_DELETED;
  if (!deleted && !chosen.items.empty()) {
    std::string text = listing.items.front()->SerializeAsString();
    std::string& shown = shown_[name];
    if (shown == text) return {};
    shown = std::move(text);
  } else if (shown_.erase(name) == 0) {
    return {};  // It was not listed.
  } else if (deleted) {
    listing.table.SetColumn(kStatus, Cell("Deleted", Tone::kBad));
  } else {
    listing.table.AddWord(kStatus, Cell("Deselected", Tone::kWarning));
  }
  printer_.PrintRows(*listing.items.front(), name + "\n", listing.table);
  return {};
}

Result Watch(Client& client, const Globals& globals, const GetOptions& options) {
  if (options.resource == Resource::kVerdict) return WatchVerdicts(client, globals, options);
  if (!StreamWatch::KindOf(options)) return WatchListing(client, globals, options);
  StreamWatch watch(globals, options);
  return client.Follow(
      client.topology(), &pb::TopologyService::Stub::WatchTopology, watch.Request(),
      std::function<Result(const pb::WatchTopologyResponse&)>(
          [&](const pb::WatchTopologyResponse& message) { return watch.Take(message); }),
      globals.timeout);
}

}  // namespace fabricd::cli
