// SPDX-License-Identifier: Apache-2.0
// Deliberate breakages: each makes the manager do one thing wrong, so that a test can show that the
// checker of the deterministic simulation (sim/checkers) which is there for it does find it.
//
//   if (IsBroken(Breakage::kErrorLogged)) Log(LogLevel::kError, "deliberately");
//
// Normal builds: IsBroken is evaluated by the compiler and is false, so that optimized code has
// nothing of such a line: no code, no data, no branch. Files compiled with FABRICD_BREAKABLE, which
// only tests/sim/checkers_test does, ask `breakage`, which the test sets. Include this in .cc files
// alone: what a header defines must be the same in both builds.
#pragma once

#include <cstdint>

namespace fabricd {

enum class Breakage : uint8_t {
  kNone,
  kBlockNotSent,          // A forwarding table's first block counts as confirmed but is not sent.
  kHoleInPlan,            // A proved plan loses one entry.
  kHoleInLaterPlan,       // The same, but not the first plan.
  kCircleInPlan,          // In a proved plan two switches send a LID to each other.
  kLidRecordsIgnored,     // LIDs are given out as if nobody had had any.
  kLidGivenTwice,         // The port that owns LID 2 is given LID 1.
  kLidNotGiven,           // Switches get no LID.
  kHoldsForgotten,        // A restart knows of no holds.
  kPartitionsForgotten,   // Nor of partitions.
  kPortNotArmed,          // Ports number 1 stay INIT.
  kWrongPKey,             // Another key than the default one is written.
  kSwitchInfoAlwaysSet,   // Written also where it holds what is wanted.
  kSweepCommandNotEnded,  // A sweep that was asked for is done, but nobody is told.
  kWindowsTooWide,        // More requests are in flight than the options allow.
  kErrorLogged,           // Every sweep logs an ERROR.
  kAlwaysMaster,          // Every election is won.
  kNeverMaster,           // Every election is lost.
  kNeverUp,               // The subnet never counts as up.
  kBranchNotWritten,      // The first block of a multicast table counts as written but is not sent.
  kNeverSettled,          // Plans of least change are never followed by the ideal one.
  kTreesAtOnce,           // Multicast entries come before those that have to go first.
  kNotReadBack,           // What is read of tables again is not compared.
  kCount,
};

#ifdef FABRICD_BREAKABLE
inline Breakage breakage = Breakage::kNone;  // Of the whole process; one at a time.
inline bool IsBroken(Breakage which) { return which == breakage; }
#else
consteval bool IsBroken(Breakage) { return false; }
#endif

}  // namespace fabricd
