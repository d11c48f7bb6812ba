// SPDX-License-Identifier: Apache-2.0
// What the shells of the core do each in their own way: the daemon with threads, SQLite and a
// transport, the simulator in virtual time and memory. The core's thread calls, where nothing else
// is said.
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

// Where MADs go.
class Network {
 public:
  virtual ~Network() = default;
  // Where it fails `mad` is left as it is.
  [[nodiscard]] virtual absl::Status Send(mad::OutgoingMad&& mad) = 0;
  [[nodiscard]] virtual absl::Status SetIsSm(bool is_sm) = 0;
};

// Who works for the core while it goes on. Jobs of one queue are done one after the other.
enum class Queue : uint8_t {
  kStore,    // Durable writes.
  kUrgent,   // Incremental repairs and the order of table writes: traffic waits for them.
  kCompute,  // What takes long.
};
// How many jobs may wait in a queue. The core has at most one question of each kind open, and asks
// another only when the shell has taken the one before.
inline constexpr size_t kQueues = 3;
constexpr size_t CapacityOf(Queue queue) { return queue == Queue::kStore ? 64 : 16; }

class Executor {
 public:
  using Job = std::function<void()>;
  virtual ~Executor() = default;
  // Any thread. Never does the job before it is back. False: the queue is full, or all of it stops.
  [[nodiscard]] virtual bool Post(Queue queue, Job job) = 0;
};

// Makes records durable. In Queue::kStore.
class Records {
 public:
  virtual ~Records() = default;
  [[nodiscard]] virtual absl::Status Write(const sweep::PersistLids& lids) = 0;
  [[nodiscard]] virtual absl::Status Write(const sweep::PersistHolds& holds) = 0;
  [[nodiscard]] virtual absl::Status Write(const sweep::PersistPartitions& partitions) = 0;
};

// Who hears of what the core says and has done.
class Listener {
 public:
  virtual ~Listener() = default;
  virtual void OnLog(sweep::LogRecord record) = 0;
  // `view`: null: as before. What the events tell is in the view.
  virtual void OnPublished(std::shared_ptr<const sweep::FabricView> view,
                           std::vector<fabric::FabricEvent> events, Instant now) = 0;
  // What the command did is in the last view.
  virtual void OnFinished(sweep::FinishedCommand finished) = 0;
  // From a job: to be handed to EffectRunner::Step() on the core's thread. Never refused.
  virtual void OnAnswer(sweep::Answer answer) = 0;
};

// Sees what goes into the core and what comes out of it, in order: the flight recorder.
class Tap {
 public:
  virtual ~Tap() = default;
  // The core is made with this. First, and once.
  virtual void OnStart(const CoreInputs& inputs) = 0;
  virtual void OnStep(const sweep::Event& event, Instant now) = 0;
  virtual void OnEffects(const sweep::Effects& effects, Instant now) = 0;
};

// All outlive the runner and its jobs.
struct Ports {
  Network& network;
  Executor& executor;
  Records& records;
  Listener& listener;
};

}  // namespace fabricd::shell
