// SPDX-License-Identifier: Apache-2.0
#include "cli/verbs/config_commands.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>
#include <google/protobuf/util/time_util.h>

#include "cli/terminal/text_file.h"

namespace fabricd::cli {
namespace {

using AdminStub = pb::AdminService::Stub;
using google::protobuf::util::TimeUtil;

// "live", "resweep", "restart".
std::string ClassWord(pb::ReloadClass reload_class) {
  switch (reload_class) {
    case pb::RELOAD_CLASS_LIVE: return "live";
    case pb::RELOAD_CLASS_RESWEEP: return "resweep";
    case pb::RELOAD_CLASS_RESTART: return "restart";
    default: return "unknown";
  }
}

Cell VerdictCell(pb::ImportVerdict verdict) {
  switch (verdict) {
    case pb::IMPORT_VERDICT_TAKEN: return {"taken", Tone::kGood};
    case pb::IMPORT_VERDICT_TRANSLATED: return {"translated", Tone::kGood};
    case pb::IMPORT_VERDICT_IMPLIED: return {"implied", Tone::kGood};
    case pb::IMPORT_VERDICT_DROPPED: return {"dropped", Tone::kWarning};
    case pb::IMPORT_VERDICT_NOT_UNDERSTOOD: return {"not understood", Tone::kBad};
    default: return {"unknown", Tone::kBad};
  }
}

// Asks about a file; its faults are told, kUsage.
Result Judge(Client& client, const std::string& path, pb::ValidateConfigResponse* response) {
  pb::ValidateConfigRequest request;
  if (Result result = ReadTextFile(path, request.mutable_yaml()); !result.ok()) return result;
  const Result result = client.Call(client.admin(), &AdminStub::ValidateConfig, request, response);
  if (!result.ok() || response->faults().empty()) return result;
  for (const pb::ConfigFault& fault : response->faults()) {
    const std::string at = fault.line() > 0 ? fmt::format("line {}: ", fault.line()) : "";
    const std::string key = fault.path().empty() ? "" : fault.path() + ": ";
    PrintError("{}{}{}\n", at, key, fault.message());
  }
  return {kUsage, fmt::format("{} faults in {}", response->faults_size(), path)};
}

void PrintChanges(const Globals& globals,
                  const google::protobuf::RepeatedPtrField<pb::ConfigChange>& changes) {
  if (!changes.empty()) Print(ConfigChangeTable(changes).Render(globals.style));
}

}  // namespace

Table SettingTable(const pb::GetConfigResponse& config, bool wide) {
  std::vector<std::string> headers = {"KEY", "VALUE", "TAKES-EFFECT"};
  if (wide) headers.insert(headers.end(), {"DEFAULT", "WAITING"});
  Table table(headers);
  for (const pb::ConfigSetting& setting : config.settings()) {
    std::vector<Cell> cells = {setting.path(), setting.value(), ClassWord(setting.reload_class())};
    if (wide) {
      cells.emplace_back(setting.default_value());
      cells.emplace_back(setting.waiting());
    }
    table.AddRow(std::move(cells));
  }
  return table;
}

Table ConfigChangeTable(const google::protobuf::RepeatedPtrField<pb::ConfigChange>& changes) {
  Table table({"KEY", "BEFORE", "AFTER", "TAKES-EFFECT"});
  for (const pb::ConfigChange& change : changes)
    table.AddRow(
        {change.path(), change.before(), change.after(), ClassWord(change.reload_class())});
  return table;
}

Table ImportTable(const pb::ImportOpensmResponse& imported) {
  Table table({"FILE", "LINE", "KEY", "VALUE", "VERDICT", "MESSAGE"});
  for (const pb::ImportLine& line : imported.lines())
    table.AddRow({line.file(), fmt::format("{}", line.line()), line.key(), line.value(),
                  VerdictCell(line.verdict()), line.message()});
  return table;
}

Table AuditTable(const pb::ListAuditRecordsResponse& records, bool wide) {
  std::vector<std::string> headers = {"TIME", "CALLER", "ROLE", "METHOD", "RESULT", "REASON"};
  if (wide) headers.insert(headers.end(), {"NUMBER", "NODE", "REQUEST"});
  Table table(headers);
  for (const pb::AuditRecord& record : records.records()) {
    const Tone tone = record.code() == "OK" ? Tone::kGood : Tone::kBad;
    const std::string code =
        record.message().empty() ? record.code() : record.code() + ": " + record.message();
    std::vector<Cell> cells = {TimeUtil::ToString(record.time()),
                               record.caller(),
                               record.role(),
                               record.method().substr(record.method().rfind('.') + 1),
                               Cell(code, tone),
                               record.reason()};
    if (wide) {
      cells.emplace_back(fmt::format("{}", record.number()));
      cells.emplace_back(record.node());
      cells.emplace_back(record.request());
    }
    table.AddRow(std::move(cells));
  }
  return table;
}

Result ViewConfig(Client& client, const Globals& globals) {
  pb::GetConfigResponse config;
  const Result result =
      client.Call(client.admin(), &AdminStub::GetConfig, pb::GetConfigRequest(), &config);
  if (!result.ok()) return result;
  if (!globals.format_given || globals.format == Format::kYaml)
    PrintLong(globals, config.yaml());
  else if (!PrintDocument(globals, config))
    PrintLong(globals, SettingTable(config, globals.format == Format::kWide).Render(globals.style));
  return {};
}

Result ValidateConfig(Client& client, const Globals& globals, const std::string& path) {
  pb::ValidateConfigResponse response;
  if (Result result = Judge(client, path, &response); !result.ok()) return result;
  if (!PrintDocument(globals, response))
    Print(fmt::format("{} is valid; {} keys differ from what is in force\n", path,
                      response.changes_size()));
  return {};
}

Result DiffConfig(Client& client, const Globals& globals, const std::string& path) {
  pb::ValidateConfigResponse response;
  if (Result result = Judge(client, path, &response); !result.ok()) return result;
  if (!PrintDocument(globals, response)) PrintChanges(globals, response.changes());
  if (response.changes().empty()) return {};
  return {kFailure, fmt::format("{} differences", response.changes_size())};
}

Result ReloadConfig(Client& client, const Globals& globals, bool dry_run,
                    const std::string& reason) {
  pb::ReloadConfigRequest request;
  request.set_validate_only(dry_run);
  request.set_reason(reason);
  pb::ReloadConfigResponse response;
  const Result result =
      client.Call(client.admin(), &AdminStub::ReloadConfig, request, &response, kLongTimeout);
  if (!result.ok() || PrintDocument(globals, response)) return result;
  PrintChanges(globals, response.changes());
  Print(fmt::format("configuration {}{}{}\n", response.changes().empty() ? "unchanged" : "reloaded",
                    response.sweep_started() ? ", heavy sweep started" : "",
                    dry_run ? " (dry run)" : ""));
  for (const pb::ConfigChange& change : response.waiting())
    PrintError("{} waits for a restart of fabricd\n", change.path());
  return {};
}

Result ImportOpensm(Client& client, const Globals& globals, const ImportOptions& options) {
  pb::ImportOpensmRequest request;
  if (Result result = ReadTextFile(options.path, request.mutable_conf()); !result.ok())
    return result;
  for (const std::string& file : options.files) {
    std::string text;
    if (Result result = ReadTextFile(file, &text); !result.ok()) return result;
    (*request.mutable_files())[std::filesystem::path(file).filename().string()] = text;
  }
  request.set_directory(options.directory);
  pb::ImportOpensmResponse imported;
  const Result result = client.Call(client.admin(), &AdminStub::ImportOpensm, request, &imported);
  if (!result.ok()) return result;
  const std::string table = ImportTable(imported).Render(globals.style);
  if (globals.format == Format::kYaml || !globals.format_given) {
    if (!globals.format_given) PrintError("{}", table);
    Print(imported.yaml());
  } else if (!PrintDocument(globals, imported)) {
    PrintLong(globals, table);
  }
  return {};
}

Result ShowAudit(Client& client, const Globals& globals, const AuditOptions& options) {
  pb::ListAuditRecordsRequest request;
  request.set_limit(options.last);
  request.set_caller(options.caller);
  request.set_method(options.method);
  if (options.since)
    *request.mutable_since() = TimeUtil::MillisecondsToTimestamp(NowMs() - options.since->count());
  pb::ListAuditRecordsResponse records;
  const Result result =
      client.Call(client.admin(), &AdminStub::ListAuditRecords, request, &records);
  if (!result.ok() || PrintDocument(globals, records)) return result;
  if (records.records().empty())
    PrintError("No records found.\n");
  else
    PrintLong(globals, AuditTable(records, globals.format == Format::kWide).Render(globals.style));
  return {};
}

Result ShowCaller(Client& client, const Globals& globals) {
  pb::GetCallerResponse caller;
  const Result result =
      client.Call(client.admin(), &AdminStub::GetCaller, pb::GetCallerRequest(), &caller);
  if (!result.ok() || PrintDocument(globals, caller)) return result;
  Table table({"CALLER", "ROLE", "PRINCIPALS"});
  table.AddRow(
      {caller.caller(), caller.role(), fmt::format("{}", fmt::join(caller.principals(), ","))});
  Print(table.Render(globals.style));
  return {};
}

}  // namespace fabricd::cli
