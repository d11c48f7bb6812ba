// SPDX-License-Identifier: Apache-2.0
// FrameLink: a file that frames of kernel/simib_wire.h pass through in both directions.
#pragma once

#include <poll.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include "kernel/simib_wire.h"

namespace fabricd::sim {

// REQUIRES: a whole header.
simib_header HeaderOf(std::span<const uint8_t> frame);

class FrameLink {
 public:
  // The frame is valid during the call.
  using Taker = std::function<void(std::span<const uint8_t> frame)>;

  // The module's device: each read and each write is one frame. kUnavailable: it cannot be opened.
  static absl::StatusOr<FrameLink> OpenDevice(const std::string& path);
  // A character device that carries bytes: a serial line (set to raw mode), a virtio port.
  static absl::StatusOr<FrameLink> OpenStream(const std::string& path);
  // A connected socket; it is closed with this object.
  static FrameLink OfSocket(int socket);

  ~FrameLink();
  FrameLink(FrameLink&& from) noexcept;
  FrameLink& operator=(FrameLink&& from) noexcept;

  // What to wait for.
  pollfd wait() const;
  // Bytes that were given and are not written yet.
  size_t backlog() const { return unwritten_.size(); }

  // Reads what is there, up to a bound that lets others have their turn. kUnavailable: the other
  // end is gone; kInvalidArgument: what comes on a stream is not frames.
  [[nodiscard]] absl::Status Take(const Taker& taker);
  // kUnavailable: the other end is gone, or does not read; kFailedPrecondition: the module refuses
  // the frame. A stream whose other end does not read has a backlog of at most 1 MiB of packets
  // (more are lost, as on a wire) and of 2 MiB in all.
  [[nodiscard]] absl::Status Give(std::span<const uint8_t> frame);
  // Writes of the backlog what the other end takes now.
  [[nodiscard]] absl::Status Flush();

 private:
  enum class Kind { kDevice, kStream };
  FrameLink(int file, Kind kind) : file_(file), kind_(kind) {}
  absl::Status TakeFromDevice(const Taker& taker);
  absl::Status TakeFromStream(const Taker& taker);

  int file_ = -1;
  Kind kind_;
  std::vector<uint8_t> unread_;     // Of a stream: the begin of a frame.
  std::vector<uint8_t> unwritten_;  // Of a stream.
};

}  // namespace fabricd::sim
