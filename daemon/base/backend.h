// SPDX-License-Identifier: Apache-2.0
// daemon/base: what the other rooms of the daemon share: the backend, models, access, queues,
// clocks.
//
// What the RPC services may ask of the daemon. Reads come from published views; mutations are
// posted to the core and completed on another thread. Every method may be called from any thread.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include "daemon/base/other_master.h"
#include "daemon/base/sharing_node.h"
#include "fabric/hosts.h"
#include "fabric/names.h"
#include "sa/state/client_state.h"
#include "sa/view/view.h"
#include "sweep/interface/events.h"
#include "sweep/interface/view.h"
#include "telemetry/collector.h"
#include "telemetry/view.h"

namespace fabricd::query {
struct VerdictRecord;
struct VerdictView;
}  // namespace fabricd::query
namespace fabricd::sim {
class Control;
}

namespace fabricd::daemon {

class AuditLog;
class ConfigKeeper;
class EventLog;

// What can be asked of the core about holds and damping, and its answer: the outcome is set when
// something came of it, for a dry run also beside the refusal of a guard.
using HoldCommand =
    std::variant<sweep::CreateHold, sweep::DeleteHold, sweep::AckHold, sweep::ClearDamping>;
using HoldDone = std::function<void(absl::Status, std::shared_ptr<const sweep::HoldOutcome>)>;

// The answer to a request about partitions; the outcome is null where nothing came of it.
using PartitionsDone =
    std::function<void(absl::Status, std::shared_ptr<const policy::PartitionOutcome>)>;

// What can be asked of the core about its place among the SMs of the subnet, and its answer; the
// outcome is null where nothing came of it.
using MastershipCommand = std::variant<sweep::SetPriority, sweep::StepDown, sweep::AcceptTakeover>;
using MastershipDone =
    std::function<void(absl::Status, std::shared_ptr<const sweep::MastershipOutcome>)>;

// What Subnet Administration answers from; null before there is any.
struct SaReads {
  std::shared_ptr<const sa::SaView> view;
  std::shared_ptr<const sa::ClientState> clients;
};

// A port's history; nullopt: it is not kept, as telemetry is off, full or stopping.
using HistoryDone = std::function<void(std::optional<telemetry::HistoryAnswer>)>;
// Every port has been read once more, or (kUnavailable) is not.
using PolledDone = std::function<void(absl::Status)>;

// Something is said of the verdict about the link of `port`, or of all.
struct VerdictCommand {
  enum class Kind : uint8_t {
    kAcknowledge,   // It was seen. Changes nothing.
    kOverrule,      // No action follows from it, and a hold that did is taken back.
    kRelease,       // The link is healthy, says an operator.
    kResetBreaker,  // Actions may follow again; no port.
  };
  Kind kind = Kind::kAcknowledge;
  PortRef port;  // Either end, in the snapshot of verdicts().
  std::string by, reason;
  std::optional<Duration> ttl;  // Of kOverrule; nullopt: until the verdict ends.
};
// The link as it is now; null: it is about no link. kFailedPrecondition: there is no bad verdict
// that it could be about. kUnavailable: it is not durable, as fabricd is stopping.
using VerdictDone = std::function<void(absl::Status, std::shared_ptr<const query::VerdictRecord>)>;

class Backend {
 public:
  virtual ~Backend() = default;
  // Never null.
  virtual std::shared_ptr<const sweep::FabricView> view() const = 0;
  // Hosts, HCAs and rails of that view's snapshot (cached per snapshot generation).
  virtual std::shared_ptr<const fabric::HostTable> hosts(const sweep::FabricView& view) const = 0;
  virtual const fabric::NodeNameMap& node_name_map() const = 0;
  // How hosts() reads descriptions.
  virtual const fabric::HostPatterns& host_patterns() const = 0;
  // Starts a sweep; `done` is called when it has ended (OK), or at once with kUnavailable when the
  // core is stopping or its inbox is full, kFailedPrecondition when standby and `heavy`.
  virtual void PostSweep(bool heavy, std::function<void(absl::Status)> done) = 0;
  // Hands a command about a hold to the core; its `command` is filled in. `done` is called once it
  // is durable or refused, or at once with kUnavailable when the core is stopping or its inbox is
  // full.
  virtual void PostHold(HoldCommand command, HoldDone done) = 0;
  // The same of a request about partitions.
  virtual void PostPartitions(sweep::ChangePartitions command, PartitionsDone done) = 0;
  // The same of a command about the mastership; stepping down is `done` when another is master.
  virtual void PostMastership(MastershipCommand command, MastershipDone done) = 0;
  // What has happened. Lives as long as the backend.
  virtual EventLog& events() = 0;
  // What callers changed. Lives as long as the backend, as does:
  virtual AuditLog& audit() = 0;
  virtual ConfigKeeper& configuration() = 0;
  virtual SaReads sa() const = 0;
  // What the counters of all ports say. Never null.
  virtual std::shared_ptr<const telemetry::TelemetryView> telemetry() = 0;
  // Done on the collector's thread, or at once where it is full or stopping.
  virtual void ReadHistory(PortRef port, Duration span, HistoryDone done) = 0;
  virtual void PollCounters(PolledDone done) = 0;
  // Never null.
  virtual std::shared_ptr<const query::VerdictView> verdicts() const = 0;
  // `done` is called once it is durable, on another thread, or at once with kUnavailable.
  virtual void PostVerdict(VerdictCommand command, VerdictDone done) = 0;
  // Evaluates the link of this port with all rows and evidence, also where it is HEALTHY.
  // kNotFound: no link there whose two ends are read. kUnavailable as above.
  virtual void EvaluateLink(PortRef port, VerdictDone done) = 0;
  // OpenSM-format dump files (DESIGN §4) as name → text, of the current view.
  virtual absl::StatusOr<std::map<std::string, std::string>> MakeDumps() const = 0;
  // Why what changes durable state is refused for now; OK: it is not.
  virtual absl::Status store_writable() const { return absl::OkStatus(); }
  // The node that manages while this one waits for the shared state; nullopt: it does not wait.
  virtual std::optional<OtherMaster> other_master() const { return std::nullopt; }
  // True: it owns the shared state, its own port has no link, and another node is there to take
  // over.
  virtual bool is_cut_off() const { return false; }
  // The nodes that share the durable state, this one too. Empty: it is of this node alone.
  virtual std::vector<SharingNode> sharing_nodes() const { return {}; }
  // The number of the epoch that this node holds of the shared state; 0: none.
  virtual int64_t epoch() const { return 0; }
  // nullopt: the durable state is of this node alone.
  virtual std::optional<SharedStateAge> shared_state_age() const { return std::nullopt; }
  // Where the flight recorder writes; empty: it does not.
  virtual std::string recordings() const { return {}; }
  // Null unless the fabric is simulated.
  virtual sim::Control* sim_control() = 0;
};

}  // namespace fabricd::daemon
