// SPDX-License-Identifier: Apache-2.0
#include "daemon/rpc/streams/log_stream.h"

#include <algorithm>
#include <set>

#include "common/status.h"

namespace fabricd::rpc {
namespace {

using daemon::EventLog;

// What events call it by: "node12/mlx5_3" is "node12 mlx5_3" there.
std::string EventName(std::string name) {
  if (const size_t slash = name.find('/'); slash != std::string::npos) name[slash] = ' ';
  return name;
}

// Whether the ring has an event about it.
bool IsRemembered(const EventLog& log, const fabric::EventSubjects& about) {
  const auto begin = log.BeginAt(log.oldest());
  const auto events = begin.ok() ? log.After(*begin, SIZE_MAX) : begin.status();
  return events.ok() && std::any_of(events->begin(), events->end(),
                                    [&](const auto& record) { return about.Has(record->event); });
}

absl::Status TooOld(const EventLog& log, const absl::Status& status) {
  if (status.code() == absl::StatusCode::kInvalidArgument)
    return BadField("resource_version", Message(status));
  return MakeError(absl::StatusCode::kOutOfRange, "RESOURCE_VERSION_TOO_OLD",
                   Message(status) + "; list again and watch from there",
                   {{"oldest", log.oldest()}});
}

}  // namespace

absl::StatusOr<EventNames> SubjectsNamed(
    daemon::Models& models, const google::protobuf::RepeatedPtrField<std::string>& names) {
  EventNames subjects;
  const auto model = models.Current();
  std::set<Guid> guids;
  for (const std::string& name : names) {
    if (const Guid guid = fabric::ParseGuid(name)) {
      guids.insert(guid);
      continue;
    }
    // Its NICs that are gone have no GUID here.
    if (const fabric::Host* host = model->hosts->Find(name)) {
      for (const fabric::HostPort& port : host->ports)
        guids.insert(model->snapshot().node(port.port.node)->guid());
      subjects.about.names.push_back(name);
      continue;
    }
    const auto node = model->FindNode(name);
    if (node.ok()) {
      guids.insert((*node)->guid());
      continue;
    }
    if (!absl::IsNotFound(node.status())) return node.status();
    if (subjects.absent.ok()) subjects.absent = node.status();
    subjects.about.names.push_back(EventName(name));
  }
  subjects.about.nodes.assign(guids.begin(), guids.end());
  return subjects;
}

absl::StatusOr<uint64_t> BeginAt(const EventLog& log, const EventNames& names,
                                 const std::string& version) {
  if (!names.absent.ok() && !IsRemembered(log, names.about)) return names.absent;
  const auto after = log.BeginAt(version);
  if (!after.ok()) return TooOld(log, after.status());
  return *after;
}

}  // namespace fabricd::rpc
