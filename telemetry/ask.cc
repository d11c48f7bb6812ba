// SPDX-License-Identifier: Apache-2.0
#include "telemetry/ask.h"

namespace fabricd::telemetry {

std::string_view AskName(Ask ask) {
  switch (ask) {
    case Ask::kClassPortInfo: return "ClassPortInfo";
    case Ask::kTick: return "PortSamplesControl";
    case Ask::kVendorInfo: return "vendor GeneralInfo";
    case Ask::kVendorKey: return "vendor KeyInfo";
    case Ask::kSmpInfo: return "GeneralInfo";
    case Ask::kExtended: return "PortCountersExtended";
    case Ask::kClassic: return "PortCounters";
    case Ask::kRcvErrorDetails: return "PortRcvErrorDetails";
    case Ask::kXmitDiscardDetails: return "PortXmitDiscardDetails";
    case Ask::kBer: return "PPCNT 0x16";
    case Ask::kPhysical: return "PPCNT 0x12";
    case Ask::kLinkDowns: return "PPCNT 0x12 block 1";
    case Ask::kLinkDown: return "PDDR link down page";
    case Ask::kModule: return "PDDR module page";
    case Ask::kOperational: return "PDDR operational page";
    case Ask::kMonitor: return "PPBMC";
    case Ask::kExtPortInfo: return "ExtPortInfo";
  }
  return "unknown";
}

std::string_view AbsenceName(Absence absence) {
  switch (absence) {
    case Absence::kNone: return "NONE";
    case Absence::kUnsupported: return "UNSUPPORTED";
    case Absence::kRefused: return "REFUSED";
    case Absence::kNoAnswer: return "NO_ANSWER";
    case Absence::kKeyed: return "KEYED";
    case Absence::kNotAllowed: return "NOT_ALLOWED";
    case Absence::kOtherVendor: return "OTHER_VENDOR";
  }
  return "UNKNOWN";
}

}  // namespace fabricd::telemetry
