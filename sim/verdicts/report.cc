// SPDX-License-Identifier: Apache-2.0
#include "sim/verdicts/report.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "common/json_text.h"

namespace fabricd::sim {
namespace {

double SecondsBetween(Instant from, Instant to) {
  return std::chrono::duration<double>(to - from).count();
}

std::string UntilJson(const std::optional<Instant>& until, const ScenarioResult& result) {
  if (!until) return "";
  return fmt::format(", \"until_s\": {:.3f}", SecondsBetween(result.begin, *until));
}

std::string VerdictJson(const VerdictSpan& span, const ScenarioResult& result) {
  std::string json = fmt::format("\"verdict\": {}, \"culprit\": {}, \"port\": {}, \"at_s\": {:.3f}",
                                 JsonText(span.what.verdict), JsonText(span.what.culprit),
                                 JsonText(span.name), SecondsBetween(result.begin, span.since));
  json += UntilJson(span.until, result);
  json += fmt::format(", \"actionable\": {}", span.what.is_actionable);
  if (span.what.is_actionable && !span.what.action.empty()) {
    json += fmt::format(", \"action\": {}", JsonText(span.what.action));
    if (!span.what.refused_by.empty()) {
      json += fmt::format(", \"refused_by\": {}", JsonText(span.what.refused_by));
    }
  }
  return json;
}

// What was concluded of the cause: what an action may follow, or what only informs.
std::string AboutJson(const Injected& cause, const ScenarioResult& result, bool actionable) {
  std::string json = actionable ? "\"concluded\": [" : "\"informative\": [";
  const char* separator = "";
  for (const VerdictSpan& span : result.spans) {
    if (span.what.is_actionable != actionable || !IsAbout(span, cause)) continue;
    const double after = SecondsBetween(cause.start, span.since);
    const double interval = std::chrono::duration<double>(result.interval).count();
    json += fmt::format("{}{{{}, \"after_s\": {:.3f}, \"after_intervals\": {:.2f}}}", separator,
                        VerdictJson(span, result), after, after / interval);
    separator = ", ";
  }
  return json + "]";
}

std::string CauseJson(const Injected& cause, const ScenarioResult& result) {
  std::string json = fmt::format("{{\"kind\": {}, \"place\": {}", JsonText(InfoOf(cause.kind).name),
                                 JsonText(cause.place));
  if (!cause.link_ends.empty()) {
    json += fmt::format(", \"ends\": [{}, {}]", JsonText(cause.link_ends.front()),
                        JsonText(cause.link_ends.back()));
  }
  if (InfoOf(cause.kind).unit != nullptr) {
    json += fmt::format(", \"severity\": {:.6g}", cause.severity);
  }
  if (cause.counter) {
    json += fmt::format(", \"counter\": {}, \"counted\": {}",
                        JsonText(std::string(CounterName(*cause.counter))), cause.counted);
  }
  if (cause.counter == Counter::kXmitWait) json += fmt::format(", \"wait\": {:.6g}", cause.wait);
  if (cause.limits > 0) json += fmt::format(", \"limits\": {:.6g}", cause.limits);
  return json + fmt::format(", \"start_s\": {:.3f}, \"end_s\": {:.3f}, {}, {}}}",
                            SecondsBetween(result.begin, cause.start),
                            SecondsBetween(result.begin, cause.end), AboutJson(cause, result, true),
                            AboutJson(cause, result, false));
}

bool HasCause(const VerdictSpan& span, const ScenarioResult& result) {
  return std::any_of(result.causes.begin(), result.causes.end(),
                     [&](const Injected& cause) { return IsAbout(span, cause); });
}

// Every link is UNKNOWN at first, and all are in a black-out: only those of a cause are reported.
bool IsReportedAlone(const VerdictSpan& span) {
  return span.what.is_actionable || span.what.verdict != "UNKNOWN";
}

std::string WithoutCauseJson(const ScenarioResult& result, bool actionable) {
  std::string json = "[";
  const char* separator = "";
  for (const VerdictSpan& span : result.spans) {
    if (span.what.is_actionable != actionable || !IsReportedAlone(span)) continue;
    if (HasCause(span, result)) continue;
    json += fmt::format("{}\n    {{{}}}", separator, VerdictJson(span, result));
    separator = ",";
  }
  return json + "]";
}

std::string FindingsJson(const ScenarioResult& result) {
  std::string json = "[";
  const char* separator = "";
  for (const auto& [what, since, until] : result.findings) {
    json +=
        fmt::format("{}\n    {{\"cause\": {}, \"about\": {}, \"text\": {}, \"at_s\": {:.3f}{}}}",
                    separator, JsonText(what.cause), JsonText(what.about), JsonText(what.text),
                    SecondsBetween(result.begin, since), UntilJson(until, result));
    separator = ",";
  }
  return json + "]";
}

std::string HoldsJson(const ScenarioResult& result) {
  std::string json = "[";
  const char* separator = "";
  for (const auto& [what, since, until] : result.holds) {
    json +=
        fmt::format("{}\n    {{\"host\": {}, \"verdict\": {}, \"port\": {}, \"at_s\": {:.3f}{}}}",
                    separator, JsonText(what.host), JsonText(what.verdict), JsonText(what.port),
                    SecondsBetween(result.begin, since), UntilJson(until, result));
    separator = ",";
  }
  return json + "]";
}

std::string RunJson(const ScenarioResult& result) {
  std::string json =
      fmt::format("  {{\"seed\": {}, \"length_s\": {:.3f}, \"hosts\": {}, \"causes\": [",
                  result.seed, SecondsBetween(result.begin, result.end), result.hosts);
  const char* separator = "";
  for (const Injected& cause : result.causes) {
    json += fmt::format("{}\n    {}", separator, CauseJson(cause, result));
    separator = ",";
  }
  return json + fmt::format(
                    "],\n   \"without_cause\": {},\n   \"informative\": {},\n"
                    "   \"findings\": {},\n   \"holds\": {}}}",
                    WithoutCauseJson(result, true), WithoutCauseJson(result, false),
                    FindingsJson(result), HoldsJson(result));
}

std::string Line(const VerdictSpan& span, Instant from) {
  return fmt::format("{}{}{} at {} after {:.0f} s", span.what.verdict,
                     span.what.culprit.empty() ? "" : " by ", span.what.culprit, span.name,
                     SecondsBetween(from, span.since));
}

}  // namespace

std::string ToJson(const std::string& topology, const std::vector<ScenarioResult>& results) {
  const double interval =
      results.empty() ? 0 : std::chrono::duration<double>(results.front().interval).count();
  std::string json = fmt::format("{{\"topology\": {}, \"interval_s\": {:.3f}, \"runs\": [",
                                 JsonText(topology), interval);
  const char* separator = "";
  for (const ScenarioResult& result : results) {
    json += fmt::format("{}\n{}", separator, RunJson(result));
    separator = ",";
  }
  return json + "\n]}\n";
}

std::string ToText(const ScenarioResult& result) {
  std::string text = fmt::format("seed {}\n", result.seed);
  for (const Injected& cause : result.causes) {
    const CauseInfo& info = InfoOf(cause.kind);
    text += fmt::format("  {} at {}", info.name, cause.place);
    if (info.unit != nullptr) text += fmt::format(", {:.4g} {}", cause.severity, info.unit);
    text += fmt::format(", from {:.0f} s to {:.0f} s", SecondsBetween(result.begin, cause.start),
                        SecondsBetween(result.begin, cause.end));
    if (cause.counter) {
      text += fmt::format("; {} {} counted", cause.counted, CounterName(*cause.counter));
    }
    text += '\n';
    bool any = false;
    for (const VerdictSpan& span : result.spans) {
      if (!span.what.is_actionable || !IsAbout(span, cause)) continue;
      text += fmt::format("    {}\n", Line(span, cause.start));
      any = true;
    }
    if (!any) text += "    nothing was concluded\n";
  }
  for (const VerdictSpan& span : result.spans) {
    if (!span.what.is_actionable || HasCause(span, result)) continue;
    text += fmt::format("  without a cause: {}\n", Line(span, result.begin));
  }
  for (const auto& [what, since, until] : result.findings) {
    text += fmt::format("  in common: {} {} at {:.0f} s\n", what.cause, what.text,
                        SecondsBetween(result.begin, since));
  }
  for (const auto& [what, since, until] : result.holds) {
    text += fmt::format("  host {} would be cordoned at {:.0f} s for {} at {}\n", what.host,
                        SecondsBetween(result.begin, since), what.verdict, what.port);
  }
  return text;
}

}  // namespace fabricd::sim
