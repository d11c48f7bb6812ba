// SPDX-License-Identifier: Apache-2.0
// ApiStorm: hostile clients of a daemon's API. Each calls every method of every service in turn,
// as often as told, by requests of HostileMessages: whole ones and damaged ones, none or several
// where one is expected, compressed ones that grow a thousandfold, given up in the middle, for
// methods that do not exist; now and then it sends anything to the socket. What the daemon may
// answer is judged: no call hangs, fails for a reason that is the daemon's (UNKNOWN, INTERNAL), or
// fails without a reason to program against.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include <google/protobuf/descriptor.h>
#include <grpcpp/grpcpp.h>

namespace fabricd::test {

struct StormOptions {
  std::string server;  // "unix:/path"
  uint64_t seed = 1;
  int clients = 2;  // Threads, with a connection each.
  // Nothing that would change the fabric or start a sweep: what can be a dry run is one, the rest
  // is left out. Simulated faults are left out by both.
  bool harmless = false;
};

// One call as it was meant.
struct StormCall {
  const google::protobuf::MethodDescriptor* method = nullptr;  // Null: one that does not exist.
  std::vector<std::string> messages;                           // Serialized, or anything.
  bool damaged = false;  // Some message may not be one of this method.
  std::chrono::milliseconds deadline{0};
  int reads = 0;  // Answers after which it is given up.
  bool compressed = false;
};
// How it ended.
struct StormEnd {
  grpc::Status status;
  bool given_up = false;
  std::chrono::milliseconds took{0};
};
// Empty, or what is wrong with how the call ended. Pure.
std::string JudgeEnd(const StormCall& call, const StormEnd& end);

class ApiStorm {
 public:
  explicit ApiStorm(StormOptions options);

  // Until each client has called each method that often, or Stop(). Not twice.
  void Run(uint64_t rounds);
  void Stop() { stopped_ = true; }  // Any thread.

  // Once Run() has ended. The first findings, with the call that each is about.
  const std::vector<std::string>& findings() const { return findings_; }
  uint64_t calls() const { return calls_; }
  // By method, how often each code was answered.
  const std::map<std::string, std::map<grpc::StatusCode, uint64_t>>& codes() const {
    return codes_;
  }

 private:
  void RunClient(int client, uint64_t rounds);
  void Note(const StormCall& call, const StormEnd& end);

  const StormOptions options_;
  std::vector<const google::protobuf::MethodDescriptor*> methods_;
  std::vector<std::string> names_;  // Of the fabric.
  std::atomic<bool> stopped_ = false;
  std::mutex mutex_;  // Of what follows.
  std::vector<std::string> findings_;
  uint64_t calls_ = 0;
  std::map<std::string, std::map<grpc::StatusCode, uint64_t>> codes_;
};

}  // namespace fabricd::test
