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

constexpr Duration kLongestWait = std::chrono::seconds(1);

template <typename... Args>
void Say(fmt::format_string<Args...> format, Args&&... args) {
  fmt::print(stderr, "fabricsim: {}\n", fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace

KernelServer::KernelServer(SimFabric& fabric, Options options)
    : fabric_(fabric), options_(std::move(options)), wire_(fabric, options_.places) {}

KernelServer::~KernelServer() {
  if (console_ >= 0) close(console_);
}

absl::Status KernelServer::Open() {
  FABRICD_RETURN_IF_ERROR(links_.Open(options_.kernel));
  if (options_.console.empty()) return absl::OkStatus();
  // For writing too, so that the end of one writer is not the end of the FIFO.
  console_ = open(options_.console.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC);
  if (console_ < 0) return Unavailable("{}: {}", options_.console, std::strerror(errno));
  return absl::OkStatus();
}

absl::Status KernelServer::Run(const volatile std::sig_atomic_t& stop) {
  std::vector<pollfd> waits;
  while (stop == 0) {
    waits.assign(1, {console_, POLLIN, 0});
    links_.AppendWaits(waits);
    const Duration left = std::clamp(
        wire_.next_event() == kNever ? kLongestWait : wire_.next_event() - ProcessClock::Now(),
        Duration::zero(), kLongestWait);
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(left);
    const timespec wait{static_cast<time_t>(seconds.count()),
                        static_cast<long>((left - seconds).count())};
    if (ppoll(waits.data(), waits.size(), &wait, nullptr) < 0 && errno != EINTR) {
      return Unavailable("poll: {}", std::strerror(errno));
    }
    FABRICD_RETURN_IF_ERROR(TakeFrames());
    if ((waits[0].revents & POLLIN) != 0) ReadConsole();
    wire_.Advance(ProcessClock::Now(), frames_);
    GiveFrames();
  }
  return absl::OkStatus();
}

absl::Status KernelServer::TakeFrames() {
  FABRICD_RETURN_IF_ERROR(
      links_.Take([this](std::span<const uint8_t> frame) { TakeFrame(frame); }));
  if (wire_.places().size() != reported_) ReportPlaces();
  return absl::OkStatus();
}

void KernelServer::TakeFrame(std::span<const uint8_t> frame) {
  const absl::Status taken = wire_.Take(ProcessClock::Now(), frame);
  if (!taken.ok()) Say("a frame was refused: {}", Message(taken));
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
    links_.Give(frame, [this](std::span<const uint8_t> gone) { TakeFrame(gone); });
  }
  frames_.clear();
}

}  // namespace fabricd::sim
