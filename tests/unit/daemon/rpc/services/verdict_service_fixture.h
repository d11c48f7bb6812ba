// SPDX-License-Identifier: Apache-2.0
// VerdictServiceTest: VerdictService over a socket, with verdicts about links of the small fabric.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "fabric/v1/verdict_service.grpc.pb.h"
#include "tests/unit/daemon/rpc/running_server.h"
#include "tests/unit/daemon/rpc/sample_verdicts.h"

namespace fabricd::rpc::testing {

class VerdictServiceTest : public ::testing::Test {
 protected:
  using Stub = pb::VerdictService::Stub;
  using Stage = policy::Stage;
  using Verdict = policy::Verdict;
  using VerdictRecord = query::VerdictRecord;

  VerdictRecord Record(PortRef a, Verdict verdict, double confidence,
                       Stage stage = Stage::kBad) const {
    return maker_.Record(a, verdict, confidence, stage);
  }
  void Publish(std::vector<VerdictRecord> records) {
    backend_.PublishVerdicts(maker_.Make(std::move(records)));
  }
  void PublishFour() {
    Publish({Record(node1_0_, Verdict::kSuspect, 0.5), Record(node1_1_, Verdict::kNoisyPhy, 0.85),
             Record(node2_, Verdict::kNoisyPhy, 0.95), Record(trunk_, Verdict::kUnknown, 0)});
  }
  template <typename Request, typename Response>
  grpc::Status Call(grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&, Response*),
                    const Request& request, Response* response) {
    response->Clear();
    return running_.Call(*stub_, method, request, response);
  }
  grpc::Status List(const pb::ListVerdictsRequest& request) {
    return Call(&Stub::ListVerdicts, request, &listed_);
  }
  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const pb::Verdict& verdict : listed_.verdicts()) names.push_back(verdict.a_name());
    return names;
  }

  SmallFabric fabric_;
  const PortRef node1_0_{fabric_.node1_0, PortNum(1)}, node1_1_{fabric_.node1_1, PortNum(1)},
      node2_{fabric_.node2, PortNum(1)}, trunk_{fabric_.leaf1, PortNum(3)};
  FakeBackend backend_{fabric_.View()};
  RunningServer running_{backend_};
  const std::unique_ptr<Stub> stub_ = pb::VerdictService::NewStub(running_.channel);
  VerdictMaker maker_{backend_.view()->snapshot};
  pb::ListVerdictsResponse listed_;
};

}  // namespace fabricd::rpc::testing
