// SPDX-License-Identifier: Apache-2.0
#include "tests/support/tcp_proxy.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>
#include <utility>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace fabricd::support {
namespace {

sockaddr_in AddressOf(const std::string& text) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<uint16_t>(std::stoi(text.substr(text.find(':') + 1))));
  return address;
}

constexpr int kLookMs = 10;

}  // namespace

TcpProxy::TcpProxy(std::string target) : target_(std::move(target)) {
  listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = AddressOf("127.0.0.1:0");
  socklen_t size = sizeof address;
  EXPECT_EQ(bind(listener_, reinterpret_cast<sockaddr*>(&address), size), 0);
  EXPECT_EQ(listen(listener_, 16), 0);
  EXPECT_EQ(getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size), 0);
  address_ = fmt::format("127.0.0.1:{}", ntohs(address.sin_port));
  accepter_ = std::thread([this] { Accept(); });
}

TcpProxy::~TcpProxy() {
  stopping_ = true;
  accepter_.join();
  for (std::thread& pump : pumps_) pump.join();
  close(listener_);
}

void TcpProxy::Accept() {
  while (!stopping_) {
    pollfd ready{listener_, POLLIN, 0};
    if (poll(&ready, 1, kLookMs) != 1) continue;
    const int client = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    const int server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const sockaddr_in address = AddressOf(target_);
    if (mode_ == Mode::kRefuse ||
        connect(server, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
      close(client);
      close(server);
      continue;
    }
    const int yes = 1;
    for (const int fd : {client, server})
      setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    // Each direction has descriptors of its own, which it closes.
    pumps_.emplace_back([this, client, server] { Pump(client, server); });
    pumps_.emplace_back([this, a = dup(server), b = dup(client)] { Pump(a, b); });
  }
}

void TcpProxy::Pump(int from, int to) {
  char buffer[65536];
  while (!stopping_ && mode_ != Mode::kRefuse) {
    pollfd ready{from, POLLIN, 0};
    if (poll(&ready, 1, kLookMs) != 1) continue;
    const ssize_t size = read(from, buffer, sizeof buffer);
    if (size <= 0) break;
    if (mode_ == Mode::kSwallow) continue;
    std::this_thread::sleep_for(std::chrono::milliseconds(delay_ms_));
    if (mode_ == Mode::kSwallow) continue;
    if (send(to, buffer, static_cast<size_t>(size), MSG_NOSIGNAL) != size) break;
  }
  shutdown(from, SHUT_RDWR);
  shutdown(to, SHUT_RDWR);
  close(from);
  close(to);
}

}  // namespace fabricd::support
