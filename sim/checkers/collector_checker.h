// SPDX-License-Identifier: Apache-2.0
// CollectorChecker: what must hold of a telemetry::Collector whatever the fabric does:
//   clear    it sends Gets only, and none with a bit that clears
//   device   at most two of its requests to a device are in flight
//   smp      at most one of them is a vendor SMP, and none is sent while the core has SMPs
//   stale    what a view shows as fresh was read within three intervals
//   count    a total is never more than what the device has counted
// The first three are checked as MADs are sent, the others when CheckView is called.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "sim/fabric/sim_fabric.h"
#include "telemetry/view.h"

namespace fabricd::sim {

class CollectorChecker : public SimObserver {
 public:
  // `host`: the port by which the collector sends.
  CollectorChecker(SimFabric& fabric, PortRef host) : fabric_(fabric), host_(host) {}

  void OnSend(Instant now, PortRef host, const mad::OutgoingMad& mad) override;
  void OnGmpServed(const GmpServed& served) override;
  void OnDelivery(const Delivery& delivery) override;

  void SetCoreHasSmps(bool has) { core_has_smps_ = has; }
  // To be called before the port's counters are cleared, or lost by a restart.
  void BeforeLoss(Instant now, PortRef port);
  void CheckView(Instant now, const telemetry::TelemetryView& view);

  // "checker: what", at most 100.
  const std::vector<std::string>& faults() const { return faults_; }

 private:
  struct InFlight {
    uint32_t destination = 0;  // LID; a device here has one.
    bool is_smp = false;
  };
  void Fault(std::string text);

  SimFabric& fabric_;
  const PortRef host_;
  std::map<TransactionId, InFlight> in_flight_;
  std::map<uint32_t, int> to_device_;
  int smps_ = 0;
  bool core_has_smps_ = false;
  std::map<PortRef, Instant> read_at_;  // A response about its traffic left the device.
  std::map<PortRef, std::map<Counter, uint64_t>> before_loss_;
  std::vector<std::string> faults_;
};

}  // namespace fabricd::sim
