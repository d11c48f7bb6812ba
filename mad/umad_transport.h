// SPDX-License-Identifier: Apache-2.0
// UmadTransport: the Transport of a real port, by libibumad (the kernel's ib_umad, or ibsim under
// its preload shim), with libibverbs for the port's asynchronous events. Only this class and
// umad_ports include these libraries.
//
// Threads: one receiver per umad handle (SMPs with traps; SA; telemetry) and, where the device has
// a verbs context, one for its events. Each ends within kPollInterval of Stop(). Between Start and
// Stop, Send is safe from any thread.
//
// The only blocking call is umad_recv: under the shim a handle is no file descriptor, so poll or
// epoll on several of them is not possible (DESIGN §3). Requests carry the timeout of the attempt
// and retries 0. The kernel keeps the match, returns the request with ETIMEDOUT, and owns the upper
// half of the transaction id of requests. The kernel does RMPP for the SA class, with whole
// payloads in both directions.
//
// The shim's sockets hold some 330 MADs in both directions together. With more in flight, the shim
// and ibsim deadlock. So on ibsim, Send accepts only a few of telemetry's MADs at once.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <absl/status/statusor.h>

#include "common/sm_mode.h"
#include "mad/transport.h"
#include "mad/umad_ports.h"

struct ibv_context;

namespace fabricd::mad {

class UmadTransport final : public Transport {
 public:
  static constexpr std::chrono::milliseconds kPollInterval{100};

  // Finds the port. Errors tell operators what to do. Opens nothing yet. In standby mode there is
  // no agent for requests to the SA and for traps, in observe mode none for any request: the port
  // stays free for another SM.
  static absl::StatusOr<std::unique_ptr<UmadTransport>> Open(const UmadChoice& choice,
                                                             SmMode mode = SmMode::kManage);
  ~UmadTransport() override;

  absl::Status Start(Sink sink) override;
  void Stop() override;
  absl::Status Send(const OutgoingMad& mad) override;
  absl::Status AgentStatus(Agent agent) const override;
  absl::Status PortStatus() const override;
  absl::Status SetIsSm(bool is_sm) override;
  LocalPort local_port() const override { return local_; }

 private:
  static constexpr size_t kAgents = 5;  // Number of values of Agent.
  // A umad handle, shared by some of the agents.
  struct Channel {
    int handle = -1;
    // Requests sent without a response or report so far.
    std::atomic<int> outstanding{0};
  };
  struct AgentState {
    int id = -1;
    absl::Status refusal;  // Why there is no agent.
  };

  UmadTransport(LocalPort local, bool on_ibsim, SmMode mode);

  absl::Status OpenHandle(int& handle) const;
  absl::Status Register(Agent agent);
  void OpenTelemetry();
  Channel& ChannelOf(Agent agent);
  void StartReceiver(const Channel& channel, size_t expected_bytes, const char* name);
  void Receive(const Channel& channel, size_t expected_bytes);
  void Append(uint8_t* umad, int length, std::vector<Incoming>& burst);
  void Report(LocalPortEvent::Kind kind);
  void ReportLoss(std::string cause);
  bool TakeEvents(ibv_context* context);
  void StartEventWatcher();
  void WatchEvents();

  const LocalPort local_;
  const bool on_ibsim_;
  const SmMode mode_;
  Sink sink_;
  Channel smp_, sa_, telemetry_;
  std::array<AgentState, kAgents> agents_;
  std::atomic<bool> stopping_{false};
  mutable std::mutex loss_mutex_;
  absl::Status loss_;  // The first one; OK: the port is there.
  std::vector<std::thread> threads_;
  int stop_fd_ = -1;  // Wakes the watcher of events.
  std::mutex is_sm_mutex_;
  int is_sm_fd_ = -1;
};

}  // namespace fabricd::mad
