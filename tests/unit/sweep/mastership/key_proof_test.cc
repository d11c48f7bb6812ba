// SPDX-License-Identifier: Apache-2.0
// Which requests for SMInfo are shown the SM_Key, and what waits for a proof (IBA vol 1
// §14.2.5.13).
#include "sweep/mastership/key_proof.h"

#include <gtest/gtest.h>

#include "mad/wire/sm_info.h"

namespace fabricd::sweep {
namespace {

using Verdict = KeyProof::Verdict;

constexpr mad::RequestContext kContext{.owner = 4, .kind = 5};
constexpr SmKey kKey{0x5EC2E7};
constexpr MKey kMKey{0xABC};
constexpr mad::DeviceId kHost = 7;

class KeyProofTest : public testing::Test {
 protected:
  static wire::DirectedPath Path(uint8_t port) { return wire::DirectedPath().Then(PortNum(port)); }
  Verdict Ask(const KeyProof::Request& request, std::optional<wire::DirectedPath> back = Path(1)) {
    return proof_.OnRequest(request, own_, back, kHost);
  }
  // As OpenSM and tools ask: nothing tells of the sender.
  Verdict Get(uint8_t port, uint32_t tid, mad::DeviceId host) {
    KeyProof::Request request;
    request.smp.tid = TransactionId(tid);
    return proof_.OnRequest(request, own_, Path(port), host);
  }
  static mad::Completion Silence(uint32_t number) {
    mad::Completion completion;
    completion.context = kContext;
    completion.context.number = number;
    return completion;
  }
  KeyProof::Proof Shows(uint32_t number, SmKey key, uint16_t status = 0) {
    mad::Completion completion = Silence(number);
    completion.outcome = mad::Completion::Outcome::kResponse;
    completion.status = status;
    wire::SmInfo info;
    info.sm_key = key;
    info.Encode(completion.response.data);
    return proof_.OnCompletion(completion, kKey);
  }

  KeyProof::Keys own_{kKey, kMKey};
  SmOptions options_;
  DeviceTable devices_{options_, Guid(0x1001)};
  mad::TransactionEngine engine_{{}};
  KeyProof proof_{devices_, engine_, kContext};
};

TEST_F(KeyProofTest, ReturnsTheKeyToAnSmThatReturnsIt) {
  ASSERT_EQ(Get(1, 7, kHost), Verdict::kWait);
  EXPECT_EQ(engine_.size(), 1u) << "the question";
  const auto proof = Shows(0, kKey);
  EXPECT_TRUE(proof.proven);
  ASSERT_EQ(proof.requests.size(), 1u);
  EXPECT_EQ(proof.requests[0].smp.tid, TransactionId(7));
  EXPECT_TRUE(Shows(0, kKey).requests.empty()) << "answered already";
}

TEST_F(KeyProofTest, AnotherKeyARefusalOrATimeoutIsNoProof) {
  ASSERT_EQ(Get(1, 7, kHost), Verdict::kWait);
  const auto other = Shows(0, SmKey(1));
  EXPECT_FALSE(other.proven);
  EXPECT_EQ(other.requests.size(), 1u) << "answered, without the key";
  ASSERT_EQ(Get(1, 7, kHost), Verdict::kWait);
  EXPECT_FALSE(Shows(1, kKey, wire::kStatusUnsupportedMethodAttribute).proven);
  ASSERT_EQ(Get(1, 7, kHost), Verdict::kWait);
  const auto silent = proof_.OnCompletion(Silence(2), kKey);
  EXPECT_FALSE(silent.proven);
  EXPECT_EQ(silent.requests.size(), 1u);
}

TEST_F(KeyProofTest, TheKeysOfARequestAreProofEnough) {
  KeyProof::Request request;
  request.smp.m_key = kMKey;
  EXPECT_EQ(Ask(request, std::nullopt), Verdict::kShow);
  own_.m_key = MKey();
  request.smp.m_key = MKey();
  EXPECT_EQ(Ask(request, std::nullopt), Verdict::kHide) << "a port without an M_Key";
  const auto with = [&](SmKey key) {
    wire::SmInfo sender;
    sender.sm_key = key;
    sender.Encode(request.smp.data);
    return Ask(request);
  };
  EXPECT_EQ(with(kKey), Verdict::kShow);
  EXPECT_EQ(with(SmKey(1)), Verdict::kHide);
  EXPECT_EQ(engine_.size(), 0u);
}

TEST_F(KeyProofTest, DoesNotProbeTheSenderOfFabricdsGets) {
  devices_.SetPath(NodeIndex(3), Path(1));
  KeyProof::Request request;
  request.smp.data = devices_.Get(NodeIndex(3), wire::AttributeId::kSmInfo, 0).data;
  EXPECT_EQ(Ask(request), Verdict::kHide);
  request.smp.data = devices_.GetSmInfo(Path(1), kAskerDevice).data;
  EXPECT_EQ(Ask(request), Verdict::kHide);
  EXPECT_EQ(engine_.size(), 0u);
}

TEST_F(KeyProofTest, WithoutARouteBackTheKeyIsHidden) {
  EXPECT_EQ(Ask({}, std::nullopt), Verdict::kHide);
}

TEST_F(KeyProofTest, RequestsOfOneSenderShareOneProbe) {
  ASSERT_EQ(Get(1, 7, kHost), Verdict::kWait);
  EXPECT_EQ(Get(1, 7, kHost), Verdict::kWait) << "repeated: one answer";
  for (uint32_t tid = 8; tid < 7 + KeyProof::kMostWaiting; ++tid)
    EXPECT_EQ(Get(1, tid, kHost), Verdict::kWait);
  EXPECT_EQ(Get(1, 100, kHost), Verdict::kHide);
  EXPECT_EQ(engine_.size(), 1u);
  EXPECT_EQ(Shows(0, kKey).requests.size(), KeyProof::kMostWaiting);
}

TEST_F(KeyProofTest, OneHostCannotUseUpAllProbes) {
  uint8_t port = 1;
  for (size_t i = 0; i < KeyProof::kMostToOneHost; ++i)
    ASSERT_EQ(Get(port++, 1, kHost), Verdict::kWait);
  EXPECT_EQ(Get(port++, 1, kHost), Verdict::kHide) << "by one more route";
  for (mad::DeviceId host = 100; engine_.size() < KeyProof::kMostQuestions; ++host)
    ASSERT_EQ(Get(port++, 1, host), Verdict::kWait);
  EXPECT_EQ(Get(100, 1, 200), Verdict::kHide);
  EXPECT_TRUE(Shows(3, kKey).proven);
  EXPECT_EQ(Get(100, 1, 200), Verdict::kWait);
}

TEST_F(KeyProofTest, DroppedProbesAreSentAgain) {
  ASSERT_EQ(Get(1, 7, kHost), Verdict::kWait);
  engine_.CancelAll();
  ASSERT_EQ(engine_.size(), 0u);
  proof_.AskAgain();
  EXPECT_EQ(engine_.size(), 1u);
  EXPECT_TRUE(Shows(0, kKey).proven);
}

}  // namespace
}  // namespace fabricd::sweep
