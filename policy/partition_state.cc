// SPDX-License-Identifier: Apache-2.0
#include "policy/partition_state.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include <absl/container/flat_hash_map.h>
#include <absl/container/flat_hash_set.h>

#include "common/number_text.h"
#include "common/status.h"
#include "policy/partitions_text.h"

namespace fabricd::policy {
namespace {

using Verb = PartitionRequest::Verb;

constexpr char kTable[] = "partition";          // By number: a definition.
constexpr char kEverTable[] = "partition_was";  // By number: empty.
constexpr char kStateTable[] = "partitions";    // "revision", "file".
constexpr char kDoneTable[] = "partition_request";

// FNV-1a: it is kept on disk, so it may never change.
uint64_t HashOf(const std::string& text) {
  uint64_t hash = 0xCBF29CE484222325;
  for (char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3;
  return hash;
}

std::string TextOf(const Partition& partition) {
  Partitions one;
  one.list.push_back(partition);
  return FormatPartitions(one);
}

uint64_t FingerprintOf(const PartitionRequest& request) {
  return HashOf(fmt::format("{} {} {}\n{}{}", static_cast<int>(request.verb), request.fields,
                            request.file_digest, TextOf(request.partition),
                            FormatPartitions(request.all)));
}

using Subject = std::pair<Guid, PortClass>;
Subject SubjectOf(const Member& member) { return {member.guid, member.ports}; }

// The place of who is a member already stays as long as that is where it holds.
void AppendMembers(const std::vector<Member>& wanted, std::vector<Member>& members) {
  absl::flat_hash_map<Subject, size_t> places;
  size_t kinds_end = 0;  // Behind it only GUIDs are named.
  const auto note = [&](size_t place) {
    places[SubjectOf(members[place])] = place;
    if (members[place].ports != PortClass::kNone) kinds_end = place + 1;
  };
  for (size_t place = 0; place < members.size(); ++place) note(place);
  for (const Member& member : wanted) {
    const auto found = places.find(SubjectOf(member));
    if (found != places.end() && members[found->second] == member && found->second + 1 >= kinds_end)
      continue;
    members.push_back(member);
    note(members.size() - 1);
  }
}

absl::Status NoSuch(uint16_t number) { return NotFound("there is no partition {:#06x}", number); }

class Change {
 public:
  Change(const PartitionRequest& request, const PartitionState& before)
      : request_(request), partitions_(before.partitions), number_(request.partition.number) {}

  absl::Status Run() {
    switch (request_.verb) {
      case Verb::kReplace:
        partitions_ = request_.all;
        number_ = 0;
        return absl::OkStatus();
      case Verb::kCreate: return Create();
      case Verb::kUpdate: return Update();
      case Verb::kDelete: return Delete();
      case Verb::kAddMembers: return AddMembers();
      case Verb::kRemoveMembers: return RemoveMembers();
    }
    return absl::OkStatus();
  }
  uint16_t number() const { return number_; }
  Partitions& partitions() { return partitions_; }

 private:
  absl::Status Create() {
    Partition made = request_.partition;
    Normalise(made.members);
    Normalise(made.groups);
    if (made.number == 0) {
      do ++made.number;
      while (partitions_.Find(made.number) != nullptr);
      number_ = made.number;
    }
    if (const Partition* there = partitions_.Find(made.number)) {
      if (*there == made) return absl::OkStatus();
      return MakeStatus(absl::StatusCode::kAlreadyExists, "there is another partition {:#06x}",
                        made.number);
    }
    partitions_.Get(made.number) = std::move(made);
    return absl::OkStatus();
  }
  absl::Status Update() {
    Partition* there = partitions_.Find(number_);
    if (there == nullptr) return NoSuch(number_);
    const Partition& wanted = request_.partition;
    const auto takes = [&](PartitionRequest::Field field) {
      return (request_.fields & field) != 0;
    };
    if (takes(PartitionRequest::kName)) there->name = wanted.name;
    if (takes(PartitionRequest::kIndex0)) there->index0 = wanted.index0;
    if (takes(PartitionRequest::kIpoib)) there->ipoib = wanted.ipoib;
    if (takes(PartitionRequest::kGroups)) there->groups = wanted.groups;
    if (takes(PartitionRequest::kMembers)) there->members = wanted.members;
    Normalise(there->members);
    Normalise(there->groups);
    return absl::OkStatus();
  }
  absl::Status Delete() {
    const Partition* there = partitions_.Find(number_);
    if (there == nullptr) return NoSuch(number_);
    if (number_ == kDefaultPartition)
      return InvalidArgument("the default partition cannot be deleted");
    partitions_.list.erase(partitions_.list.begin() + (there - partitions_.list.data()));
    return absl::OkStatus();
  }
  absl::Status AddMembers() {
    Partition* there = partitions_.Find(number_);
    if (there == nullptr) return NoSuch(number_);
    AppendMembers(request_.partition.members, there->members);
    Normalise(there->members);
    return absl::OkStatus();
  }
  absl::Status RemoveMembers() {
    Partition* there = partitions_.Find(number_);
    if (there == nullptr) return NoSuch(number_);
    absl::flat_hash_set<Subject> gone;
    for (const Member& member : request_.partition.members) gone.insert(SubjectOf(member));
    std::erase_if(there->members,
                  [&](const Member& member) { return gone.contains(SubjectOf(member)); });
    return absl::OkStatus();
  }

  const PartitionRequest& request_;
  Partitions partitions_;
  uint16_t number_;
};

std::string KeyOf(uint16_t number) { return fmt::format("{:#06x}", number); }

StoredRows RowsOf(const PartitionState& state) {
  StoredRows rows;
  for (const Partition& partition : state.partitions.list)
    rows[{kTable, KeyOf(partition.number)}] = TextOf(partition);
  for (uint16_t number : state.ever.List()) rows[{kEverTable, KeyOf(number)}] = "";
  rows[{kStateTable, "revision"}] = std::to_string(state.revision);
  if (!state.file_digest.empty()) rows[{kStateTable, "file"}] = state.file_digest;
  for (const PartitionState::Done& done : state.done)
    rows[{kDoneTable, fmt::format("{:016x}", done.number)}] =
        fmt::format("{:016x}/{:04x} {}", done.fingerprint, done.partition, done.request_id);
  return rows;
}

// "FINGERPRINT/PARTITION REQUEST_ID"; earlier versions wrote no partition.
bool ReadDone(std::string_view text, uint64_t number, PartitionState& state) {
  constexpr size_t kDigits = 16, kPartition = 5;
  const auto fingerprint = ParseHex(text.substr(0, kDigits));
  text.remove_prefix(std::min(text.size(), kDigits));
  std::optional<uint64_t> partition = 0;
  if (text.starts_with('/')) {
    partition = ParseHex(text.substr(1, kPartition - 1));
    text.remove_prefix(std::min(text.size(), kPartition));
  }
  if (!fingerprint || !partition || *partition > UINT16_MAX || text.size() < 2 || text[0] != ' ')
    return false;
  state.done.push_back(
      {std::string(text.substr(1)), *fingerprint, number, static_cast<uint16_t>(*partition)});
  return true;
}

bool IsPartitionRow(const RowKey& key) {
  return key.table == kTable || key.table == kEverTable || key.table == kStateTable ||
         key.table == kDoneTable;
}

}  // namespace

absl::StatusOr<PartitionOutcome> Apply(const PartitionRequest& request,
                                       std::shared_ptr<const PartitionState> before) {
  if (request.request_id.size() > kMaxPartitionRequestId)
    return InvalidArgument("a request_id of {} bytes, {} are possible", request.request_id.size(),
                           kMaxPartitionRequestId);
  PartitionOutcome outcome;
  outcome.before = before;
  outcome.number = request.partition.number;
  const uint64_t fingerprint = request.request_id.empty() ? 0
                               : request.fingerprint != 0 ? request.fingerprint
                                                          : FingerprintOf(request);
  for (const PartitionState::Done& done : before->done) {
    if (request.request_id.empty() || done.request_id != request.request_id) continue;
    if (done.fingerprint != fingerprint)
      return InvalidArgument("{}: \"{}\"", kRequestIdReused, request.request_id);
    outcome.after = before;
    outcome.existing = true;
    if (done.partition != 0) outcome.number = done.partition;
    return outcome;
  }
  FABRICD_RETURN_IF_ERROR(request.unread);
  if (request.revision && *request.revision != before->revision)
    return MakeStatus(absl::StatusCode::kAborted, "the partitions have changed meanwhile");
  Change change(request, *before);
  FABRICD_RETURN_IF_ERROR(change.Run());
  FABRICD_RETURN_IF_ERROR(CheckPartitions(change.partitions()));
  outcome.number = change.number();
  auto after = std::make_shared<PartitionState>(*before);
  if (change.partitions() != before->partitions) {
    after->partitions = std::move(change.partitions());
    ++after->revision;
    for (const Partition& partition : after->partitions.list) after->ever.Insert(partition.number);
  }
  if (!request.file_digest.empty()) after->file_digest = request.file_digest;
  if (!request.request_id.empty()) {
    const uint64_t number = after->done.empty() ? 1 : after->done.back().number + 1;
    after->done.push_back({request.request_id, fingerprint, number, outcome.number});
    if (after->done.size() > PartitionState::kMaxDone) after->done.pop_front();
  }
  outcome.after = std::move(after);
  return outcome;
}

absl::StatusOr<PartitionState> LoadPartitions(const StoredRows& rows) {
  PartitionState state;
  std::string text;
  for (const auto& [key, value] : rows) {
    if (!IsPartitionRow(key)) continue;
    bool good = true;
    if (key.table == kTable) {
      text += value;
    } else if (key.table == kEverTable) {
      const auto number = ParseHex(key.key);
      good = number && *number >= 1 && *number <= kLastPartition;
      if (good) state.ever.Insert(static_cast<uint16_t>(*number));
    } else if (key.table == kStateTable && key.key == "file") {
      state.file_digest = value;
    } else if (key.table == kStateTable) {
      const auto number = ParseNumber<uint64_t>(value);
      good = number && key.key == "revision";
      if (good) state.revision = *number;
    } else {
      const auto number = ParseHex(key.key);
      good = number && ReadDone(value, *number, state);
    }
    if (!good)
      return MakeStatus(absl::StatusCode::kDataLoss, "{} {}: no row of fabricd's", key.table,
                        key.key);
  }
  if (text.empty()) return state;
  ParsedPartitions parsed = ParsePartitions(text);
  if (!parsed.ok())
    return MakeStatus(absl::StatusCode::kDataLoss, "stored partitions: {}",
                      FaultsText(parsed.faults));
  state.partitions = std::move(parsed.partitions);
  for (const Partition& partition : state.partitions.list) state.ever.Insert(partition.number);
  return state;
}

RowChanges PartitionRows(const PartitionState& before, const PartitionState& after) {
  const StoredRows was = RowsOf(before);
  StoredRows is = RowsOf(after);
  RowChanges changes;
  for (const auto& [key, value] : was)
    if (!is.contains(key)) changes[key] = std::nullopt;
  for (auto& [key, value] : is) {
    const auto then = was.find(key);
    // The first state of all is nowhere yet.
    if (then == was.end() || then->second != value || before.revision == 0)
      changes[key] = std::move(value);
  }
  return changes;
}

}  // namespace fabricd::policy
