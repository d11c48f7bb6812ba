// SPDX-License-Identifier: Apache-2.0
// Pages of a listing, against a fabric that changes while it is being listed (AIP-158).
#include "daemon/rpc/convert/pages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "daemon/base/models.h"
#include "daemon/rpc/convert/grpc_status.h"
#include "fabric/v1/topology_service.pb.h"
#include "tests/unit/daemon/rpc/small_fabric.h"

namespace fabricd::rpc::testing {
namespace {

namespace pb = ::fabric::v1;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class PagesTest : public ::testing::Test {
 protected:
  // The names of a page; sets the next token in request_.
  absl::StatusOr<std::vector<std::string>> Next() {
    auto page = Page::Open(models_, request_);
    if (!page.ok()) return page.status();
    std::vector<std::string> names;
    for (const NodeIndex node : page->model().names->nodes) {
      if (page->Take()) names.push_back(page->model().name(node));
    }
    response_.Clear();
    page->Close(models_, &response_);
    request_.set_page_token(response_.next_page_token());
    return names;
  }

  SmallFabric fabric_;
  FakeBackend backend_{fabric_.View(1)};
  daemon::Models models_{backend_};
  pb::ListNodesRequest request_;
  pb::ListNodesResponse response_;
};

TEST_F(PagesTest, AllPagesAreOfTheFirstView) {
  request_.set_page_size(4);
  const auto first = Next();
  ASSERT_TRUE(first.ok());
  EXPECT_THAT(*first, ElementsAre("MF0;spine:MQM8700/U1", "leaf1", "leaf2", "node1 mlx5_0"));
  EXPECT_EQ(response_.total_size(), 6u);
  fabric_.maker.builder.RemoveNode(fabric_.node2);
  backend_.Publish(fabric_.View(2));
  const auto second = Next();
  ASSERT_TRUE(second.ok());
  EXPECT_THAT(*second, ElementsAre("node1 mlx5_1", "node2 mlx5_0"));
  EXPECT_EQ(response_.generation(), 1u);
  EXPECT_THAT(response_.next_page_token(), IsEmpty());
  const auto anew = Next();  // The token is empty: a new listing.
  ASSERT_TRUE(anew.ok());
  EXPECT_EQ(response_.total_size(), 5u);
  EXPECT_EQ(response_.generation(), 2u);
}

TEST_F(PagesTest, ATokenThatEndsExactlyIsTheLast) {
  request_.set_page_size(3);
  ASSERT_EQ(Next()->size(), 3u);
  ASSERT_EQ(Next()->size(), 3u);
  EXPECT_THAT(response_.next_page_token(), IsEmpty());
}

TEST_F(PagesTest, ATokenOfADroppedViewIsRefused) {
  request_.set_page_size(2);
  ASSERT_TRUE(Next().ok());
  const std::string old = request_.page_token();
  for (uint64_t generation = 2; generation < 40; ++generation) {  // More than are kept.
    backend_.Publish(fabric_.View(generation));
    request_.clear_page_token();
    ASSERT_TRUE(Next().ok());
  }
  request_.set_page_token(old);
  const auto gone = Next();
  EXPECT_EQ(gone.status().code(), absl::StatusCode::kOutOfRange);
}

// Generations are counted from the start of the daemon, so tokens of an earlier run must not match
// by accident.
TEST_F(PagesTest, TokensDoNotOutliveTheDaemon) {
  request_.set_page_size(2);
  ASSERT_TRUE(Next().ok());
  daemon::Models other(backend_);
  ASSERT_NE(other.epoch(), models_.epoch());
  other.Keep(other.Current());
  EXPECT_EQ(Page::Open(other, request_).status().code(), absl::StatusCode::kOutOfRange);
}

TEST_F(PagesTest, BadRequestsAreRefused) {
  const auto code = [&] { return Next().status().code(); };
  request_.set_page_size(-1);
  EXPECT_EQ(code(), absl::StatusCode::kInvalidArgument);
  request_.set_page_size(2);
  for (const char* token :
       {"x", "0000000000000000000000000000000000000000zz",
        "-000000000000000000000000000000000000001", "………………………………………………………………"}) {
    request_.set_page_token(token);
    EXPECT_EQ(code(), absl::StatusCode::kInvalidArgument) << token;
  }
  request_.clear_page_token();
  ASSERT_TRUE(Next().ok());
  request_.add_types("CA");  // The token is of another listing now.
  EXPECT_EQ(code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(PagesTest, LargePagesAreCapped) {
  FabricMaker maker;
  for (uint32_t i = 0; i < kMaxPageSize + 2; ++i) {
    maker.Add(wire::NodeType::kChannelAdapter, Guid(0x1000 + 2 * i), 1, fmt::format("n{}", i));
  }
  auto view = fabric_.View(2);
  view->snapshot = maker.builder.Build();
  view->lids = std::make_shared<const fabric::LidTable>();
  backend_.Publish(view);
  EXPECT_EQ(Next()->size(), kDefaultPageSize);
  request_.clear_page_token();
  request_.set_page_size(1'000'000);
  EXPECT_EQ(Next()->size(), kMaxPageSize);
  EXPECT_EQ(Next()->size(), 2u);
}

}  // namespace
}  // namespace fabricd::rpc::testing
