// SPDX-License-Identifier: Apache-2.0
// DESIGN §4: 0 ok, 1 failure, 2 usage, 3 not found, 4 unavailable or timeout, 5 permission, 6
// refused.
#include "cli/terminal/exit_code.h"

#include <gtest/gtest.h>

namespace fabricd::cli {
namespace {

int CodeOf(grpc::StatusCode code) { return ToResult(grpc::Status(code, "text"), "unix:x").code; }

TEST(ExitCodeTest, OneForEachClass) {
  EXPECT_EQ(ToResult(grpc::Status::OK, "").code, 0);
  EXPECT_EQ(CodeOf(grpc::StatusCode::INTERNAL), 1);
  EXPECT_EQ(CodeOf(grpc::StatusCode::INVALID_ARGUMENT), 2);
  EXPECT_EQ(CodeOf(grpc::StatusCode::NOT_FOUND), 3);
  EXPECT_EQ(CodeOf(grpc::StatusCode::UNAVAILABLE), 4);
  EXPECT_EQ(CodeOf(grpc::StatusCode::DEADLINE_EXCEEDED), 4);
  EXPECT_EQ(CodeOf(grpc::StatusCode::CANCELLED), 4);  // A daemon that stops.
  EXPECT_EQ(CodeOf(grpc::StatusCode::PERMISSION_DENIED), 5);
  EXPECT_EQ(CodeOf(grpc::StatusCode::UNAUTHENTICATED), 5);
  EXPECT_EQ(CodeOf(grpc::StatusCode::FAILED_PRECONDITION), 6);
}

TEST(ExitCodeTest, MessagesAreTheDaemonsUnlessThereIsNone) {
  EXPECT_EQ(ToResult(grpc::Status(grpc::StatusCode::NOT_FOUND, "no node \"x\""), "unix:x").message,
            "no node \"x\"");
  EXPECT_EQ(ToResult(grpc::Status(grpc::StatusCode::UNAVAILABLE, "gone"), "unix:x").message,
            "cannot reach fabricd at unix:x: gone");
}

}  // namespace
}  // namespace fabricd::cli
