// SPDX-License-Identifier: Apache-2.0
// `get -w`: what is printed of a stream of changes. Each object that is listed is printed once more
// when it changes, with STATUS "Deleted" when it goes, and with "Deselected" behind its STATUS when
// it is there still but no longer what was asked for (-l, --field-selector, --state, --degraded).
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/verbs/listing.h"

namespace fabricd::cli {

// Prints a listing, later the rows that are new or changed below it.
class WatchPrinter {
 public:
  explicit WatchPrinter(const Globals& globals) : globals_(globals), style_(globals.style) {}

  // The listing as it is now: at later turns what differs.
  void Print(const Listing& listing);
  // Prints all of it. `names`: a line each, for -o name.
  void PrintRows(const google::protobuf::Message& document, const std::string& names,
                 const Table& table);

 private:
  struct Shown {
    std::string text;
    std::vector<Cell> row;  // Empty: no table is shown.
  };
  void PrintGone(const Table& like, const std::map<std::string, Shown>& now);

  const Globals& globals_;
  TableStyle style_;
  std::vector<size_t> widths_;
  std::map<std::string, Shown> shown_;
};

// A listing and the stream of its changes.
class StreamWatch {
 public:
  // What a stream tells of; nothing: it is listed again and again.
  static std::optional<pb::TopologyKind> KindOf(const GetOptions& options);
  // REQUIRES: KindOf(options). Both outlive it.
  StreamWatch(const Globals& globals, const GetOptions& options);

  pb::WatchTopologyRequest Request() const;
  // Prints what a message tells. What is told twice, as by a stream that was resumed, is printed
  // once.
  Result Take(const pb::WatchTopologyResponse& message);

 private:
  std::unique_ptr<google::protobuf::Message> NewAnswer() const;
  // Whether the options that are no selectors choose it.
  bool IsChosen(const pb::TopologyChange& change) const;
  static void Add(const pb::TopologyChange& change, google::protobuf::Message* answer);
  Result ShowFirst();
  Result ShowChange(const pb::TopologyChange& change);

  const Globals& globals_;
  const GetOptions& options_;
  GetOptions unselected_;  // The options without what chooses.
  WatchPrinter printer_;
  std::unique_ptr<google::protobuf::Message> answer_;
  bool synced_ = false;
  std::map<std::string, std::string> shown_;  // By name: the item's bytes.
};

}  // namespace fabricd::cli
