// SPDX-License-Identifier: Apache-2.0
// A proxy on loopback that delays, swallows or refuses what passes: a network, for tests.
#pragma once

#include <atomic>
#include <chrono>
#include <list>
#include <string>
#include <thread>

#include "common/mutex.h"

namespace fabricd::support {

class TcpProxy {
 public:
  enum class Mode {
    kPass,
    kSwallow,  // Connections stay, and nothing arrives any more: a partition.
    kRefuse,   // Connections end.
  };
  explicit TcpProxy(std::string target);  // "127.0.0.1:PORT"
  ~TcpProxy();

  const std::string& address() const { return address_; }
  // What was swallowed never arrives.
  void Set(Mode mode) { mode_ = mode; }
  // Of each read, in each direction.
  void Delay(std::chrono::milliseconds delay) { delay_ms_ = delay.count(); }

 private:
  void Accept();
  void Pump(int from, int to);

  const std::string target_;
  std::string address_;
  int listener_ = -1;
  std::atomic<Mode> mode_ = Mode::kPass;
  std::atomic<int64_t> delay_ms_ = 0;
  std::atomic<bool> stopping_ = false;
  std::list<std::thread> pumps_;  // Of accepter_, and after its end of the destructor.
  std::thread accepter_;
};

}  // namespace fabricd::support
