// SPDX-License-Identifier: Apache-2.0
// AppliedMft: the confirmed MulticastForwardingTable of one switch, by the rules of AppliedLft. A
// block is known from the GetResp that showed it until the next Set of it.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>

#include "routing/plan/multicast_plan.h"

namespace fabricd::sweep {

class AppliedMft {
 public:
  using Block = routing::MulticastBlock;
  using Place = routing::MulticastPlace;

  // The table is lost, or another SM may have written it: everything is unknown. Blocks in flight
  // stay in flight.
  void Forget();

  bool Knows(Place place) const;
  // The entries that the block certainly has, and those that it may have. Equal if the content is
  // known. A block that was never read may hold anything.
  Block Surely(Place place) const;
  Block Possibly(Place place) const;
  // Whether the table may have entries. Blocks that were never read do not count.
  bool HasEntries() const;
  // Adds the MLIDs that certainly or perhaps have an entry. Blocks that were never read do not
  // count.
  void AddMlids(std::set<Lid>& mlids) const;
  // The blocks that are known, or in flight.
  const auto& blocks() const { return blocks_; }
  // The known content, from which plans start. Null: there is none.
  std::shared_ptr<const routing::MulticastRow> Row() const;

  void Confirm(Place place, const Block& block);
  void MarkSent(Place place, const Block& block);
  void Complete(Place place);    // A response came, or the Set was given up.
  void MarkUnsent(Place place);  // The Set was not sent after all.
  bool IsInFlight(Place place) const;
  // The bytes of the last Set. REQUIRES: MarkSent(), and no Confirm() since.
  const Block& InFlight(Place place) const { return blocks_.at(place).flight->bytes; }
  void AbandonInFlight();
  // A Set of the block was answered with other bytes. Reads of such a device prove nothing either,
  // so the block is written until the device agrees. Ends with Confirm() and Forget().
  void MarkContradicted(Place place) { contradicted_.insert(place); }
  bool IsContradicted(Place place) const { return contradicted_.contains(place); }

 private:
  struct State {
    std::optional<Block> held;  // nullopt: not known or never read.
    // A Set without a response so far.
    struct Flight {
      Block bytes{};
      std::optional<Block> before;
      bool completed = false;
    };
    std::optional<Flight> flight;
  };
  const State* Find(Place place) const;

  std::map<Place, State> blocks_;
  std::set<Place> contradicted_;
};

}  // namespace fabricd::sweep
