// SPDX-License-Identifier: Apache-2.0
// KernelServer: runs a KernelWire in real time between the modules of one or several kernels and a
// simulated fabric. One thread: the caller's.
#pragma once

#include <csignal>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <absl/status/status.h>

#include "sim/kernel/kernel_links.h"
#include "sim/kernel/kernel_wire.h"

namespace fabricd::sim {

class KernelServer {
 public:
  struct Options {
    std::string kernel;   // As KernelLinks::Open takes it.
    std::string console;  // A FIFO that commands are read from; empty: none.
    KernelWire::Places places;
  };
  // The fabric must outlive it.
  KernelServer(SimFabric& fabric, Options options);
  ~KernelServer();
  KernelServer(const KernelServer&) = delete;
  KernelServer& operator=(const KernelServer&) = delete;

  // kUnavailable with the system's reason: a file cannot be opened.
  [[nodiscard]] absl::Status Open();
  // Until `stop` is set (by a signal) or the device ends. kUnavailable: it can no longer be read.
  [[nodiscard]] absl::Status Run(const volatile std::sig_atomic_t& stop);

 private:
  absl::Status TakeFrames();
  void TakeFrame(std::span<const uint8_t> frame);
  void ReadConsole();
  void RunLine(const std::string& line);
  void GiveFrames();
  void ReportPlaces();

  SimFabric& fabric_;
  const Options options_;
  KernelWire wire_;
  KernelLinks links_;
  int console_ = -1;
  std::string line_;  // Of the console, as far as it was read.
  std::vector<KernelWire::Frame> frames_;
  size_t reported_ = 0;
};

}  // namespace fabricd::sim
