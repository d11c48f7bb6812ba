// SPDX-License-Identifier: Apache-2.0
// KernelLinks: the kernels whose HCAs are on one fabric, each behind a FrameLink: the module of
// this kernel by its device, or other kernels (virtual machines) that connect to a socket. Which
// HCAs a kernel has it says itself (HELLO); an HCA belongs to one kernel.
#pragma once

#include <poll.h>

#include <cstdint>
#include <functional>
#include <list>
#include <set>
#include <span>
#include <string>
#include <vector>

#include <absl/status/status.h>

#include "sim/kernel/frame_link.h"

namespace fabricd::sim {

class KernelLinks {
 public:
  // The frame is valid during the call. A kernel that is gone takes its HCAs with it: a GONE frame
  // for each of them.
  using Taker = FrameLink::Taker;

  KernelLinks() = default;
  ~KernelLinks();
  KernelLinks(const KernelLinks&) = delete;
  KernelLinks& operator=(const KernelLinks&) = delete;

  // "unix:PATH": kernels connect to a socket there (a file at PATH is replaced); else the module's
  // device.
  // kUnavailable with the system's reason.
  [[nodiscard]] absl::Status Open(const std::string& where);

  // What to wait for, appended.
  void AppendWaits(std::vector<pollfd>& waits) const;
  // Takes new kernels, and what the others sent. kUnavailable: the module's device is gone.
  [[nodiscard]] absl::Status Take(const Taker& taker);
  // To the kernel that has the HCA; dropped, with a word on standard error, where none has it.
  void Give(std::span<const uint8_t> frame, const Taker& taker);

 private:
  struct Kernel {
    FrameLink link;
    std::set<uint16_t> hcas;
  };
  void Accept();
  // Notes whose the HCA is; false: it is another kernel's.
  bool Owns(Kernel& kernel, std::span<const uint8_t> frame);
  std::list<Kernel>::iterator End(std::list<Kernel>::iterator kernel, const Taker& taker);

  int listener_ = -1;
  std::list<Kernel> kernels_;
};

}  // namespace fabricd::sim
