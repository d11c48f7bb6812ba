// SPDX-License-Identifier: Apache-2.0
#include "sim/transport/sim_transport.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

#include <absl/container/flat_hash_map.h>

#include "common/process_clock.h"
#include "common/status.h"

namespace fabricd::sim {
namespace {

// Far above what a sender's window lets wait; a full queue means that the sender ignores its
// window.
constexpr size_t kQueueCapacity = 65536;

}  // namespace

struct SimTransport::Impl {
  Impl(const fabric::FabricSnapshot& topology, const SimOptions& options)
      : fabric(topology, options) {}

  // Callers → worker: bounded by kQueueCapacity, Send refuses when full.
  struct Outgoing {
    PortRef from;
    mad::OutgoingMad mad;
  };
  std::mutex queue_mutex;
  std::condition_variable wake;
  std::vector<Outgoing> queue;
  bool poked = false;  // The fabric changed under the worker: its next event may be earlier.
  bool stopping = false;

  std::mutex fabric_mutex;
  SimFabric fabric;

  PortRef host;
  mad::LocalPort local;
  Sink sink;
  std::thread worker;

  std::mutex programs_mutex;  // Held while one is called, so that none is called once it has ended.
  absl::flat_hash_map<PortRef, Sink> programs;

  void Run();
  // Waits for work; false when stopping.
  bool Wait(Instant deadline, std::vector<Outgoing>& batch);
  void Process(std::vector<Outgoing>& batch, std::vector<Delivery>& arrived, Instant& deadline);
  void Hand(std::vector<Delivery>& arrived);
  absl::Status Queue(PortRef from, const mad::OutgoingMad& mad);
  mad::LocalPort LocalPortOf(PortRef port) const;
  void Poke();
  template <typename Change>
  absl::Status Apply(Change&& change) {
    absl::Status status;
    {
      std::lock_guard lock(fabric_mutex);
      status = change(ProcessClock::Now());
    }
    Poke();
    return status;
  }
};

bool SimTransport::Impl::Wait(Instant deadline, std::vector<Outgoing>& batch) {
  std::unique_lock lock(queue_mutex);
  const auto ready = [this] { return stopping || poked || !queue.empty(); };
  if (deadline == kNever) {
    wake.wait(lock, ready);
  } else {
    wake.wait_until(lock, ProcessClock::ToSteady(deadline), ready);
  }
  poked = false;
  batch.swap(queue);
  return !stopping;
}

void SimTransport::Impl::Process(std::vector<Outgoing>& batch, std::vector<Delivery>& arrived,
                                 Instant& deadline) {
  std::lock_guard lock(fabric_mutex);
  const Instant now = ProcessClock::Now();
  for (auto& [from, outgoing] : batch) {
    mad::IncomingMad failed;
    failed.kind = mad::IncomingMad::Kind::kSendFailed;
    failed.agent = outgoing.agent;
    failed.from = outgoing.to;
    // The first MAD is enough to know it by; the rest may be a megabyte.
    failed.payload.assign(
        outgoing.payload.begin(),
        outgoing.payload.begin() +
            static_cast<ptrdiff_t>(std::min(outgoing.payload.size(), wire::kMadBytes)));
    failed.payload.resize(wire::kMadBytes);
    if (fabric.Send(now, from, std::move(outgoing)).ok()) continue;
    arrived.push_back({now, from, std::move(failed)});
  }
  fabric.Advance(now, arrived);
  deadline = fabric.next_event();
}

void SimTransport::Impl::Run() {
  std::vector<Outgoing> batch;
  std::vector<Delivery> arrived;
  Instant deadline = ProcessClock::Now();  // What happened before the start is due at once.
  while (Wait(deadline, batch)) {
    Process(batch, arrived, deadline);
    batch.clear();
    Hand(arrived);
    arrived.clear();
  }
}

void SimTransport::Impl::Hand(std::vector<Delivery>& arrived) {
  std::vector<mad::Incoming> own;
  for (Delivery& delivery : arrived) {
    if (delivery.host == host) {
      own.push_back(std::move(delivery.what));
      continue;
    }
    std::lock_guard lock(programs_mutex);
    const auto program = programs.find(delivery.host);
    if (program != programs.end()) program->second(std::span(&delivery.what, 1));
  }
  if (!own.empty()) sink(own);
}

absl::Status SimTransport::Impl::Queue(PortRef from, const mad::OutgoingMad& mad) {
  bool was_empty = false;
  {
    std::lock_guard lock(queue_mutex);
    if (queue.size() >= kQueueCapacity) {
      return Unavailable("{} MADs wait for the simulated fabric", kQueueCapacity);
    }
    was_empty = queue.empty();
    queue.push_back({from, mad});
  }
  if (was_empty) wake.notify_one();
  return absl::OkStatus();
}

mad::LocalPort SimTransport::Impl::LocalPortOf(PortRef port) const {
  const SimDevice& device = *fabric.device(port.node);
  mad::LocalPort described;
  described.device = "sim";
  described.port = port.port;
  described.node_guid = device.guid();
  described.port_guid = device.port(port.port).guid;
  return described;
}

void SimTransport::Impl::Poke() {
  {
    std::lock_guard lock(queue_mutex);
    poked = true;
  }
  wake.notify_one();
}

// Shares the fabric and its worker.
class SimTransport::Program final : public mad::Transport {
 public:
  Program(Impl& impl, PortRef port) : impl_(impl), port_(port) {}
  ~Program() override {
    Program::Stop();
    [[maybe_unused]] const absl::Status status = impl_.Apply([this](Instant now) {
      impl_.fabric.Detach(now, port_);
      return absl::OkStatus();
    });
  }
  absl::Status Start(Sink sink) override {
    std::lock_guard lock(impl_.programs_mutex);
    impl_.programs[port_] = std::move(sink);
    return absl::OkStatus();
  }
  void Stop() override {
    std::lock_guard lock(impl_.programs_mutex);
    impl_.programs.erase(port_);
  }
  absl::Status Send(const mad::OutgoingMad& mad) override { return impl_.Queue(port_, mad); }
  absl::Status SetIsSm(bool is_sm) override {
    return impl_.Apply([this, is_sm](Instant now) {
      impl_.fabric.SetIsSm(now, port_, is_sm);
      return absl::OkStatus();
    });
  }
  mad::LocalPort local_port() const override { return impl_.LocalPortOf(port_); }

 private:
  Impl& impl_;
  const PortRef port_;
};

absl::StatusOr<std::unique_ptr<mad::Transport>> SimTransport::OpenProgram(
    const std::string& host_port) {
  PortRef port;
  const absl::Status attached = impl_->Apply([&](Instant) -> absl::Status {
    const absl::StatusOr<PortRef> found = impl_->fabric.FindHostPort(host_port);
    if (!found.ok()) return found.status();
    port = *found;
    if (impl_->fabric.IsAttached(port))
      return MakeStatus(absl::StatusCode::kAlreadyExists, "a program sits on {}", host_port);
    impl_->fabric.Attach(port);
    return absl::OkStatus();
  });
  if (!attached.ok()) return attached;
  return std::make_unique<Program>(*impl_, port);
}

SimTransport::SimTransport(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

SimTransport::~SimTransport() { Stop(); }

absl::StatusOr<std::unique_ptr<SimTransport>> SimTransport::Create(
    const fabric::FabricSnapshot& topology, Options options) {
  auto impl = std::make_unique<Impl>(topology, options.fabric);
  if (options.host.empty()) {
    impl->host = impl->fabric.DefaultHostPort();
    if (impl->host.IsNone()) return NotFound("the topology has no channel adapter to run on");
  } else {
    const absl::StatusOr<PortRef> host = impl->fabric.FindHostPort(options.host);
    if (!host.ok()) return host.status();
    impl->host = *host;
  }
  impl->fabric.Attach(impl->host);
  impl->local = impl->LocalPortOf(impl->host);
  return std::unique_ptr<SimTransport>(new SimTransport(std::move(impl)));
}

absl::Status SimTransport::Start(Sink sink) {
  if (impl_->worker.joinable())
    return FailedPrecondition("the simulated fabric is started already");
  impl_->sink = std::move(sink);
  impl_->stopping = false;
  impl_->worker = std::thread([impl = impl_.get()] { impl->Run(); });
  return absl::OkStatus();
}

void SimTransport::Stop() {
  {
    std::lock_guard lock(impl_->queue_mutex);
    impl_->stopping = true;
  }
  impl_->wake.notify_one();
  if (impl_->worker.joinable()) impl_->worker.join();
}

absl::Status SimTransport::Send(const mad::OutgoingMad& mad) {
  return impl_->Queue(impl_->host, mad);
}

absl::Status SimTransport::SetIsSm(bool is_sm) {
  return impl_->Apply([this, is_sm](Instant now) {
    impl_->fabric.SetIsSm(now, impl_->host, is_sm);
    return absl::OkStatus();
  });
}

mad::LocalPort SimTransport::local_port() const { return impl_->local; }

absl::Status SimTransport::Unlink(const std::string& node, PortNum port) {
  return impl_->Apply([&](Instant now) {
    const absl::StatusOr<NodeIndex> found = impl_->fabric.FindNode(node);
    return found.ok() ? impl_->fabric.Unlink(now, {*found, port}) : found.status();
  });
}

absl::Status SimTransport::Link(const std::string& node, PortNum port) {
  return impl_->Apply([&](Instant now) {
    const absl::StatusOr<NodeIndex> found = impl_->fabric.FindNode(node);
    return found.ok() ? impl_->fabric.Link(now, {*found, port}) : found.status();
  });
}

absl::Status SimTransport::Connect(const std::string& node_a, PortNum port_a,
                                   const std::string& node_b, PortNum port_b) {
  return impl_->Apply([&](Instant now) {
    const absl::StatusOr<NodeIndex> a = impl_->fabric.FindNode(node_a);
    if (!a.ok()) return a.status();
    const absl::StatusOr<NodeIndex> b = impl_->fabric.FindNode(node_b);
    if (!b.ok()) return b.status();
    return impl_->fabric.Connect(now, {*a, port_a}, {*b, port_b});
  });
}

absl::Status SimTransport::Reboot(const std::string& node) {
  return impl_->Apply([&](Instant now) {
    const absl::StatusOr<NodeIndex> found = impl_->fabric.FindNode(node);
    return found.ok() ? impl_->fabric.Reboot(now, *found) : found.status();
  });
}

absl::Status SimTransport::SetErrors(const std::string& node, PortNum port,
                                     const PortErrors& errors) {
  return impl_->Apply([&](Instant now) -> absl::Status {
    const absl::StatusOr<NodeIndex> found = impl_->fabric.FindNode(node);
    if (!found.ok()) return found.status();
    return impl_->fabric.SetErrors(now, {*found, port}, errors);
  });
}

absl::Status SimTransport::SetPerformance(const std::string& node,
                                          const PerformanceOptions& options) {
  return impl_->Apply([&](Instant) -> absl::Status {
    if (node.empty()) {
      impl_->fabric.SetPerformanceOfAll(options);
      return absl::OkStatus();
    }
    const absl::StatusOr<NodeIndex> found = impl_->fabric.FindNode(node);
    return found.ok() ? impl_->fabric.SetPerformance(*found, options) : found.status();
  });
}

absl::Status SimTransport::SetClockRate(double rate) {
  if (!(rate >= 1 && rate <= kFastestClock)) {
    return InvalidArgument("a clock can run 1 to {} times as fast, not {}", kFastestClock, rate);
  }
  return impl_->Apply([rate](Instant) {
    ProcessClock::SetRate(rate);
    return absl::OkStatus();
  });
}

absl::Status SimTransport::StartTraffic(const TrafficJob& job) {
  return impl_->Apply([&](Instant now) { return impl_->fabric.StartTraffic(now, job); });
}

absl::Status SimTransport::StopTraffic(const std::string& name) {
  return impl_->Apply([&](Instant now) { return impl_->fabric.StopTraffic(now, name); });
}

std::vector<TrafficReport> SimTransport::ListTraffic() {
  std::lock_guard lock(impl_->fabric_mutex);
  return impl_->fabric.ListTraffic();
}

std::vector<SimCable> SimTransport::ListCables() {
  std::lock_guard lock(impl_->fabric_mutex);
  return impl_->fabric.ListCables();
}

std::vector<SimNode> SimTransport::ListNodes() {
  std::lock_guard lock(impl_->fabric_mutex);
  return impl_->fabric.ListNodes();
}

SimStats SimTransport::stats() {
  std::lock_guard lock(impl_->fabric_mutex);
  return impl_->fabric.stats();
}

}  // namespace fabricd::sim
