// SPDX-License-Identifier: Apache-2.0
#include "policy/verdict/why_text.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

namespace fabricd::policy {
namespace {

constexpr size_t kRowsShown = 5;  // Two lines each.
constexpr size_t kSentenceBytes = 500;

std::string DurationText(Duration duration) {
  const int64_t s = std::chrono::duration_cast<std::chrono::seconds>(duration).count();
  if (s < 120) return fmt::format("{} s", s);
  if (s < int64_t{2} * 3600) return fmt::format("{} min", s / 60);
  if (s < int64_t{48} * 3600) return fmt::format("{} h", s / 3600);
  return fmt::format("{} d", s / 86'400);
}

std::string WindowText(Duration window) {
  const int64_t s = std::chrono::duration_cast<std::chrono::seconds>(window).count();
  return s % 3600 == 0 ? fmt::format("{} h", s / 3600) : fmt::format("{} s", s);
}

std::string NumberText(const EvidenceRow& row, double number) {
  switch (row.unit) {
    case Unit::kShare: return fmt::format("{:.1f} %", number * 100);
    case Unit::kCelsius: return fmt::format("{:.0f} C", number);
    case Unit::kYes: return number != 0 ? "yes" : "no";
    case Unit::kCount: break;
  }
  return number < 1e7 ? fmt::format("{:.0f}", number) : fmt::format("{:.2e}", number);
}

std::string_view FecText(FecClass fec) {
  switch (fec) {
    case FecClass::kUnknown: return "FEC unknown";
    case FecClass::kNone: return "no FEC";
    case FecClass::kLowLatency: return "low-latency FEC";
    case FecClass::kKp4: return "KP4 FEC";
  }
  return "?";
}

std::string_view MediaText(Media media) {
  switch (media) {
    case Media::kUnknown: return "media unknown";
    case Media::kCopper: return "copper";
    case Media::kActiveCopper: return "active copper";
    case Media::kOptical: return "optical";
  }
  return "?";
}

std::string_view NameOf(Side side, const EndNames& names) {
  if (side == Side::kLink) return "both ends";
  return side == Side::kA ? names.a : names.b;
}

std::string RowText(const EvidenceRow& row, const EndNames& names) {
  std::string text =
      fmt::format("  {:<8}{:<5}{:<18.18} {:<26.26}{:>9} {:>8} {:>7} {:>5} {:>6}\n",
                  LevelName(row.level), RowName(row.row), NameOf(row.side, names), row.signal,
                  NumberText(row, row.value), NumberText(row, row.limit), WindowText(row.window),
                  row.readings > 0 ? fmt::to_string(row.readings) : "-", DurationText(row.age));
  std::string more = fmt::format("by {}", row.source);
  if (row.ratio > 0) more += fmt::format(", ratio {:.1e}", row.ratio);
  if (static_cast<double>(row.count) != row.value && row.unit == Unit::kCount)
    more += fmt::format(", {} counted", row.count);
  if (!row.note.empty()) more += fmt::format(", {}", row.note);
  return text + fmt::format("  {:13}{}\n", "", more);
}

// "E1 E2 E9" of an end, in their order.
std::string NamesOfRows(const LinkVerdict& verdict, Side side, bool is_missing) {
  std::string text;
  for (const EvidenceRow& row : verdict.rows)
    if (row.side == side && row.level == Level::kNone && row.is_missing == is_missing)
      text += fmt::format("{}{}", text.empty() ? "" : " ", RowName(row.row));
  return text;
}

std::string StandingText(const Standing& standing, Instant now) {
  std::string text = fmt::format("stage       {}", StageName(standing.stage));
  if (standing.stage == Stage::kRecovering)
    text += fmt::format(" from {}", VerdictName(standing.verdict));
  text += fmt::format(" for {}", DurationText(now - standing.since));
  if (standing.stage == Stage::kRecovering)
    text += fmt::format(", HEALTHY after {} clean", DurationText(standing.clean_time));
  text += standing.is_known ? "\n" : "; nothing is known now\n";
  if (standing.needs_operator)
    text += "release     by an operator: it was released too often within a week\n";
  return text;
}

std::string RowsText(const LinkVerdict& verdict, const EndNames& names) {
  std::vector<const EvidenceRow*> raised;
  for (const EvidenceRow& row : verdict.rows)
    if (row.IsAtLeast(Level::kSuspect)) raised.push_back(&row);
  std::stable_sort(raised.begin(), raised.end(),
                   [](const EvidenceRow* x, const EvidenceRow* y) { return x->level > y->level; });
  if (raised.empty()) return "";
  std::string text =
      fmt::format("\n  {:<8}{:<5}{:<18} {:<26}{:>9} {:>8} {:>7} {:>5} {:>6}\n", "level", "row",
                  "at", "signal", "value", "limit", "window", "times", "age");
  const size_t shown = std::min(raised.size(), kRowsShown);
  for (size_t i = 0; i < shown; ++i) text += RowText(*raised[i], names);
  if (shown < raised.size()) {
    text += "  and     ";
    for (size_t i = shown; i < raised.size(); ++i)
      text += fmt::format("{} ", RowName(raised[i]->row));
    text.back() = '\n';
  }
  return text;
}

const EvidenceRow* StrongestOf(const LinkVerdict& verdict) {
  const auto strongest = std::max_element(
      verdict.rows.begin(), verdict.rows.end(),
      [](const EvidenceRow& x, const EvidenceRow& y) { return x.level < y.level; });
  const bool any = strongest != verdict.rows.end() && strongest->IsAtLeast(Level::kSuspect);
  return any ? &*strongest : nullptr;
}

}  // namespace

std::string VerdictSentence(const LinkVerdict& verdict, const EndNames& names) {
  const Attribution& who = verdict.attribution;
  std::string text(verdict.reason);
  if (const EvidenceRow* row = StrongestOf(verdict)) {
    text += fmt::format("; {} {} in {}", row->signal, NumberText(*row, row->value),
                        WindowText(row->window));
    if (row->limit > 0) text += fmt::format(" (limit {})", NumberText(*row, row->limit));
    text += fmt::format(" at {} by {}", NameOf(row->side, names), row->source);
  }
  if (who.culprit != Culprit::kNone && !who.remedy.empty())
    text += fmt::format("; culprit {}: {}", CulpritName(who.culprit), who.remedy);
  return text.substr(0, kSentenceBytes);
}

std::string WhyText(const LinkEvidence& link, const LinkVerdict& verdict,
                    const std::optional<Standing>& standing, Instant now, const EndNames& names) {
  std::string text = fmt::format("{}  {} - {}  confidence {:.2f}\n", VerdictName(verdict.verdict),
                                 names.a, names.b, verdict.confidence);
  text += fmt::format("because     {}\n", verdict.reason);
  const Attribution& who = verdict.attribution;
  if (who.culprit != Culprit::kNone) {
    text += fmt::format("culprit     {}", CulpritName(who.culprit));
    const bool is_cable = who.culprit == Culprit::kCable || who.culprit == Culprit::kUnknown;
    if (!is_cable && who.side != Side::kLink)
      text += fmt::format(" of {}", NameOf(who.side, names));
    text += fmt::format(": {}\ntry         {}\n", who.reason, who.remedy);
  }
  if (standing) text += StandingText(*standing, now);
  text +=
      fmt::format("link        {:.0f} Gb/s, {}, {}, {} for {}\n", link.gigabits, FecText(link.fec),
                  MediaText(link.media), link.is_up ? "up" : "down", DurationText(link.up_for));
  text += RowsText(verdict, names);
  if (verdict.rows.empty()) return text;
  text += "\n";
  for (const bool is_missing : {false, true}) {
    const std::string_view what = is_missing ? "no data" : "in limits";
    for (const Side side : {Side::kA, Side::kB, Side::kLink}) {
      const std::string rows = NamesOfRows(verdict, side, is_missing);
      if (!rows.empty()) text += fmt::format("{:<12}{}: {}\n", what, NameOf(side, names), rows);
    }
  }
  return text;
}

}  // namespace fabricd::policy
