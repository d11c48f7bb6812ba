// SPDX-License-Identifier: Apache-2.0
// ForeignSm: a subnet manager of another make, as far as its peers can tell: its state machine is
// OpenSM's (3.3.23, as shared/wire/WIRE.md §9 and opensm on ibsim show it), in these too:
//   a handover that comes while it discovers is answered, and has no effect: it becomes what its
//   discovery says, STANDBY where it has read the sender as MASTER;
//   as STANDBY it polls the SM that it deferred to, and only when five polls, ten seconds apart,
//   have not found a master there it discovers again;
//   it ignores an SM whose SMInfo does not show its own SM_Key;
//   while it computes routes it answers nothing, with IsSM set;
//   as master it hands over to a higher one that stands by or discovers, and waits for a lower
//   master.
// Being a script, it learns of its peers by looking, but asks each for its SMInfo as a discovery
// does. As master it writes into forwarding tables what it pleases, so that whoever takes over
// finds tables that are not its own.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <vector>

#include "common/rng.h"
#include "mad/wire/sm_info.h"
#include "sim/simulation/simulation.h"

namespace fabricd::sim {

class ForeignSm : public Actor {
 public:
  struct Peer {
    PortRef host;
    Guid guid;
    uint8_t priority = 0;
    wire::SmState state = wire::SmState::kNotActive;
  };
  // Those that it can reach now.
  using Peers = std::function<std::vector<Peer>()>;

  ForeignSm(SimFabric& fabric, PortRef host, uint8_t priority, uint64_t seed, Peers peers);

  // It appears, discovering, with IsSM set; it goes, without a word.
  void Appear(Instant now);
  void Leave(Instant now);
  // It computes routes until then.
  void SetBusy(Instant until) { busy_until_ = until; }
  bool is_busy(Instant now) const { return now < busy_until_; }
  wire::SmState state() const { return info_.state; }

  PortRef host() const override { return host_; }
  void OnDelivery(Instant now, const Delivery& delivery) override;
  Instant NextDeadline() const override { return next_; }
  void OnTimer(Instant now) override;

 private:
  std::vector<Peer> WithKey(std::vector<Peer> peers) const;
  const Peer* Higher(const std::vector<Peer>& peers) const;
  void ActAsMaster(Instant now, const std::vector<Peer>& peers);
  void Look(Instant now, const std::vector<Peer>& peers);
  void Decide(Instant now);
  void PollMaster(Instant now, const std::vector<Peer>& peers);
  void Ask(Instant now, const Peer& peer);
  void Become(wire::SmState state) { info_.state = state, read_.reset(); }
  void Answer(Instant now, const mad::IncomingMad& request, wire::Smp smp);
  void HandOver(Instant now, const Peer& to);
  void WriteSomeTable(Instant now);
  void Send(Instant now, wire::Smp smp, const wire::DirectedPath& path);

  SimFabric& fabric_;
  const PortRef host_;
  const Peers peers_;
  Rng rng_;
  wire::SmInfo info_;
  Instant busy_until_ = Instant::min();
  bool handing_over_ = false;
  std::set<Guid> keyless_;                 // They have not shown its SM_Key.
  std::optional<std::vector<Peer>> read_;  // By the discovery under way.
  Guid deferred_to_;                       // As STANDBY: who is polled.
  int missed_polls_ = 0;
  Instant next_poll_ = kNever;
  uint32_t next_id_ = 1;
  Instant next_ = kNever;
};

}  // namespace fabricd::sim
