// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/request.h"

#include <gtest/gtest.h>

namespace fabricd::http {
namespace {

TEST(RequestTest, TakesTheFirstLineApart) {
  const auto request = ParseRequest("GET /ui/ports.json?host=node%201&after=a+b&x HTTP/1.1\n\n");
  ASSERT_TRUE(request);
  EXPECT_EQ(request->method, "GET");
  EXPECT_EQ(request->path, "/ui/ports.json");
  EXPECT_EQ(request->query, (Query{{"host", "node 1"}, {"after", "a b"}, {"x", ""}}));
}

TEST(RequestTest, KeepsInvalidEscapes) {
  const auto request = ParseRequest("GET /a%2/%zz%41?%=1&=2&b=%4 HTTP/1.0\n\n");
  ASSERT_TRUE(request);
  EXPECT_EQ(request->path, "/a%2/%zzA");
  EXPECT_EQ(request->query, (Query{{"%", "1"}, {"b", "%4"}}));
}

TEST(RequestTest, RefusesInvalidRequests) {
  for (const char* head :
       {"", "\r\n", "GET / HTTP/2.0\r\n\r\n", "GET /\r\n\r\n", "GET  HTTP/1.1\r\n\r\n",
        "GET http://host/ HTTP/1.1\r\n\r\n", "GET / x HTTP/1.1\r\n\r\n", "G\tT / HTTP/1.1\r\n\r\n",
        "PRI * HTTP/2.0\r\n\r\n", "\x16\x03\x01 / HTTP/1.1\r\n\r\n"})
    EXPECT_FALSE(ParseRequest(head)) << head;
}

TEST(RequestTest, FindsTheEndOfTheHead) {
  EXPECT_EQ(HeadEnd("GET / HTTP/1.1\r\nHost: a\r\n\r\nbody"), 27u);
  EXPECT_EQ(HeadEnd("GET / HTTP/1.1\n\n"), 16u);
  EXPECT_EQ(HeadEnd("GET / HTTP/1.1\r\nHost: a\r\n\r"), std::nullopt);
  EXPECT_EQ(HeadEnd("GET / HTTP/1.1"), std::nullopt);
}

}  // namespace
}  // namespace fabricd::http
