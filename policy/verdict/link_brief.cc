// SPDX-License-Identifier: Apache-2.0
#include "policy/verdict/link_brief.h"

namespace fabricd::policy {

RowMask MaskFor(Row row, Side side) {
  EvidenceRow wanted;
  wanted.row = row;
  wanted.side = side;
  return MaskOf(wanted);
}

const EndBrief& EndOf(const LinkBrief& link, Side side) {
  return side == Side::kA ? link.a : link.b;
}

Side Opposite(Side side) { return side == Side::kA ? Side::kB : Side::kA; }

namespace {

// Whose defect a row may be: of what a host does its switch is the witness. What is wrong in both
// directions of a link is its cable, and no defect of a kind of device.
void Charge(const LinkEvidence& link, const LinkVerdict& verdict, LinkBrief& brief) {
  if (verdict.attribution.culprit == Culprit::kCable && verdict.attribution.side == Side::kLink)
    return;
  for (const EvidenceRow& row : verdict.rows) {
    if (!row.IsAtLeast(Level::kStrong)) continue;
    const bool is_of_sender =
        row.row == Row::kWait || row.row == Row::kHoqDiscards || row.row == Row::kMalformed ||
        (row.row == Row::kOverrun && row.side == Side::kB && link.a.role == EndRole::kHost);
    const Side side = row.side == Side::kLink || !is_of_sender ? row.side : Opposite(row.side);
    const RowMask bit = MaskFor(row.row, Side::kA);
    if (side != Side::kB) brief.a.charged |= bit;
    if (side != Side::kA) brief.b.charged |= bit;
  }
}

EndBrief BriefOf(const EndEvidence& end) {
  EndBrief brief{{end.node, end.port}, end.role, end.family, end.is_fresh, 0, 0, 0};
  const auto count = [&](Signal signal) -> uint64_t {
    const WindowCount* found = end.Find(signal, Window::k720s);
    return found == nullptr || found->is_saturated ? 0 : found->count;
  };
  if (!end.is_fresh) return brief;
  const bool has_details = end.Find(Signal::kLocalPhysical, Window::k720s) != nullptr;
  brief.local_errors = count(has_details ? Signal::kLocalPhysical : Signal::kRcvErrors);
  brief.marked_errors = count(Signal::kRemotePhysical);
  return brief;
}

}  // namespace

LinkBrief BriefOf(const LinkEvidence& link, const LinkVerdict& verdict) {
  LinkBrief brief{BriefOf(link.a), BriefOf(link.b), verdict.raised, link.is_up,
                  link.is_with_its_switch};
  Charge(link, verdict, brief);
  return brief;
}

}  // namespace fabricd::policy
