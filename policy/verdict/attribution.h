// SPDX-License-Identifier: Apache-2.0
// Attribution: which part of a link the rows of its two ends accuse. Errors are counted where they
// are received, so they accuse the transmitter opposite, the cable, or the receiver itself.
#pragma once

#include <span>
#include <string_view>

#include "policy/evidence.h"
#include "policy/hold.h"
#include "policy/verdict/rows.h"

namespace fabricd::policy {

enum class Culprit : uint8_t { kNone, kCable, kTransmitter, kReceiver, kSwitch, kHost, kUnknown };
std::string_view CulpritName(Culprit culprit);  // "transmitter"

struct Attribution {
  Culprit culprit = Culprit::kNone;
  Side side = Side::kLink;  // Of a transmitter, receiver, switch or host: which end it is.
  std::string_view reason;  // From which pattern it follows.
  std::string_view remedy;  // What to try, in this order.
};

// Of what is wrong with the signal, by the rows that are at least suspect.
Attribution AttributeErrors(const LinkEvidence& link, std::span<const EvidenceRow> rows);
// Of link downs: what the devices report, and where they report nothing, as above.
Attribution AttributeLinkDowns(const LinkEvidence& link, std::span<const EvidenceRow> rows);

// Of a host that returns no credits, or is a nuisance to the management of the subnet.
Attribution AttributeToHost(const LinkEvidence& link, std::string_view reason,
                            std::string_view remedy);

// Whom a verdict accuses, whichever end the evidence calls `a`: what is kept over time.
struct Accusation {
  Culprit culprit = Culprit::kNone;
  HeldPort end;  // The culprit's, or of a cable where its errors were received; none: the link.
  std::string_view reason, remedy;
};
// `a`, `b`: its ends as the attribution calls them.
Accusation Accuse(const Attribution& attribution, HeldPort a, HeldPort b);
// Of two findings about the same fault, `now` after `before`. Evidence only adds up: nobody is
// accused instead of the other end because its counters were the last to grow.
Accusation Join(const Accusation& before, const Accusation& now);

}  // namespace fabricd::policy
