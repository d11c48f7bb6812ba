// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/http_server.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <deque>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "common/mutex.h"
#include "common/status.h"
#include "config/host_port.h"
#include "daemon/base/listen_tcp.h"
#include "daemon/base/niceness.h"

namespace fabricd::http {
namespace {

using Clock = std::chrono::steady_clock;

// Of the threads that make pages: whoever asks for many takes no time from a reroute.
constexpr int kNiceness = 10;
// What a client sends after its request is thrown away up to here, so that the answer is not lost:
// a connection that is closed with something unread is reset.
constexpr auto kLinger = std::chrono::seconds(1);
constexpr size_t kLingerBytes = size_t{1} << 20;
// Without descriptors a connection that waits stays, and poll() would spin.
constexpr auto kPauseWithoutDescriptors = std::chrono::milliseconds(100);

constexpr char kFields[] =
    "X-Content-Type-Options: nosniff\r\n"
    "Referrer-Policy: no-referrer\r\n"
    "Cache-Control: no-store\r\n"
    "Content-Security-Policy: default-src 'none'; script-src 'unsafe-inline'; style-src "
    "'unsafe-inline'; connect-src 'self'; frame-ancestors 'none'\r\n"
    "Allow: GET, HEAD\r\n"
    "Connection: close\r\n";

const char* ReasonOf(int status) {
  switch (status) {
    case 200: return "OK";
    case 400: return "Bad Request";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    case 408: return "Request Timeout";
    case 414: return "URI Too Long";
    case 431: return "Request Header Fields Too Large";
    case 503: return "Service Unavailable";
    default: return "Error";
  }
}

// A few threads that run jobs; those that find no room are refused.
class Pool {
 public:
  Pool() {
    for (size_t i = 0; i < HttpServer::kThreads; ++i) threads_.emplace_back([this] { Run(); });
  }
  // What waits is dropped.
  ~Pool() {
    {
      MutexLock lock(mutex_);
      ended_ = true;
      jobs_.clear();
    }
    work_.NotifyAll();
    for (std::thread& thread : threads_) thread.join();
  }
  [[nodiscard]] bool Post(std::function<void()> job) {
    {
      MutexLock lock(mutex_);
      if (jobs_.size() >= HttpServer::kQueue) return false;
      jobs_.push_back(std::move(job));
    }
    work_.NotifyOne();
    return true;
  }

 private:
  void Run() {
    daemon::SetNiceness(kNiceness);
    pthread_setname_np(pthread_self(), "http-page");
    while (true) {
      MutexLock lock(mutex_);
      work_.Wait(lock, [this]() FABRICD_REQUIRES(mutex_) { return ended_ || !jobs_.empty(); });
      if (jobs_.empty()) return;
      const std::function<void()> job = std::move(jobs_.front());
      jobs_.pop_front();
      lock.Unlock();
      job();
    }
  }

  Mutex mutex_;
  Condition work_;
  std::deque<std::function<void()>> jobs_ FABRICD_GUARDED_BY(mutex_);
  bool ended_ FABRICD_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_;
};

struct Connection {
  enum class Phase { kReading, kComputing, kWriting, kLingering };

  int fd = -1;
  std::string peer;  // The client's address.
  Phase phase = Phase::kReading;
  Clock::time_point deadline;
  std::string head;  // What was received of the request; later the head of the answer.
  bool head_only = false;
  std::shared_ptr<const std::string> body;
  size_t sent = 0;
  size_t discarded = 0;

  size_t Size() const { return head.size() + (body ? body->size() : 0); }
};

std::string PeerOf(int fd) {
  sockaddr_storage address{};
  socklen_t size = sizeof(address);
  if (getpeername(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0) return {};
  if (address.ss_family == AF_INET6) {
    const auto& ip = reinterpret_cast<const sockaddr_in6&>(address).sin6_addr;
    return {reinterpret_cast<const char*>(&ip), sizeof(ip)};
  }
  const auto& ip = reinterpret_cast<const sockaddr_in&>(address).sin_addr;
  return {reinterpret_cast<const char*>(&ip), sizeof(ip)};
}

}  // namespace

Reply Text(std::string body, int status) {
  return {status, "text/plain; charset=utf-8",
          std::make_shared<const std::string>(std::move(body))};
}

// All connections, on a thread of its own.
class HttpServer::Loop {
 public:
  Loop(daemon::TcpSockets sockets, std::string host, Pages pages, HttpLimits limits)
      : sockets_(std::move(sockets)),
        host_(std::move(host)),
        pages_(std::move(pages)),
        limits_(limits),
        wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
        pool_(std::make_unique<Pool>()),
        thread_([this] { Run(); }) {}
  ~Loop() {
    ending_ = true;
    eventfd_write(wake_, 1);
    thread_.join();
    pool_.reset();  // Its jobs use the rest.
    for (const auto& [id, connection] : connections_) close(connection.fd);
    for (const int fd : sockets_.fds) close(fd);
    close(wake_);
  }
  int port() const { return sockets_.port; }
  const std::string& host() const { return host_; }

 private:
  using Connections = std::map<uint64_t, Connection>;  // The oldest first.

  void Run() {
    pthread_setname_np(pthread_self(), "http");
    std::vector<pollfd> watched;
    std::vector<uint64_t> ids;
    while (!ending_) {
      Watch(watched, ids);
      (void)poll(watched.data(), watched.size(), WaitMs());
      eventfd_t count;
      (void)eventfd_read(wake_, &count);
      TakeComputed();
      const size_t first = 1 + sockets_.fds.size();
      for (size_t i = first; i < watched.size(); ++i)
        if (watched[i].revents != 0) Advance(connections_.find(ids[i - first]));
      for (size_t i = 1; i < first; ++i)
        if (watched[i].revents != 0) Accept(watched[i].fd);
      EndOverdue();
    }
  }

  void Watch(std::vector<pollfd>& watched, std::vector<uint64_t>& ids) const {
    watched = {{wake_, POLLIN, 0}};
    ids.clear();
    const bool paused = Clock::now() < accept_after_;
    for (const int fd : sockets_.fds) watched.push_back({paused ? -1 : fd, POLLIN, 0});
    for (const auto& [id, connection] : connections_) {
      const bool waits = connection.phase == Connection::Phase::kComputing;
      const short wanted = connection.phase == Connection::Phase::kWriting ? POLLOUT : POLLIN;
      watched.push_back({waits ? -1 : connection.fd, wanted, 0});
      ids.push_back(id);
    }
  }

  int WaitMs() const {
    auto next = Clock::now() + std::chrono::seconds(1);
    for (const auto& [id, connection] : connections_)
      if (connection.phase != Connection::Phase::kComputing)
        next = std::min(next, connection.deadline);
    if (accept_after_ > Clock::now()) next = std::min(next, accept_after_);
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(next - Clock::now());
    return static_cast<int>(std::max<int64_t>(0, left.count()));
  }

  void Accept(int listener) {
    // At most so many at a time: those that are served have their turn too.
    for (int i = 0; i < 16; ++i) {
      const int fd = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
      if (fd < 0) {
        if (errno == EMFILE || errno == ENFILE)
          accept_after_ = Clock::now() + kPauseWithoutDescriptors;
        return;
      }
      if (connections_.size() >= kConnections) EvictOne();
      const int on = 1;
      setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
      Connection connection;
      connection.fd = fd;
      connection.peer = PeerOf(fd);
      connection.deadline = Clock::now() + limits_.request;
      Advance(connections_.emplace(next_id_++, std::move(connection)).first);
    }
  }

  // Of the client with the most connections, the oldest one; what is being computed stays, as the
  // pool bounds it.
  void EvictOne() {
    std::map<std::string_view, size_t> counts;
    const auto evictable = [](const Connection& each) {
      return each.phase != Connection::Phase::kComputing;
    };
    for (const auto& [id, each] : connections_)
      if (evictable(each)) ++counts[each.peer];
    auto victim = connections_.end();
    size_t most = 0;
    for (auto each = connections_.begin(); each != connections_.end(); ++each) {
      if (!evictable(each->second) || counts[each->second.peer] <= most) continue;
      most = counts[each->second.peer];
      victim = each;
    }
    if (victim != connections_.end()) End(victim);
  }

  void End(Connections::iterator at) {
    if (at->second.phase == Connection::Phase::kWriting) pending_ -= at->second.Size();
    close(at->second.fd);
    connections_.erase(at);
  }

  void EndOverdue() {
    const auto now = Clock::now();
    std::vector<uint64_t> overdue;
    for (const auto& [id, each] : connections_)
      if (each.phase != Connection::Phase::kComputing && each.deadline <= now)
        overdue.push_back(id);
    for (const uint64_t id : overdue) {
      const auto at = connections_.find(id);  // Answers make others go.
      if (at == connections_.end()) continue;
      if (at->second.phase == Connection::Phase::kReading)
        Answer(at, Text("the request took too long\n", 408));
      else
        End(at);
    }
  }

  // Reads or writes as much as there is.
  void Advance(Connections::iterator at) {
    if (at == connections_.end()) return;
    switch (at->second.phase) {
      case Connection::Phase::kReading: return Read(at);
      case Connection::Phase::kComputing: return;
      case Connection::Phase::kWriting: return Write(at);
      case Connection::Phase::kLingering: return Discard(at);
    }
  }

  void Read(Connections::iterator at) {
    Connection& connection = at->second;
    char bytes[4096];
    while (true) {
      const ssize_t count = recv(connection.fd, bytes, sizeof(bytes), 0);
      if (count < 0 && errno == EINTR) continue;
      if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
      if (count <= 0) return End(at);
      connection.head.append(bytes, static_cast<size_t>(count));
      const auto end = HeadEnd(connection.head);
      if (end.value_or(connection.head.size()) > kMostHead) {
        const bool in_fields = connection.head.find('\n') < kMostHead;
        return Answer(at, Text("the request's head is larger than 8 KiB\n", in_fields ? 431 : 414));
      }
      if (end) return Serve(at, std::string_view(connection.head).substr(0, *end));
    }
  }

  void Serve(Connections::iterator at, std::string_view head) {
    const std::optional<Request> request = ParseRequest(head);
    if (!request) return Answer(at, Text("no request of HTTP/1\n", 400));
    at->second.head_only = request->method == "HEAD";
    if (request->method != "GET" && request->method != "HEAD")
      return Answer(at, Text("only GET and HEAD\n", 405));
    const auto found = pages_.find(request->path);
    if (found == pages_.end()) return Answer(at, Text("no such page\n", 404));
    const Page& page = found->second;
    if (page.cost == Page::Cost::kQuick) return Answer(at, page.make(request->query));
    at->second.phase = Connection::Phase::kComputing;
    const bool taken = pool_->Post([this, id = at->first, &page, query = request->query] {
      Reply reply = page.make(query);
      MutexLock lock(mutex_);
      computed_.emplace_back(id, std::move(reply));
      eventfd_write(wake_, 1);
    });
    if (!taken) Answer(at, Text("too many requests wait\n", 503));
  }

  void TakeComputed() {
    std::vector<std::pair<uint64_t, Reply>> computed;
    {
      MutexLock lock(mutex_);
      computed.swap(computed_);
    }
    for (auto& [id, reply] : computed)
      if (const auto at = connections_.find(id); at != connections_.end())
        Answer(at, std::move(reply));
  }

  void Answer(Connections::iterator at, Reply reply) {
    Connection& connection = at->second;
    connection.head =
        fmt::format("HTTP/1.1 {} {}\r\n{}Content-Type: {}\r\nContent-Length: {}\r\n\r\n",
                    reply.status, ReasonOf(reply.status), kFields, reply.type, reply.body->size());
    if (!connection.head_only) connection.body = std::move(reply.body);
    connection.phase = Connection::Phase::kWriting;
    connection.deadline = Clock::now() + limits_.answer;
    pending_ += connection.Size();
    Write(at);
    while (pending_ > kPendingBytes && GiveUpOldestAnswer()) {
    }
  }

  // False: there is at most one, which is served however large it is.
  bool GiveUpOldestAnswer() {
    const auto writes = [](const auto& each) {
      return each.second.phase == Connection::Phase::kWriting;
    };
    const auto oldest = std::find_if(connections_.begin(), connections_.end(), writes);
    if (oldest == connections_.end() ||
        std::find_if(std::next(oldest), connections_.end(), writes) == connections_.end())
      return false;
    End(oldest);
    return true;
  }

  void Write(Connections::iterator at) {
    Connection& connection = at->second;
    while (connection.sent < connection.Size()) {
      const bool in_head = connection.sent < connection.head.size();
      const std::string& part = in_head ? connection.head : *connection.body;
      const size_t from = connection.sent - (in_head ? 0 : connection.head.size());
      const ssize_t count =
          send(connection.fd, part.data() + from, part.size() - from, MSG_NOSIGNAL);
      if (count < 0 && errno == EINTR) continue;
      if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
      if (count < 0) return End(at);
      connection.sent += static_cast<size_t>(count);
    }
    // All of it is the system's now.
    shutdown(connection.fd, SHUT_WR);
    pending_ -= connection.Size();
    connection.head.clear();
    connection.body.reset();
    connection.phase = Connection::Phase::kLingering;
    connection.deadline = Clock::now() + kLinger;
    Discard(at);
  }

  void Discard(Connections::iterator at) {
    char bytes[4096];
    while (at->second.discarded < kLingerBytes) {
      const ssize_t count = recv(at->second.fd, bytes, sizeof(bytes), 0);
      if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) return;
      if (count <= 0) break;
      at->second.discarded += static_cast<size_t>(count);
    }
    End(at);
  }

  const daemon::TcpSockets sockets_;
  const std::string host_;
  const Pages pages_;
  const HttpLimits limits_;
  const int wake_;
  std::atomic<bool> ending_ = false;
  // Of the thread.
  Connections connections_;
  uint64_t next_id_ = 0;
  size_t pending_ = 0;  // Bytes of the answers that are being written.
  Clock::time_point accept_after_;
  // Pages that are made.
  Mutex mutex_;
  std::vector<std::pair<uint64_t, Reply>> computed_ FABRICD_GUARDED_BY(mutex_);
  std::unique_ptr<Pool> pool_;
  std::thread thread_;  // Last: it uses the others.
};

absl::StatusOr<std::unique_ptr<HttpServer>> HttpServer::Start(const std::string& address,
                                                              Pages pages, HttpLimits limits) {
  const auto parsed = config::ParseHostPort(address);
  if (!parsed) return InvalidArgument("http_listen: expected HOST:PORT, got '{}'", address);
  auto sockets = daemon::ListenTcp(parsed->host, parsed->port);
  if (!sockets.ok()) return Unavailable("http_listen: {}", Message(sockets.status()));
  return std::unique_ptr<HttpServer>(new HttpServer(
      std::make_unique<Loop>(*std::move(sockets), parsed->host, std::move(pages), limits)));
}

HttpServer::HttpServer(std::unique_ptr<Loop> loop) : loop_(std::move(loop)) {}
HttpServer::~HttpServer() = default;

int HttpServer::port() const { return loop_->port(); }

bool HttpServer::is_loopback() const {
  const std::string& host = loop_->host();
  return host == "localhost" || host == "::1" || host.starts_with("127.");
}

}  // namespace fabricd::http
