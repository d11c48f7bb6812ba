// SPDX-License-Identifier: Apache-2.0
// How long a hold takes to be acknowledged where several nodes share their state, beside a bare put
// of as many bytes into the same etcds, in turn: CreateHold, put, DeleteHold, put. bench/holds
// starts fabricd and the etcds, and this. One line of JSON to standard output: seconds per call.
//
//   hold_cost SERVER HOST ROUNDS ETCD...
//
// SERVER: of fabricd's API, unix:PATH. HOST: to cordon. ETCD: HOST:PORT of each member. Exit
// status: 2 on bad usage, 1 when a call failed.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <grpcpp/grpcpp.h>

#include "common/status.h"
#include "fabric/v1/remediation_service.grpc.pb.h"
#include "store/etcd/grpc_client.h"

namespace fabricd {
namespace {

namespace pb = ::fabric::v1;

// A cordon's row has about as many.
constexpr size_t kBytes = 256;

struct Seconds {
  std::vector<double> create, remove, put;
};

template <typename Call>
double Timed(Call call) {
  const auto start = std::chrono::steady_clock::now();
  call();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void Require(bool ok, const std::string& why) {
  if (ok) return;
  fmt::print(stderr, "hold_cost: {}\n", why);
  std::exit(1);
}

Seconds Measure(pb::RemediationService::Stub& fabricd, store::etcd::Client& etcd,
                const std::string& host, int rounds) {
  Seconds seconds;
  const std::string value(kBytes, 'x');
  const auto put = [&] {
    const auto done = etcd.Put("/bench/put", value, 0);
    Require(done.ok(), Message(done.status()));
  };
  for (int round = 0; round < rounds; ++round) {
    pb::CreateHoldRequest create;
    create.set_target(host);
    create.set_target_kind(pb::TARGET_KIND_HOST);
    create.set_kind(pb::HOLD_KIND_CORDON);
    create.set_reason("bench");
    pb::CreateHoldResponse created;
    seconds.create.push_back(Timed([&] {
      grpc::ClientContext context;
      const grpc::Status status = fabricd.CreateHold(&context, create, &created);
      Require(status.ok(), status.error_message());
    }));
    seconds.put.push_back(Timed(put));
    pb::DeleteHoldRequest remove;
    remove.set_id(created.hold().id());
    seconds.remove.push_back(Timed([&] {
      grpc::ClientContext context;
      pb::DeleteHoldResponse removed;
      const grpc::Status status = fabricd.DeleteHold(&context, remove, &removed);
      Require(status.ok(), status.error_message());
    }));
    seconds.put.push_back(Timed(put));
  }
  return seconds;
}

int Main(int argc, char** argv) {
  const int rounds = argc > 4 ? std::atoi(argv[3]) : 0;
  if (rounds < 1) {
    fmt::print(stderr, "usage: hold_cost SERVER HOST ROUNDS ETCD...\n");
    return 2;
  }
  store::etcd::ClientOptions options;
  options.endpoints.assign(argv + 4, argv + argc);
  const auto etcd = store::etcd::MakeGrpcClient(options);
  Require(etcd.ok(), Message(etcd.status()));
  pb::RemediationService::Stub fabricd(
      grpc::CreateChannel(argv[1], grpc::InsecureChannelCredentials()));
  Measure(fabricd, **etcd, argv[2], 5);  // Connections are made.
  const Seconds seconds = Measure(fabricd, **etcd, argv[2], rounds);
  fmt::print("{{\"create\": [{}], \"delete\": [{}], \"put\": [{}]}}\n",
             fmt::join(seconds.create, ", "), fmt::join(seconds.remove, ", "),
             fmt::join(seconds.put, ", "));
  return 0;
}

}  // namespace
}  // namespace fabricd

int main(int argc, char** argv) { return fabricd::Main(argc, argv); }
