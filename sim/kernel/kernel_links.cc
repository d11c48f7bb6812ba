// SPDX-License-Identifier: Apache-2.0
#include "sim/kernel/kernel_links.h"

#include <endian.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include <absl/strings/match.h>

#include "common/status.h"
#include "sim/kernel/kernel_wire.h"

namespace fabricd::sim {
namespace {

constexpr char kSocketPrefix[] = "unix:";
constexpr int kWaitingConnections = 16;

uint16_t HcaOf(std::span<const uint8_t> frame) { return le16toh(HeaderOf(frame).hca); }

absl::StatusOr<int> Listen(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof(address.sun_path)) {
    return Unavailable("'{}' is no path of a socket (at most {} bytes)", path,
                       sizeof(address.sun_path) - 1);
  }
  path.copy(address.sun_path, path.size());
  const int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  unlink(path.c_str());
  if (listener < 0 ||
      bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) < 0 ||
      listen(listener, kWaitingConnections) < 0) {
    const int error = errno;
    if (listener >= 0) close(listener);
    return Unavailable("{}: {}", path, std::strerror(error));
  }
  return listener;
}

}  // namespace

KernelLinks::~KernelLinks() {
  if (listener_ >= 0) close(listener_);
}

absl::Status KernelLinks::Open(const std::string& where) {
  if (absl::StartsWith(where, kSocketPrefix)) {
    const absl::StatusOr<int> listener = Listen(where.substr(std::strlen(kSocketPrefix)));
    if (listener.ok()) listener_ = *listener;
    return listener.status();
  }
  absl::StatusOr<FrameLink> device = FrameLink::OpenDevice(where);
  if (!device.ok()) return device.status();
  kernels_.push_back({*std::move(device), {}});
  return absl::OkStatus();
}

void KernelLinks::AppendWaits(std::vector<pollfd>& waits) const {
  if (listener_ >= 0) waits.push_back({listener_, POLLIN, 0});
  for (const Kernel& kernel : kernels_) waits.push_back(kernel.link.wait());
}

absl::Status KernelLinks::Take(const Taker& taker) {
  if (listener_ >= 0) Accept();
  for (auto kernel = kernels_.begin(); kernel != kernels_.end();) {
    absl::Status status = kernel->link.Take([&](std::span<const uint8_t> frame) {
      if (Owns(*kernel, frame)) taker(frame);
    });
    if (status.ok()) status = kernel->link.Flush();
    if (status.ok()) {
      ++kernel;
      continue;
    }
    if (listener_ < 0) return status;
    fmt::print(stderr, "fabricsim: a kernel left: {}\n", Message(status));
    kernel = End(kernel, taker);
  }
  return absl::OkStatus();
}

void KernelLinks::Accept() {
  for (;;) {
    const int connection = accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (connection < 0) return;
    kernels_.push_back({FrameLink::OfSocket(connection), {}});
  }
}

bool KernelLinks::Owns(Kernel& kernel, std::span<const uint8_t> frame) {
  if (frame.size() < sizeof(simib_header)) return true;  // Refused by whoever takes it.
  const uint16_t hca = HcaOf(frame);
  if (kernel.hcas.contains(hca)) return true;
  const bool is_taken = std::any_of(kernels_.begin(), kernels_.end(), [hca](const Kernel& other) {
    return other.hcas.contains(hca);
  });
  if (is_taken) {
    fmt::print(stderr, "fabricsim: a frame was refused: HCA {} is another kernel's\n", hca);
    return false;
  }
  if (HeaderOf(frame).type == SIMIB_HELLO) kernel.hcas.insert(hca);
  return true;
}

std::list<KernelLinks::Kernel>::iterator KernelLinks::End(std::list<Kernel>::iterator kernel,
                                                          const Taker& taker) {
  for (const uint16_t hca : kernel->hcas) taker(KernelWire::Gone(hca));
  return kernels_.erase(kernel);
}

void KernelLinks::Give(std::span<const uint8_t> frame, const Taker& taker) {
  const uint16_t hca = HcaOf(frame);
  const auto kernel = std::find_if(kernels_.begin(), kernels_.end(),
                                   [hca](const Kernel& each) { return each.hcas.contains(hca); });
  if (kernel == kernels_.end()) {
    fmt::print(stderr, "fabricsim: no kernel has HCA {}\n", hca);
    return;
  }
  const absl::Status given = kernel->link.Give(frame);
  if (given.ok()) return;
  fmt::print(stderr, "fabricsim: {}\n", Message(given));
  if (absl::IsUnavailable(given)) End(kernel, taker);
}

}  // namespace fabricd::sim
