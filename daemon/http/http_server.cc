// SPDX-License-Identifier: Apache-2.0
// The only place that knows cpp-httplib.
#include "daemon/http/http_server.h"

#include <charconv>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include <httplib.h>

#include "common/status.h"

namespace fabricd::http {
namespace {

// httplib's own pool takes any number of connections. Here the thread that accepts waits for room.
class BoundedPool final : public httplib::TaskQueue {
 public:
  BoundedPool() {
    for (size_t i = 0; i < HttpServer::kThreads; ++i) threads_.emplace_back([this] { Run(); });
  }
  void enqueue(std::function<void()> task) override {
    std::unique_lock lock(mutex_);
    room_.wait(lock, [this] { return ended_ || tasks_.size() < HttpServer::kQueue; });
    tasks_.push_back(std::move(task));
    work_.notify_one();
  }
  // What waits is still run: a task owns its connection.
  void shutdown() override {
    {
      std::lock_guard lock(mutex_);
      ended_ = true;
    }
    work_.notify_all();
    room_.notify_all();
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }

 private:
  void Run() {
    while (true) {
      std::function<void()> task;
      {
        std::unique_lock lock(mutex_);
        work_.wait(lock, [this] { return ended_ || !tasks_.empty(); });
        if (tasks_.empty()) return;
        task = std::move(tasks_.front());
        tasks_.pop_front();
        room_.notify_one();
      }
      task();
    }
  }

  std::mutex mutex_;
  std::condition_variable work_, room_;
  std::deque<std::function<void()>> tasks_;
  bool ended_ = false;
  std::vector<std::thread> threads_;
};

struct Address {
  std::string host;
  int port = 0;
};
absl::StatusOr<Address> Parse(const std::string& text) {
  const size_t colon = text.rfind(':');
  Address address;
  if (colon != std::string::npos && colon > 0) {
    address.host = text.substr(0, colon);
    if (address.host.front() == '[' && address.host.back() == ']')
      address.host = address.host.substr(1, address.host.size() - 2);
    const char* end = text.data() + text.size();
    uint16_t port = 0;
    const auto [stop, error] = std::from_chars(text.data() + colon + 1, end, port);
    address.port = port;
    if (error == std::errc() && stop == end && !address.host.empty()) return address;
  }
  return InvalidArgument("http_listen: expected HOST:PORT, got '{}'", text);
}

void Answer(const Page& page, const httplib::Request& request, httplib::Response& response) {
  const Reply reply = page(Query(request.params.begin(), request.params.end()));
  response.status = reply.status;
  response.set_content(*reply.body, reply.type.c_str());
}

}  // namespace

Reply Text(std::string body, int status) {
  return {status, "text/plain; charset=utf-8",
          std::make_shared<const std::string>(std::move(body))};
}

struct HttpServer::State {
  httplib::Server server;
  Pages pages;
  Address address;
  std::thread thread;
};

absl::StatusOr<std::unique_ptr<HttpServer>> HttpServer::Start(const std::string& address,
                                                              Pages pages) {
  auto parsed = Parse(address);
  if (!parsed.ok()) return parsed.status();
  auto state = std::make_unique<State>();
  state->address = *std::move(parsed);
  state->pages = std::move(pages);
  httplib::Server& server = state->server;
  server.new_task_queue = [] { return new BoundedPool; };
  server.set_payload_max_length(1);
  server.set_read_timeout(5);
  server.set_write_timeout(10);
  server.set_keep_alive_timeout(2);
  server.set_keep_alive_max_count(100);
  server.set_default_headers({{"X-Content-Type-Options", "nosniff"},
                              {"Referrer-Policy", "no-referrer"},
                              {"Cache-Control", "no-store"},
                              {"Content-Security-Policy",
                               "default-src 'none'; script-src 'unsafe-inline'; style-src "
                               "'unsafe-inline'; connect-src 'self'; frame-ancestors 'none'"}});
  server.set_pre_routing_handler([](const httplib::Request& request, httplib::Response& response) {
    if (request.method == "GET" || request.method == "HEAD")
      return httplib::Server::HandlerResponse::Unhandled;
    response.status = 405;
    response.set_header("Allow", "GET, HEAD");
    response.set_content("only GET and HEAD\n", "text/plain");
    return httplib::Server::HandlerResponse::Handled;
  });
  for (const auto& [path, page] : state->pages)
    server.Get(path, [&page = page](const httplib::Request& request, httplib::Response& response) {
      Answer(page, request, response);
    });
  const std::string& host = state->address.host;
  const bool bound = state->address.port == 0
                         ? (state->address.port = server.bind_to_any_port(host)) > 0
                         : server.bind_to_port(host, state->address.port);
  if (!bound) return Unavailable("cannot listen for HTTP on {}", address);
  state->thread = std::thread([&server] { server.listen_after_bind(); });
  while (!server.is_running()) std::this_thread::yield();
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(state)));
}

HttpServer::HttpServer(std::unique_ptr<State> state) : state_(std::move(state)) {}

HttpServer::~HttpServer() {
  state_->server.stop();
  state_->thread.join();
}

int HttpServer::port() const { return state_->address.port; }

bool HttpServer::is_loopback() const {
  const std::string& host = state_->address.host;
  return host == "localhost" || host == "::1" || host.starts_with("127.");
}

}  // namespace fabricd::http
