// SPDX-License-Identifier: Apache-2.0
// sweep/observe: reading the fabric and its changes.
//
// Discovery: reads a whole subnet into a SnapshotBuilder by directed routes (the DISCOVERING state
// of IBA vol 1 §14.4.2). It sends only Gets, so a subnet that belongs to another SM is not
// disturbed.
//
// It proceeds by hop count. The ports of switches at n hops are probed once every probe of n hops
// has a response or the wait for it has ended, so each link is probed from one end only. Everything
// of one hop count is pipelined. NodeInfo and PortInfo, which the next hop needs, go first.
#pragma once

#include <string>
#include <vector>

#include <absl/container/flat_hash_map.h>
#include <absl/container/flat_hash_set.h>

#include "common/time.h"
#include "sweep/interface/activity.h"
#include "sweep/interface/view.h"
#include "sweep/observe/ground.h"
#include "sweep/observe/hop_schedule.h"
#include "sweep/observe/unresponsive.h"

namespace fabricd::sweep {

// An attribute that a responsive device did not return.
struct Unread {
  PortRef port;
  wire::AttributeId attribute = wire::AttributeId::kNone;
  uint32_t modifier = 0;
};

// Once any of them can be read, a sweep reads them all. SMInfo is kept beyond that: an election
// needs it.
inline constexpr size_t kMaxUnread = 1024;

class Discovery {
 public:
  // `ground` must outlive this. `local_port` is the SM's port.
  Discovery(const Ground& ground, PortNum local_port, Activity activity)
      : ground_(ground), local_port_(local_port), activity_(activity), unanswered_(ground) {}

  // Discovers the whole subnet from the SM's own port.
  void Start(Instant now);
  // Discovers only what is behind these ports of known switches. Other known nodes are assumed
  // unchanged. Nodes directly behind the ports are checked for changes.
  void StartBeyond(const std::vector<PortRef>& ports, PortRef local, Instant now);
  void OnCompletion(const mad::Completion& completion, Instant now);
  void OnTimer(Instant now);
  // The port is down: pending probes through it are given up.
  void OnLinkLost(PortRef port);
  // The node has another route: pending probes through it take that route.
  void OnMoved(NodeIndex node, const wire::DirectedPath& from, const wire::DirectedPath& to);
  Instant NextDeadline() const { return hops_.deadline(); }

  // Nothing is outstanding; Finish() may be called.
  bool done() const { return started_ && outstanding_ == 0 && hops_.empty(); }
  // Removes from the builder nodes that were not seen (after Start()) or cannot be used. Nodes that
  // did not respond although their link is ACTIVE stay (unresponsive.h). Call once.
  void Finish(Instant now);
  // After StartBeyond(), unsorted: the nodes behind the ports, and all nodes beyond them.
  std::vector<NodeIndex> found() const;
  // The node was not present before, or has restarted since.
  bool IsNew(NodeIndex node) const { return new_.contains(node); }
  // Known switches whose PortStateChange is set, and whose ports were not read.
  const std::vector<NodeIndex>& dirty() const { return dirty_; }
  // The node behind the port has responded.
  bool IsLinked(PortRef port) const { return linked_.contains(port); }
  // The node behind the port has not, and stays. After Finish().
  bool IsUnresponsive(PortRef port) const;

  // True: the SM's own node did not respond. Nothing else is known.
  bool local_failed() const { return local_failed_; }
  PortRef local() const { return local_; }
  const std::vector<RemoteSm>& remote_sms() const { return remote_sms_; }
  // To be requested again: their devices respond. Unresponsive neighbours are visible in the
  // snapshot instead.
  const std::vector<Unread>& unread() const { return unread_; }
  size_t nodes_found() const { return seen_.size(); }

 private:
  enum class Ask : uint8_t {
    kProbe,
    kDescription,
    kSwitchInfo,
    kPortInfo,
    kPKeyTable,
    kSmInfo,
    kRecheck,
    kManagementPort,
    kPortStates,
    kLink  // Of a known node that did not respond.
  };
  struct Probe {
    PortRef from;  // None: the SM's own node.
    uint16_t hops = 0;
    wire::DirectedPath path;
    mad::DeviceId device = 0;  // Device number for the engine.
    // kRecheck: the new node that claims the port which `from` is already linked to.
    PortRef rival_from;
    wire::NodeInfo rival;
  };

  void Submit(mad::SmpRequest request, Ask ask, PortRef subject, uint8_t priority,
              uint32_t number = 0);
  KeySearch::Cable CableOf(PortRef from) const;
  // The M_Keys to try on whatever is behind that port; none: on this SM's own.
  std::vector<MKey> KeysBehind(PortRef from);
  void SendProbe(Probe probe, Ask ask);
  void OnProbe(const Probe& probe, const mad::Completion& completion, Instant now);
  void OnRecheck(const Probe& probe, const mad::Completion& completion);
  void OnNoAnswer(const Probe& probe, const mad::Completion& completion, Instant now);
  bool StaysAsKnown(PortRef port, const mad::Completion& completion, Instant now);
  void OnLink(PortRef from, const mad::Completion& completion);
  void Arrive(const Probe& probe, const wire::NodeInfo& info);
  void Forget(NodeIndex node);
  void ArriveAgain(const Probe& probe, PortRef there);
  void AskNode(NodeIndex node);
  void AskEndPort(PortRef port, bool extended_speeds);
  void AskPortInfo(PortRef port, bool extended_speeds);
  void AskPKeys(PortRef port, uint16_t cap);
  void OnSwitchInfo(NodeIndex node, const mad::Completion& completion, Instant now);
  void OnManagementPort(PortRef port, const mad::Completion& completion);
  void OnRestart(NodeIndex node);
  void OnPortInfo(PortRef port, const mad::Completion& completion, Instant now);
  void OnPortStates(NodeIndex node, const mad::Completion& completion);
  void OnSmInfo(PortRef port, const mad::Completion& completion);
  void AfterPortInfo(PortRef port);
  void AskSmInfo(PortRef port);
  void AskPorts(NodeIndex node);
  bool MayProbe(PortRef port) const;
  void ReleaseHops(Instant now);
  ProblemSubject SubjectOf(PortRef port) const;
  bool CheckNodeInfo(const wire::NodeInfo& info, PortRef from);
  void RemoveUnusable(NodeIndex node);
  void RemoveUnconfirmedLinks(const fabric::Node& node);

  const Ground& ground_;
  const PortNum local_port_;
  const Activity activity_;

  bool started_ = false;
  bool beyond_ = false;
  bool local_failed_ = false;
  PortRef local_;
  size_t outstanding_ = 0;
  std::vector<Probe> probes_;  // By the context's number.
  HopSchedule hops_;
  absl::flat_hash_map<NodeIndex, uint16_t> seen_;  // In this discovery, with their hop counts.
  absl::flat_hash_set<NodeIndex> new_;
  std::vector<NodeIndex> dirty_;
  absl::flat_hash_map<PortRef, PortRef> linked_;  // In this discovery, both directions.
  absl::flat_hash_set<PortRef> asked_;            // End ports.
  absl::flat_hash_set<NodeIndex> failed_;         // Switches without SwitchInfo.
  absl::flat_hash_set<NodeIndex> late_;           // Their NodeInfo needed a retry.
  std::vector<RemoteSm> remote_sms_;
  std::vector<Unread> unread_;
  UnansweredLinks unanswered_;
};

}  // namespace fabricd::sweep
