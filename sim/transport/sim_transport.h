// SPDX-License-Identifier: Apache-2.0
// sim/transport: a simulated port for programs that run in real time.
//
// SimTransport: mad::Transport over a SimFabric by the clock of the process (`--fabric sim:…`). One
// worker thread owns the fabric's time: it takes sends in batches from a bounded queue, and the
// sink is called on it. Faults come through sim::Control from any thread. A send that the queue has
// no room for is refused (kUnavailable). Further programs may sit on other hosts of the same
// fabric.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <absl/status/statusor.h>

#include "fabric/snapshot.h"
#include "mad/transport.h"
#include "sim/fabric/control.h"
#include "sim/fabric/sim_fabric.h"

namespace fabricd::sim {

class SimTransport final : public mad::Transport, public Control {
 public:
  struct Options {
    // The host port to sit on, as SimFabric::FindHostPort takes it; empty: the first CA port.
    std::string host;
    SimOptions fabric;
  };
  // kNotFound: no such host, or the topology has no CA.
  static absl::StatusOr<std::unique_ptr<SimTransport>> Create(
      const fabric::FabricSnapshot& topology, Options options);
  ~SimTransport() override;

  absl::Status Start(Sink sink) override;
  void Stop() override;
  absl::Status Send(const mad::OutgoingMad& mad) override;
  absl::Status SetIsSm(bool is_sm) override;
  mad::LocalPort local_port() const override;

  absl::Status Unlink(const std::string& node, PortNum port) override;
  absl::Status Link(const std::string& node, PortNum port) override;
  absl::Status Connect(const std::string& node_a, PortNum port_a, const std::string& node_b,
                       PortNum port_b) override;
  absl::Status Reboot(const std::string& node) override;
  absl::Status SetErrors(const std::string& node, PortNum port, const PortErrors& errors) override;
  absl::Status SetPerformance(const std::string& node, const PerformanceOptions& options) override;
  absl::Status SetClockRate(double rate) override;
  absl::Status StartTraffic(const TrafficJob& job) override;
  absl::Status StopTraffic(const std::string& name) override;
  std::vector<TrafficReport> ListTraffic() override;
  std::vector<SimCable> ListCables() override;
  std::vector<SimNode> ListNodes() override;

  // Another program on a host port that has none: a transport of its own, which needs this one
  // running. Stop() it, or destroy it, before this one. kNotFound, kAlreadyExists.
  absl::StatusOr<std::unique_ptr<mad::Transport>> OpenProgram(const std::string& host_port);
  // What the devices counted so far.
  SimStats stats();

 private:
  struct Impl;
  class Program;
  explicit SimTransport(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace fabricd::sim
