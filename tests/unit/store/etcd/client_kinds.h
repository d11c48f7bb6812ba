// SPDX-License-Identifier: Apache-2.0
// The etcds that the contract of a client (client_contract_test.cc) runs against: real ones, and
// the simulated one. Each target that links these tests defines which ones.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "store/etcd/client.h"

namespace fabricd::store::etcd {

// An etcd without keys, and a client of it.
class ClientHome {
 public:
  virtual ~ClientHome() = default;
  virtual Client& client() = 0;
  virtual void Compact(int64_t revision) = 0;
  virtual void Pass(std::chrono::milliseconds time) = 0;
  // Until the database is larger than its quota. No test follows on this etcd.
  virtual void Fill() = 0;
};

struct ClientKind {
  std::string name;
  std::function<std::unique_ptr<ClientHome>()> make;
  // One that may be filled.
  std::function<std::unique_ptr<ClientHome>()> make_small;
};
inline void PrintTo(const ClientKind& kind, std::ostream* out) { *out << kind.name; }
std::vector<ClientKind> ClientKinds();

}  // namespace fabricd::store::etcd
