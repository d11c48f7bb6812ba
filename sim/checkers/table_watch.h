// SPDX-License-Identifier: Apache-2.0
// TableWatch: judges the forwarding tables after every single Set that changes them, while those of
// one plan and of the next are mixed. It keeps a copy of what the simulated switches hold and says
// after each Set whether
//
//   transient loop         some LID now travels in a circle that it did not travel in before;
//   transient cut          a pair (switch, LID) that was served is served no longer;
//   transient credit loop  channel dependencies of the tables as they stand close a circle.
//
// A pair is served when a packet that starts at the switch, or at an end port on it, arrives at the
// port that owns the LID, over ports that are ACTIVE. A Set may not end that. The rules by which it
// may all the same, and why:
//
//   never served    What is brought up for the first time has no traffic to lose. The checkers of
//                   the fabric at rest judge whether it is served in the end.
//   cut by a fault  A link that went down, a switch that lost its tables: from then on the pair is
//                   not served, and a Set cannot cut it once more. That it comes back is judged at
//                   rest; once it has come back, the next Set may not cut it again.
//   overtaken       A table written for a plan that did not know yet of a link's death leads to
//   that
//                   link. For `Options::notice` after the death that counts as the fault's doing:
//                   so long the manager may take to learn of it and to replace the plan.
//   no way          No cables that are up, and carry MADs, lead to the LID's owner: a switch that
//   was
//                   told to drop what it cannot deliver loses nothing. (A cable that carries no
//                   MADs is down for all that a manager can know.)
//   not wanted      The owner is an end port that somebody wanted isolated or down (SetUnwanted).
//   taken away      The owner is a switch, and the way ends where there is no entry: a change from
//                   one order to another may take such LIDs away before it writes them anew.
//
// All switches count as sources (their own management traffic), and so do all entries for the
// dependencies, as the plans' verifier has it. One lane: tables of plans that need several are not
// judged for credit loops here.
//
// Costs about 100 ns for each entry that a Set changes; only where the end of a way changes are all
// switches asked about that LID.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <absl/container/flat_hash_set.h>

#include "sim/checkers/dependency_graph.h"
#include "sim/fabric/mad_faults.h"
#include "sim/fabric/sim_fabric.h"

namespace fabricd::sim {

class TableWatch : public SimObserver {
 public:
  struct Options {
    Duration notice = std::chrono::seconds(1);
    bool credit_loops = true;  // False: the plans use more lanes than one.
    size_t most_findings = 20;
  };
  struct Statistics {
    uint64_t sets = 0;                               // Changed some entry.
    uint64_t entries = 0;                            // Changed by them.
    uint64_t walks = 0;                              // LIDs followed from all switches.
    uint64_t loops = 0, cuts = 0, credit_loops = 0;  // LIDs, pairs, Sets.
    uint64_t faults_cuts = 0;  // Pairs that something else than a Set has cut.

    Statistics& operator+=(const Statistics& other) {
      sets += other.sets, entries += other.entries, walks += other.walks;
      loops += other.loops, cuts += other.cuts, credit_loops += other.credit_loops;
      faults_cuts += other.faults_cuts;
      return *this;
    }
  };

  TableWatch(const SimFabric& fabric, Options options);

  void OnServed(const Served& served) override;
  void OnNodeChanged(Instant now, NodeIndex node) override;

  // Whether somebody wants that no route leads to this end port.
  void SetUnwanted(PortRef end_port, bool unwanted);
  // Judges what has changed since the last Set.
  void Look();

  // "checker: what", at most Options::most_findings.
  const std::vector<std::string>& findings() const { return findings_; }
  const Statistics& statistics() const { return statistics_; }

 private:
  enum class End : uint8_t { kUnknown, kUnderWay, kArrives, kDropped, kCircle };
  static constexpr uint32_t kNoSwitch = 0xFFFFFFFF;
  static constexpr uint8_t kNoRoute = 255;
  struct Far {                // Beyond a port of a switch.
    PortRef peer;             // None: no link, or not ACTIVE.
    uint32_t at = kNoSwitch;  // The peer's number where it is a switch.
  };
  struct Switch {
    NodeIndex node;
    const SimDevice* device;
    Instant reset_at = Instant::min();
  };

  Far LookBeyond(PortRef port) const;
  void LayCables();
  void LookAtDirty();
  void LookAtLinks(uint32_t at);
  void LookAtLink(uint32_t at, uint8_t port);
  void TakeRow(uint32_t at);
  void TakeBlock(uint32_t at, uint32_t block);
  void Grow(uint32_t lids);
  void Replace(uint32_t at, uint32_t lid, uint8_t port);
  void CountEntry(uint32_t at, uint32_t lid, int change);
  void CountWays(uint32_t at, uint32_t lid);
  void JudgeLids();
  void JudgeLid(uint32_t lid);
  std::string WhereItEnds(uint32_t at, uint32_t lid);
  void JudgeDependencies();

  uint8_t& Entry(uint32_t at, uint32_t lid) {
    return entries_[size_t{lid} * switches_.size() + at];
  }
  End& EndOf(uint32_t at, uint32_t lid) { return ends_[size_t{lid} * switches_.size() + at]; }
  const Far& Beyond(uint32_t at, uint8_t port) const { return far_[size_t{at} * ports_ + port]; }
  // Where a way ends that starts here; `known` holds the ends of this LID that are.
  End Follow(uint32_t at, uint32_t lid, std::vector<End>& known);
  End Leave(uint32_t& at, uint32_t lid);
  bool IsExcused(uint32_t at, uint32_t lid);
  bool HasWay(uint32_t at, PortRef owner) const;
  PortRef OwnerOf(uint32_t lid) const;
  void Find(const char* checker, std::string text);
  std::string Name(uint32_t at) const { return switches_[at].device->description(); }

  const SimFabric& fabric_;
  const Options options_;
  std::vector<uint32_t> number_;  // [NodeIndex] In switches_.
  std::vector<Switch> switches_;
  size_t ports_ = 1;              // One more than the highest port number of any switch.
  std::vector<Far> far_;          // [switch * ports_ + port]
  std::vector<PortRef> sockets_;  // The same: where the cable hangs, whatever its state.
  std::vector<Instant> died_at_;  // The same: when it last was ACTIVE no longer.
  std::vector<uint8_t> entries_;  // [LID * switches + switch]
  std::vector<End> ends_;         // The same.
  uint32_t lids_ = 0;
  DependencyGraph dependencies_;
  bool arranged_ = false;

  std::vector<NodeIndex> dirty_;
  std::vector<uint32_t> suspects_;  // LIDs to judge.
  bool by_set_ = false;             // What is being judged is the manager's doing:
  std::string what_;                // which Set.
  Instant now_{};
  absl::flat_hash_set<PortRef> unwanted_;
  std::vector<End> known_;
  std::vector<uint32_t> way_;
  std::vector<std::string> findings_;
  Statistics statistics_;
};

}  // namespace fabricd::sim
