// SPDX-License-Identifier: Apache-2.0
// The interfaces that each shell of the core implements: the daemon with threads, SQLite and a
// transport, the simulator in virtual time and memory. Called on the core's thread unless stated
// otherwise.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include <absl/status/status.h>

#include "mad/transport.h"
#include "shell/core_inputs.h"
#include "sweep/interface/events.h"

namespace fabricd::shell {

// Sends MADs.
class Network {
 public:
  virtual ~Network() = default;
  // On failure `mad` is unchanged.
  [[nodiscard]] virtual absl::Status Send(mad::OutgoingMad&& mad) = 0;
  [[nodiscard]] virtual absl::Status SetIsSm(bool is_sm) = 0;
};

// The queues for jobs that run beside the core. Jobs of one queue run one after the other.
enum class Queue : uint8_t {
  kStore,    // Durable writes.
  kUrgent,   // Incremental repairs and the order of table writes: traffic waits for them.
  kCompute,  // Long computations.
};
// How many jobs may wait in a queue. The core has at most one open question of each kind, and asks
// another only after the shell has taken the previous one.
inline constexpr size_t kQueues = 3;
constexpr size_t CapacityOf(Queue queue) { return queue == Queue::kStore ? 64 : 16; }

class Executor {
 public:
  using Job = std::function<void()>;
  virtual ~Executor() = default;
  // Any thread. Never runs the job before it returns. False: the queue is full, or the executor
  // stops.
  [[nodiscard]] virtual bool Post(Queue queue, Job job) = 0;
};

// Makes records durable. Called in Queue::kStore.
class Records {
 public:
  virtual ~Records() = default;
  [[nodiscard]] virtual absl::Status Write(const sweep::PersistLids& lids) = 0;
  [[nodiscard]] virtual absl::Status Write(const sweep::PersistHolds& holds) = 0;
  [[nodiscard]] virtual absl::Status Write(const sweep::PersistPartitions& partitions) = 0;
  [[nodiscard]] virtual absl::Status Write(const sweep::PersistTakeover& takeover) = 0;
  // Called in the same queue.
  [[nodiscard]] virtual sweep::MastershipClaimed Claim() = 0;
};

// Receives the output of the core.
class Listener {
 public:
  virtual ~Listener() = default;
  virtual void OnLog(sweep::LogRecord record) = 0;
  // `view` null: unchanged. The events are consistent with the view.
  virtual void OnPublished(std::shared_ptr<const sweep::FabricView> view,
                           std::vector<fabric::FabricEvent> events, Instant now) = 0;
  // The effect of the command is in the last view.
  virtual void OnFinished(sweep::FinishedCommand finished) = 0;
  // Called by a job. Pass the answer to EffectRunner::Step() on the core's thread. Never refused.
  virtual void OnAnswer(sweep::Answer answer) = 0;
};

// Receives all inputs and outputs of the core, in order: the flight recorder.
class Tap {
 public:
  virtual ~Tap() = default;
  // The inputs that the core is constructed from. Called first, and once.
  virtual void OnStart(const CoreInputs& inputs) = 0;
  virtual void OnStep(const sweep::Event& event, Instant now) = 0;
  virtual void OnEffects(const sweep::Effects& effects, Instant now) = 0;
};

// All must outlive the runner and its jobs.
struct Ports {
  Network& network;
  Executor& executor;
  Records& records;
  Listener& listener;
};

}  // namespace fabricd::shell
