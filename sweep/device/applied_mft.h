// SPDX-License-Identifier: Apache-2.0
// AppliedMft: one switch's MulticastForwardingTable as confirmed, by AppliedLft's rules: a block is
// known only between the GetResp that showed it and the next Set of it.
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

  // The table is lost, or another SM may have written: nothing is known. What is in flight stays
  // so.
  void Forget();

  bool Knows(Place place) const;
  // Entries that the block certainly has, and entries that it may have. Equal if its content is
  // known. A block that was never read may hold anything.
  Block Surely(Place place) const;
  Block Possibly(Place place) const;
  // Whether anything may be in the table that is known of: false for one that is empty or unread.
  bool HasEntries() const;
  // The places of which anything is known, or that a Set may be changing.
  const auto& blocks() const { return blocks_; }
  // The known content, from which plans start; null: nothing is known.
  std::shared_ptr<const routing::MulticastRow> Row() const;

  void Confirm(Place place, const Block& block);
  void MarkSent(Place place, const Block& block);
  void Complete(Place place);    // Answered or given up.
  void MarkUnsent(Place place);  // It did not leave after all.
  bool IsInFlight(Place place) const;
  // The bytes of the last Set. REQUIRES: MarkSent(), and no Confirm() since.
  const Block& InFlight(Place place) const { return blocks_.at(place).flight->bytes; }
  void AbandonInFlight();
  // A Set of the block was answered with other bytes: such a device's reads prove nothing either,
  // so that it is written until it agrees. Ends with Confirm() and Forget().
  void MarkContradicted(Place place) { contradicted_.insert(place); }
  bool IsContradicted(Place place) const { return contradicted_.contains(place); }

 private:
  struct State {
    std::optional<Block> held;  // nullopt: not known, or never read.
    // Of a Set that was not answered (yet).
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
