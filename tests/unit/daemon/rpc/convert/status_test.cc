// SPDX-License-Identifier: Apache-2.0
#include "daemon/rpc/convert/grpc_status.h"

#include <gtest/gtest.h>

#include "tests/unit/daemon/rpc/running_server.h"

namespace fabricd::rpc::testing {
namespace {

TEST(StatusTest, EveryErrorHasOneErrorInfo) {
  EXPECT_TRUE(ToGrpc(absl::OkStatus()).ok());
  const grpc::Status plain = ToGrpc(absl::InternalError("broken"));
  EXPECT_EQ(plain.error_code(), grpc::StatusCode::INTERNAL);
  EXPECT_EQ(plain.error_message(), "broken");
  EXPECT_EQ(ReasonOf(plain), "INTERNAL");
  EXPECT_EQ(ReasonOf(ToGrpc(WithReason(absl::AbortedError("x"), "MINE"))), "MINE");
  EXPECT_EQ(ReasonOf(ToGrpc(WithReason(NoSuch("node", "n"), "MINE"))), "NODE_NOT_FOUND");
}

TEST(StatusTest, TheStatusMessageRepeatsCodeAndText) {
  google::rpc::Status details;
  ASSERT_TRUE(
      details.ParseFromString(ToGrpc(BadField("page_size", "is negative")).error_details()));
  EXPECT_EQ(details.code(), 3);
  EXPECT_EQ(details.message(), "page_size: is negative");
  ASSERT_EQ(details.details_size(), 2);
  EXPECT_TRUE(details.details(0).Is<google::rpc::ErrorInfo>());
}

TEST(StatusTest, MetadataIsKept) {
  const auto status = ToGrpc(
      MakeError(absl::StatusCode::kOutOfRange, "PAGE_TOKEN_EXPIRED", "x", {{"generation", "7"}}));
  EXPECT_EQ(DetailOf<google::rpc::ErrorInfo>(status).metadata().at("generation"), "7");
}

// Larger ones never reach the client: gRPC gives it RESOURCE_EXHAUSTED instead.
TEST(StatusTest, ErrorsFitIntoMetadataForAnyRequest) {
  const std::string name(300'000, '\xFE');
  std::string umlauts;
  while (umlauts.size() < 100'000) umlauts += "\xC3\xA4";
  const std::vector<std::pair<std::string, std::string>> faults(500, {"text:1", umlauts});
  for (const absl::Status& error :
       {NoSuch("node", name), NoSuch("node", umlauts), BadField(umlauts, umlauts),
        GuardRefusal("guard \"" + umlauts + "\": " + umlauts), absl::AbortedError(name),
        BadFields(faults, umlauts, "PARTITIONS_FAULTY", {{"faults", umlauts}})}) {
    const grpc::Status status = ToGrpc(error);
    ReasonOf(status);
    size_t encoded = status.error_details().size() * 4 / 3;
    for (const char c : status.error_message()) encoded += c < ' ' || c > '~' || c == '%' ? 3 : 1;
    EXPECT_LT(encoded, 8000u);
  }
  EXPECT_EQ(ToGrpc(NoSuch("node", "\xFFn\xC3")).error_message(), "no node \"?n?\"");
}

}  // namespace
}  // namespace fabricd::rpc::testing
