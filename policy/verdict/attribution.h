// SPDX-License-Identifier: Apache-2.0
// Attribution: which part of a link the rows of its two ends accuse. Errors are counted where they
// are received, so they accuse the transmitter opposite, the cable, or the receiver itself.
#pragma once

#include <span>
#include <string_view>

#include "policy/evidence.h"
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

// Of a host that returns no credits, or is a nuisance to the management of the subnet.
Attribution AttributeToHost(const LinkEvidence& link, std::string_view reason,
                            std::string_view remedy);

}  // namespace fabricd::policy
