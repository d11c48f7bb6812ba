// SPDX-License-Identifier: Apache-2.0
// Helpers to interpret a Completion.
#pragma once

#include <string>

#include "mad/transaction_engine.h"
#include "mad/wire/node_info.h"

namespace fabricd::sweep {

// A response with status 0.
inline bool IsOk(const mad::Completion& completion) {
  return completion.outcome == mad::Completion::Outcome::kResponse && completion.status == 0;
}
// REQUIRES: !IsOk(completion). For messages: "no answer", "status 0x001c", "could not be sent".
inline std::string WhyNot(const mad::Completion& completion) {
  switch (completion.outcome) {
    case mad::Completion::Outcome::kTimedOut: return "no answer";
    case mad::Completion::Outcome::kSendFailed: return "could not be sent";
    case mad::Completion::Outcome::kCancelled: return "not sent";
    case mad::Completion::Outcome::kResponse: break;
  }
  return fmt::format("status {:#06x}", completion.status);
}
// The NodeDescription in the response, with '.' for each control character.
inline std::string DescriptionIn(const mad::Completion& completion) {
  std::string text = wire::NodeDescription::Decode(completion.response.data).text;
  for (char& c : text)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) c = '.';
  return text;
}

}  // namespace fabricd::sweep
