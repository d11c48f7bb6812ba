// SPDX-License-Identifier: Apache-2.0
// Services (IBA vol 1 §15.2.5.14): leases, keys and who may change them.
#include <gmock/gmock.h>

#include "tests/unit/sa/state/client_state_fixture.h"

namespace fabricd::sa {
namespace {

using testing::Ask;
using testing::Bit;
using ::testing::IsEmpty;
using testing::Reply;
using ::testing::SizeIs;

TEST_F(StateTest, AServiceIsThereUntilItsLeaseEnds) {
  ASSERT_EQ(shell.Set(Service(kHost, 7), kId | kServiceGid | kServicePKey | kLease, LidOf(kHost))
                .status(),
            wire::kStatusOk);
  shell.Pass(std::chrono::seconds(40));
  const auto found = shell.Table(Service(kHost, 7), kId, LidOf(kOther));
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].lease, 60u) << "what is left of it";
  shell.Pass(std::chrono::seconds(59));
  EXPECT_THAT(shell.Table(Service(kHost, 7), kId, LidOf(kOther)), SizeIs(1));
  shell.Pass(std::chrono::seconds(2));
  EXPECT_THAT(shell.Table(Service(kHost, 7), 0, LidOf(kOther)), IsEmpty());
  EXPECT_THAT(shell.clients->services->size(), 0u);
}

TEST_F(StateTest, ARenewalExtendsTheLease) {
  const uint64_t mask = kId | kServiceGid | kServicePKey | kLease;
  shell.Set(Service(kHost, 7), mask, LidOf(kHost));
  shell.Pass(std::chrono::seconds(90));
  shell.Set(Service(kHost, 7), mask, LidOf(kHost));
  shell.Pass(std::chrono::seconds(90));
  EXPECT_THAT(shell.Table(Service(kHost, 7), kId, LidOf(kOther)), SizeIs(1));
}

TEST_F(StateTest, OnlyTheServiceKeyPermitsChangesOfAService) {
  wire::ServiceRecord record = Service(kHost, 7);
  record.key = {1, 2, 3};
  const uint64_t mask = kId | kServiceGid | kServicePKey | kKey;
  ASSERT_EQ(shell.Set(record, mask, LidOf(kHost)).status(), wire::kStatusOk);
  const auto seen = shell.Table(record, kId, LidOf(kOther));
  ASSERT_THAT(seen, SizeIs(1));
  EXPECT_EQ(seen[0].key, (std::array<uint8_t, 16>{})) << "nobody is told the key";
  EXPECT_EQ(seen[0].lease, ServiceTable::kLeaseForEver);
  wire::ServiceRecord thief = record;
  thief.key = {9};
  EXPECT_EQ(shell.Delete(thief, mask, LidOf(kOther)).status(), wire::kSaStatusRequestDenied);
  EXPECT_EQ(shell.Set(thief, mask, LidOf(kOther)).status(), wire::kSaStatusRequestDenied);
  const Reply deleted = shell.Delete(record, mask, LidOf(kHost));
  EXPECT_EQ(deleted.status(), wire::kStatusOk);
  EXPECT_EQ(shell.Delete(record, mask, LidOf(kHost)).status(), wire::kSaStatusNoRecords);
}

TEST_F(StateTest, WithoutAKeyOnlyThePortItselfChangesAService) {
  const wire::ServiceRecord record = Service(kHost, 7);
  const uint64_t mask = kId | kServiceGid | kServicePKey;
  // Another port may offer it where nothing is there yet, and renew nothing.
  ASSERT_EQ(shell.Set(record, mask, LidOf(kOther)).status(), wire::kStatusOk);
  EXPECT_EQ(shell.Set(record, mask, LidOf(kOther)).status(), wire::kSaStatusRequestDenied);
  EXPECT_EQ(shell.Delete(record, mask, LidOf(kOther)).status(), wire::kSaStatusRequestDenied);
  EXPECT_EQ(shell.Set(record, mask, LidOf(kHost)).status(), wire::kStatusOk);
  EXPECT_EQ(shell.Delete(record, mask, LidOf(kHost)).status(), wire::kStatusOk);
}

TEST_F(StateTest, AServiceNeedsItsIdentifierAndAPortOfTheFabric) {
  EXPECT_EQ(shell.Set(Service(kHost, 7), kId, LidOf(kHost)).status(),
            wire::kSaStatusInsufficientComponents);
  wire::ServiceRecord record = Service(kHost, 7);
  record.service_gid.low ^= 1;
  EXPECT_EQ(shell.Set(record, kId | kServiceGid, LidOf(kHost)).status(),
            wire::kSaStatusRequestInvalidGid);
  record = Service(kHost, 7);
  record.p_key = PKey(0x8001);
  EXPECT_EQ(shell.Set(record, kId | kServiceGid | kServicePKey, LidOf(kHost)).status(),
            wire::kSaStatusRequestInvalid);
}

TEST_F(StateTest, APortMayOfferOnlySoManyServices) {
  const uint64_t mask = kId | kServiceGid | kServicePKey;
  for (uint64_t id = 0; id < ServiceTable::kMostOfPort; ++id)
    ASSERT_EQ(shell.Set(Service(kHost, id), mask, LidOf(kHost)).status(), wire::kStatusOk);
  EXPECT_EQ(shell.Set(Service(kHost, 1 << 20), mask, LidOf(kHost)).status(),
            wire::kSaStatusNoResources);
  EXPECT_EQ(shell.Set(Service(kHost, 3), mask, LidOf(kHost)).status(), wire::kStatusOk)
      << "renewing needs no room";
  EXPECT_EQ(shell.Set(Service(kSecond, 1), mask, LidOf(kSecond)).status(), wire::kStatusOk);
}

TEST_F(StateTest, APathIsFoundByTheServiceAtItsEnd) {
  shell.Set(Service(kOther, 7), kId | kServiceGid, LidOf(kOther));
  wire::PathRecord wanted;
  wanted.service_id = 7;
  wanted.sgid = GidOf(kHost);
  const uint64_t mask = Bit(PathComponent::kServiceIdHigh) | Bit(PathComponent::kServiceIdLow) |
                        Bit(PathComponent::kSgid);
  const Reply reply = shell.Ask(Ask(wanted, mask, wire::Method::kGet), LidOf(kHost));
  const auto paths = reply.Records<wire::PathRecord>();
  ASSERT_THAT(paths, SizeIs(1));
  EXPECT_EQ(paths[0].dgid, GidOf(kOther));
  EXPECT_EQ(paths[0].service_id, 7u);
}

}  // namespace
}  // namespace fabricd::sa
