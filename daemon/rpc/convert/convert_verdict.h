// SPDX-License-Identifier: Apache-2.0
// Verdicts, common causes and congestion → messages of fabric.v1, and back what requests say of
// them: the only place that does this.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <absl/status/statusor.h>

#include "fabric/event.h"
#include "fabric/v1/verdict_service.pb.h"
#include "query/read_model.h"
#include "query/verdict_view.h"

namespace fabricd::rpc {

namespace pb = ::fabric::v1;

// What is read of a view of verdicts. Its snapshot may be older or newer than the model's.
struct Verdicts {
  const query::ReadModel& model;
  const query::VerdictView& view;

  // A port of the view's snapshot in the model's; none: its node is gone.
  PortRef InModel(PortRef port) const;
};

google::protobuf::Duration ToDuration(Duration duration);

// nullopt: no verdict has this name.
std::optional<policy::Verdict> VerdictNamed(std::string_view name);
// "NOISY_PHY, FLAPPING, …", the worst first; HEALTHY is not among them.
std::string VerdictWords();

// The port that is named: NODE/PORT, a port GUID, an HCA or a host with one port. Of what has
// several, INVALID_ARGUMENT with AMBIGUOUS_NAME lists them as they are to be written. Other errors
// carry their ErrorInfo too.
absl::StatusOr<PortRef> FindLinkPort(const query::ReadModel& model, const std::string& name);

// "node12/mlx5_3/1", "leaf1/7". Empty: neither snapshot has the node.
std::string LinkPortName(const Verdicts& verdicts, PortRef port);

enum class RowsShown { kNone, kRaised, kAll };
void ToProto(const Verdicts& verdicts, const query::VerdictRecord& record, RowsShown rows,
             pb::Verdict* out);
void ToProto(const Verdicts& verdicts, const policy::CommonFinding& finding, pb::CommonCause* out);
// At most `max_victims` of its victims, and their number.
void ToProto(const Verdicts& verdicts, const telemetry::CongestionRoot& root, size_t max_victims,
             pb::CongestionTree* out);
// What an event of a verdict tells by itself; its time and version are left out. False: the event
// is none of these.
bool ToProto(const Verdicts& verdicts, const fabric::FabricEvent& event, pb::VerdictChange* out);

}  // namespace fabricd::rpc
