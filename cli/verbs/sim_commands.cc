// SPDX-License-Identifier: Apache-2.0
#include "cli/verbs/sim_commands.h"

#include <charconv>
#include <cstdint>
#include <set>
#include <string_view>
#include <system_error>

#include <fmt/format.h>

#include "cli/render/hostlist.h"
#include "cli/render/output.h"
#include "cli/render/table.h"

namespace fabricd::cli {
namespace {

using SimStub = simpb::SimService::Stub;

Result SaySim(const Result& result, const std::string& what) {
  if (result.ok()) Print(what + "\n");
  return result;
}

// All of the text.
template <typename Number>
bool ReadNumber(std::string_view text, Number* number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *number);
  return error == std::errc() && end == text.data() + text.size();
}

bool ReadSimRate(const std::string& name, const std::string& value, simpb::BitErrorRates* rates) {
  double rate = 0;
  if (!ReadNumber(value, &rate) || !(rate >= 0 && rate <= 1)) return false;
  if (name == "raw-ber") rates->set_raw(rate);
  if (name == "effective-ber") rates->set_effective(rate);
  if (name == "symbol-ber") rates->set_symbol(rate);
  return true;
}

bool ReadSimError(const std::string& name, const std::string& value,
                  simpb::SetErrorsRequest* request) {
  if (name == "raw-ber" || name == "effective-ber" || name == "symbol-ber") {
    return ReadSimRate(name, value, request->mutable_rates());
  }
  if (name == "temperature") {
    int32_t celsius = 0;
    if (!ReadNumber(value, &celsius)) return false;
    request->set_module_celsius(celsius);
    return true;
  }
  uint64_t count = 0;
  // Of what counters' names have; the daemon knows which there are.
  constexpr const char* kLetters = "abcdefghijklmnopqrstuvwxyz0123456789-";
  if (name.empty() || name.find_first_not_of(kLetters) != std::string::npos ||
      !ReadNumber(value, &count)) {
    return false;
  }
  (*request->mutable_counters())[name] = count;
  return true;
}

}  // namespace

Result SimUnlink(Client& client, const std::string& port) {
  simpb::UnlinkRequest request;
  request.set_port(port);
  simpb::UnlinkResponse response;
  return SaySim(client.Call(client.sim(), &SimStub::Unlink, request, &response),
                "unlinked " + port);
}

Result SimLink(Client& client, const std::string& port) {
  simpb::LinkRequest request;
  request.set_port(port);
  simpb::LinkResponse response;
  return SaySim(client.Call(client.sim(), &SimStub::Link, request, &response), "linked " + port);
}

Result SimConnect(Client& client, const std::string& a, const std::string& b) {
  simpb::ConnectRequest request;
  request.set_a(a);
  request.set_b(b);
  simpb::ConnectResponse response;
  return SaySim(client.Call(client.sim(), &SimStub::Connect, request, &response),
                fmt::format("connected {} to {}", a, b));
}

Result SimReboot(Client& client, const std::string& node) {
  simpb::RebootRequest request;
  request.set_node(node);
  simpb::RebootResponse response;
  return SaySim(client.Call(client.sim(), &SimStub::Reboot, request, &response),
                "rebooted " + node);
}

Result SimLinks(Client& client, const Globals& globals) {
  simpb::ListLinksResponse links;
  const Result result =
      client.Call(client.sim(), &SimStub::ListLinks, simpb::ListLinksRequest(), &links);
  if (!result.ok() || PrintDocument(globals, links)) return result;
  const auto end = [](const simpb::SimEndpoint& e) {
    return fmt::format("{}[{}]", e.node(), e.port());
  };
  Table table({"A", "B", "STATUS"});
  for (const simpb::SimLink& link : links.links()) {
    const Cell status = link.up()        ? Cell("Up", Tone::kGood)
                        : link.plugged() ? Cell("Down", Tone::kWarning)
                                         : Cell("Pulled", Tone::kBad);
    table.AddRow({end(link.a()), end(link.b()), status});
  }
  Print(table.Render(globals.style));
  return {};
}

Result ReadSimErrors(const std::vector<std::string>& words, simpb::SetErrorsRequest* request) {
  std::set<std::string> seen;
  for (const std::string& word : words) {
    const size_t equals = word.find('=');
    const std::string name = word.substr(0, equals);
    if (!seen.insert(name).second) return {kUsage, fmt::format("{} is given twice", name)};
    if (word == "clear") {
      request->set_clear(true);
      continue;
    }
    if (equals == std::string::npos || !ReadSimError(name, word.substr(equals + 1), request)) {
      return {kUsage, fmt::format("\"{}\" is none of COUNTER=N, raw-ber=RATE, effective-ber=RATE, "
                                  "symbol-ber=RATE, temperature=CELSIUS, clear",
                                  word)};
    }
  }
  return {};
}

Result SimErrors(Client& client, const std::string& port, const std::vector<std::string>& words) {
  simpb::SetErrorsRequest request;
  request.set_port(port);
  if (const Result read = ReadSimErrors(words, &request); !read.ok()) return read;
  simpb::SetErrorsResponse response;
  return SaySim(client.Call(client.sim(), &SimStub::SetErrors, request, &response),
                "set errors of " + port);
}

Result SimPma(Client& client, const std::string& node, const std::string& options) {
  simpb::SetPerformanceRequest request;
  request.set_node(node);
  request.set_options(options);
  simpb::SetPerformanceResponse response;
  return SaySim(client.Call(client.sim(), &SimStub::SetPerformance, request, &response),
                fmt::format("{}: {}", node.empty() ? "all nodes" : node, options));
}

Result SimClock(Client& client, double rate) {
  simpb::SetClockRequest request;
  request.set_rate(rate);
  simpb::SetClockResponse response;
  return SaySim(client.Call(client.sim(), &SimStub::SetClock, request, &response),
                fmt::format("time runs {} times as fast", rate));
}

Result SimTrafficStart(Client& client, const SimTrafficOptions& options) {
  std::vector<std::string> hosts;
  if (const Result read = ExpandNames(options.hosts, false, &hosts); !read.ok()) return read;
  simpb::StartTrafficRequest request;
  simpb::TrafficJob* job = request.mutable_job();
  job->set_name(options.name);
  job->set_pattern(options.pattern);
  for (const std::string& host : hosts) job->add_hosts(host);
  job->set_load(options.load);
  simpb::StartTrafficResponse response;
  return SaySim(client.Call(client.sim(), &SimStub::StartTraffic, request, &response),
                fmt::format("started {} on {} hosts", options.name, hosts.size()));
}

Result SimTrafficStop(Client& client, const std::string& name) {
  simpb::StopTrafficRequest request;
  request.set_name(name);
  simpb::StopTrafficResponse response;
  return SaySim(client.Call(client.sim(), &SimStub::StopTraffic, request, &response),
                "stopped " + name);
}

Result SimTrafficList(Client& client, const Globals& globals) {
  simpb::ListTrafficResponse jobs;
  const Result result =
      client.Call(client.sim(), &SimStub::ListTraffic, simpb::ListTrafficRequest(), &jobs);
  if (!result.ok() || PrintDocument(globals, jobs)) return result;
  Table table({"NAME", "PATTERN", "HOSTS", "LOAD", "FLOWS", "UNROUTED", "GBIT/S", "SLOWEST"});
  for (const simpb::TrafficReport& report : jobs.jobs()) {
    const simpb::TrafficJob& job = report.job();
    const std::vector<std::string> hosts(job.hosts().begin(), job.hosts().end());
    table.AddRow({job.name(), job.pattern(), FormatHostlist(hosts), fmt::format("{}", job.load()),
                  fmt::format("{}", report.flows()),
                  Cell(fmt::format("{}", report.unrouted()),
                       report.unrouted() > 0 ? Tone::kWarning : Tone::kGood),
                  fmt::format("{:.1f}", report.gigabits()),
                  fmt::format("{:.1f}", report.slowest_gigabits())});
  }
  Print(table.Render(globals.style));
  return {};
}

}  // namespace fabricd::cli
