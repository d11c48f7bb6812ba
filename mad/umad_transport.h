// SPDX-License-Identifier: Apache-2.0
// UmadTransport: the Transport of a real port, by libibumad (the kernel's ib_umad, or ibsim under
// its preload shim) with libibverbs for the port's asynchronous events. Nothing but this and
// umad_ports includes either library.
//
// Threads: one receiver per umad handle (SMPs with traps; SA; telemetry) and, where the device has
// a verbs context, one for its events. Each ends within kPollInterval of Stop(). Between Start and
// Stop, Send is safe from any thread.
//
// Only umad_recv is waited in: under the shim the handle is no file descriptor, so poll or epoll on
// several of them is not possible (DESIGN §3). Requests carry the attempt's time-out and retries
// 0; the kernel keeps the match, gives back the request with ETIMEDOUT, and owns the upper half of
// the transaction id of requests. RMPP of the SA class is the kernel's: whole payloads both ways.
//
// The shim's sockets take some 330 MADs in both directions together; with more on the wire it and
// ibsim wait for each other for ever. So on ibsim Send takes few of telemetry's at once.
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

#include "mad/transport.h"
#include "mad/umad_ports.h"

namespace fabricd::mad {

class UmadTransport final : public Transport {
 public:
  static constexpr std::chrono::milliseconds kPollInterval{100};

  // Finds the port; errors say what an operator can do about it. Opens nothing yet.
  static absl::StatusOr<std::unique_ptr<UmadTransport>> Open(const UmadChoice& choice);
  ~UmadTransport() override;

  absl::Status Start(Sink sink) override;
  void Stop() override;
  absl::Status Send(const OutgoingMad& mad) override;
  absl::Status AgentStatus(Agent agent) const override;
  absl::Status SetIsSm(bool is_sm) override;
  LocalPort local_port() const override { return local_; }

 private:
  static constexpr size_t kAgents = 5;  // As many as Agent has values.
  struct VerbsContext;
  // A umad handle, which some of the agents share.
  struct Channel {
    int handle = -1;
    // Requests sent that neither response nor report has ended.
    std::atomic<int> outstanding{0};
  };
  struct AgentState {
    int id = -1;
    absl::Status refusal;  // Why it has none.
  };

  UmadTransport(LocalPort local, bool on_ibsim);

  absl::Status OpenHandle(int& handle) const;
  absl::Status Register(Agent agent);
  void OpenTelemetry();
  Channel& ChannelOf(Agent agent);
  void StartReceiver(const Channel& channel, size_t expected_bytes, const char* name);
  void Receive(const Channel& channel, size_t expected_bytes);
  void Append(uint8_t* umad, int length, std::vector<Incoming>& burst);
  void Report(LocalPortEvent::Kind kind);
  void ReportLoss();
  void OpenVerbs();
  void WatchEvents();

  const LocalPort local_;
  const bool on_ibsim_;
  Sink sink_;
  Channel smp_, sa_, telemetry_;
  std::array<AgentState, kAgents> agents_;
  std::atomic<bool> stopping_{false};
  std::atomic<bool> lost_{false};
  std::vector<std::thread> threads_;
  std::unique_ptr<VerbsContext> verbs_;
  std::mutex is_sm_mutex_;
  int is_sm_fd_ = -1;
};

}  // namespace fabricd::mad
