// SPDX-License-Identifier: Apache-2.0
#include "policy/verdict/link_verdict.h"

#include <algorithm>
#include <optional>

namespace fabricd::policy {
namespace {

// Windows are made of readings, so one burst is seen for a little longer than its window.
constexpr Duration kWindowSlack = std::chrono::minutes(1);
// A row of a longer window has this many errors only after several of these.
const Duration kLongestDetection = LengthOf(Window::k720s);

// Rows that say something about the signal, or about who violates the link protocol.
bool IsPhysical(Row row) { return row <= Row::kOverrun || row >= Row::kTemperature; }

// Rows of one class have one cause: they count once.
Row ClassOf(Row row) {
  if (row == Row::kEffectiveBer) return Row::kSymbolBer;
  return row == Row::kLinkIntegrity ? Row::kLocalPhysical : row;
}

bool IsRaised(const EvidenceRow& row) { return row.IsAtLeast(Level::kSuspect); }

constexpr uint32_t BitOf(Row row) { return 1u << (static_cast<uint32_t>(row) - 1); }

// What the rows amount to, class by class.
struct Summary {
  uint32_t suspect = 0, strong = 0;  // Classes of physical rows.
  uint32_t persistent = 0;           // Of the strong ones.
  bool is_fatal = false;
  const EvidenceRow* link_downs = nullptr;
  Level wait = Level::kNone, traps = Level::kNone;
  bool is_any_raised = false;
};

Summary Summarise(const std::vector<EvidenceRow>& rows, const StrongFor& strong_for) {
  Summary summary;
  for (const EvidenceRow& row : rows) {
    if (!IsRaised(row)) continue;
    summary.is_any_raised = true;
    if (row.row == Row::kLinkDowns) summary.link_downs = &row;
    if (row.row == Row::kWait) summary.wait = std::max(summary.wait, row.level);
    if (row.row == Row::kTraps) summary.traps = std::max(summary.traps, row.level);
    if (!IsPhysical(row.row)) continue;
    const uint32_t bit = BitOf(ClassOf(row.row));
    summary.suspect |= bit;
    if (!row.IsAtLeast(Level::kStrong) || row.is_implausible) continue;
    summary.strong |= bit;
    const Duration held = strong_for[static_cast<size_t>(row.row) - 1];
    if (held >= std::min(row.window, kLongestDetection) + kWindowSlack) summary.persistent |= bit;
    summary.is_fatal |= row.level == Level::kFatal;  // Of E4 it is FLAPPING.
  }
  return summary;
}

bool HasTwo(uint32_t classes) { return (classes & (classes - 1)) != 0; }

// How much of what a verdict about the signal needs was measured, in [0, 1]: each part only adds.
double CoverageOf(const std::vector<EvidenceRow>& rows) {
  double coverage = 0;
  for (const EvidenceRow& row : rows) {
    if (row.is_missing) continue;
    switch (row.row) {
      case Row::kSymbolBer: coverage += row.is_fallback ? 0.125 : 0.25; break;
      case Row::kLocalPhysical: coverage += row.is_fallback ? 0.08 : 0.1; break;
      case Row::kEffectiveBer:
      case Row::kUncorrectable: coverage += 0.05; break;
      case Row::kLinkDowns: coverage += 0.1; break;
      default: break;
    }
  }
  return 0.5 + coverage / 2;
}

// Some receive error is counted at the end, so that none means something.
bool HasErrorCounters(const std::vector<EvidenceRow>& rows, Side side) {
  return std::any_of(rows.begin(), rows.end(), [&](const EvidenceRow& row) {
    return row.side == side && !row.is_missing &&
           (row.row == Row::kSymbolBer || row.row == Row::kLocalPhysical);
  });
}

// The less exact counter of symbol errors is all that accuses the link.
bool RestsOnFallback(const std::vector<EvidenceRow>& rows) {
  bool is_any = false;
  for (const EvidenceRow& row : rows) {
    if (!row.IsAtLeast(Level::kStrong) || !IsPhysical(row.row)) continue;
    if (row.row != Row::kSymbolBer || !row.is_fallback) return false;
    is_any = true;
  }
  return is_any;
}

void DecidePhysical(const LinkEvidence& link, const Summary& summary, LinkVerdict& out) {
  out.verdict = Verdict::kNoisyPhy;
  out.attribution = AttributeErrors(link, out.rows);
  if (summary.is_fatal) {
    out.reason = "one row is fatal";
    out.confidence = 1;
  } else if (HasTwo(summary.strong)) {
    out.reason = "two different rows are strong";
    out.confidence = 0.95;
  } else {
    out.reason = "one row has been strong for two windows, and another is suspect";
    out.confidence = 0.85;
  }
  if (RestsOnFallback(out.rows)) out.confidence /= 2;
}

bool IsNoisy(const Summary& summary) {
  if (summary.is_fatal || HasTwo(summary.strong)) return true;
  return summary.persistent != 0 && HasTwo(summary.suspect | summary.strong);
}

void DecideSuspect(const LinkEvidence& link, const Summary& summary, LinkVerdict& out) {
  out.verdict = Verdict::kSuspect;
  out.reason = "rows are raised, but less than a verdict needs";
  out.confidence = 0.5;
  out.attribution = summary.suspect != 0
                        ? AttributeErrors(link, out.rows)
                        : AttributeToHost(link, "only the host's conduct", "watch it");
}

// Of links without a raised row.
void DecideQuiet(const LinkEvidence& link, const Limits& limits, LinkVerdict& out) {
  out.attribution = {};
  const bool is_young = link.up_for < limits.min_up;
  if (!link.is_up || is_young || !HasErrorCounters(out.rows, Side::kA) ||
      !HasErrorCounters(out.rows, Side::kB)) {
    out.verdict = Verdict::kUnknown;
    out.confidence = 0;
    out.is_suspended = link.is_up && is_young;
    out.reason = !link.is_up ? "the link is down"
                 : is_young  ? "the link came up a short time ago"
                             : "receive errors are not measured at both ends";
    return;
  }
  // Waits that accuse a host were raised.
  const bool is_victim =
      std::max(StrongWaits(link.a, limits), StrongWaits(link.b, limits)) >= limits.wait_windows;
  out.verdict = is_victim ? Verdict::kVictim : Verdict::kHealthy;
  out.reason = is_victim ? "held up by what lies downstream" : "no row is raised";
  out.confidence = is_victim ? 0.6 : link.up_for < limits.observation ? 0.7 : 1;
}

void Decide(const LinkEvidence& link, const Limits& limits, const Summary& summary,
            LinkVerdict& out) {
  double coverage = CoverageOf(out.rows);
  if (!BerRowOf(link, limits).is_documented) coverage *= 0.9;
  if (summary.link_downs != nullptr && summary.link_downs->level == Level::kFatal) {
    out.verdict = Verdict::kFlapping;
    out.attribution = AttributeLinkDowns(link, out.rows);
    out.reason = "the link went down again and again within 10 min";
    out.confidence = 0.95;
  } else if (IsNoisy(summary)) {
    DecidePhysical(link, summary, out);
  } else if (summary.wait >= Level::kStrong) {
    out.verdict = Verdict::kSlowReceiver;
    out.attribution = AttributeToHost(link, "it returns no credits while little is sent to it",
                                      "PCIe and memory of the host, then firmware of the adapter");
    out.reason = "strong wait at low utilisation in most windows of 300 s";
    const auto known = std::count_if(link.b.wait.begin(), link.b.wait.end(),
                                     [](const auto& wait) { return wait.has_value(); });
    out.confidence = (summary.wait == Level::kFatal ? 0.95 : 0.85) * (known == 3 ? 1 : 0.8);
    coverage = 1;  // Errors say nothing about credits.
  } else if (summary.traps >= Level::kStrong) {
    out.verdict = Verdict::kChatty;
    out.attribution =
        AttributeToHost(link, "it sends traps without end", "its driver and firmware");
    out.reason = "traps";
    out.confidence = summary.traps == Level::kFatal ? 0.95 : 0.85;
    coverage = 1;
  } else if (summary.is_any_raised) {
    DecideSuspect(link, summary, out);
  } else {
    DecideQuiet(link, limits, out);
  }
  out.confidence = std::clamp(out.confidence * coverage, 0.0, 1.0);
}

}  // namespace

std::string_view VerdictName(Verdict verdict) {
  switch (verdict) {
    case Verdict::kHealthy: return "HEALTHY";
    case Verdict::kSuspect: return "SUSPECT";
    case Verdict::kNoisyPhy: return "NOISY_PHY";
    case Verdict::kFlapping: return "FLAPPING";
    case Verdict::kSlowReceiver: return "SLOW_RECEIVER";
    case Verdict::kChatty: return "CHATTY";
    case Verdict::kVictim: return "VICTIM";
    case Verdict::kUnknown: return "UNKNOWN";
  }
  return "?";
}

bool IsBad(Verdict verdict) {
  return verdict == Verdict::kNoisyPhy || verdict == Verdict::kFlapping ||
         verdict == Verdict::kSlowReceiver || verdict == Verdict::kChatty;
}

RowMask MaskOf(const EvidenceRow& row) {
  return BitOf(row.row) << (row.side == Side::kB ? kRows : 0);
}

LinkVerdict Evaluate(const LinkEvidence& link, const Limits& limits, const StrongFor& strong_for) {
  LinkVerdict out;
  if (!link.a.is_fresh || !link.b.is_fresh) {
    out.reason = "counters of an end are stale";
    return out;
  }
  if (link.is_with_its_switch) {
    out.is_suspended = true;
    out.reason = "many links of its switch changed at once";
    return out;
  }
  out.rows = RowsOf(link, limits);
  out.is_below_half = true;
  for (const EvidenceRow& row : out.rows) {
    if (!row.is_missing) out.measured |= MaskOf(row);
    const bool is_permanent = row.row == Row::kBelowCapability && row.level == Level::kSuspect;
    out.is_below_half &= is_permanent || row.IsBelowHalf();
    if (!IsRaised(row)) continue;
    out.raised |= MaskOf(row);
    out.detection_window =
        std::max(out.detection_window, std::min(row.window, LengthOf(Window::k7500s)));
  }
  Decide(link, limits, Summarise(out.rows, strong_for), out);
  out.accusation = Accuse(out.attribution, {link.a.node, link.a.port}, {link.b.node, link.b.port});
  return out;
}

}  // namespace fabricd::policy
