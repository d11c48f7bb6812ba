// SPDX-License-Identifier: Apache-2.0
// ClientShares: places that are few, of which each client may have a part only. Any thread.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "common/mutex.h"

namespace fabricd::rpc {

class ClientShares {
 public:
  ClientShares(size_t most, size_t most_of_client)
      : state_(std::make_shared<State>()), most_(most), most_of_client_(most_of_client) {}

  // A place, until what is returned is gone; it may outlive this. Null: there is none for `client`.
  std::shared_ptr<void> Take(const std::string& client) {
    MutexLock lock(state_->mutex);
    size_t& taken = state_->by_client[client];
    if (state_->taken >= most_ || taken >= most_of_client_) {
      if (taken == 0) state_->by_client.erase(client);
      return nullptr;
    }
    ++state_->taken;
    ++taken;
    return {state_.get(), [state = state_, client](void*) {
              MutexLock returning(state->mutex);
              --state->taken;
              if (--state->by_client[client] == 0) state->by_client.erase(client);
            }};
  }
  size_t taken() const {
    MutexLock lock(state_->mutex);
    return state_->taken;
  }

 private:
  struct State {
    Mutex mutex;
    size_t taken FABRICD_GUARDED_BY(mutex) = 0;
    std::map<std::string, size_t> by_client FABRICD_GUARDED_BY(mutex);
  };
  const std::shared_ptr<State> state_;
  const size_t most_, most_of_client_;
};

}  // namespace fabricd::rpc
