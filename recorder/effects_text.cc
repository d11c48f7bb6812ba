// SPDX-License-Identifier: Apache-2.0
#include "recorder/effects_text.h"

#include <string_view>

#include <fmt/format.h>

#include "common/stable_hash.h"
#include "mad/wire/smp.h"

namespace fabricd::recorder {
namespace {

constexpr const char* kQuestionNames[] = {
    "store LIDs",       "store holds",      "store partitions", "compute a plan",
    "check cabling",    "order the writes", "compute trees",    "evaluate an intent",
    "store a takeover", "claim mastership"};
static_assert(std::size(kQuestionNames) == std::variant_size_v<decltype(sweep::Question::what)>);
constexpr const char* kAnswerNames[] = {"stored",
                                        "plan",
                                        "order of writes",
                                        "cabling checked",
                                        "trees",
                                        "intent evaluated",
                                        "mastership claimed"};
static_assert(std::size(kAnswerNames) == std::variant_size_v<decltype(sweep::Answer::what)>);
constexpr const char* kEventNames[] = {"start",
                                       "wall clock set",
                                       "timer",
                                       "MAD",
                                       "port event",
                                       "answer",
                                       "sweep command",
                                       "options changed",
                                       "create hold",
                                       "delete hold",
                                       "acknowledge hold",
                                       "groups changed",
                                       "change partitions",
                                       "alias GUIDs changed",
                                       "read VL tables",
                                       "set priority",
                                       "step down",
                                       "accept takeover",
                                       "clear damping",
                                       "stored state changed",
                                       "sharing ports",
                                       "store takes writes"};
static_assert(std::size(kEventNames) == std::variant_size_v<sweep::Event>);
constexpr const char* kIncomingNames[] = {"received", "timed out", "send failed"};

std::string MadText(const std::vector<uint8_t>& payload) {
  if (payload.size() < wire::kMadBytes) return fmt::format("MAD of {} bytes", payload.size());
  const auto bytes = std::span<const uint8_t, wire::kMadBytes>(payload.data(), wire::kMadBytes);
  const auto header = wire::MadHeader::Decode(bytes);
  const auto smp = wire::Smp::Decode(bytes);
  return fmt::format("{} {} {:#x} tid {} {}", wire::MethodName(header.method),
                     wire::AttributeName(header.attribute), header.modifier, header.tid().value(),
                     smp && smp->path ? "by " + smp->path->ToString() : std::string("by LID"));
}

}  // namespace

uint64_t DigestOf(const sweep::Effects& effects, KeyAliases* aliases) {
  StableHash hash;
  std::vector<uint8_t> payload;
  for (const mad::OutgoingMad& mad : effects.send) {
    payload = mad.payload;
    if (aliases != nullptr) aliases->Replace(payload);
    hash.Add(static_cast<uint64_t>(mad.agent));
    hash.Add(mad.to.lid.value());
    hash.Add(mad.to.sl.value());
    hash.Add(static_cast<uint64_t>(mad.timeout.count()));
    hash.Add(std::string_view(reinterpret_cast<const char*>(payload.data()), payload.size()));
  }
  for (const sweep::Question& question : effects.questions) {
    hash.Add(question.id.value());
    hash.Add(question.what.index());
  }
  for (const fabric::FabricEvent& event : effects.events) {
    hash.Add(event.type);
    hash.Add(event.subject);
  }
  for (const sweep::FinishedCommand& finished : effects.finished) {
    hash.Add(finished.command);
    hash.Add(static_cast<uint64_t>(finished.status.code()));
  }
  hash.Add(effects.publish == nullptr ? 0 : effects.publish->generation.value());
  hash.Add(effects.set_is_sm ? 1 + uint64_t{*effects.set_is_sm} : 0);
  return hash.value();
}

std::string TextOf(const sweep::Event& event) {
  const std::string name = kEventNames[event.index()];
  if (const auto* mad = std::get_if<mad::IncomingMad>(&event))
    return fmt::format("{} {}", kIncomingNames[static_cast<size_t>(mad->kind)],
                       MadText(mad->payload));
  if (const auto* answer = std::get_if<sweep::Answer>(&event))
    return fmt::format("{} of question {}: {}", name, answer->id.value(),
                       kAnswerNames[answer->what.index()]);
  return name;
}

std::vector<std::string> LinesOf(const sweep::Effects& effects) {
  std::vector<std::string> lines;
  for (const mad::OutgoingMad& mad : effects.send) lines.push_back("send " + MadText(mad.payload));
  for (const sweep::Question& question : effects.questions)
    lines.push_back(
        fmt::format("question {}: {}", question.id.value(), kQuestionNames[question.what.index()]));
  for (const fabric::FabricEvent& event : effects.events)
    lines.push_back(fmt::format("event {}: {}: {}", event.type, event.subject, event.message));
  for (const sweep::FinishedCommand& finished : effects.finished)
    lines.push_back(
        fmt::format("command {} finished: {}", finished.command, finished.status.ToString()));
  for (const sweep::LogRecord& record : effects.log) lines.push_back("log " + record.text);
  if (effects.publish != nullptr)
    lines.push_back(fmt::format("view {}, {}", effects.publish->generation.value(),
                                sweep::PhaseName(effects.publish->phase)));
  if (effects.set_is_sm) lines.push_back(*effects.set_is_sm ? "IsSM set" : "IsSM cleared");
  return lines;
}

}  // namespace fabricd::recorder
