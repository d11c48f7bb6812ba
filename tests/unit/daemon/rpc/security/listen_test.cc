// SPDX-License-Identifier: Apache-2.0
// Where the server listens, and what it does not take away from others.
#include "daemon/rpc/security/listen.h"

#include <sys/stat.h>

#include <fstream>

#include "tests/unit/daemon/rpc/running_server.h"

namespace fabricd::rpc::testing {
namespace {

using ::testing::HasSubstr;

class ListenTest : public ::testing::Test {
 protected:
  absl::Status Start(std::vector<std::string> listen) {
    auto server = Server::Start({std::move(listen), "1"}, backend_);
    if (server.ok()) servers_.push_back(*std::move(server));
    return server.status();
  }
  TempDir directory_;
  SmallFabric fabric_;
  FakeBackend backend_{fabric_.View()};
  std::vector<std::unique_ptr<Server>> servers_;
};

TEST_F(ListenTest, SeveralSocketsForOwnerAndGroupOnly) {
  const std::string a = directory_ / "a", b = directory_ / "b";
  ASSERT_TRUE(Start({"unix:" + a, "unix://" + b}).ok());
  for (const std::string& path : {a, b}) {
    struct stat info {};
    ASSERT_EQ(stat(path.c_str(), &info), 0) << path;
    EXPECT_TRUE(S_ISSOCK(info.st_mode));
    EXPECT_EQ(info.st_mode & 07777, 0660u);
  }
  servers_.clear();
  struct stat info {};
  EXPECT_NE(stat(a.c_str(), &info), 0);
}

TEST_F(ListenTest, ASocketInUseIsNotReplaced) {
  const std::string path = directory_ / "s";
  ASSERT_TRUE(Start({"unix:" + path}).ok());
  const absl::Status second = Start({"unix:" + path});
  EXPECT_EQ(second.code(), absl::StatusCode::kFailedPrecondition);
  auto channel = grpc::CreateChannel("unix:" + path, grpc::InsecureChannelCredentials());
  grpc::ClientContext context;
  pb::GetSmResponse sm;
  EXPECT_TRUE(pb::TopologyService::NewStub(channel)->GetSm(&context, {}, &sm).ok());
}

TEST_F(ListenTest, AStaleSocketIsReplaced) {
  const std::string path = directory_ / "s";
  ASSERT_EQ(mknod(path.c_str(), S_IFSOCK | 0600, 0), 0);
  EXPECT_TRUE(Start({"unix:" + path}).ok());
}

TEST_F(ListenTest, AnOrdinaryFileIsNotReplaced) {
  const std::string path = directory_ / "s";
  std::ofstream(path) << "precious";
  EXPECT_EQ(Start({"unix:" + path}).code(), absl::StatusCode::kFailedPrecondition);
  std::string content;
  std::getline(std::ifstream(path), content);
  EXPECT_EQ(content, "precious");
}

TEST_F(ListenTest, InvalidAddressesAreRefused) {
  for (const char* address : {"127.0.0.1:4000", "unix:", "", "localhost:1"}) {
    EXPECT_EQ(Start({address}).code(), absl::StatusCode::kInvalidArgument) << address;
  }
  EXPECT_THAT(std::string(Start({"127.0.0.1:4000"}).message().data()), HasSubstr("mutual TLS"));
  EXPECT_EQ(Start({"unix:/" + std::string(200, 'x')}).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Start({"unix:" + (directory_ / "none/s")}).code(), absl::StatusCode::kInternal);
}

}  // namespace
}  // namespace fabricd::rpc::testing
