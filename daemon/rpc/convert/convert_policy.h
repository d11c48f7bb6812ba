// SPDX-License-Identifier: Apache-2.0
// Holds, readiness, consequences, conditions and damped links → messages of fabric.v1, and back
// what requests say: the only place that does this.
#pragma once

#include <optional>
#include <string>

#include "fabric/v1/remediation_service.pb.h"
#include "query/read_model.h"
#include "query/readiness.h"
#include "routing/repair/consequences.h"

namespace fabricd::rpc {

namespace pb = ::fabric::v1;

pb::HoldKind KindOf(policy::HoldKind kind);
// nullopt: unspecified or unknown.
std::optional<policy::HoldKind> KindOf(pb::HoldKind kind);
std::optional<policy::TargetKind> KindOf(pb::TargetKind kind);

// How long something is to last: positive, at most 100 years. INVALID_ARGUMENT of the field `ttl`.
absl::StatusOr<Duration> ReadTtl(const google::protobuf::Duration& ttl);

// What an operator names, as policy/target.h reads it. Errors carry their ErrorInfo.
absl::StatusOr<policy::HoldTarget> ResolveTarget(const query::ReadModel& model,
                                                 const std::string& text,
                                                 std::optional<policy::TargetKind> kind);

// The kinds of these holds, each once.
void AddKinds(const query::PolicyIndex::Holds& holds, google::protobuf::RepeatedField<int>* out);

// Without state and note.
void ToProto(const query::ReadModel& model, const policy::Hold& hold, pb::Hold* out);
void ToProto(const query::ReadModel& model, const policy::HoldStatus& status, pb::Hold* out);
void ToProto(const query::ReadModel& model, const routing::Consequences& consequences,
             pb::Consequences* out);
void ToProto(const policy::Condition& condition, pb::Condition* out);
// REQUIRES: both ends are in the model's snapshot.
void ToProto(const query::ReadModel& model, const policy::DampedLink& link, pb::DampedLink* out);
// REQUIRES: it was made of this model.
void ToProto(const query::ReadModel& model, const query::HostReadiness& host,
             pb::HostReadiness* out);

}  // namespace fabricd::rpc
