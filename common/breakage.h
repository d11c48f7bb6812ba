// SPDX-License-Identifier: Apache-2.0
// Deliberate breakages (mutants): each makes the manager do one thing wrong, so that a test can
// show that the responsible checker of the simulation (sim/checkers) finds it.
//
//   if (IsBroken(Breakage::kErrorLogged)) Log(LogLevel::kError, "deliberately");
//
// In normal builds IsBroken is false at compile time, so optimized code contains nothing of such a
// line: no code, no data, no branch. Files compiled with FABRICD_BREAKABLE, which only
// tests/sim/checkers_test and its like do, read `breakage`, which the test sets. Include
// this only in .cc files: the definitions in a header must be the same in both builds.
#pragma once

#include <cstdint>

namespace fabricd {

enum class Breakage : uint8_t {
  kNone,
  kBlockNotSent,          // The first block of an LFT counts as confirmed but is not sent.
  kHoleInPlan,            // A verified plan loses one entry.
  kHoleInLaterPlan,       // The same, but not the first plan.
  kCircleInPlan,          // In a verified plan two switches send a LID to each other.
  kLidRecordsIgnored,     // LIDs are allocated as if there were no records.
  kLidGivenTwice,         // The port that owns LID 2 is assigned LID 1.
  kLidNotGiven,           // Switches get no LID.
  kHoldsForgotten,        // A restart ignores stored holds.
  kPartitionsForgotten,   // A restart ignores stored partitions.
  kPortNotArmed,          // Ports with number 1 stay INIT.
  kWrongPKey,             // A P_Key other than the default one is written.
  kSwitchInfoAlwaysSet,   // SwitchInfo is written even if it is correct.
  kSweepCommandNotEnded,  // A requested sweep ends, but its command is not finished.
  kWindowsTooWide,        // More requests are in flight than the options allow.
  kErrorLogged,           // Every sweep logs an ERROR.
  kAlwaysMaster,          // Every election is won.
  kNeverMaster,           // Every election is lost.
  kNeverUp,               // The subnet never counts as up.
  kBranchNotWritten,      // The first block of an MFT counts as confirmed but is not sent.
  kNeverSettled,          // Incremental repairs are never followed by the ideal plan.
  kTreesAtOnce,           // Multicast entries are added before those that must be removed first.
  kNotReadBack,           // Tables that are read back are not compared.
  kTablesNotAdopted,      // A first plan takes no notice of the tables that a predecessor has left.
  kUnresponsiveLost,      // What does not respond counts as lost although its link is ACTIVE.
  // Of the store that several nodes share.
  kNotFenced,             // Writes do not compare the epoch.
  kWriteNotSent,          // The first row of a write is acknowledged but not sent.
  kMemoryNotUpdated,      // The first row of a write is sent, and forgotten.
  kLargeWriteInParts,     // A large write is carried out piece by piece.
  kNeverCarriedOver,      // The rows of a large write stay in its parts.
  kBatchNotCompared,      // A write does not wait for a batch that has its rows.
  kSharedStateNotLoaded,  // An owner does not know the LIDs and holds that were there.
  kLeaseNeverOver,        // The deadline of the lease is ignored.
  kEpochNeverTaken,       // An epoch that was lost is not taken again.
  kWritesRefused,         // The owner of the epoch writes nothing.
  kCopyNotWritten,        // The local copy gets its mark, and no rows.
  kHistoryNotTaken,       // Events that other nodes have recorded are left out.
  kNumbersGivenTwice,     // All nodes number their events alike.
  // Of nodes that share a store on one fabric.
  kPauseNotNoticed,  // The fence is open to a master that was stopped.
  kNoLinkNotSaid,    // A node does not say that its port has no link.
  kPortsNotSaid,     // A node does not know which SMs share its state.
  kHoldsNeverEnd,    // Holds stand on when their time is over.
  kCount,
  kFirstOfStore = kNotFenced,
  kFirstOfShared = kPauseNotNoticed,
};

#ifdef FABRICD_BREAKABLE
inline Breakage breakage = Breakage::kNone;  // Of the whole process. One at a time.
inline bool IsBroken(Breakage which) { return which == breakage; }
#else
consteval bool IsBroken(Breakage) { return false; }
#endif

}  // namespace fabricd
