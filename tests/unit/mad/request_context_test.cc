// SPDX-License-Identifier: Apache-2.0
// What a request carries for its owner: comes back typed, and is equal field by field.
#include "mad/request_context.h"

#include <vector>

#include <gtest/gtest.h>

namespace fabricd::mad {
namespace {

enum class Shop : uint8_t { kNone, kBaker, kButcher };
enum class Bread : uint8_t { kRye, kWheat };

TEST(RequestContext, KeepsOwnerKindAndSubject) {
  const PortRef port{NodeIndex(0x12345678), PortNum(255)};
  const auto context = RequestContext::Of(Shop::kBaker, Bread::kWheat, port);
  EXPECT_EQ(context.owner_as<Shop>(), Shop::kBaker);
  EXPECT_EQ(context.kind_as<Bread>(), Bread::kWheat);
  EXPECT_EQ(context.subject(), port);
}

TEST(RequestContext, HasNoNodeWithoutASubject) {
  EXPECT_TRUE(RequestContext().subject().IsNone());
  EXPECT_TRUE(RequestContext::Of(Shop::kButcher).subject().IsNone());
  EXPECT_TRUE(RequestContext::Of(Shop::kBaker, Bread::kRye).subject().IsNone());
}

TEST(RequestContext, EveryFieldCountsForEquality) {
  const RequestContext context{1, 2, 3, 4, PortNum(5), NodeIndex(6), 7};
  std::vector<RequestContext> others(7, context);
  others[0].owner = 9;
  others[1].kind = 9;
  others[2].run = 9;
  others[3].block = 9;
  others[4].port = PortNum(9);
  others[5].node = NodeIndex(9);
  others[6].number = 9;
  for (size_t i = 0; i < others.size(); ++i) EXPECT_NE(others[i], context) << i;
  EXPECT_EQ(RequestContext(context), context);
}

}  // namespace
}  // namespace fabricd::mad
