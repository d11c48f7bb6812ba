// SPDX-License-Identifier: Apache-2.0
#include "cli/client/client.h"

#include <algorithm>
#include <atomic>
#include <fstream>
#include <iterator>
#include <thread>

#include <fmt/format.h>

#include "cli/terminal/print.h"

namespace fabricd::cli {
namespace {

constexpr Timeout kPollInterval{100}, kShortPause{10};

// What gRPC takes: a bare path is a unix socket.
std::string Target(const std::string& server) {
  return !server.empty() && server.front() == '/' ? "unix:" + server : server;
}

// "head1:7471, head2:7471"
std::vector<std::string> Targets(const std::string& servers) {
  std::vector<std::string> targets;
  for (size_t begin = 0; begin <= servers.size();) {
    const size_t end = std::min(servers.find(',', begin), servers.size());
    std::string server = servers.substr(begin, end - begin);
    server.erase(0, server.find_first_not_of(' '));
    server.erase(server.find_last_not_of(' ') + 1);
    if (!server.empty() || end == servers.size()) targets.push_back(Target(server));
    begin = end + 1;
  }
  return targets;
}

bool IsLocal(const std::string& target) { return target.rfind("unix", 0) == 0; }

Result ReadPem(const char* option, const std::string& path, std::string* text) {
  if (path.empty())
    return {kUsage, fmt::format("a server that is no unix:PATH needs {} (or a context)", option)};
  std::ifstream in(path, std::ios::binary);
  text->assign(std::istreambuf_iterator<char>(in), {});
  if (in.good() || (in.eof() && !text->empty())) return {};
  return {kUsage, fmt::format("{}: {} cannot be read", option, path)};
}

Result ReadCredentials(const Endpoint& endpoint,
                       std::shared_ptr<grpc::ChannelCredentials>* credentials) {
  grpc::SslCredentialsOptions options;
  Result result = ReadPem("--tls-ca", endpoint.tls_ca, &options.pem_root_certs);
  if (result.ok()) result = ReadPem("--tls-cert", endpoint.tls_cert, &options.pem_cert_chain);
  if (result.ok()) result = ReadPem("--tls-key", endpoint.tls_key, &options.pem_private_key);
  if (result.ok()) *credentials = grpc::SslCredentials(options);
  return result;
}

// Says once, on stderr, that answers come from an SM that is not master (metadata of
// daemon/rpc/services/freshness.h): what they show may have changed since.
class StalenessNote final : public grpc::experimental::Interceptor {
 public:
  void Intercept(grpc::experimental::InterceptorBatchMethods* methods) override {
    using grpc::experimental::InterceptionHookPoints;
    if (methods->QueryInterceptionHookPoint(InterceptionHookPoints::POST_RECV_INITIAL_METADATA)) {
      const auto& metadata = *methods->GetRecvInitialMetadata();
      const auto text = [&](const char* key) {
        const auto found = metadata.find(key);
        return found == metadata.end() ? std::string()
                                       : std::string(found->second.data(), found->second.size());
      };
      const std::string state = text("fabric-sm-state"), at = text("fabric-observed-at");
      static std::atomic<bool> said = false;
      if (!state.empty() && !said.exchange(true))
        PrintError("note: this SM is {}, not the master: what follows is as of {}\n", state,
                   at.empty() ? "no sweep yet" : at);
    }
    methods->Proceed();
  }
};

class StalenessNotes final : public grpc::experimental::ClientInterceptorFactoryInterface {
 public:
  grpc::experimental::Interceptor* CreateClientInterceptor(
      grpc::experimental::ClientRpcInfo*) override {
    return new StalenessNote();
  }
};

// `usable`: whether the certificates could be read.
std::shared_ptr<grpc::Channel> Connect(const Endpoint& endpoint, Result* usable) {
  const std::string target = Target(endpoint.server);
  grpc::ChannelArguments arguments;
  // Pages of 5000 hosts are larger than gRPC's 4 MB.
  arguments.SetMaxReceiveMessageSize(-1);
  // `fabricctl wait` is there before the daemon is.
  // (MIN_RECONNECT_BACKOFF stays at its 20 s: it is the time that a connection attempt is given.)
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 50);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 500);
  // A watch of a daemon whose machine is gone ends.
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 30'000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 10'000);
  std::shared_ptr<grpc::ChannelCredentials> credentials = grpc::InsecureChannelCredentials();
  if (!IsLocal(target)) *usable = ReadCredentials(endpoint, &credentials);
  std::vector<std::unique_ptr<grpc::experimental::ClientInterceptorFactoryInterface>> interceptors;
  interceptors.push_back(std::make_unique<StalenessNotes>());
  return grpc::experimental::CreateCustomChannelWithInterceptors(target, credentials, arguments,
                                                                 std::move(interceptors));
}

}  // namespace

Client::Client(const Endpoint& endpoint, std::optional<Timeout> timeout)
    : endpoint_(endpoint), servers_(Targets(endpoint.server)), timeout_(timeout) {
  Choose();
  MakeStubs();
}

void Client::MakeStubs() {
  topology_ = pb::TopologyService::NewStub(channel_);
  admin_ = pb::AdminService::NewStub(channel_);
  events_ = pb::EventService::NewStub(channel_);
  remediation_ = pb::RemediationService::NewStub(channel_);
  partitions_ = pb::PartitionService::NewStub(channel_);
  plans_ = pb::PlanService::NewStub(channel_);
  subnet_admin_ = pb::SubnetAdminService::NewStub(channel_);
  telemetry_ = pb::TelemetryService::NewStub(channel_);
  verdicts_ = pb::VerdictService::NewStub(channel_);
  sim_ = simpb::SimService::NewStub(channel_);
}

void Client::Choose() {
  Endpoint each = endpoint_;
  server_.clear();
  for (const std::string& server : servers_) {
    each.server = server;
    usable_ = {};
    auto channel = Connect(each, &usable_);
    if (!usable_.ok() || servers_.size() == 1) {
      channel_ = std::move(channel);
      server_ = server;
      return;
    }
    if (channel_ == nullptr) channel_ = channel;
    if (!channel->WaitForConnected(std::chrono::system_clock::now() + kProbeTimeout)) continue;
    pb::GetSmResponse sm;
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + kProbeTimeout);
    const grpc::Status status =
        pb::TopologyService::Stub(channel).GetSm(&context, pb::GetSmRequest(), &sm);
    if (!status.ok()) continue;
    const bool is_master = sm.state() == "MASTER";
    if (!is_master && !server_.empty()) continue;
    channel_ = std::move(channel);
    server_ = server;
    if (is_master) return;
  }
  if (server_.empty()) server_ = servers_.front();
}

bool Client::ChooseAnother() {
  const std::string before = server_;
  channel_ = nullptr;
  Choose();
  if (server_ == before) return false;
  PrintError("note: {} does not answer: going on at {}\n", before, server_);
  return true;
}

void Client::NoteStartsAgain() const {
  PrintError("note: {} does not know what came before: the watch starts again\n", server_);
}

std::shared_ptr<grpc::Channel> Client::ChannelTo(const std::string& server) const {
  Endpoint master = endpoint_;
  master.server = server;
  if (master.server.empty()) return nullptr;
  // Another machine does not say what is asked of ours.
  if (IsLocal(Target(master.server)) && !IsLocal(server_)) return nullptr;
  Result usable;
  auto channel = Connect(master, &usable);
  if (!usable.ok()) return nullptr;
  PrintError("note: {} waits beside the master, {}: asking that one\n", server_, master.server);
  return channel;
}

Result Client::GoToMaster() {
  for (int attempt = 0; attempt < kListAttempts; ++attempt) {
    pb::GetSmResponse sm;
    const Result result =
        Call(*topology_, &pb::TopologyService::Stub::GetSm, pb::GetSmRequest(), &sm);
    if (!result.ok() || sm.state() == "MASTER") return result;
    const auto master = std::find_if(
        sm.sharing_nodes().begin(), sm.sharing_nodes().end(),
        [](const pb::SharingNode& node) { return node.state() == "MASTER" && !node.is_this(); });
    auto channel = master == sm.sharing_nodes().end() ? nullptr : ChannelTo(master->endpoint());
    if (channel == nullptr)
      return {kRefused, fmt::format("the SM at {} is {}, not the master: what it shows may be old",
                                    server_, sm.state())};
    server_ = master->endpoint();
    channel_ = std::move(channel);
    MakeStubs();
  }
  return {kUnavailable, "no node says that it is the master"};
}

Result Client::Poll(Timeout timeout, const std::string& what,
                    const std::function<Result(Timeout left, bool* done)>& probe) {
  using Clock = std::chrono::system_clock;  // gRPC's.
  const auto end = Clock::now() + timeout;
  Result last;
  while (true) {
    const auto left = std::chrono::duration_cast<Timeout>(end - Clock::now());
    if (left.count() <= 0) break;
    bool done = false;
    last = probe(std::min(left, kProbeTimeout), &done);
    if (last.ok() && done) return {};
    if (!last.ok() && last.code != kUnavailable) return last;
    // Without a connection: gRPC takes notice of one only while somebody waits for it, else every
    // five seconds.
    const auto pause = std::min(left, kPollInterval);
    if (last.ok())
      std::this_thread::sleep_for(pause);
    else if (channel_->WaitForConnected(Clock::now() + pause))
      std::this_thread::sleep_for(kShortPause);
  }
  const std::string why = last.ok() ? "" : fmt::format(" ({})", last.message);
  return {kUnavailable, fmt::format("timed out waiting for {}{}", what, why)};
}

}  // namespace fabricd::cli
