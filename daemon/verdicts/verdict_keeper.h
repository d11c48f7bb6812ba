// SPDX-License-Identifier: Apache-2.0
// daemon/verdicts: verdicts about links, what follows from them, and who reads them.
//
// VerdictKeeper: assesses all links from published views, publishes what it found, and says which
// holds are to be made and taken back, what is to be stored and which events to tell. It has no
// thread and no clock: VerdictThread runs it.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <absl/container/flat_hash_map.h>
#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include "common/stored_row.h"
#include "daemon/base/backend.h"
#include "fabric/event.h"
#include "policy/options.h"
#include "policy/verdict/assessor.h"
#include "policy/verdict/down_memory.h"
#include "policy/verdict/responder.h"
#include "policy/verdict/verdict_rows.h"
#include "query/verdict_view.h"

namespace fabricd::daemon {

struct VerdictOptions {
  bool enabled = true;
  Duration interval = std::chrono::seconds(60);
  policy::AssessorOptions assessor;
  policy::ResponderOptions responder;
  std::vector<policy::ConditionOptions::Exclusion> exclude;  // Nodes that nothing is done about.
};

// What there is to assess, all at one time.
struct VerdictInputs {
  std::shared_ptr<const telemetry::TelemetryView> telemetry;
  std::shared_ptr<const sweep::FabricView> fabric;
  Instant now;
  policy::WallMs wall = 0;  // `now` on the wall clock.
};

struct VerdictEffects {
  struct Creation {
    policy::LinkKey link;
    sweep::CreateHold command;
  };
  std::shared_ptr<const query::VerdictView> publish;  // Null: as before.
  std::vector<fabric::FabricEvent> events;
  std::vector<Creation> create;  // Each is answered by OnHoldAnswer().
  std::vector<sweep::DeleteHold> remove;
};

class VerdictKeeper {
 public:
  // Of one assessment; beyond it one event says how many more there were.
  static constexpr size_t kMostEvents = 256;

  // `stored` is what was durable. The names outlive it.
  VerdictKeeper(VerdictOptions options, const fabric::HostPatterns& patterns,
                const fabric::NodeNameMap& names, policy::StoredVerdicts stored);

  void SetOptions(VerdictOptions options, Instant now, policy::WallMs wall);
  const VerdictOptions& options() const { return options_; }

  // What the owner of a shared state has stored, where this node waits beside it. From then on that
  // is shown, and nothing is assessed or stored.
  void Follow(policy::StoredVerdicts stored);
  bool follows() const { return follows_; }
  VerdictEffects Assess(const VerdictInputs& inputs);
  void OnHoldAnswer(const policy::LinkKey& link, const absl::StatusOr<uint64_t>& hold, Instant now);
  // kNotFound: no link there. kFailedPrecondition: no bad verdict. An event tells of it.
  absl::Status Do(const VerdictCommand& command, const VerdictInputs& inputs,
                  VerdictEffects& effects);
  // The link of the port with all rows and evidence; null: there is none whose ends are both read.
  std::shared_ptr<const query::VerdictRecord> Evaluate(PortRef port, const VerdictInputs& inputs);

  // What is to be durable.
  StoredRows Rows(Instant now, policy::WallMs wall) const;

 private:
  struct Assessed;  // One assessment under way.
  void Restore(Instant now, policy::WallMs wall);
  bool IsReady(const VerdictInputs& inputs) const;
  // Of each link, with the link downs that processes before this one have counted.
  void VisitLinks(const VerdictInputs& inputs, policy::Assessor::EachLink each);
  void FindHosts(const std::shared_ptr<const fabric::FabricSnapshot>& snapshot);
  void AssessLinks(Assessed& assessed);
  void Respond(Assessed& assessed);
  policy::LinkFacts FactsOf(const Assessed& assessed, size_t index) const;
  bool IsRedundant(const Assessed& assessed, PortRef a, PortRef b) const;
  bool IsExcluded(const Assessed& assessed, size_t index) const;
  void MakeView(Assessed& assessed);
  void EmitLinkEvents(const query::VerdictView& view, VerdictEffects& effects, Instant now) const;
  void EmitCauseEvents(const query::VerdictView& view, VerdictEffects& effects, Instant now) const;
  std::string NameOf(PortRef port, const fabric::FabricSnapshot& snapshot) const;
  fabric::FabricEvent EventOf(const char* type, const query::VerdictRecord& record,
                              const fabric::FabricSnapshot& snapshot, Instant now) const;
  std::string CauseText(const policy::CommonFinding& finding,
                        const fabric::FabricSnapshot& snapshot) const;

  VerdictOptions options_;
  const fabric::HostPatterns& patterns_;
  const fabric::NodeNameMap& names_;
  std::optional<policy::StoredVerdicts> stored_;  // Until the first assessment.
  bool follows_ = false, is_stored_new_ = false;
  policy::Assessor assessor_;
  policy::DownMemory downs_;
  policy::Responder responder_;
  bool was_standby_ = false;
  std::shared_ptr<const fabric::FabricSnapshot> hosts_of_;
  fabric::HostTable hosts_;                                               // Of hosts_of_.
  std::shared_ptr<const query::VerdictView> view_ = query::NoVerdicts();  // The last one.
};

}  // namespace fabricd::daemon
