// SPDX-License-Identifier: Apache-2.0
#include "sim/kernel/kernel_links.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "sim/kernel/relay.h"
#include "tests/unit/sim/kernel/frames.h"

namespace fabricd::sim {
namespace {

constexpr size_t kMostBacklog = size_t{2} << 20;

Frame PacketOf(uint16_t hca, size_t bytes) {
  return MakeFrame(SIMIB_PACKET, hca, 1, simib_packet{}, std::vector<uint8_t>(bytes, 7));
}

// Two connected sockets.
struct Pair {
  Pair() { EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0); }
  int ends[2];
};

std::vector<Frame> TakeAll(FrameLink& link, absl::Status& status) {
  std::vector<Frame> frames;
  status = link.Take(
      [&](std::span<const uint8_t> frame) { frames.emplace_back(frame.begin(), frame.end()); });
  return frames;
}

TEST(FrameLinkTest, StreamKeepsFramesApartHoweverItsBytesCome) {
  const Pair pair;
  FrameLink link = FrameLink::OfSocket(pair.ends[0]);
  Frame bytes = Hello(3, 0x100);
  const Frame packet = PacketOf(3, 256);
  bytes.insert(bytes.end(), packet.begin(), packet.end());
  std::vector<Frame> got;
  absl::Status status;
  for (const uint8_t byte : bytes) {
    ASSERT_EQ(write(pair.ends[1], &byte, 1), 1);
    for (Frame& frame : TakeAll(link, status)) got.push_back(std::move(frame));
    ASSERT_TRUE(status.ok());
  }
  EXPECT_EQ(got, (std::vector<Frame>{Hello(3, 0x100), packet}));
  ASSERT_EQ(write(pair.ends[1], bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  EXPECT_EQ(TakeAll(link, status).size(), 2u);
  close(pair.ends[1]);
}

TEST(FrameLinkTest, RefusesAStreamThatIsNotFrames) {
  for (const Frame& bytes :
       {Frame{9, 1, 1, 0, 0, 0, 8, 0}, Frame{SIMIB_WIRE_VERSION, 1, 1, 0, 0, 0, 7, 0},
        Frame{SIMIB_WIRE_VERSION, 1, 1, 0, 0, 0, 0xFF, 0xFF}}) {
    const Pair pair;
    FrameLink link = FrameLink::OfSocket(pair.ends[0]);
    ASSERT_EQ(write(pair.ends[1], bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
    absl::Status status;
    TakeAll(link, status);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    close(pair.ends[1]);
  }
}

TEST(FrameLinkTest, LosesPacketsAndKeepsOtherFramesWhileThePeerDoesNotRead) {
  const Pair pair;
  FrameLink link = FrameLink::OfSocket(pair.ends[0]);
  FrameLink peer = FrameLink::OfSocket(pair.ends[1]);
  for (int i = 0; i < 3000; ++i) ASSERT_TRUE(link.Give(PacketOf(0, 1000)).ok());
  EXPECT_LE(link.backlog(), kMostBacklog / 2);
  ASSERT_TRUE(link.Give(KernelWire::Remove(1)).ok());
  std::vector<Frame> got;
  absl::Status status;
  while (link.backlog() > 0) {
    for (Frame& frame : TakeAll(peer, status)) got.push_back(std::move(frame));
    ASSERT_TRUE(link.Flush().ok());
  }
  for (std::vector<Frame> more = TakeAll(peer, status); !more.empty();
       more = TakeAll(peer, status)) {
    got.insert(got.end(), more.begin(), more.end());
  }
  EXPECT_LT(got.size(), 3000u);
  ASSERT_FALSE(got.empty());
  EXPECT_EQ(got.back(), KernelWire::Remove(1));
}

TEST(FrameLinkTest, EndsWhereTheOtherEndNeverReads) {
  const Pair pair;
  FrameLink link = FrameLink::OfSocket(pair.ends[0]);
  absl::Status status;
  for (int i = 0; i < 1'000'000 && status.ok(); ++i) status = link.Give(KernelWire::Remove(1));
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_LE(link.backlog(), kMostBacklog);
  close(pair.ends[1]);
}

// The socket of a fabric, and kernels that connect to it.
class KernelLinksTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(links.Open("unix:" + path).ok()); }
  void TearDown() override { unlink(path.c_str()); }
  FrameLink Connect() const {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof(address.sun_path) - 1);
    const int end = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
    EXPECT_EQ(connect(end, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
    return FrameLink::OfSocket(end);
  }
  std::vector<Frame> Take() {
    std::vector<Frame> frames;
    EXPECT_TRUE(links
                    .Take([&](std::span<const uint8_t> frame) {
                      frames.emplace_back(frame.begin(), frame.end());
                    })
                    .ok());
    return frames;
  }

  const std::string path = ::testing::TempDir() + "/fabricd_links_" + std::to_string(getpid());
  KernelLinks links;
  absl::Status status;
};

TEST_F(KernelLinksTest, GivesAFrameToTheKernelThatHasTheHca) {
  FrameLink first = Connect();
  FrameLink second = Connect();
  ASSERT_TRUE(first.Give(Hello(0, 0x100)).ok());
  ASSERT_TRUE(second.Give(Hello(8, 0x200)).ok());
  EXPECT_EQ(Take().size(), 2u);
  links.Give(PacketOf(8, 4), nullptr);
  EXPECT_TRUE(TakeAll(first, status).empty());
  EXPECT_EQ(TakeAll(second, status), std::vector<Frame>{PacketOf(8, 4)});
}

TEST_F(KernelLinksTest, RefusesAnHcaThatAnotherKernelHas) {
  FrameLink first = Connect();
  FrameLink second = Connect();
  ASSERT_TRUE(first.Give(Hello(0, 0x100)).ok());
  EXPECT_EQ(Take().size(), 1u);
  ASSERT_TRUE(second.Give(Hello(0, 0x200)).ok());
  ASSERT_TRUE(second.Give(PacketOf(0, 4)).ok());
  EXPECT_TRUE(Take().empty());
}

TEST_F(KernelLinksTest, AKernelThatLeavesTakesItsHcasWithIt) {
  {
    FrameLink first = Connect();
    ASSERT_TRUE(first.Give(Hello(0, 0x100)).ok());
    ASSERT_TRUE(first.Give(Hello(1, 0x200)).ok());
    EXPECT_EQ(Take().size(), 2u);
  }
  EXPECT_EQ(Take(), (std::vector<Frame>{KernelWire::Gone(0), KernelWire::Gone(1)}));
  FrameLink again = Connect();
  ASSERT_TRUE(again.Give(Hello(0, 0x100)).ok());
  EXPECT_EQ(Take(), std::vector<Frame>{Hello(0, 0x100)});
}

TEST_F(KernelLinksTest, TellsWhyASocketCannotBeMade) {
  KernelLinks others;
  EXPECT_EQ(others.Open("unix:/nowhere/fabric.sock").code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(others.Open("unix:").code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(others.Open("/nowhere/simib").code(), absl::StatusCode::kUnavailable);
}

// The module's side is a stream here, too: no kernel is at hand.
TEST(RelayTest, CarriesFramesBothWaysAndSaysThatTheHcasAreGone) {
  const Pair below, above;
  FrameLink module = FrameLink::OfSocket(below.ends[0]),
            kernel = FrameLink::OfSocket(below.ends[1]);
  FrameLink stream = FrameLink::OfSocket(above.ends[0]),
            fabric = FrameLink::OfSocket(above.ends[1]);
  volatile std::sig_atomic_t stop = 0;
  std::thread relay([&] { EXPECT_TRUE(Relay(module, stream, stop).ok()); });
  absl::Status status;
  const auto next = [&](FrameLink& link) {
    std::vector<Frame> frames;
    while (frames.empty() && status.ok()) frames = TakeAll(link, status);
    return frames;
  };
  EXPECT_TRUE(kernel.Give(Hello(5, 0x100)).ok());
  EXPECT_EQ(next(fabric), std::vector<Frame>{Hello(5, 0x100)});
  EXPECT_TRUE(fabric.Give(PacketOf(5, 4)).ok());
  EXPECT_EQ(next(kernel), std::vector<Frame>{PacketOf(5, 4)});
  stop = 1;
  EXPECT_EQ(next(fabric), std::vector<Frame>{KernelWire::Gone(5)});
  relay.join();
}

}  // namespace
}  // namespace fabricd::sim
