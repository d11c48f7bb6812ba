// SPDX-License-Identifier: Apache-2.0
// Who may call what: the table of all methods, the roles of principals, and the limits of each
// client. Knows no gRPC. Any thread.
//
// A method that the table does not have is nobody's (deny by default); a test walks the service
// descriptors and finds what was forgotten.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <absl/container/flat_hash_map.h>
#include <absl/status/status.h>

#include "common/mutex.h"
#include "common/published.h"
#include "common/sm_mode.h"
#include "config/config.h"
#include "daemon/base/other_master.h"

namespace fabricd::rpc {

// Each may do what the ones before it may. kNone: whoever reaches the socket.
enum class Role : uint8_t { kNone, kViewer, kScheduler, kOperator, kAdmin };
const char* RoleName(Role role);  // "scheduler"

struct MethodRule {
  std::string_view method;  // "fabric.v1.TopologyService/GetNode"
  Role least = Role::kAdmin;
  bool is_mutation = false;  // It is audited.
  bool writes = false;       // Its effect is a Set, so it is refused where fabricd only reads.
};
std::span<const MethodRule> MethodRules();
// By method; null: nobody may call it.
const MethodRule* FindRule(std::string_view method);

// Who calls. `name` is what owners of holds are called: a user's name, "spiffe://…", "dns:…" or
// "cn:…"; empty where nobody is known. `id` is that of the audit log: "user:alice".
struct Caller {
  std::string name;
  std::string id;
  std::vector<std::string> principals;  // As the keys of `security` name them.
};

// Calls of one method that ended with one code.
struct HandledCalls {
  std::string service, method, code;  // "fabric.v1.AdminService", "Dump", "OK".
  uint64_t count = 0;
};

// What one client has under way, and how many calls it may begin.
struct ClientState {
  Mutex mutex;
  uint32_t under_way FABRICD_GUARDED_BY(mutex) = 0;
  uint32_t expected FABRICD_GUARDED_BY(mutex) =
      0;  // Calls that were heard and have not come to their handlers.
  uint32_t held FABRICD_GUARDED_BY(mutex) =
      0;  // Calls that have, until gRPC frees them: reset ones included.
  uint32_t answers FABRICD_GUARDED_BY(mutex) = 0;  // KiB that the client has not taken.
  std::chrono::steady_clock::time_point arrived
      FABRICD_GUARDED_BY(mutex){};              // When one of the expected did.
  double tokens FABRICD_GUARDED_BY(mutex) = 0;  // Calls that it may begin.
  double knocks FABRICD_GUARDED_BY(mutex) =
      0;  // Calls that are heard at all, those that are refused included.
  std::chrono::steady_clock::time_point filled FABRICD_GUARDED_BY(mutex){};
};

// The decision about a call: the role first, then the limits.
class Access {
 public:
  // `other_master`, `is_cut_off`: Backend's. Any thread calls them.
  using FindMaster = std::function<std::optional<daemon::OtherMaster>()>;
  explicit Access(const config::Security& security, SmMode mode = SmMode::kManage,
                  FindMaster other_master = {}, std::function<bool()> is_cut_off = {});

  // A reload. What is under way stays.
  void Set(const config::Security& security);

  Role RoleOf(const Caller& caller) const;
  // Before Admit(), of whatever comes. kResourceExhausted, without an ErrorInfo: the client is far
  // above its limits, or there are too many to count what this one does.
  absl::Status Hear(const Caller& caller);
  // OK: the call may begin. Refusals have an ErrorInfo with the method and the caller's role:
  //   kPermissionDenied   ROLE_REQUIRED: which role it takes and how to get it
  //   kUnauthenticated    CALLER_UNKNOWN: it takes a role, and nothing tells who calls
  //   kResourceExhausted  TOO_MANY_CALLS, TOO_MANY_ANSWERS, CALLS_TOO_FAST, TOO_MANY_CLIENTS: the
  //                       limit, and a QuotaFailure
  //   kUnimplemented      METHOD_UNKNOWN: the table has no such method
  //   kFailedPrecondition ONLY_READS: in this mode fabricd changes nothing
  //                       NOT_MASTER: it waits beside the master, whose API is at the metadatum
  //                       `master_endpoint`, where that is known, and unless an SM is master that
  //                       does not share the state
  //   kUnavailable        NO_LINK: a change now would make the node that takes over start twice
  // `begun`: of the caller's calls under way one is this one.
  absl::Status Admit(const Caller& caller, std::string_view method, bool begun = false);
  // One more call of the caller is under way, until what is returned is gone.
  std::shared_ptr<void> Begin(const Caller& caller) {
    return Add(caller, &ClientState::under_way, 1);
  }
  // A call that was heard and admitted goes on to its handler. It, and calls that a client resets
  // as soon as it has begun them, are not under way yet or any more, but take memory: gRPC frees a
  // call when it next writes to the connection, which it does not do while there is more to read.
  void Expect(const Caller& caller);
  // One of the expected calls has come. It is held until what is returned is gone.
  std::shared_ptr<void> Hold(const Caller& caller);
  // An answer is on its way to the caller, until what is returned is gone.
  std::shared_ptr<void> Send(const Caller& caller, size_t bytes) {
    return Add(caller, &ClientState::answers, static_cast<uint32_t>(bytes / 1024 + 1));
  }

  // A call ended, or was refused, with that code of gRPC. `rule`: of the table.
  void Count(const MethodRule& rule, int code);
  // What has ended since the start, by method, then code.
  std::vector<HandledCalls> Handled() const;

 private:
  struct Rules {
    absl::flat_hash_map<std::string, Role> roles;  // By principal.
    uint32_t max_calls = 0;
    double per_second = 0;
  };
  std::shared_ptr<ClientState> StateOf(const Caller& caller);
  std::shared_ptr<void> Add(const Caller& caller, uint32_t ClientState::*number, uint32_t amount);
  absl::Status CheckMode(const MethodRule& rule) const;
  absl::Status TakeToken(const Caller& caller, const MethodRule& rule, Role role, bool begun);

  static constexpr size_t kCodes = 17;          // Of gRPC.
  std::vector<std::atomic<uint64_t>> handled_;  // [rule * kCodes + code]
  const SmMode mode_;
  const FindMaster other_master_;
  const std::function<bool()> is_cut_off_;
  Published<Rules> rules_;
  Mutex mutex_;
  std::map<std::string, std::shared_ptr<ClientState>> clients_ FABRICD_GUARDED_BY(mutex_);
};

}  // namespace fabricd::rpc
