// SPDX-License-Identifier: Apache-2.0
#include "cli/verbs/plan_commands.h"

#include <charconv>
#include <fstream>
#include <iostream>

#include <fmt/format.h>

#include "cli/render/hostlist.h"
#include "cli/render/policy_tables.h"
#include "cli/render/tables.h"

namespace fabricd::cli {
namespace {

using PlanStub = pb::PlanService::Stub;

// Computing takes as long as the fabric is large.
constexpr Timeout kComputeTimeout{300'000};

// "leaf9:switch:64"
Result ReadNode(const std::string& text, pb::AddedNode* node) {
  const size_t first = text.find(':'), last = text.rfind(':');
  const char* end = text.data() + text.size();
  uint32_t ports = 0;
  const std::string type = first == last ? "" : text.substr(first + 1, last - first - 1);
  const auto [stop, fault] = std::from_chars(
      text.data() + (last == std::string::npos ? text.size() : last + 1), end, ports);
  if (first == 0 || (type != "switch" && type != "ca") || fault != std::errc() || stop != end)
    return {kUsage, fmt::format("--add-node: \"{}\" is not NAME:switch|ca:PORTS", text)};
  node->set_name(text.substr(0, first));
  node->set_type(type == "ca" ? "CA" : "SWITCH");
  node->set_ports(ports);
  return {};
}

Result ReadRequest(const PlanOptions& options, pb::PreviewChangeRequest* request) {
  std::vector<std::string> fail, drain;
  if (Result result = ExpandNames(options.fail, false, &fail); !result.ok()) return result;
  if (Result result = ExpandNames(options.drain, false, &drain); !result.ok()) return result;
  request->mutable_fail()->Assign(fail.begin(), fail.end());
  request->mutable_drain()->Assign(drain.begin(), drain.end());
  request->mutable_engines()->Assign(options.engines.begin(), options.engines.end());
  request->set_fail_random(options.fail_random);
  request->set_seed(options.seed);
  request->set_lanes_max(options.lanes);
  for (const std::string& text : options.add_nodes)
    if (Result result = ReadNode(text, request->add_add_nodes()); !result.ok()) return result;
  for (const std::string& text : options.add_links) {
    const size_t equal = text.find('=');
    if (equal == 0 || equal == std::string::npos || equal + 1 == text.size())
      return {kUsage, fmt::format("--add-link: \"{}\" is not NODE/PORT=NODE/PORT", text)};
    pb::AddedLink* link = request->add_add_links();
    link->set_a(text.substr(0, equal));
    link->set_b(text.substr(equal + 1));
  }
  return {};
}

// Sends a file in pieces; the answer comes when it has been read.
Result SendWiring(Client& client, std::istream* in, pb::ValidateWiringResponse* response) {
  constexpr size_t kPiece = 1 << 20;
  return client.Upload(
      client.plans(), &PlanStub::ValidateWiring,
      std::function<bool(pb::ValidateWiringRequest*)>([&](pb::ValidateWiringRequest* piece) {
        if (!in || !*in) return false;
        std::string* text = piece->mutable_text();
        text->resize(kPiece);
        in->read(text->data(), static_cast<std::streamsize>(kPiece));
        text->resize(static_cast<size_t>(in->gcount()));
        return !text->empty();
      }),
      response, kComputeTimeout);
}

}  // namespace

std::string PreviewText(const pb::PreviewChangeResponse& preview) {
  std::string text;
  const auto count = [&](uint32_t number, const char* what, const char* became) {
    if (number == 0) return;
    text += fmt::format("{}{} {}{} {}", text.empty() ? "" : ", ", number, what,
                        number == 1 ? "" : "s", became);
  };
  count(preview.nodes_failed(), "node", "failed");
  count(preview.links_failed(), "link", "failed");
  count(preview.nodes_added(), "node", "added");
  count(preview.links_added(), "link", "added");
  if (!text.empty()) text += '\n';
  if (preview.has_first())
    text += "at once, the least change\n" + ConsequencesLines(preview.first());
  std::string engine = "none", declined;
  for (const pb::EngineStep& step : preview.engines()) {
    if (step.chosen())
      engine = step.engine();
    else
      declined += fmt::format("  Not {:<11}{}\n", step.engine() + ":", step.reason());
  }
  return text +
         fmt::format("when it is quiet, a plan of {} (now: {})\n", engine, preview.engine_now()) +
         declined + ConsequencesLines(preview.settled());
}

Table LoadTable(const pb::AnalyzeJobResponse& job, bool wide) {
  std::vector<std::string> headers = {"PATTERN", "RAIL", "BANDWIDTH", "FLOWS", "WORST-LINK"};
  if (wide) headers.insert(headers.end(), {"STEP", "PATTERNS"});
  Table table(headers);
  for (const pb::PatternLoad& load : job.loads()) {
    const Tone tone = load.bandwidth_fraction() > 0.999 ? Tone::kGood : Tone::kWarning;
    std::vector<Cell> cells = {load.pattern(),
                               load.all_rails() ? "all" : fmt::format("{}", load.rail()),
                               Cell(fmt::format("{:.0f}%", 100 * load.bandwidth_fraction()), tone),
                               fmt::format("{}", load.worst_flows()), PortText(load.worst_link())};
    if (wide) {
      cells.emplace_back(fmt::format("{}", load.worst_step()));
      cells.emplace_back(
          fmt::format("{}{}", load.patterns(), load.all_patterns() ? "" : " of more"));
    }
    table.AddRow(std::move(cells));
  }
  return table;
}

Table FindingTable(const pb::ValidateWiringResponse& wiring) {
  Table table({"KIND", "WHERE", "MESSAGE"});
  for (const pb::WiringFinding& finding : wiring.findings())
    table.AddRow({Cell(finding.kind(), Tone::kBad), finding.name(), finding.message()});
  return table;
}

Result Plan(Client& client, const Globals& globals, const PlanOptions& options) {
  pb::PreviewChangeRequest request;
  if (Result result = ReadRequest(options, &request); !result.ok()) return result;
  pb::PreviewChangeResponse preview;
  const Result result =
      client.Call(client.plans(), &PlanStub::PreviewChange, request, &preview, kComputeTimeout);
  if (!result.ok()) return result;
  if (!PrintDocument(globals, preview)) PrintLong(globals, PreviewText(preview));
  const pb::Consequences& settled = preview.settled();
  if (!settled.plan_found()) return {kFailure, "there would be no routes: " + settled.why_not()};
  if (settled.cut_off().empty()) return {};
  return {kFailure, fmt::format("{} end ports would be cut off", settled.cut_off_size())};
}

Result Analyze(Client& client, const Globals& globals, const std::vector<std::string>& hosts) {
  pb::AnalyzeJobRequest request;
  std::vector<std::string> names;
  if (Result result = ExpandNames(hosts, false, &names); !result.ok()) return result;
  request.mutable_hosts()->Assign(names.begin(), names.end());
  pb::AnalyzeJobResponse job;
  const Result result =
      client.Call(client.plans(), &PlanStub::AnalyzeJob, request, &job, kComputeTimeout);
  if (!result.ok() || PrintDocument(globals, job)) return result;
  Print(
      fmt::format("{} hosts on {} rails, routes by {}\n", job.hosts(), job.rails(), job.engine()));
  Print(LoadTable(job, globals.format == Format::kWide).Render(globals.style));
  for (const pb::EndPort& port : job.left_out())
    PrintError("{}/{} takes no part: it has no routes\n", port.node_name(), port.number());
  return {};
}

Result ValidateWiring(Client& client, const Globals& globals, const std::string& path) {
  std::ifstream file;
  if (!path.empty() && path != "-") {
    file.open(path, std::ios::binary);
    if (!file) return {kFailure, fmt::format("{} cannot be read", path)};
  }
  std::istream* in = path.empty() ? nullptr : path == "-" ? &std::cin : &file;
  pb::ValidateWiringResponse wiring;
  if (Result result = SendWiring(client, in, &wiring); !result.ok()) return result;
  if (!PrintDocument(globals, wiring)) {
    if (wiring.total() > 0) PrintLong(globals, FindingTable(wiring).Render(globals.style));
    Print(fmt::format("{} links as expected\n", wiring.links_right()));
  }
  if (wiring.lines_skipped() > 0)
    PrintError("{} lines were not understood\n", wiring.lines_skipped());
  if (wiring.total() == 0) return {};
  return {kFailure, fmt::format("{} findings", wiring.total())};
}

}  // namespace fabricd::cli
