// SPDX-License-Identifier: Apache-2.0
// `get -w`: what the fabric is made of by a stream of its changes; of other things the generation
// is asked for, and they are listed again when it has moved.
#include <algorithm>
#include <map>
#include <thread>

#include <fmt/format.h>

#include "cli/listing.h"

namespace fabricd::cli {
namespace {

using google::protobuf::Message;

constexpr std::chrono::milliseconds kWatchInterval{500};

// Prints a listing, at later turns only the rows that are new or changed.
class WatchPrinter {
 public:
  explicit WatchPrinter(const Globals& globals) : globals_(globals), style_(globals.style) {}

  void Print(const Listing& listing) {
    std::map<std::string, std::string> now;
    Table changed = listing.table.EmptyCopy();
    std::string names;
    for (size_t i = 0; i < listing.names.size(); ++i) {
      const auto& text = now[listing.names[i]] = listing.items[i]->SerializeAsString();
      const auto before = shown_.find(listing.names[i]);
      if (before != shown_.end() && before->second == text) continue;
      if (i < listing.table.size()) changed.AddRow(listing.table.rows()[i]);
      names += listing.names[i] + "\n";
    }
    shown_ = std::move(now);
    PrintRows(*listing.document, names, changed);
  }
  // Of a stream: all of it is news.
  void PrintRows(const Message& document, const std::string& names, const Table& table) {
    if (PrintDocument(globals_, document)) return;
    if (globals_.format == Format::kName) return cli::Print(names);
    if (table.size() == 0) return;
    // Later rows stand below the first ones.
    widths_ = table.Widths(style_, widths_);
    cli::Print(table.Render(style_, widths_));
    style_.headers = false;
  }

 private:
  const Globals& globals_;
  TableStyle style_;
  std::vector<size_t> widths_;
  std::map<std::string, std::string> shown_;
};

Result WatchListing(Client& client, const Globals& globals, const GetOptions& options) {
  WatchPrinter printer(globals);
  for (std::optional<uint32_t> shown;;) {
    pb::GetSmResponse sm;
    Result result =
        client.Call(client.topology(), &pb::TopologyService::Stub::GetSm, pb::GetSmRequest(), &sm);
    if (!result.ok()) return result;
    if (shown != sm.generation()) {
      Listing listing;
      if (result = FetchListing(client, globals, options, &listing); !result.ok()) return result;
      printer.Print(listing);
      shown = sm.generation();
    }
    std::this_thread::sleep_for(kWatchInterval);
  }
}

// What a stream tells of; nothing: it is listed again and again.
std::optional<pb::TopologyKind> StreamedAs(const GetOptions& options) {
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

// What a stream of changes makes of a listing.
class StreamWatch {
 public:
  StreamWatch(const Globals& globals, const GetOptions& options)
      : globals_(globals), options_(options), printer_(globals), answer_(NewAnswer()) {}

  pb::WatchTopologyRequest Request() const {
    pb::WatchTopologyRequest request;
    request.set_kind(*StreamedAs(options_));
    request.mutable_names()->Assign(options_.names.begin(), options_.names.end());
    request.set_view(globals_.wide() || !options_.fields.empty() ? pb::PORT_VIEW_FULL
                                                                 : pb::PORT_VIEW_BASIC);
    return request;
  }

  Result Take(const pb::WatchTopologyResponse& message) {
    if (message.has_change() && !synced_) {
      Add(message.change(), answer_.get());
    } else if (message.has_change()) {
      auto news = NewAnswer();
      Add(message.change(), news.get());
      return Show(std::move(news), message.change().type() == pb::CHANGE_TYPE_DELETED);
    } else if (message.has_synced() && !synced_) {
      synced_ = true;
      return Show(std::move(answer_), false);
    }
    return {};
  }

 private:
  std::unique_ptr<Message> NewAnswer() const {
    switch (options_.resource) {
      case Resource::kHost: return std::make_unique<pb::ListHostsResponse>();
      case Resource::kPort: return std::make_unique<pb::ListPortsResponse>();
      case Resource::kLink: return std::make_unique<pb::ListLinksResponse>();
      default: return std::make_unique<pb::ListNodesResponse>();
    }
  }

  void Add(const pb::TopologyChange& change, Message* answer) const {
    const auto is_state = [&](const std::string& state) {
      return options_.states.empty() || std::find(options_.states.begin(), options_.states.end(),
                                                  state) != options_.states.end();
    };
    if (change.has_node()) {
      if (options_.resource == Resource::kSwitch && change.node().type() != "SWITCH") return;
      *static_cast<pb::ListNodesResponse*>(answer)->add_nodes() = change.node();
    } else if (change.has_host()) {
      *static_cast<pb::ListHostsResponse*>(answer)->add_hosts() = change.host();
    } else if (change.has_port()) {
      if (!is_state(change.port().state()) || (options_.degraded && !change.port().degraded()))
        return;
      *static_cast<pb::ListPortsResponse*>(answer)->add_ports() = change.port();
    } else if (change.has_link()) {
      if (options_.degraded && !change.link().degraded()) return;
      *static_cast<pb::ListLinksResponse*>(answer)->add_links() = change.link();
    }
  }

  Result Show(std::unique_ptr<Message> answer, bool deleted) {
    Listing listing;
    const bool first = !shown_;
    shown_ = true;
    if (Result result = MakeListing(globals_, options_, std::move(answer), &listing); !result.ok())
      return result;
    if (!first && listing.items.empty()) return {};
    if (deleted) listing.table.SetColumn("STATUS", Cell("Deleted", Tone::kBad));
    std::string names;
    for (const std::string& name : listing.names) names += name + "\n";
    printer_.PrintRows(first ? *listing.document : *listing.items.front(), names, listing.table);
    return {};
  }

  const Globals& globals_;
  const GetOptions& options_;
  WatchPrinter printer_;
  std::unique_ptr<Message> answer_;
  bool synced_ = false, shown_ = false;
};

}  // namespace

Result Watch(Client& client, const Globals& globals, const GetOptions& options) {
  if (!StreamedAs(options)) return WatchListing(client, globals, options);
  StreamWatch watch(globals, options);
  return client.Stream(
      client.topology(), &pb::TopologyService::Stub::WatchTopology, watch.Request(),
      std::function<Result(const pb::WatchTopologyResponse&)>(
          [&](const pb::WatchTopologyResponse& message) { return watch.Take(message); }),
      globals.timeout);
}

}  // namespace fabricd::cli
