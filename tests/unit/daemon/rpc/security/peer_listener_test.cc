// SPDX-License-Identifier: Apache-2.0
// Users at unix sockets, many of them and with slow names. Only root can be other users.
#include "daemon/rpc/security/peer_listener.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <future>
#include <thread>

#include <grpcpp/create_channel_posix.h>

#include "tests/unit/daemon/rpc/running_server.h"

namespace fabricd::rpc::testing {
namespace {

using ::testing::Contains;

constexpr uid_t kFirst = 70'000;

TEST(UserNames, AGroupMayHaveManyMembers) {
  NameService service;
  char name[] = "training";
  size_t largest = 0;
  service.group = [&](gid_t, group* entry, char*, size_t size, group** found) {
    largest = std::max(largest, size);
    if (size < (size_t{3} << 20)) return ERANGE;
    entry->gr_name = name;
    *found = entry;
    return 0;
  };
  EXPECT_EQ(GroupName(service, 7), "training");
  // No name at all after some room.
  service.group = [&](gid_t, group*, char*, size_t size, group**) {
    largest = std::max(largest, size);
    return ERANGE;
  };
  EXPECT_EQ(GroupName(service, 7), "");
  EXPECT_LE(largest, size_t{64} << 20);
}

class PeerListenerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "only root can be other users";
  }
  void Start() {
    ServerOptions options{{"unix:" + path_}, "1"};
    options.names.user = [this](uid_t uid, passwd* entry, char* buffer, size_t size,
                                passwd** found) {
      if (uid == slow_) gate_.wait();
      ++lookups_;
      const std::string name = fmt::format("name{}", uid);
      name.copy(buffer, size);
      buffer[name.size()] = '\0';
      entry->pw_name = buffer;
      *found = entry;
      return 0;
    };
    auto started = Server::Start(options, backend_);
    ASSERT_TRUE(started.ok()) << started.status();
    server_ = *std::move(started);
    const std::string directory = path_.substr(0, path_.rfind('/'));
    ASSERT_EQ(chmod(directory.c_str(), 0755), 0);
    ASSERT_EQ(chmod(path_.c_str(), 0666), 0);
  }
  void TearDown() override {
    if (!open_) Open();
    server_.reset();
  }
  void Open() {
    open_ = true;
    opener_.set_value();
  }
  // A connection of that user.
  int ConnectAs(uid_t uid) const {
    int fd = -1;
    std::thread([&] {
      // The system call changes this thread alone.
      EXPECT_EQ(syscall(SYS_setresuid, -1, uid, -1), 0);
      fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
      sockaddr_un address{};
      address.sun_family = AF_UNIX;
      path_.copy(address.sun_path, sizeof(address.sun_path) - 1);
      EXPECT_EQ(connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0)
          << std::strerror(errno);
      EXPECT_EQ(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
    }).join();
    return fd;
  }
  // Takes the connection over. Empty: the call failed.
  static std::vector<std::string> PrincipalsOf(int fd, std::chrono::milliseconds timeout) {
    const auto stub = pb::AdminService::NewStub(grpc::CreateInsecureChannelFromFd("unix:peer", fd));
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + timeout);
    pb::GetCallerResponse response;
    if (!stub->GetCaller(&context, {}, &response).ok()) return {};
    return {response.principals().begin(), response.principals().end()};
  }
  // As soon as it is so; the server learns of closed connections a little later.
  bool IsKnownSoon(uid_t uid) const {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    const std::string principal = fmt::format("user:name{}", uid);
    do {
      const auto principals = PrincipalsOf(ConnectAs(uid), std::chrono::seconds(20));
      if (std::find(principals.begin(), principals.end(), principal) != principals.end())
        return true;
    } while (std::chrono::steady_clock::now() < end);
    return false;
  }

  TempDir directory_;
  const std::string path_ = directory_ / "s";
  SmallFabric fabric_;
  FakeBackend backend_{fabric_.View()};
  std::promise<void> opener_;
  std::shared_future<void> gate_ = opener_.get_future().share();
  bool open_ = false;
  uid_t slow_ = 0xFFFFFFFE;
  std::atomic<int> lookups_ = 0;
  std::unique_ptr<Server> server_;
};

TEST_F(PeerListenerTest, ANameServiceThatHangsDelaysItsUserOnly) {
  slow_ = kFirst;
  Start();
  const int slow = ConnectAs(kFirst);
  EXPECT_THAT(PrincipalsOf(ConnectAs(kFirst + 1), std::chrono::seconds(20)),
              Contains(fmt::format("user:name{}", kFirst + 1)));
  EXPECT_TRUE(PrincipalsOf(ConnectAs(kFirst), std::chrono::milliseconds(100)).empty());
  Open();
  EXPECT_THAT(PrincipalsOf(slow, std::chrono::seconds(20)),
              Contains(fmt::format("user:name{}", kFirst)));
}

TEST_F(PeerListenerTest, NamesAreLookedUpOnceAMinute) {
  Start();
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(IsKnownSoon(kFirst));
  EXPECT_EQ(lookups_, 1);
}

TEST_F(PeerListenerTest, DisconnectedUsersFreeTheirPlaces) {
  Start();
  std::vector<int> held;
  for (uid_t i = 0; i < PeerListener::kUsers; ++i) held.push_back(ConnectAs(kFirst + i));
  // One more at the same time is not known, and may do nothing.
  const auto principals = PrincipalsOf(ConnectAs(kFirst - 1), std::chrono::seconds(20));
  EXPECT_TRUE(principals.empty());
  for (const int fd : held) close(fd);
  for (uid_t i = 0; i < PeerListener::kUsers + 2; ++i)
    ASSERT_TRUE(IsKnownSoon(kFirst + 1000 + i)) << i;
}

// A user that disconnects during a call keeps its place until the call has ended, so that the call
// is never attributed to another user.
TEST_F(PeerListenerTest, APlaceIsHeldByCallsThatGoOn) {
  std::promise<void> swept;
  std::function<void(absl::Status)> done;
  backend_.on_sweep = [&](bool, std::function<void(absl::Status)> answer) {
    done = std::move(answer);
    swept.set_value();
  };
  Start();
  {
    const auto stub =
        pb::AdminService::NewStub(grpc::CreateInsecureChannelFromFd("unix:peer", ConnectAs(0)));
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::milliseconds(200));
    pb::StartSweepRequest request;
    request.set_wait(true);
    pb::StartSweepResponse response;
    EXPECT_FALSE(stub->StartSweep(&context, request, &response).ok());
  }
  ASSERT_EQ(swept.get_future().wait_for(std::chrono::seconds(20)), std::future_status::ready);
  done(absl::OkStatus());
  EXPECT_TRUE(IsKnownSoon(kFirst));
}

TEST_F(PeerListenerTest, ConnectionsOfOneUserDoNotBlockOthers) {
  Start();
  std::vector<int> idle;
  for (size_t i = 0; i < PeerListener::kConnectionsOfPeer + 20; ++i)
    idle.push_back(ConnectAs(kFirst));
  EXPECT_TRUE(IsKnownSoon(kFirst + 1));
  EXPECT_TRUE(PrincipalsOf(ConnectAs(kFirst), std::chrono::seconds(2)).empty());
  for (const int fd : idle) close(fd);
  EXPECT_TRUE(IsKnownSoon(kFirst));
}

}  // namespace
}  // namespace fabricd::rpc::testing
