// SPDX-License-Identifier: Apache-2.0
#include "cli/verbs/partition_commands.h"

#include <charconv>
#include <map>

#include <fmt/format.h>

#include "cli/render/hostlist.h"
#include "cli/render/partition_tables.h"
#include "cli/terminal/text_file.h"

namespace fabricd::cli {
namespace {

using PartitionStub = pb::PartitionService::Stub;

// The core reads a file of a million members, and makes it durable.
constexpr Timeout kChangeTimeout{60'000};

Result ReadMembership(const std::string& word, pb::Membership* membership) {
  static const std::map<std::string, pb::Membership> kWords = {{"limited", pb::MEMBERSHIP_LIMITED},
                                                               {"full", pb::MEMBERSHIP_FULL},
                                                               {"both", pb::MEMBERSHIP_BOTH}};
  const auto known = kWords.find(word);
  if (known == kWords.end())
    return {kUsage, fmt::format("--membership: \"{}\" is none of full, limited, both", word)};
  *membership = known->second;
  return {};
}

Result ReadPKey(const std::string& text, uint32_t* key) {
  if (text.empty()) return {};
  const bool hex = text.rfind("0x", 0) == 0;
  const char* end = text.data() + text.size();
  const auto [stop, fault] = std::from_chars(text.data() + (hex ? 2 : 0), end, *key, hex ? 16 : 10);
  if (fault == std::errc() && stop == end && *key <= 0xFFFF) return {};
  return {kUsage, fmt::format("--p-key: \"{}\" is no P_Key", text)};
}

// Until all P_Key tables are as the partitions want them.
Result WaitInEffect(Client& client, const Globals& globals) {
  return client.Poll(
      globals.timeout.value_or(kLongTimeout), "P_Key tables", [&](Timeout left, bool* done) {
        pb::ListPartitionsRequest request;
        request.set_page_size(1);
        pb::ListPartitionsResponse response;
        const Result result = client.Call(client.partitions(), &PartitionStub::ListPartitions,
                                          request, &response, left);
        *done = response.in_effect();
        return result;
      });
}

// What a change has done: its lines, or the document.
template <typename Response>
Result Finish(Client& client, const Globals& globals, const Response& response,
              const std::string& what, bool dry_run, bool wait) {
  if (!PrintDocument(globals, response)) {
    for (const std::string& line : response.changes()) Print(line + "\n");
    const char* done = response.changes().empty() ? "unchanged" : "changed";
    Print(fmt::format("{} {}{}\n", what, done, dry_run ? " (dry run)" : ""));
  }
  return wait && !dry_run ? WaitInEffect(client, globals) : Result();
}

std::string Title(const pb::Partition& partition) { return "partition/" + PKeyText(partition); }

// A member for each name, all of the membership that the options say.
Result AddMembersTo(const PartitionOptions& options,
                    google::protobuf::RepeatedPtrField<pb::PartitionMember>* members) {
  pb::Membership membership{};
  if (Result result = ReadMembership(options.membership, &membership); !result.ok()) return result;
  std::vector<std::string> names;
  if (Result result = ExpandNames(options.members, false, &names); !result.ok()) return result;
  for (const std::string& name : names) {
    pb::PartitionMember* member = members->Add();
    member->set_subject(name);
    member->set_membership(membership);
  }
  return {};
}

// Sends a change of one partition and tells what it did.
template <typename Request, typename Response>
Result Change(Client& client, const Globals& globals, const PartitionOptions& options,
              grpc::Status (PartitionStub::*method)(grpc::ClientContext*, const Request&,
                                                    Response*),
              Request request, const std::string& what) {
  request.set_validate_only(options.dry_run);
  request.set_request_id(options.request_id);
  Response response;
  const Result result =
      client.Call(client.partitions(), method, request, &response, kChangeTimeout);
  if (result.code == kNotFound && options.ignore_not_found) return {};
  if (!result.ok()) return result;
  if constexpr (std::is_same_v<Response, pb::DeletePartitionResponse>)
    return Finish(client, globals, response, what, options.dry_run, options.wait);
  else
    return Finish(client, globals, response, Title(response.partition()), options.dry_run,
                  options.wait);
}

// kUsage: it is faulty, and all faults are told.
Result SendFile(Client& client, const PartitionFile& file, bool validate_only,
                pb::ApplyPartitionsResponse* response) {
  pb::ApplyPartitionsRequest request;
  if (Result result = ReadTextFile(file.path, request.mutable_text()); !result.ok()) return result;
  request.set_request_id(file.request_id);
  request.set_validate_only(validate_only);
  const auto send = [&] {
    return client.Call(client.partitions(), &PartitionStub::ApplyPartitions, request, response,
                       kChangeTimeout);
  };
  Result result = send();
  if (result.code == kUsage && !validate_only) {
    // A refusal tells the first faults only.
    request.set_validate_only(true);
    if (Result all = send(); !all.ok() || response->faults().empty()) return result;
    result = {};
  }
  for (const auto* notes : {&response->notes(), &response->faults()})
    for (const pb::LineNote& note : *notes) PrintError("line {}: {}\n", note.line(), note.text());
  if (!result.ok() || response->faults().empty()) return result;
  return {kUsage, fmt::format("{} faults, nothing is changed", response->faults_size())};
}

}  // namespace

Result FetchPartitions(Client& client, const GetOptions& options, bool wide,
                       std::unique_ptr<google::protobuf::Message>* answer) {
  pb::ListPartitionsRequest request;
  request.mutable_partitions()->Assign(options.names.begin(), options.names.end());
  if (wide) request.set_view(pb::PARTITION_VIEW_FULL);
  auto response = std::make_unique<pb::ListPartitionsResponse>();
  Result result =
      client.List(client.partitions(), &PartitionStub::ListPartitions, request, response.get());
  *answer = std::move(response);
  return result;
}

Result ExportPartitions(Client& client) {
  return client.Stream(client.partitions(), &PartitionStub::ExportPartitions,
                       pb::ExportPartitionsRequest(),
                       std::function<Result(const pb::ExportPartitionsResponse&)>(
                           [](const pb::ExportPartitionsResponse& piece) {
                             Print(piece.text());
                             return Result();
                           }));
}

Result ApplyPartitions(Client& client, const Globals& globals, const PartitionFile& file) {
  pb::ApplyPartitionsResponse response;
  if (Result result = SendFile(client, file, file.dry_run, &response); !result.ok()) return result;
  return Finish(client, globals, response, "partitions", file.dry_run, file.wait);
}

Result DiffPartitions(Client& client, const PartitionFile& file) {
  pb::ApplyPartitionsResponse response;
  if (Result result = SendFile(client, file, true, &response); !result.ok()) return result;
  for (const std::string& line : response.changes()) Print(line + "\n");
  if (response.changes().empty()) return {};
  return {kFailure, fmt::format("{} differences", response.changes_size())};
}

Result CreatePartition(Client& client, const Globals& globals, const PartitionOptions& options) {
  pb::CreatePartitionRequest request;
  pb::Partition* partition = request.mutable_partition();
  uint32_t key = 0;
  if (Result result = ReadPKey(options.p_key, &key); !result.ok()) return result;
  if (Result result = AddMembersTo(options, partition->mutable_members()); !result.ok())
    return result;
  partition->set_p_key(key);
  partition->set_name(options.partition);
  partition->set_index0(options.index0);
  if (options.ipoib) partition->mutable_ipoib();
  return Change(client, globals, options, &PartitionStub::CreatePartition, std::move(request), "");
}

Result UpdatePartition(Client& client, const Globals& globals, const PartitionOptions& options,
                       const PartitionUpdate& update) {
  pb::UpdatePartitionRequest request;
  request.set_partition(options.partition);
  pb::Partition* values = request.mutable_values();
  const auto change = [&](const char* field) { request.mutable_update_mask()->add_paths(field); };
  if (!update.name.empty()) {
    values->set_name(update.name);
    change("name");
  }
  if (!update.index0.empty()) {
    values->set_index0(update.index0 == "true");
    change("index0");
  }
  const bool traits = update.mtu != 0 || update.rate_gbps != 0;
  if (update.ipoib == "true" || (update.ipoib.empty() && traits)) {
    values->mutable_ipoib()->set_mtu(update.mtu);
    values->mutable_ipoib()->set_rate_gbps(update.rate_gbps);
  }
  if (!update.ipoib.empty() || traits) change("ipoib");
  if (!options.members.empty()) {
    if (Result result = AddMembersTo(options, values->mutable_members()); !result.ok())
      return result;
    change("members");
  }
  if (request.update_mask().paths().empty()) {
    return {kUsage, "one of --name, --index0, --ipoib, --mtu, --rate, --member is needed"};
  }
  return Change(client, globals, options, &PartitionStub::UpdatePartition, std::move(request), "");
}

Result DeletePartition(Client& client, const Globals& globals, const PartitionOptions& options) {
  pb::DeletePartitionRequest request;
  request.set_partition(options.partition);
  return Change(client, globals, options, &PartitionStub::DeletePartition, std::move(request),
                "partition/" + options.partition);
}

Result AddMembers(Client& client, const Globals& globals, const PartitionOptions& options) {
  pb::AddMembersRequest request;
  request.set_partition(options.partition);
  if (Result result = AddMembersTo(options, request.mutable_members()); !result.ok()) return result;
  return Change(client, globals, options, &PartitionStub::AddMembers, std::move(request), "");
}

Result RemoveMembers(Client& client, const Globals& globals, const PartitionOptions& options) {
  pb::RemoveMembersRequest request;
  std::vector<std::string> names;
  if (Result result = ExpandNames(options.members, false, &names); !result.ok()) return result;
  request.set_partition(options.partition);
  request.mutable_subjects()->Assign(names.begin(), names.end());
  return Change(client, globals, options, &PartitionStub::RemoveMembers, std::move(request), "");
}

}  // namespace fabricd::cli
