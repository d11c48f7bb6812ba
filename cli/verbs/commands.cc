// SPDX-License-Identifier: Apache-2.0
#include "cli/verbs/commands.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>

#include <fmt/format.h>

#include "cli/render/fields.h"
#include "cli/render/infiniband_text.h"
#include "cli/render/output.h"
#include "cli/render/tables.h"

namespace fabricd::cli {
namespace {

using Stub = pb::TopologyService::Stub;

// Switches' LIDs for each egress port: how even the tables are.
Table BalanceTable(const pb::GetForwardingTableResponse& routes) {
  std::map<uint32_t, uint32_t> lids;
  for (const pb::ForwardingEntry& entry : routes.entries()) {
    if (entry.routed()) ++lids[entry.port()];
  }
  Table table({"PORT", "LIDS"});
  for (const auto& [port, count] : lids)
    table.AddRow({fmt::format("{}", port), fmt::format("{}", count)});
  return table;
}

// Files of a dump as they come in.
class DumpFiles {
 public:
  explicit DumpFiles(std::filesystem::path directory) : directory_(std::move(directory)) {}

  Result Write(const pb::DumpResponse& piece) {
    if (piece.file() != name_) {
      if (Result result = Open(piece.file()); !result.ok()) return result;
    }
    out_.write(piece.chunk().data(), static_cast<std::streamsize>(piece.chunk().size()));
    return Check();
  }
  Result Close() {
    if (out_.is_open()) out_.close();
    return Check();
  }
  size_t count() const { return count_; }

 private:
  Result Open(const std::string& name) {
    if (Result result = Close(); !result.ok()) return result;
    // The name comes from the other side: it must not lead out of the directory.
    if (name.empty() || name.find('/') != std::string::npos || name.front() == '.') {
      return {kFailure, fmt::format("\"{}\" is not a file name", name)};
    }
    name_ = name;
    ++count_;
    out_.open(directory_ / name, std::ios::binary | std::ios::trunc);
    return Check();
  }
  Result Check() const {
    if (out_.good()) return {};
    return {kFailure, fmt::format("cannot write {}: {}", (directory_ / name_).string(),
                                  std::strerror(errno))};
  }

  const std::filesystem::path directory_;
  std::string name_;
  std::ofstream out_;
  size_t count_ = 0;
};

}  // namespace

Result Trace(Client& client, const Globals& globals, const TraceOptions& options) {
  pb::TracePathRequest request;
  request.set_source(options.source);
  request.set_destination(options.destination);
  request.set_all_lids(options.all_lids);
  pb::TracePathResponse trace;
  const Result result = client.Call(client.topology(), &Stub::TracePath, request, &trace);
  if (!result.ok()) return result;
  const bool wide = globals.format == Format::kWide;
  if (!PrintDocument(globals, trace)) {
    Print(globals.format == Format::kIbtracert ? ToIbtracert(trace)
                                               : PathTable(trace, wide).Render(globals.style));
  }
  for (const pb::Path& path : trace.paths()) {
    if (!path.reachable()) {
      return {kFailure,
              fmt::format("LID {} is not reached: {}", path.destination_lid(), path.stopped())};
    }
  }
  return {};
}

Result Routes(Client& client, const Globals& globals, const RoutesOptions& options) {
  pb::GetForwardingTableRequest request;
  request.set_node(options.node);
  request.set_destination(options.destination);
  pb::GetForwardingTableResponse routes;
  Result result = client.List(&Stub::GetForwardingTable, request, &routes);
  if (!result.ok() || PrintDocument(globals, routes)) return result;
  const bool wide = globals.format == Format::kWide;
  if (globals.format == Format::kIbroute) {
    PrintLong(globals, ToIbroute(routes));
  } else {
    const Table table = options.balance ? BalanceTable(routes) : RouteTable(routes, wide);
    PrintLong(globals, table.Render(globals.style));
  }
  return {};
}

Result Sweep(Client& client, bool heavy, bool wait) {
  pb::StartSweepRequest request;
  request.set_heavy(heavy);
  request.set_wait(wait);
  pb::StartSweepResponse response;
  const Result result = client.Call(client.admin(), &pb::AdminService::Stub::StartSweep, request,
                                    &response, wait ? kLongTimeout : kShortTimeout);
  if (!result.ok()) return result;
  const char* kind = heavy ? "heavy" : "light";
  if (response.done()) {
    Print(fmt::format("{} sweep done, subnet {} (generation {})\n", kind,
                      response.subnet_up() ? "up" : "not up", response.generation()));
  } else {
    Print(fmt::format("{} sweep started\n", kind));
  }
  return {};
}

Result Dump(Client& client, const std::string& directory, const std::vector<std::string>& files) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error) return {kFailure, fmt::format("cannot make {}: {}", directory, error.message())};
  pb::DumpRequest request;
  request.mutable_files()->Assign(files.begin(), files.end());
  DumpFiles out(directory);
  using Admin = pb::AdminService::Stub;
  Result result = client.Stream<Admin, Admin, pb::DumpRequest, pb::DumpResponse>(
      client.admin(), &Admin::Dump, request,
      [&](const pb::DumpResponse& piece) { return out.Write(piece); });
  if (result.ok()) result = out.Close();
  if (result.ok()) Print(fmt::format("{} files written to {}\n", out.count(), directory));
  return result;
}

Result WaitSm(Client& client, const std::string& condition, Timeout timeout) {
  std::string error;
  const auto wanted =
      FieldCondition::Parse(condition, pb::GetSmResponse::default_instance(), &error);
  if (!wanted) return {kUsage, "--for: " + error};
  const Result result = client.Poll(timeout, condition, [&](Timeout left, bool* done) {
    pb::GetSmResponse sm;
    Result asked = client.Call(client.topology(), &Stub::GetSm, pb::GetSmRequest(), &sm, left);
    *done = asked.ok() && wanted->Holds(sm);
    return asked;
  });
  if (result.ok()) Print(fmt::format("sm: {} holds\n", condition));
  return result;
}

Result Version(Client& client, const std::string& own_version) {
  Print(fmt::format("fabricctl {}\n", own_version));
  pb::GetSmResponse sm;
  const Result result =
      client.Call(client.topology(), &Stub::GetSm, pb::GetSmRequest(), &sm, kProbeTimeout);
  if (result.ok()) {
    Print(fmt::format("fabricd {} at {}\n", sm.version(), client.server()));
  } else {
    PrintError("{}\n", result.message);
  }
  return {};
}

}  // namespace fabricd::cli
