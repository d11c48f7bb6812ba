// SPDX-License-Identifier: Apache-2.0
#include "cli/verbs/tech_support.h"

#include <filesystem>
#include <map>

#include <fmt/format.h>

#include "cli/render/output.h"
#include "cli/terminal/tar.h"
#include "cli/verbs/listing.h"

namespace fabricd::cli {
namespace {

constexpr uint32_t kEvents = 5000;

class Collector {
 public:
  Collector(Client& client, const Globals& globals) : client_(client), globals_(globals) {
    globals_.format = Format::kJson;
  }

  // Every kind that `get` lists, records apart: Subnet Administration answers from the rest.
  void AddListings() {
    for (const ResourceKind& kind : ResourceKinds()) {
      if (!kind.fetch || kind.resource == Resource::kRecord) continue;
      GetOptions options;
      options.resource = kind.resource;
      Listing listing;
      const Result result = FetchListing(client_, globals_, options, &listing);
      Keep(fmt::format("{}.json", kind.plural), result,
           result.ok() ? ToJson(*listing.document) : std::string());
    }
    GetOptions damped;
    damped.resource = Resource::kLink;
    damped.damped = true;
    Listing listing;
    const Result result = FetchListing(client_, globals_, damped, &listing);
    Keep("damped-links.json", result, result.ok() ? ToJson(*listing.document) : std::string());
  }

  void AddEvents() {
    pb::ListEventsRequest request;
    request.set_last(kEvents);
    request.set_page_size(kMostOfPage);
    pb::ListEventsResponse events;
    const Result result =
        client_.Call(client_.events(), &pb::EventService::Stub::ListEvents, request, &events);
    Keep("events.json", result, ToJson(events));
  }

  void AddReadiness() {
    pb::BatchGetReadinessResponse hosts;
    const Result result =
        client_.Call(client_.remediation(), &pb::RemediationService::Stub::BatchGetReadiness,
                     pb::BatchGetReadinessRequest(), &hosts, kLongTimeout);
    Keep("readiness.json", result, ToJson(hosts));
  }

  void AddTopology() {
    pb::GetTopologyRequest request;
    request.set_format(pb::TOPOLOGY_FORMAT_IBNETDISCOVER);
    std::string text;
    const Result result =
        client_.Stream(client_.topology(), &pb::TopologyService::Stub::GetTopology, request,
                       std::function<Result(const pb::GetTopologyResponse&)>(
                           [&](const pb::GetTopologyResponse& piece) {
                             text += piece.chunk();
                             return Result();
                           }));
    Keep("ibnetdiscover.txt", result, text);
  }

  void AddPartitions() {
    std::string text;
    const Result result =
        client_.Stream(client_.partitions(), &pb::PartitionService::Stub::ExportPartitions,
                       pb::ExportPartitionsRequest(),
                       std::function<Result(const pb::ExportPartitionsResponse&)>(
                           [&](const pb::ExportPartitionsResponse& piece) {
                             text += piece.text();
                             return Result();
                           }));
    Keep("partitions.conf", result, text);
  }

  void AddConfig() {
    pb::GetConfigResponse config;
    const Result result = client_.Call(client_.admin(), &pb::AdminService::Stub::GetConfig,
                                       pb::GetConfigRequest(), &config);
    Keep("config.json", result, ToJson(config));
    Keep("config.yaml", result, config.yaml());
  }

  // The tables among them.
  void AddDumps() {
    std::map<std::string, std::string> files;
    const Result result = client_.Stream(
        client_.admin(), &pb::AdminService::Stub::Dump, pb::DumpRequest(),
        std::function<Result(const pb::DumpResponse&)>([&](const pb::DumpResponse& piece) {
          files[piece.file()] += piece.chunk();
          return Result();
        }));
    for (const auto& [name, text] : files)
      Keep("dump/" + std::filesystem::path(name).filename().string(), {}, text);
    if (!result.ok()) Keep("dump", result, "");
  }

  // What went into the core, to be replayed. Not where fabricd records nothing.
  void AddRecording() {
    std::map<std::string, std::string> files;
    const Result result = client_.Stream(
        client_.admin(), &pb::AdminService::Stub::DownloadRecording, pb::DownloadRecordingRequest(),
        std::function<Result(const pb::DownloadRecordingResponse&)>(
            [&](const pb::DownloadRecordingResponse& piece) {
              files[piece.file()] += piece.chunk();
              return Result();
            }));
    for (const auto& [name, bytes] : files)
      Keep("recording/" + std::filesystem::path(name).filename().string(), {}, bytes);
    if (!result.ok()) Keep("recording", result, "");
  }

  void Keep(const std::string& name, const Result& result, const std::string& text) {
    if (result.ok())
      files_[name] = text;
    else
      errors_ += fmt::format("{}: {}\n", name, result.message);
  }

  size_t size() const { return files_.size(); }
  const std::string& errors() const { return errors_; }

  bool Write(const std::string& path, const std::string& directory) const {
    TarWriter tar(path);
    const int64_t now = NowMs() / 1000;
    for (const auto& [name, text] : files_) tar.Add(directory + "/" + name, text, now);
    if (!errors_.empty()) tar.Add(directory + "/errors.txt", errors_, now);
    return tar.Close();
  }

 private:
  Client& client_;
  Globals globals_;
  std::map<std::string, std::string> files_;
  std::string errors_;
};

}  // namespace

Result TechSupport(Client& client, const Globals& globals, const std::string& path,
                   const std::string& own_version) {
  pb::GetSmResponse sm;
  const Result asked =
      client.Call(client.topology(), &pb::TopologyService::Stub::GetSm, pb::GetSmRequest(), &sm);
  if (!asked.ok()) return asked;
  Collector collector(client, globals);
  collector.Keep("version.txt", {},
                 fmt::format("fabricctl {}\nfabricd {}\n", own_version, sm.version()));
  collector.AddListings();
  collector.AddEvents();
  collector.AddConfig();
  collector.AddReadiness();
  collector.AddTopology();
  collector.AddPartitions();
  collector.AddDumps();
  collector.AddRecording();
  if (!collector.Write(path, std::filesystem::path(path).stem().string()))
    return {kFailure, fmt::format("cannot write {}", path)};
  PrintError("{}", collector.errors());
  Print(fmt::format("{} files in {}\n", collector.size(), path));
  return {};
}

}  // namespace fabricd::cli
