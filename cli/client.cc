// SPDX-License-Identifier: Apache-2.0
#include "cli/client.h"

#include <algorithm>
#include <thread>

#include <fmt/format.h>

namespace fabricd::cli {
namespace {

constexpr Timeout kPollInterval{100}, kShortPause{10};

// What gRPC takes: a bare path is a unix socket.
std::string Target(const std::string& server) {
  return !server.empty() && server.front() == '/' ? "unix:" + server : server;
}

}  // namespace

Client::Client(const std::string& server, std::optional<Timeout> timeout)
    : server_(Target(server)), timeout_(timeout) {
  grpc::ChannelArguments arguments;
  // Pages of 5000 hosts are larger than gRPC's 4 MB.
  arguments.SetMaxReceiveMessageSize(-1);
  // `fabricctl wait` is there before the daemon is.
  // (MIN_RECONNECT_BACKOFF stays at its 20 s: it is the time that a connection attempt is given.)
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 50);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 500);
  channel_ = grpc::CreateCustomChannel(server_, grpc::InsecureChannelCredentials(), arguments);
  topology_ = pb::TopologyService::NewStub(channel_);
  admin_ = pb::AdminService::NewStub(channel_);
  events_ = pb::EventService::NewStub(channel_);
  remediation_ = pb::RemediationService::NewStub(channel_);
  partitions_ = pb::PartitionService::NewStub(channel_);
  subnet_admin_ = pb::SubnetAdminService::NewStub(channel_);
  sim_ = simpb::SimService::NewStub(channel_);
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
