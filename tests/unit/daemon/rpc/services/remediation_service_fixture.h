// SPDX-License-Identifier: Apache-2.0
// RemediationServiceTest: RemediationService over a socket, with holds of the small fabric.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "tests/unit/daemon/rpc/running_server.h"

namespace fabricd::rpc::testing {

class RemediationServiceTest : public ::testing::Test {
 protected:
  using Stub = pb::RemediationService::Stub;

  RemediationServiceTest() {
    backend_.on_hold = [this](daemon::HoldCommand command, const daemon::HoldDone& done) {
      commands_.push_back(command);
      answer_(done);
    };
  }
  // The core makes each hold that it is asked for, with id 7, and publishes it.
  void GrantHolds() {
    answer_ = [this](const daemon::HoldDone& done) {
      auto outcome = std::make_shared<sweep::HoldOutcome>();
      outcome->hold = std::get<sweep::CreateHold>(commands_.back()).hold;
      outcome->hold.id = 7;
      outcome->hold.created = 1'700'000'000'000;
      outcome->consequences.cut_off = {{fabric_.node2, PortNum(1)}};
      outcome->consequences.pairs_lost = 6;
      outcome->consequences.paths_moved = 5'000'000'000;
      outcome->consequences.needed_links = {{fabric_.leaf2, PortNum(3)}};
      outcome->consequences.busiest_before.load = 3;
      outcome->consequences.busiest_after.load = 4;
      fabric_.policy.holds = {{outcome->hold, policy::HoldState::kPending, "tables"}};
      backend_.Publish(fabric_.View(8));
      done(absl::OkStatus(), outcome);
    };
  }
  void AnswerWith(absl::Status status, std::shared_ptr<sweep::HoldOutcome> outcome = nullptr) {
    answer_ = [=](const daemon::HoldDone& done) { done(status, outcome); };
  }
  static pb::CreateHoldRequest Drain(const std::string& target) {
    pb::CreateHoldRequest request;
    request.set_target(target);
    request.set_kind(pb::HOLD_KIND_DRAIN);
    request.set_reason("BER");
    return request;
  }
  grpc::Status Create(const pb::CreateHoldRequest& request) {
    created_.Clear();
    return running_.Call(*running_.remediation, &Stub::CreateHold, request, &created_);
  }
  grpc::Status Delete(const pb::DeleteHoldRequest& request) {
    return running_.Call(*running_.remediation, &Stub::DeleteHold, request, &deleted_);
  }
  std::vector<std::string> List(const pb::ListHoldsRequest& request) {
    pb::ListHoldsResponse response;
    const auto status = running_.Call(*running_.remediation, &Stub::ListHolds, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    std::vector<std::string> ids;
    for (const auto& hold : response.holds()) ids.push_back(hold.id());
    return ids;
  }
  void AddHold(uint64_t id, policy::HoldKind kind, const std::string& owner,
               policy::HoldTarget target) {
    policy::HoldStatus status;
    status.hold.id = id;
    status.hold.kind = kind;
    status.hold.owner = owner;
    status.hold.target = std::move(target);
    fabric_.policy.holds.push_back(status);
    backend_.Publish(fabric_.View(9));
  }

  SmallFabric fabric_;
  FakeBackend backend_{fabric_.View()};
  RunningServer running_{backend_};
  std::vector<daemon::HoldCommand> commands_;
  std::function<void(const daemon::HoldDone&)> answer_ = [](const daemon::HoldDone&) {};
  pb::CreateHoldResponse created_;
  pb::DeleteHoldResponse deleted_;
};

}  // namespace fabricd::rpc::testing
