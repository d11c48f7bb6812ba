// SPDX-License-Identifier: Apache-2.0
#include "sim/verdicts/report.h"

#include <algorithm>

#include <fmt/format.h>

#include "common/json_text.h"

namespace fabricd::sim {
namespace {

double SecondsBetween(Instant from, Instant to) {
  return std::chrono::duration<double>(to - from).count();
}

std::string VerdictJson(const VerdictSpan& span, const ScenarioResult& result) {
  std::string json = fmt::format("\"verdict\": {}, \"culprit\": {}, \"port\": {}, \"at_s\": {:.3f}",
                                 JsonText(span.what.verdict), JsonText(span.what.culprit),
                                 JsonText(span.name), SecondsBetween(result.begin, span.since));
  if (span.until) {
    json += fmt::format(", \"until_s\": {:.3f}", SecondsBetween(result.begin, *span.until));
  }
  return json;
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
  json += fmt::format(", \"start_s\": {:.3f}, \"end_s\": {:.3f}, \"concluded\": [",
                      SecondsBetween(result.begin, cause.start),
                      SecondsBetween(result.begin, cause.end));
  const char* separator = "";
  for (const VerdictSpan& span : result.spans) {
    if (!IsAbout(span, cause)) continue;
    const double after = SecondsBetween(cause.start, span.since);
    const double interval = std::chrono::duration<double>(result.interval).count();
    json += fmt::format("{}{{{}, \"after_s\": {:.3f}, \"after_intervals\": {:.2f}}}", separator,
                        VerdictJson(span, result), after, after / interval);
    separator = ", ";
  }
  return json + "]}";
}

bool HasCause(const VerdictSpan& span, const ScenarioResult& result) {
  return std::any_of(result.causes.begin(), result.causes.end(),
                     [&](const Injected& cause) { return IsAbout(span, cause); });
}

std::string RunJson(const ScenarioResult& result) {
  std::string json = fmt::format("  {{\"seed\": {}, \"length_s\": {:.3f}, \"causes\": [",
                                 result.seed, SecondsBetween(result.begin, result.end));
  const char* separator = "";
  for (const Injected& cause : result.causes) {
    json += fmt::format("{}\n    {}", separator, CauseJson(cause, result));
    separator = ",";
  }
  json += "],\n   \"without_cause\": [";
  separator = "";
  for (const VerdictSpan& span : result.spans) {
    if (HasCause(span, result)) continue;
    json += fmt::format("{}\n    {{{}}}", separator, VerdictJson(span, result));
    separator = ",";
  }
  return json + "]}";
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
      if (!IsAbout(span, cause)) continue;
      text += fmt::format("    {}\n", Line(span, cause.start));
      any = true;
    }
    if (!any) text += "    nothing was concluded\n";
  }
  for (const VerdictSpan& span : result.spans) {
    if (HasCause(span, result)) continue;
    text += fmt::format("  without a cause: {}\n", Line(span, result.begin));
  }
  return text;
}

}  // namespace fabricd::sim
