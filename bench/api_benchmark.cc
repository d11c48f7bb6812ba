// SPDX-License-Identifier: Apache-2.0
// What a client of the API waits for: the whole daemon on a simulated fabric in this process, asked
// over its unix socket by one client, first at rest, then while links flap, then while they flap
// and a thousand clients watch, of which one reads nothing, then while they flap and hostile
// clients send what no honest one would. Beside that, what the flaps cost: from each trap to the
// plan and to the last table written; and heavy sweeps, at rest and under the hostile clients.
//
//   api_benchmark [--topology SPEC] [--seconds N] [--flapping N] [--watchers N] [--hostile N]
//
// SPEC is a generator's (default fat-tree:radix=36,levels=3: 11,664 hosts). Each of the flapping
// links between switches (default 50) goes down and comes back once a second, all out of step, with
// damping off. Half of the watchers (default 1,000; 0: none) watch events, half links; they are in
// a process of their own, which yields to this one, and so are the hostile clients (default 2; 0:
// none; tests/support/api_storm.h), whose mutations are dry runs here. Exit status: 2 on bad usage,
// 1 when the daemon answered a hostile client as it should not.
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <google/protobuf/util/time_util.h>
#include <grpcpp/grpcpp.h>

#include "common/rng.h"
#include "common/status.h"
#include "config/config.h"
#include "daemon/app.h"
#include "daemon/record/logging.h"
#include "fabric/sim/v1/sim.grpc.pb.h"
#include "fabric/v1/admin_service.grpc.pb.h"
#include "fabric/v1/event_service.grpc.pb.h"
#include "fabric/v1/remediation_service.grpc.pb.h"
#include "fabric/v1/topology_service.grpc.pb.h"
#include "tests/support/api_storm.h"

namespace fabricd::daemon {
namespace {

namespace pb = ::fabric::v1;
namespace simpb = ::fabric::sim::v1;
using Clock = std::chrono::steady_clock;
using google::protobuf::util::TimeUtil;

struct Arguments {
  std::string topology = "fat-tree:radix=36,levels=3";
  int seconds = 10;
  size_t flapping = 50;
  size_t watchers = 1000;
  int hostile = 2;
  // An address: only watch there, or be hostile there, until standard input ends.
  std::string watched, stormed;
};

// Of times in milliseconds.
class Times {
 public:
  void Add(double ms) { ms_.push_back(ms); }
  size_t size() const { return ms_.size(); }
  void Print(const std::string& name) {
    if (ms_.empty()) return fmt::print("  {:34} -\n", name);
    std::sort(ms_.begin(), ms_.end());
    const auto at = [&](size_t per_mille) { return ms_[(ms_.size() - 1) * per_mille / 1000]; };
    fmt::print("  {:34} {:>8} {:>9.3f} {:>9.3f} {:>9.3f}\n", name, ms_.size(), at(500), at(990),
               ms_.back());
  }

 private:
  std::vector<double> ms_;
};

void PrintHeader(const std::string& what) {
  fmt::print("{:36} {:>8} {:>9} {:>9} {:>9}\n", what, "calls", "p50, ms", "p99, ms", "max, ms");
}

[[noreturn]] void Fail(const std::string& why) {
  fmt::print(stderr, "api_benchmark: {}\n", why);
  std::exit(1);
}
void Require(const grpc::Status& status) {
  if (!status.ok()) Fail(status.error_message());
}

// The daemon in a directory of its own, up.
class Subject {
 public:
  explicit Subject(const Arguments& arguments) {
    std::string pattern = std::filesystem::temp_directory_path() / "api_benchmark.XXXXXX";
    if (mkdtemp(pattern.data()) == nullptr) Fail("no temporary directory can be made");
    directory_ = pattern;
    config::Config config;
    config.fabric = "sim:" + arguments.topology;
    config.state_dir = directory_;
    config.listen = {"unix:" + directory_ + "/socket"};
    config.damping.enabled = false;
    SetLogLevel(config::LogLevel::kError);
    auto made = App::Create(config, {});
    if (!made.ok()) Fail(Message(made.status()));
    app_ = *std::move(made);
    runner_ = std::thread([this] { app_->Run(); });
    while (!app_->view()->subnet_up || app_->view()->phase != sweep::Phase::kIdle)
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    grpc::ChannelArguments limits;
    limits.SetMaxReceiveMessageSize(-1);
    channel_ =
        grpc::CreateCustomChannel(config.listen[0], grpc::InsecureChannelCredentials(), limits);
  }
  ~Subject() {
    app_->Stop();
    runner_.join();
    app_.reset();
    std::filesystem::remove_all(directory_);
  }
  const App& app() const { return *app_; }
  std::string address() const { return "unix:" + directory_ + "/socket"; }
  const std::shared_ptr<grpc::Channel>& channel() const { return channel_; }

 private:
  std::string directory_;
  std::unique_ptr<App> app_;
  std::thread runner_;
  std::shared_ptr<grpc::Channel> channel_;
};

class Client {
 public:
  explicit Client(const Subject& subject)
      : topology_(pb::TopologyService::NewStub(subject.channel())),
        remediation_(pb::RemediationService::NewStub(subject.channel())) {
    pb::ListHostsRequest request;
    request.set_page_size(5000);
    do {
      grpc::ClientContext context;
      pb::ListHostsResponse page;
      Require(topology_->ListHosts(&context, request, &page));
      for (const pb::Host& host : page.hosts()) hosts_.push_back(host.name());
      request.set_page_token(page.next_page_token());
    } while (!request.page_token().empty());
    subject.app().view()->snapshot->ForEachNode(
        [&](const fabric::Node& node) { guids_.push_back(fmt::format("{}", node.guid())); });
  }

  void Run(std::chrono::seconds time) {
    Times node, readiness, ports;
    const auto end = Clock::now() + time;
    while (Clock::now() < end) {
      for (int i = 0; i < 50; ++i) {
        node.Add(Timed([&] { GetNode(); }));
        readiness.Add(Timed([&] { GetReadiness(); }));
      }
      ports.Add(Timed([&] { ListPorts(); }));
    }
    node.Print("GetNode");
    readiness.Print("BatchGetReadiness of 64 hosts");
    ports.Print(fmt::format("ListPorts of all {}, in pages", ports_));
  }

 private:
  template <typename Call>
  static double Timed(Call&& call) {
    const auto start = Clock::now();
    call();
    return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
  }
  void GetNode() {
    grpc::ClientContext context;
    pb::GetNodeRequest request;
    request.set_node(guids_[rng_.Below(guids_.size())]);
    pb::GetNodeResponse response;
    const grpc::Status status = topology_->GetNode(&context, request, &response);
    if (status.error_code() != grpc::StatusCode::NOT_FOUND) Require(status);  // All its links flap.
  }
  void GetReadiness() {
    grpc::ClientContext context;
    pb::BatchGetReadinessRequest request;
    for (int i = 0; i < 64; ++i) request.add_hosts(hosts_[rng_.Below(hosts_.size())]);
    pb::BatchGetReadinessResponse response;
    Require(remediation_->BatchGetReadiness(&context, request, &response));
  }
  // A listing of a view that has gone meanwhile begins anew.
  void ListPorts() {
    pb::ListPortsRequest request;
    request.set_page_size(5000);
    do {
      grpc::ClientContext context;
      pb::ListPortsResponse page;
      const grpc::Status status = topology_->ListPorts(&context, request, &page);
      if (status.error_code() == grpc::StatusCode::OUT_OF_RANGE) {
        request.clear_page_token();
        continue;
      }
      Require(status);
      ports_ = page.total_size();
      request.set_page_token(page.next_page_token());
      if (request.page_token().empty()) return;
    } while (true);
  }

  std::unique_ptr<pb::TopologyService::Stub> topology_;
  std::unique_ptr<pb::RemediationService::Stub> remediation_;
  std::vector<std::string> hosts_, guids_;
  uint32_t ports_ = 0;
  Rng rng_{1};
};

// Links between switches, each down for half of every second; they are up again at the end.
class Flaps {
 public:
  Flaps(const Subject& subject, size_t count)
      : sim_(simpb::SimService::NewStub(subject.channel())) {
    const auto view = subject.app().view();
    view->snapshot->ForEachNode([&](const fabric::Node& node) {
      for (size_t num = 1; node.IsSwitch() && num < node.ports.size(); ++num) {
        const PortRef peer = node.ports[num].peer;
        const fabric::Node* other = peer.IsNone() ? nullptr : view->snapshot->node(peer.node);
        if (other != nullptr && other->IsSwitch() && node.index < peer.node)
          cables_.push_back(fmt::format("{}/{}", node.description, num));
      }
    });
    Rng rng(2);
    for (size_t i = 0; i < std::min(count, cables_.size()); ++i)
      std::swap(cables_[i], cables_[i + rng.Below(cables_.size() - i)]);
    cables_.resize(std::min(count, cables_.size()));
    runner_ = std::thread([this] { Run(); });
  }
  ~Flaps() {
    stopped_ = true;
    runner_.join();
    for (const std::string& cable : cables_) Plug(cable, true);
  }

 private:
  void Run() {
    const auto start = Clock::now();
    for (size_t step = 0; !stopped_; ++step) {  // Two for each cable in a second.
      const auto pace = std::chrono::microseconds(500'000 / std::max<size_t>(cables_.size(), 1));
      std::this_thread::sleep_until(start + step * pace);
      Plug(cables_[step % cables_.size()], step / cables_.size() % 2 == 1);
    }
  }
  void Plug(const std::string& cable, bool in) {
    grpc::ClientContext context;
    if (in) {
      simpb::LinkRequest request;
      request.set_port(cable);
      simpb::LinkResponse response;
      sim_->Link(&context, request, &response);
    } else {
      simpb::UnlinkRequest request;
      request.set_port(cable);
      simpb::UnlinkResponse response;
      sim_->Unlink(&context, request, &response);
    }
  }

  std::unique_ptr<simpb::SimService::Stub> sim_;
  std::vector<std::string> cables_;
  std::atomic<bool> stopped_ = false;
  std::thread runner_;
};

// A stream that is read as fast as it comes, or not at all.
template <typename Response>
class Reader final : public grpc::ClientReadReactor<Response> {
 public:
  template <typename Open>
  Reader(Open&& open, bool reads) {
    open(&context_, this);
    if (reads) this->StartRead(&message_);
    this->StartCall();
  }
  void OnReadDone(bool ok) override {
    if (ok) this->StartRead(&message_);
  }

 private:
  grpc::ClientContext context_;
  Response message_;
};

// The process of the watchers: streams on a few connections. Ends with its standard input.
int Watch(const Arguments& arguments) {
  constexpr size_t kConnections = 20;
  std::vector<std::shared_ptr<grpc::Channel>> channels;
  for (size_t i = 0; i < kConnections; ++i) {
    grpc::ChannelArguments own;
    own.SetInt("watchers.connection", static_cast<int>(i));  // Else they would share one.
    channels.push_back(
        grpc::CreateCustomChannel(arguments.watched, grpc::InsecureChannelCredentials(), own));
  }
  static pb::WatchEventsRequest events;
  static pb::WatchTopologyRequest links;
  links.set_kind(pb::TOPOLOGY_KIND_LINK);
  std::vector<std::unique_ptr<pb::EventService::Stub>> event_stubs;
  std::vector<std::unique_ptr<pb::TopologyService::Stub>> topology_stubs;
  for (size_t i = 0; i < arguments.watchers; ++i) {
    const auto& channel = channels[i % kConnections];
    const bool reads = i > 0;
    // They live as long as the process.
    if (i % 2 == 1) {
      event_stubs.push_back(pb::EventService::NewStub(channel));
      new Reader<pb::WatchEventsResponse>(
          [&](auto* context, auto* reactor) {
            event_stubs.back()->async()->WatchEvents(context, &events, reactor);
          },
          reads);
    } else {
      topology_stubs.push_back(pb::TopologyService::NewStub(channel));
      new Reader<pb::WatchTopologyResponse>(
          [&](auto* context, auto* reactor) {
            topology_stubs.back()->async()->WatchTopology(context, &links, reactor);
          },
          reads);
    }
  }
  while (std::getchar() != EOF) continue;
  std::_Exit(0);
}

// The process of the hostile clients.
int BeHostile(const Arguments& arguments) {
  test::StormOptions options;
  options.server = arguments.stormed;
  options.clients = arguments.hostile;
  options.harmless = true;
  test::ApiStorm storm(options);
  std::thread runner([&] { storm.Run(UINT64_MAX); });
  while (std::getchar() != EOF) continue;
  storm.Stop();
  runner.join();
  fmt::print("{} hostile calls, {} answered as they should not be\n", storm.calls(),
             storm.findings().size());
  for (const std::string& finding : storm.findings()) fmt::print("  {}\n", finding);
  return storm.findings().empty() ? 0 : 1;
}

// One of these processes, while it lives. It yields to this one.
class Others {
 public:
  Others(const Subject& subject, const std::string& what)
      : pipe_(popen(fmt::format("nice -n 10 /proc/{}/exe {}", getpid(),
                                fmt::format(fmt::runtime(what), subject.address()))
                        .c_str(),
                    "w")) {
    std::fflush(stdout);
    if (pipe_ == nullptr) Fail("the other clients cannot be started");
  }
  ~Others() { End(); }
  // Whether it was content.
  bool End() { return pipe_ == nullptr || pclose(std::exchange(pipe_, nullptr)) == 0; }

 private:
  FILE* pipe_;
};

// Heavy sweeps of a fabric at rest.
void PrintSweeps(const Subject& subject, std::chrono::seconds within) {
  const auto admin = pb::AdminService::NewStub(subject.channel());
  Times sweeps;
  const auto end = Clock::now() + within;
  while (Clock::now() < end) {
    grpc::ClientContext context;
    pb::StartSweepRequest request;
    request.set_heavy(true);
    request.set_wait(true);
    pb::StartSweepResponse response;
    Require(admin->StartSweep(&context, request, &response));
    sweeps.Add(subject.app().view()->last_sweep.duration_ms);
  }
  sweeps.Print("heavy sweep");
}

void PrintReroutes(const Subject& subject, std::chrono::seconds within) {
  const auto events = pb::EventService::NewStub(subject.channel());
  pb::ListEventsRequest request;
  request.set_page_size(5000);
  request.add_types("RerouteCompleted");
  *request.mutable_within() = TimeUtil::SecondsToDuration(within.count());
  grpc::ClientContext context;
  pb::ListEventsResponse history;
  Require(events->ListEvents(&context, request, &history));
  Times planned, written;
  for (const pb::Event& event : history.events()) {
    const pb::RerouteCompleted& reroute = event.reroute();
    if (!reroute.cause().starts_with("trap")) continue;
    planned.Add(reroute.planned_ms());
    if (!reroute.superseded()) written.Add(reroute.applied_ms());
  }
  PrintHeader(fmt::format("{} reroutes", history.events_size()));
  planned.Print("first trap to plan");
  written.Print("first trap to last answer");
}

// Whether all went as it should.
bool Run(const Arguments& arguments) {
  const Subject subject(arguments);
  Client client(subject);
  const std::chrono::seconds time(arguments.seconds);
  const std::string watch = fmt::format("--watch {{}} --watchers {}", arguments.watchers);
  const std::string storm = fmt::format("--storm {{}} --hostile {}", arguments.hostile);
  bool content = true;
  PrintHeader("at rest");
  client.Run(time);
  PrintSweeps(subject, time);
  if (arguments.hostile > 0) {
    Others hostile(subject, storm);
    PrintHeader(fmt::format("while {} clients are hostile", arguments.hostile));
    client.Run(time);
    PrintSweeps(subject, time);
    content = hostile.End();
  }
  {
    const Flaps flaps(subject, arguments.flapping);
    std::this_thread::sleep_for(std::chrono::seconds(2));
    PrintHeader(fmt::format("while {} links flap", arguments.flapping));
    client.Run(time);
    PrintReroutes(subject, time);
    if (arguments.hostile > 0) {
      Others hostile(subject, storm);
      PrintHeader(fmt::format("and {} clients are hostile", arguments.hostile));
      client.Run(time);
      PrintReroutes(subject, time);
      content = hostile.End() && content;
    }
    if (arguments.watchers == 0) return content;
    const Others watchers(subject, watch);
    std::this_thread::sleep_for(std::chrono::seconds(5));  // They read all that there is first.
    PrintHeader(fmt::format("and {} clients watch", arguments.watchers));
    client.Run(time);
    PrintReroutes(subject, time);
  }
  return content;
}

bool Parse(int argc, char** argv, Arguments& arguments) {
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string name = argv[i];
    if (name == "--topology")
      arguments.topology = argv[i + 1];
    else if (name == "--seconds")
      arguments.seconds = std::atoi(argv[i + 1]);
    else if (name == "--flapping")
      arguments.flapping = static_cast<size_t>(std::atoi(argv[i + 1]));
    else if (name == "--watchers")
      arguments.watchers = static_cast<size_t>(std::atoi(argv[i + 1]));
    else if (name == "--hostile")
      arguments.hostile = std::atoi(argv[i + 1]);
    else if (name == "--watch")
      arguments.watched = argv[i + 1];
    else if (name == "--storm")
      arguments.stormed = argv[i + 1];
    else
      return false;
  }
  return argc % 2 == 1 && arguments.seconds > 0;
}

}  // namespace
}  // namespace fabricd::daemon

int main(int argc, char** argv) {
  fabricd::daemon::Arguments arguments;
  if (!fabricd::daemon::Parse(argc, argv, arguments)) {
    fmt::print(stderr,
               "usage: api_benchmark [--topology SPEC] [--seconds N] [--flapping N] "
               "[--watchers N] [--hostile N]\n");
    return 2;
  }
  if (!arguments.watched.empty()) return fabricd::daemon::Watch(arguments);
  if (!arguments.stormed.empty()) return fabricd::daemon::BeHostile(arguments);
  return fabricd::daemon::Run(arguments) ? 0 : 1;
}
