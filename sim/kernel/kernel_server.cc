// SPDX-License-Identifier: Apache-2.0
#include "sim/kernel/kernel_server.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <span>
#include <utility>

#include "common/process_clock.h"
#include "common/status.h"
#include "kernel/simib_wire.h"
#include "sim/kernel/kernel_console.h"

namespace fabricd::sim {
namespace {

// Frames taken before the fabric answers: many, so that a burst costs few turns, and not all, so
// that a kernel that never stops does not keep the fabric from its events.
constexpr int kFramesAtOnce = 64;
constexpr Duration kLongestWait = std::chrono::seconds(1);

template <typename... Args>
void Say(fmt::format_string<Args...> format, Args&&... args) {
  fmt::print(stderr, "fabricsim: {}\n", fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace

KernelServer::KernelServer(SimFabric& fabric, Options options)
    : fabric_(fabric), options_(std::move(options)), wire_(fabric, options_.places) {}

KernelServer::~KernelServer() {
  if (device_ >= 0) close(device_);
  if (console_ >= 0) close(console_);
}

absl::Status KernelServer::Open() {
  device_ = open(options_.device.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC);
  if (device_ < 0) return Unavailable("{}: {}", options_.device, std::strerror(errno));
  if (options_.console.empty()) return absl::OkStatus();
  // For writing too, so that the end of one writer is not the end of the FIFO.
  console_ = open(options_.console.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC);
  if (console_ < 0) return Unavailable("{}: {}", options_.console, std::strerror(errno));
  return absl::OkStatus();
}

absl::Status KernelServer::Run(const volatile std::sig_atomic_t& stop) {
  while (stop == 0) {
    std::array<pollfd, 2> waits{{{device_, POLLIN, 0}, {console_, POLLIN, 0}}};
    const Duration left = std::clamp(
        wire_.next_event() == kNever ? kLongestWait : wire_.next_event() - ProcessClock::Now(),
        Duration::zero(), kLongestWait);
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(left);
    const timespec wait{static_cast<time_t>(seconds.count()),
                        static_cast<long>((left - seconds).count())};
    if (ppoll(waits.data(), waits.size(), &wait, nullptr) < 0 && errno != EINTR) {
      return Unavailable("poll: {}", std::strerror(errno));
    }
    if ((waits[0].revents & (POLLERR | POLLHUP)) != 0) return Unavailable("the device is gone");
    if ((waits[0].revents & POLLIN) != 0) FABRICD_RETURN_IF_ERROR(TakeFrames());
    if ((waits[1].revents & POLLIN) != 0) ReadConsole();
    wire_.Advance(ProcessClock::Now(), frames_);
    GiveFrames();
  }
  return absl::OkStatus();
}

absl::Status KernelServer::TakeFrames() {
  std::array<uint8_t, SIMIB_MAX_FRAME> bytes;
  for (int i = 0; i < kFramesAtOnce; ++i) {
    const ssize_t got = read(device_, bytes.data(), bytes.size());
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) break;
    if (got <= 0) return Unavailable("{}: {}", options_.device, std::strerror(errno));
    const absl::Status taken =
        wire_.Take(ProcessClock::Now(), std::span(bytes).first(static_cast<size_t>(got)));
    if (!taken.ok()) Say("a frame was refused: {}", Message(taken));
  }
  if (wire_.places().size() != reported_) ReportPlaces();
  return absl::OkStatus();
}

void KernelServer::ReportPlaces() {
  reported_ = wire_.places().size();
  for (const auto& [port, place] : wire_.places()) {
    Say("simib{} port {} sits on '{}' port {}", port.hca, port.port,
        fabric_.device(place.node)->description(), place.port);
  }
}

void KernelServer::ReadConsole() {
  std::array<char, 4096> text;
  const ssize_t got = read(console_, text.data(), text.size());
  for (ssize_t i = 0; i < got; ++i) {
    if (text[static_cast<size_t>(i)] != '\n') {
      line_ += text[static_cast<size_t>(i)];
      continue;
    }
    RunLine(line_);
    line_.clear();
  }
}

void KernelServer::RunLine(const std::string& line) {
  const absl::Status done = RunConsoleLine(ProcessClock::Now(), line, fabric_, frames_);
  Say("console: {}: {}", line, done.ok() ? "done" : Message(done));
}

void KernelServer::GiveFrames() {
  for (const KernelWire::Frame& frame : frames_) {
    const ssize_t given = write(device_, frame.data(), frame.size());
    // ENODEV: the HCA has gone meanwhile, as the module says next.
    if (given < 0 && errno != ENODEV) {
      Say("the module refuses a frame of type {}: {}", frame[1], std::strerror(errno));
    }
  }
  frames_.clear();
}

}  // namespace fabricd::sim
