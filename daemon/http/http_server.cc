// SPDX-License-Identifier: Apache-2.0
// The only place that knows cpp-httplib.
#include "daemon/http/http_server.h"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include <httplib.h>

#include "common/status.h"
#include "config/host_port.h"

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
  std::string host;
  int port = 0;
  std::thread thread;
};

absl::StatusOr<std::unique_ptr<HttpServer>> HttpServer::Start(const std::string& address,
                                                              Pages pages) {
  auto parsed = config::ParseHostPort(address);
  if (!parsed) return InvalidArgument("http_listen: expected HOST:PORT, got '{}'", address);
  auto state = std::make_unique<State>();
  state->host = std::move(parsed->host);
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
  state->port = parsed->port;
  if (parsed->port == 0) state->port = server.bind_to_any_port(state->host);
  if (state->port <= 0 || (parsed->port != 0 && !server.bind_to_port(state->host, parsed->port)))
    return Unavailable("cannot listen for HTTP on {}", address);
  state->thread = std::thread([&server] { server.listen_after_bind(); });
  while (!server.is_running()) std::this_thread::yield();
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(state)));
}

HttpServer::HttpServer(std::unique_ptr<State> state) : state_(std::move(state)) {}

HttpServer::~HttpServer() {
  state_->server.stop();
  state_->thread.join();
}

int HttpServer::port() const { return state_->port; }

bool HttpServer::is_loopback() const {
  const std::string& host = state_->host;
  return host == "localhost" || host == "::1" || host.starts_with("127.");
}

}  // namespace fabricd::http
