// SPDX-License-Identifier: Apache-2.0
// `get -w`: asks for the generation and lists again when it has moved.
#include <map>
#include <thread>

#include <fmt/format.h>

#include "cli/listing.h"

namespace fabricd::cli {
namespace {

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
    if (PrintDocument(globals_, *listing.document)) return;
    if (globals_.format == Format::kName) return cli::Print(names);
    if (changed.size() > 0) cli::Print(changed.Render(style_));
    style_.headers = false;
  }

 private:
  const Globals& globals_;
  TableStyle style_;
  std::map<std::string, std::string> shown_;
};

}  // namespace

Result Watch(Client& client, const Globals& globals, const GetOptions& options) {
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

}  // namespace fabricd::cli
