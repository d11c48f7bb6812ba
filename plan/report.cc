// SPDX-License-Identifier: Apache-2.0
#include "plan/report.h"

#include "fabric/hosts.h"
#include "plan/json_writer.h"

namespace fabricd::plan {
namespace {

using routing::Congestion;
using routing::Quality;

void WriteCongestion(JsonWriter& json, std::string_view key, const Congestion& congestion) {
  json.Key(key);
  json.BeginObject();
  json.Field("max", congestion.max);
  json.Field("mean_max", congestion.mean_max);
  json.Field("bandwidth", congestion.bandwidth);
  json.Field("worst", congestion.worst);
  json.Field("patterns", congestion.patterns);
  json.Field("all", congestion.all);
  json.EndObject();
}

void WriteAllToAll(JsonWriter& json, const routing::AllToAll& all, bool distribution) {
  json.Key("all_to_all");
  json.BeginObject();
  json.Field("max", all.max);
  json.Field("mean", all.mean);
  json.Field("lower_bound", all.lower_bound);
  json.Field("max_over_bound", all.lower_bound > 0 ? all.max / all.lower_bound : 1.0);
  json.Field("bandwidth", all.bandwidth);
  if (distribution) {
    json.Key("distribution");
    json.BeginArray();
    for (const routing::LoadCount& count : all.distribution) {
      json.BeginObject();
      json.Field("load", count.load);
      json.Field("links", count.links);
      json.EndObject();
    }
    json.EndArray();
  }
  json.EndObject();
}

void WriteQuality(JsonWriter& json, const Quality& quality, bool distribution) {
  json.BeginObject();
  json.Field("hosts", quality.hosts);
  json.Field("positions", quality.positions);
  json.Field("links", quality.links);
  json.Field("unrouted_pairs", quality.unrouted);
  WriteAllToAll(json, quality.all_to_all, distribution);
  WriteCongestion(json, "shift", quality.shift);
  WriteCongestion(json, "random_permutation", quality.random_permutation);
  json.Key("effective_bisection");
  json.BeginObject();
  json.Field("mean", quality.effective_bisection);
  json.Field("samples", quality.bisections);
  json.EndObject();
  json.Key("hops");
  json.BeginObject();
  json.Field("max", quality.hops.max);
  json.Field("mean", quality.hops.mean);
  json.Field("most_extra", quality.hops.most_extra);
  json.Field("mean_stretch", quality.hops.mean_stretch);
  json.EndObject();
  json.Key("rails");
  json.BeginArray();
  for (const routing::RailPatterns& sets : quality.rails) {
    json.BeginObject();
    json.Field("sets", std::string_view(sets.sets));
    json.Field("samples", sets.samples);
    WriteCongestion(json, "ring", sets.ring);
    WriteCongestion(json, "recursive_doubling", sets.recursive_doubling);
    WriteCongestion(json, "all_to_all", sets.all_to_all);
    json.EndObject();
  }
  json.EndArray();
  json.EndObject();
}

void WriteChain(JsonWriter& json, const std::vector<routing::ChainStep>& chain) {
  json.Key("chain");
  json.BeginArray();
  for (const routing::ChainStep& step : chain) {
    json.BeginObject();
    json.Field("engine", std::string_view(step.engine));
    json.Field("ok", step.chosen);
    json.Field("reason", std::string_view(step.reason));
    json.EndObject();
  }
  json.EndArray();
}

int LanesOf(const EngineReport& engine) { return engine.plan ? engine.plan->lanes : 0; }

void WriteCompared(JsonWriter& json, const std::vector<EngineReport>& compared) {
  json.Key("compared");
  json.BeginArray();
  for (const EngineReport& engine : compared) {
    json.BeginObject();
    json.Field("engine", std::string_view(engine.engine));
    json.Field("verified", engine.verify.ok);
    json.Field("reason", std::string_view(engine.reason));
    json.Key("ms");
    json.BeginObject();
    json.Field("route", engine.route_ms);
    json.Field("verify", engine.verify_ms);
    json.Field("metrics", engine.metrics_ms);
    json.EndObject();
    json.Field("unreachable_pairs", engine.unserved_pairs);
    json.Field("lanes", LanesOf(engine));
    if (engine.measured) {
      json.Key("quality");
      WriteQuality(json, engine.quality, false);
    }
    json.EndObject();
  }
  json.EndArray();
}

void WriteStep(JsonWriter& json, const Step& step) {
  json.Field("engine", std::string_view(step.engine));
  json.Field("ms", step.ms);
  json.Field("blocks_changed", step.blocks_changed);
  json.Field("destinations_changed", step.destinations_changed);
  json.Field("switches_changed", step.switches_changed);
  if (step.max_load) json.Field("all_to_all_max", *step.max_load);
}

void WriteChange(JsonWriter& json, const ChangeReport& change) {
  json.Key("incremental");
  json.BeginObject();
  json.Field("verified", change.reason.empty());
  json.Field("reason", std::string_view(change.reason));
  json.Field("least_change", change.why_not_least.empty());
  json.Field("why_not_least", std::string_view(change.why_not_least));
  WriteStep(json, change.first);
  json.Key("settled");
  json.BeginObject();
  WriteStep(json, change.settled);
  json.EndObject();
  json.EndObject();
}

std::string Figure(const Congestion& congestion) {
  return fmt::format("{}/{:.2f}", congestion.max, congestion.mean_max);
}

std::string OverBound(const routing::AllToAll& all) {
  return all.lower_bound > 0 ? fmt::format("{:.3f}", all.max / all.lower_bound) : "-";
}

void AddComparison(const std::vector<EngineReport>& engines, std::string& text) {
  text += fmt::format("{:<10} {:<9} {:>5} {:>10} {:>10} {:>10} {:>9} {:>14} {:>10} {:>8}\n",
                      "ENGINE", "VERIFIED", "LANES", "ROUTE-MS", "VERIFY-MS", "MAX-LOAD",
                      "OF-BOUND", "SHIFT-MAX/MEAN", "BISECTION", "STRETCH");
  for (const EngineReport& engine : engines) {
    if (!engine.plan) {
      text += fmt::format("{:<10} {:<9} {}\n", engine.engine, "no plan", engine.reason);
      continue;
    }
    const Quality& quality = engine.quality;
    text += fmt::format("{:<10} {:<9} {:>5} {:>10.2f} {:>10.2f}", engine.engine,
                        engine.verify.ok ? "yes" : "no", LanesOf(engine), engine.route_ms,
                        engine.verify_ms);
    if (engine.measured)
      text += fmt::format(" {:>10} {:>9} {:>14} {:>10.3f} {:>8.3f}", quality.all_to_all.max,
                          OverBound(quality.all_to_all), Figure(quality.shift),
                          quality.effective_bisection, quality.hops.mean_stretch);
    text += "\n";
  }
  for (const EngineReport& engine : engines)
    if (engine.plan && !engine.verify.ok)
      text += fmt::format("{}: {}\n", engine.engine, engine.reason);
}

void AddRails(const Quality& quality, std::string& text) {
  if (quality.rails.empty()) return;
  text += fmt::format("{:<12} {:>7} {:>9} {:>19} {:>12}\n", "HOST SETS", "SAMPLES", "RING",
                      "RECURSIVE-DOUBLING", "ALL-TO-ALL");
  for (const routing::RailPatterns& sets : quality.rails)
    text +=
        fmt::format("{:<12} {:>7} {:>9} {:>19} {:>12}\n", sets.sets, sets.samples,
                    Figure(sets.ring), Figure(sets.recursive_doubling), Figure(sets.all_to_all));
}

std::string Describe(const Step& step) {
  return fmt::format(
      "{} in {:.2f} ms: {} blocks on {} switches, {} LIDs{}\n", step.engine, step.ms,
      step.blocks_changed, step.switches_changed, step.destinations_changed,
      step.max_load ? fmt::format("; all-to-all load at most {}", *step.max_load) : "");
}

void AddChange(const ChangeReport& change, std::string& text) {
  text += "\nfrom the baseline\n";
  if (!change.reason.empty()) {
    text += change.reason + "\n";
    return;
  }
  if (change.why_not_least.empty())
    text += "least change: " + Describe(change.first);
  else
    text += "no least change: " + change.why_not_least + "\nfull plan: " + Describe(change.first);
  text += "then settled: " + Describe(change.settled);
}

}  // namespace

void CountFabric(const Fabric& fabric, Report& report) {
  fabric.snapshot->ForEachNode([&](const fabric::Node& node) {
    report.switches += node.IsSwitch();
    for (const auto& [ref, port] : node.AllPorts()) {
      const auto range = fabric.lids.Of(ref);
      if (!range.base) continue;
      report.lids += range.count();
      report.end_ports += !node.IsSwitch();
    }
  });
  report.hosts = fabric::FindHosts(*fabric.snapshot, fabric::HostPatterns()).hosts().size();
}

std::string WriteJson(const Report& report) {
  const EngineReport& best = report.planning.best;
  JsonWriter json;
  json.BeginObject();
  json.Field("engine", std::string_view(best.engine));
  WriteChain(json, report.planning.chain);
  json.Field("end_ports", report.end_ports);
  json.Field("hosts", report.hosts);
  json.Field("switches", report.switches);
  json.Field("lids", report.lids);
  json.Field("pieces", report.planning.pieces);
  json.Field("threads", report.threads);
  json.Key("ms");
  json.BeginObject();
  json.Field("read", report.read_ms);
  json.Field("snapshot", report.snapshot_ms);
  json.Field("route", best.route_ms);
  json.Field("verify", best.verify_ms);
  json.Field("metrics", best.metrics_ms);
  json.EndObject();
  json.Key("bytes");
  json.BeginObject();
  json.Field("tables", best.table_bytes);
  json.Field("peak_rss", report.peak_rss);
  json.EndObject();
  json.Field("verified", best.verify.ok);
  json.Field("unreachable_pairs", best.unserved_pairs);
  json.Field("lanes", LanesOf(best));
  if (best.measured) {
    json.Key("quality");
    WriteQuality(json, best.quality, true);
  }
  if (best.plan) {
    json.Key("notes");
    json.BeginArray();
    for (const std::string& note : best.plan->notes) json.Value(std::string_view(note));
    json.EndArray();
  }
  if (report.change) WriteChange(json, *report.change);
  if (!report.planning.compared.empty()) WriteCompared(json, report.planning.compared);
  json.EndObject();
  return json.text() + "\n";
}

std::string WriteTable(const Report& report) {
  const Planning& planning = report.planning;
  const EngineReport& best = planning.best;
  std::string text = fmt::format("{} switches, {} end ports, {} hosts, {} LIDs; {} piece{}\n",
                                 report.switches, report.end_ports, report.hosts, report.lids,
                                 planning.pieces, planning.pieces == 1 ? "" : "s");
  for (const routing::ChainStep& step : planning.chain)
    text += fmt::format("{}: {}\n", step.engine, step.chosen ? "chosen" : step.reason);
  if (best.plan) {
    for (const std::string& note : best.plan->notes) text += fmt::format("note: {}\n", note);
    text +=
        fmt::format("read {:.1f} ms, snapshot {:.1f} ms, metrics {:.1f} ms; tables {} KiB\n\n",
                    report.read_ms, report.snapshot_ms, best.metrics_ms, best.table_bytes / 1024);
  }
  if (!planning.compared.empty())
    AddComparison(planning.compared, text);
  else if (best.plan)
    AddComparison({best}, text);
  if (best.unserved_pairs > 0)
    text += fmt::format("{} pairs of a switch and a LID are not served\n", best.unserved_pairs);
  if (best.measured) {
    const Quality& quality = best.quality;
    text += fmt::format(
        "\n{}: all-to-all load at most {} host pairs on a link, {:.1f} on average, no tables below "
        "{:.1f}\n",
        best.engine, quality.all_to_all.max, quality.all_to_all.mean,
        quality.all_to_all.lower_bound);
    text += fmt::format(
        "of the bandwidth of each host port: all-to-all {:.3f}, shifts {:.3f} ({}{} of {}), random "
        "permutation {:.3f}, bisection {:.3f}\n",
        quality.all_to_all.bandwidth, quality.shift.bandwidth, quality.shift.all ? "all " : "",
        quality.shift.patterns, quality.positions > 0 ? quality.positions - 1 : 0,
        quality.random_permutation.bandwidth, quality.effective_bisection);
    AddRails(quality, text);
  }
  if (report.change) AddChange(*report.change, text);
  return text;
}

}  // namespace fabricd::plan
