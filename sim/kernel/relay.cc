// SPDX-License-Identifier: Apache-2.0
#include "sim/kernel/relay.h"

#include <endian.h>
#include <poll.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <set>
#include <span>

#include "common/status.h"
#include "sim/kernel/kernel_wire.h"

namespace fabricd::sim {
namespace {

constexpr size_t kMostWaiting = size_t{64} << 10;
constexpr int kLongestWaitMs = 1000;  // A signal may come just before the wait.

void NoteHca(std::span<const uint8_t> frame, std::set<uint16_t>& hcas) {
  const simib_header header = HeaderOf(frame);
  if (header.type == SIMIB_HELLO) hcas.insert(le16toh(header.hca));
}

}  // namespace

absl::Status Relay(FrameLink& module, FrameLink& stream, const volatile std::sig_atomic_t& stop) {
  std::set<uint16_t> hcas;
  absl::Status status;
  const auto up = [&](std::span<const uint8_t> frame) {
    NoteHca(frame, hcas);
    status.Update(stream.Give(frame));
  };
  // A refused frame is lost, as the fabric's own are.
  const auto down = [&](std::span<const uint8_t> frame) {
    const absl::Status given = module.Give(frame);
    if (!given.ok()) fmt::print(stderr, "fabricsim: {}\n", Message(given));
  };
  while (stop == 0 && status.ok()) {
    const bool is_full = stream.backlog() > kMostWaiting;
    std::array<pollfd, 2> waits{stream.wait(), module.wait()};
    if (is_full) waits[1].events = 0;
    if (poll(waits.data(), waits.size(), kLongestWaitMs) < 0 && errno != EINTR) {
      return Unavailable("poll: {}", std::strerror(errno));
    }
    status.Update(stream.Take(down));
    if (!is_full) status.Update(module.Take(up));
    status.Update(stream.Flush());
  }
  FABRICD_RETURN_IF_ERROR(status);
  for (const uint16_t hca : hcas) FABRICD_RETURN_IF_ERROR(stream.Give(KernelWire::Gone(hca)));
  return absl::OkStatus();
}

}  // namespace fabricd::sim
