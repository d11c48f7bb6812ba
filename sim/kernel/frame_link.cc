// SPDX-License-Identifier: Apache-2.0
#include "sim/kernel/frame_link.h"

#include <endian.h>
#include <fcntl.h>
#include <termios.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "common/status.h"
#include "kernel/simib_wire.h"

namespace fabricd::sim {
namespace {

// Frames taken before the fabric answers: many, so that a burst costs few turns, and not all, so
// that a kernel that never stops does not keep the fabric from its events.
constexpr int kFramesAtOnce = 64;
constexpr size_t kMostUnwritten = size_t{1} << 20;

absl::StatusOr<int> OpenFile(const std::string& path) {
  const int file = open(path.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
  if (file < 0) return Unavailable("{}: {}", path, std::strerror(errno));
  return file;
}

}  // namespace

simib_header HeaderOf(std::span<const uint8_t> frame) {
  simib_header header;
  std::memcpy(&header, frame.data(), sizeof(header));
  return header;
}

absl::StatusOr<FrameLink> FrameLink::OpenDevice(const std::string& path) {
  const absl::StatusOr<int> file = OpenFile(path);
  if (!file.ok()) return file.status();
  return FrameLink(*file, Kind::kDevice);
}

absl::StatusOr<FrameLink> FrameLink::OpenStream(const std::string& path) {
  const absl::StatusOr<int> file = OpenFile(path);
  if (!file.ok()) return file.status();
  FrameLink link(*file, Kind::kStream);
  termios line{};
  if (isatty(*file) == 0) return link;
  if (tcgetattr(*file, &line) == 0) {
    cfmakeraw(&line);
    if (tcsetattr(*file, TCSANOW, &line) == 0) return link;
  }
  return Unavailable("{}: raw mode: {}", path, std::strerror(errno));
}

FrameLink FrameLink::OfSocket(int socket) { return FrameLink(socket, Kind::kStream); }

FrameLink::~FrameLink() {
  if (file_ >= 0) close(file_);
}

FrameLink::FrameLink(FrameLink&& from) noexcept
    : file_(std::exchange(from.file_, -1)),
      kind_(from.kind_),
      unread_(std::move(from.unread_)),
      unwritten_(std::move(from.unwritten_)) {}

FrameLink& FrameLink::operator=(FrameLink&& from) noexcept {
  std::swap(file_, from.file_);
  std::swap(kind_, from.kind_);
  std::swap(unread_, from.unread_);
  std::swap(unwritten_, from.unwritten_);
  return *this;
}

pollfd FrameLink::wait() const {
  const int events = unwritten_.empty() ? POLLIN : POLLIN | POLLOUT;
  return {file_, static_cast<short>(events), 0};
}

absl::Status FrameLink::Take(const Taker& taker) {
  return kind_ == Kind::kDevice ? TakeFromDevice(taker) : TakeFromStream(taker);
}

absl::Status FrameLink::TakeFromDevice(const Taker& taker) {
  std::array<uint8_t, SIMIB_MAX_FRAME> bytes;
  for (int i = 0; i < kFramesAtOnce; ++i) {
    const ssize_t got = read(file_, bytes.data(), bytes.size());
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) break;
    if (got <= 0) return Unavailable("the device is gone: {}", std::strerror(errno));
    taker(std::span(bytes).first(static_cast<size_t>(got)));
  }
  return absl::OkStatus();
}

absl::Status FrameLink::TakeFromStream(const Taker& taker) {
  std::array<uint8_t, kFramesAtOnce * 512> bytes;
  const ssize_t got = read(file_, bytes.data(), bytes.size());
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return absl::OkStatus();
  if (got <= 0) return Unavailable("the other end is gone");
  unread_.insert(unread_.end(), bytes.begin(), bytes.begin() + got);
  std::span<const uint8_t> left = unread_;
  while (left.size() >= sizeof(simib_header)) {
    const simib_header header = HeaderOf(left);
    const size_t length = le16toh(header.length);
    if (header.version != SIMIB_WIRE_VERSION || length < sizeof(header) ||
        length > SIMIB_MAX_FRAME) {
      return InvalidArgument("no frame of version {}: version {}, {} bytes", SIMIB_WIRE_VERSION,
                             header.version, length);
    }
    if (left.size() < length) break;
    taker(left.first(length));
    left = left.subspan(length);
  }
  unread_.erase(unread_.begin(), unread_.end() - static_cast<ptrdiff_t>(left.size()));
  return absl::OkStatus();
}

absl::Status FrameLink::Give(std::span<const uint8_t> frame) {
  if (kind_ == Kind::kDevice) {
    // ENODEV: the HCA has gone meanwhile, as the module says next.
    if (write(file_, frame.data(), frame.size()) >= 0 || errno == ENODEV) return absl::OkStatus();
    return FailedPrecondition("the module refuses a frame of type {}: {}", HeaderOf(frame).type,
                              std::strerror(errno));
  }
  const bool is_packet = HeaderOf(frame).type == SIMIB_PACKET;
  const size_t bytes = unwritten_.size() + frame.size();
  if (is_packet && bytes > kMostUnwritten) return absl::OkStatus();
  if (bytes > 2 * kMostUnwritten) return Unavailable("the other end does not read");
  unwritten_.insert(unwritten_.end(), frame.begin(), frame.end());
  return Flush();
}

absl::Status FrameLink::Flush() {
  if (unwritten_.empty()) return absl::OkStatus();
  const ssize_t given = write(file_, unwritten_.data(), unwritten_.size());
  if (given < 0 && (errno == EAGAIN || errno == EINTR)) return absl::OkStatus();
  if (given < 0) return Unavailable("the other end is gone: {}", std::strerror(errno));
  unwritten_.erase(unwritten_.begin(), unwritten_.begin() + given);
  return absl::OkStatus();
}

}  // namespace fabricd::sim
