// SPDX-License-Identifier: Apache-2.0
// The server under clients that do not behave, on sockets of the test's own.
#include "daemon/http/http_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <future>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fabricd::http {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;
using testing::StartsWith;

class Client {
 public:
  // `address`: of loopback; another one is another client to the server.
  explicit Client(int port, const char* from = "127.0.0.1")
      : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in own{}, server{};
    own.sin_family = server.sin_family = AF_INET;
    inet_pton(AF_INET, from, &own.sin_addr);
    EXPECT_EQ(bind(fd_, reinterpret_cast<sockaddr*>(&own), sizeof(own)), 0);
    server.sin_port = htons(static_cast<uint16_t>(port));
    inet_pton(AF_INET, "127.0.0.1", &server.sin_addr);
    EXPECT_EQ(connect(fd_, reinterpret_cast<sockaddr*>(&server), sizeof(server)), 0);
    const timeval patience{20, 0};
    setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
  }
  Client(Client&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  ~Client() {
    if (fd_ >= 0) close(fd_);
  }
  // False: the server has ended the connection.
  bool Send(const std::string& text) const {
    return send(fd_, text.data(), text.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(text.size());
  }
  // All until the server ends the connection.
  std::string Receive() const {
    std::string text;
    char bytes[4096];
    for (ssize_t count; (count = recv(fd_, bytes, sizeof(bytes), 0)) > 0;)
      text.append(bytes, static_cast<size_t>(count));
    return text;
  }
  std::string Ask(const std::string& text) const {
    EXPECT_TRUE(Send(text));
    return Receive();
  }

 private:
  int fd_;
};

class HttpServerTest : public testing::Test {
 protected:
  void Start(HttpLimits limits = {}) {
    Pages pages;
    pages["/healthz"] = {[](const Query&) { return Text("ok\n"); }, Page::Cost::kQuick};
    pages["/echo"].make = [](const Query& query) { return Text(query.at("q")); };
    pages["/slow"].make = [this](const Query&) {
      gate_.wait();
      return Text("slow\n");
    };
    const auto large = std::make_shared<const std::string>(size_t{8} << 20, 'x');
    pages["/large"] = {[large](const Query&) {
                         return Reply{200, "text/plain", large};
                       },
                       Page::Cost::kQuick};
    auto started = HttpServer::Start("127.0.0.1:0", std::move(pages), limits);
    ASSERT_TRUE(started.ok()) << started.status();
    server_ = *std::move(started);
  }
  void TearDown() override {
    if (!open_) Open();
  }
  void Open() {
    open_ = true;
    opener_.set_value();
  }
  Client Connect(const char* from = "127.0.0.1") const { return Client(server_->port(), from); }
  std::string Health() const { return Connect().Ask("GET /healthz HTTP/1.1\r\n\r\n"); }

  std::promise<void> opener_;
  std::shared_future<void> gate_ = opener_.get_future().share();
  bool open_ = false;
  std::unique_ptr<HttpServer> server_;
};

TEST_F(HttpServerTest, AnswersOneRequestPerConnection) {
  Start();
  const std::string health = Health();
  EXPECT_THAT(health, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(health, HasSubstr("Connection: close\r\n"));
  EXPECT_TRUE(health.ends_with("Content-Length: 3\r\n\r\nok\n")) << health;
  EXPECT_TRUE(Connect().Ask("GET /echo?q=%3Ca%3E HTTP/1.0\r\n\r\n").ends_with("\r\n\r\n<a>"));
  const std::string head = Connect().Ask("HEAD /healthz HTTP/1.1\r\n\r\n");
  EXPECT_TRUE(head.ends_with("Content-Length: 3\r\n\r\n")) << head;
}

TEST_F(HttpServerTest, AnswersFaultyRequestsWithTheirStatus) {
  Start();
  const std::pair<std::string, const char*> wrong[] = {
      {"GET /none HTTP/1.1\r\n\r\n", "HTTP/1.1 404 "},
      {"POST /healthz HTTP/1.1\r\nContent-Length: 4\r\n\r\nbody", "HTTP/1.1 405 "},
      {"nonsense\r\n\r\n", "HTTP/1.1 400 "},
      {"GET /" + std::string(9000, 'a') + " HTTP/1.1\r\n\r\n", "HTTP/1.1 414 "},
      {"GET / HTTP/1.1\r\nX: " + std::string(9000, 'a') + "\r\n\r\n", "HTTP/1.1 431 "}};
  for (const auto& [request, status] : wrong)
    EXPECT_THAT(Connect().Ask(request), StartsWith(status)) << request.substr(0, 40);
}

TEST_F(HttpServerTest, ServesNoRanges) {
  Start();
  std::string ranges = "0-";
  while (ranges.size() < 7000) ranges += ",0-";
  const std::string answer =
      Connect().Ask("GET /healthz HTTP/1.1\r\nRange: bytes=" + ranges + "\r\n\r\n");
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 "));
  EXPECT_THAT(answer, HasSubstr("Content-Length: 3\r\n"));
}

// The limit is for the whole head, also if single bytes arrive in between.
TEST_F(HttpServerTest, EndsRequestsThatTakeTooLong) {
  Start({.request = milliseconds(100)});
  const Client silent = Connect(), slow = Connect();
  EXPECT_THAT(silent.Receive(), StartsWith("HTTP/1.1 408 "));
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (slow.Send("a") && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(milliseconds(5));
  EXPECT_LT(std::chrono::steady_clock::now(), end);
}

TEST_F(HttpServerTest, AHeaderWithoutEndIsCutOff) {
  Start();
  const Client client = Connect();
  ASSERT_TRUE(client.Send("GET / HTTP/1.1\r\nX: "));
  size_t sent = 0;
  const std::string more(64 * 1024, 'a');
  while (sent < (size_t{256} << 20) && client.Send(more)) sent += more.size();
  // What the systems at both ends hold, and what is thrown away for a second.
  EXPECT_LT(sent, size_t{256} << 20);
}

TEST_F(HttpServerTest, HalfOpenRequestsDoNotBlockOtherClients) {
  Start();
  std::vector<Client> open;
  for (size_t i = 0; i < 2 * HttpServer::kConnections; ++i) {
    open.push_back(Connect());
    EXPECT_TRUE(open.back().Send("GET /"));
    if (i % 64 != 0) continue;
    EXPECT_THAT(Health(), StartsWith("HTTP/1.1 200 ")) << i;
  }
  EXPECT_THAT(Health(), StartsWith("HTTP/1.1 200 "));
}

TEST_F(HttpServerTest, TheClientWithTheMostConnectionsLosesOne) {
  Start({.request = std::chrono::minutes(10)});
  const Client first = Connect("127.0.0.2");
  ASSERT_TRUE(first.Send("GET /healthz"));
  std::vector<Client> open;
  for (size_t i = 0; i < 2 * HttpServer::kConnections; ++i) open.push_back(Connect());
  EXPECT_THAT(Health(), StartsWith("HTTP/1.1 200 "));
  EXPECT_THAT(first.Ask(" HTTP/1.1\r\n\r\n"), StartsWith("HTTP/1.1 200 "));
}

TEST_F(HttpServerTest, SlowPagesDelayNoQuickOne) {
  Start();
  std::vector<Client> waiting;
  const size_t most = HttpServer::kThreads + HttpServer::kQueue;
  for (size_t i = 0; i < most + 8; ++i) {
    waiting.push_back(Connect());
    EXPECT_TRUE(waiting.back().Send("GET /slow HTTP/1.1\r\n\r\n"));
  }
  EXPECT_THAT(Health(), StartsWith("HTTP/1.1 200 "));
  // At least the last ones found no room.
  EXPECT_THAT(waiting.back().Receive(), StartsWith("HTTP/1.1 503 "));
  Open();
  EXPECT_TRUE(waiting.front().Receive().ends_with("slow\n"));
}

TEST_F(HttpServerTest, AClientThatReadsNoAnswerIsCutOff) {
  Start({.answer = milliseconds(300)});
  std::vector<Client> stuck;
  // More than may be pending; the oldest are given up, and all are after the time.
  for (size_t i = 0; i < HttpServer::kPendingBytes / (size_t{8} << 20) + 8; ++i) {
    stuck.push_back(Connect());
    EXPECT_TRUE(stuck.back().Send("GET /large HTTP/1.1\r\n\r\n"));
  }
  EXPECT_THAT(Health(), StartsWith("HTTP/1.1 200 "));
  std::this_thread::sleep_for(milliseconds(600));
  for (const Client& client : stuck) EXPECT_LT(client.Receive().size(), size_t{8} << 20);
}

TEST_F(HttpServerTest, RefusesInvalidAddresses) {
  EXPECT_EQ(HttpServer::Start("nonsense", {}).status().code(), absl::StatusCode::kInvalidArgument);
  Start();
  EXPECT_EQ(HttpServer::Start("127.0.0.1:" + std::to_string(server_->port()), {}).status().code(),
            absl::StatusCode::kUnavailable);
}

}  // namespace
}  // namespace fabricd::http
