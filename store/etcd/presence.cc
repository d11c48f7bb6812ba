// SPDX-License-Identifier: Apache-2.0
#include "store/etcd/presence.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "common/number_text.h"
#include "common/status.h"
#include "store/etcd/schema.h"

namespace fabricd::store::etcd {
namespace {

// By FabricRole. Any other word is kOther.
constexpr std::array<std::string_view, 3> kRoles = {"-", "master", "no-link"};

}  // namespace

std::string StatementText(const NodeStatement& statement) {
  return fmt::format("{} {}\n{}", kRoles[static_cast<size_t>(statement.role)], kSchema,
                     statement.about);
}

NodeStatement ReadStatement(const std::string& text) {
  const size_t end = text.find('\n');
  NodeStatement statement;
  const auto role =
      std::find(kRoles.begin(), kRoles.end(), text.substr(0, std::min(end, text.find(' '))));
  if (role != kRoles.end()) statement.role = static_cast<FabricRole>(role - kRoles.begin());
  if (end != std::string::npos) statement.about = text.substr(end + 1);
  return statement;
}

int SchemaOf(const std::string& text) {
  const size_t end = text.find('\n'), space = text.find(' ');
  if (space >= end) return 1;
  return ParseNumber<int>(text.substr(space + 1, end - space - 1)).value_or(1);
}

Presence::Presence(Client& client, std::string key, std::chrono::seconds ttl, BootClock clock)
    : client_(client), key_(std::move(key)), ttl_(ttl), clock_(std::move(clock)) {}

Presence::~Presence() {
  MutexLock turn(turn_mutex_);
  // Where it fails, the lease runs out by itself.
  if (lease_ != 0) (void)client_.RevokeLease(lease_);
}

void Presence::Set(NodeStatement statement) {
  std::string text = StatementText(statement);
  MutexLock lock(mutex_);
  wanted_ = std::move(text);
}

void Presence::Turn() {
  MutexLock turn(turn_mutex_);
  std::string wanted;
  {
    MutexLock lock(mutex_);
    wanted = wanted_;
  }
  if (wanted.empty()) return;
  if (lease_ != 0 && clock_() - kept_ >= std::chrono::nanoseconds(ttl_) / 3) {
    const auto left = client_.KeepAlive(lease_);
    if (absl::IsNotFound(left.status())) lease_ = 0;
    if (left.ok()) kept_ = clock_();
  }
  if (lease_ == 0) {
    const auto lease = client_.GrantLease(ttl_);
    if (!lease.ok()) return;
    lease_ = lease->id;
    kept_ = clock_();
    said_.clear();
  }
  if (wanted != said_ && client_.Put(key_, wanted, lease_).ok()) said_ = wanted;
}

}  // namespace fabricd::store::etcd
