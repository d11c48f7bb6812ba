// SPDX-License-Identifier: Apache-2.0
// ForeignSm: a subnet manager of another make, as far as its peers can tell. It follows the state
// machine of IBA vol 1 §14.4.1 and answers SMInfo; being a script, it learns of its peers by
// looking, not by discovery. As master it writes into forwarding tables what it pleases, so that
// whoever takes over finds tables that are not its own.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "common/rng.h"
#include "mad/wire/sm_info.h"
#include "sim/run/simulation.h"

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
  wire::SmState state() const { return info_.state; }

  PortRef host() const override { return host_; }
  void OnDelivery(Instant now, const Delivery& delivery) override;
  Instant NextDeadline() const override { return next_; }
  void OnTimer(Instant now) override;

 private:
  void Act(Instant now);
  void Answer(Instant now, const mad::IncomingMad& request, wire::Smp smp);
  void HandOver(Instant now, const Peer& to);
  void WriteSomeTable(Instant now);
  void Send(Instant now, wire::Smp smp, const wire::DirectedPath& path);

  SimFabric& fabric_;
  const PortRef host_;
  const Peers peers_;
  Rng rng_;
  wire::SmInfo info_;
  bool handing_over_ = false;
  int masterless_ = 0;  // Looks in a row that found no master.
  uint32_t next_id_ = 1;
  Instant next_ = kNever;
};

}  // namespace fabricd::sim
