// SPDX-License-Identifier: Apache-2.0
// Malformed MADs at the daemon's entry: whatever a host sends to Subnet Administration, the others
// are answered as before, and a restart finds what was stored.
//   FABRICD_NIGHTLY=1 sa_service_test --gtest_filter='SaHostile*'   10 million of them
#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "common/rng.h"
#include "mad/wire/sa_path_records.h"
#include "mad/wire/sa_state_records.h"
#include "tests/sim/running_app.h"
#include "tests/sim/sa_client.h"

namespace fabricd::daemon {
namespace {

using Bytes = std::vector<uint8_t>;

constexpr wire::SaAttribute kAttributes[] = {
    wire::SaAttribute::kClassPortInfo,
    wire::SaAttribute::kNotice,
    wire::SaAttribute::kInformInfo,
    wire::SaAttribute::kNodeRecord,
    wire::SaAttribute::kPortInfoRecord,
    wire::SaAttribute::kSlToVlMappingTableRecord,
    wire::SaAttribute::kSwitchInfoRecord,
    wire::SaAttribute::kLinearForwardingTableRecord,
    wire::SaAttribute::kMulticastForwardingTableRecord,
    wire::SaAttribute::kSmInfoRecord,
    wire::SaAttribute::kLinkRecord,
    wire::SaAttribute::kGuidInfoRecord,
    wire::SaAttribute::kServiceRecord,
    wire::SaAttribute::kPKeyTableRecord,
    wire::SaAttribute::kPathRecord,
    wire::SaAttribute::kVlArbitrationTableRecord,
    wire::SaAttribute::kMcMemberRecord,
    wire::SaAttribute::kTraceRecord,
    wire::SaAttribute::kMultiPathRecord,
    wire::SaAttribute::kInformInfoRecord,
};
constexpr wire::Method kMethods[] = {wire::Method::kGet,           wire::Method::kSet,
                                     wire::Method::kGetTable,      wire::Method::kGetMulti,
                                     wire::Method::kGetTraceTable, wire::Method::kDelete};

// Correct requests that are corrupted, and random ones.
class Corrupter {
 public:
  Corrupter() {
    // Two bytes of each are the fuzzer's own (tests/fuzz/sa_fuzzer.cc).
    std::vector<std::filesystem::path> paths;
    for (const auto& entry : std::filesystem::directory_iterator(std::string(FABRICD_SOURCE_DIR) +
                                                                 "/tests/fuzz/corpus/sa_fuzzer"))
      paths.push_back(entry.path());
    std::sort(paths.begin(), paths.end());
    for (const auto& path : paths) {
      std::ifstream in(path, std::ios::binary);
      const Bytes bytes((std::istreambuf_iterator<char>(in)), {});
      seeds_.emplace_back(bytes.begin() + 2, bytes.end());
      seeds_.back().resize(std::max(seeds_.back().size(), wire::kMadBytes));
    }
  }
  Bytes Next() {
    Bytes mad = seeds_[rng_.Below(seeds_.size())];
    if (rng_.Chance(0.02)) mad.resize(wire::kMadBytes + 8 * rng_.Below(1000));
    if (rng_.Chance(0.5)) Invent(mad);
    for (uint64_t left = rng_.Below(6); left > 0; --left) {
      // Most of what is decided hangs on the headers.
      const size_t end = rng_.Chance(0.5) ? wire::kSaDataAt : mad.size();
      mad[rng_.Below(end)] = static_cast<uint8_t>(rng_.Next());
    }
    // By which the sender's kernel tells its answer.
    const uint32_t number = ++number_;
    for (size_t i = 0; i < 4; ++i) mad[12 + i] = static_cast<uint8_t>(number >> (24 - 8 * i));
    // Nothing longer than one MAD leaves a host without RMPP, and only requests are meant here.
    if (mad.size() > wire::kMadBytes) mad[26] |= wire::kRmppActive;
    mad[3] &= static_cast<uint8_t>(~wire::kResponseBit);
    return mad;
  }

 private:
  void Invent(Bytes& mad) {
    const std::span<uint8_t, wire::kMadBytes> head(mad.data(), wire::kMadBytes);
    wire::SaHeader header;
    header.mad.management_class = wire::ManagementClass::kSubnAdm;
    header.mad.class_version = wire::kSaClassVersion;
    header.mad.method = kMethods[rng_.Below(std::size(kMethods))];
    header.mad.attribute =
        static_cast<wire::AttributeId>(kAttributes[rng_.Below(std::size(kAttributes))]);
    header.mad.transaction_id = rng_.Next();
    header.sm_key = SmKey(rng_.Below(3));
    for (uint64_t bits = rng_.Below(8); bits > 0; --bits)
      header.component_mask |= uint64_t{1} << rng_.Below(64);
    header.Encode(head);
    // GIDs, LIDs and states that exist are small numbers behind zeros.
    for (size_t at = wire::kSaDataAt; at < mad.size(); ++at)
      if (rng_.Chance(0.2))
        mad[at] = static_cast<uint8_t>(rng_.Chance(0.5) ? rng_.Below(8) : rng_.Next());
  }

  Rng rng_{1};
  uint32_t number_ = 0;
  std::vector<Bytes> seeds_;
};

class SaHostileTest : public RunningApp {
 protected:
  // What a good client is told of the path between two others; until there is a first view of the
  // subnet, it is told to ask again.
  static Bytes AskForPath(SaClient& client, bool patiently = false) {
    wire::PathRecord record;
    record.slid = Lid(1);
    record.dlid = Lid(5);
    constexpr uint64_t kMask = 1 << 4 | 1 << 5;
    const auto answer = patiently ? client.AskPatiently(wire::Method::kGet, record, kMask)
                                  : client.Ask(wire::Method::kGet, record, kMask);
    EXPECT_EQ(answer.kind, mad::IncomingMad::Kind::kReceived);
    if (answer.payload.size() < wire::kMadBytes) return {};
    EXPECT_EQ(HeaderOf(answer).mad.status, wire::kStatusOk);
    return {answer.payload.begin() + wire::kSaDataAt, answer.payload.end()};
  }
};

TEST_F(SaHostileTest, MalformedMadsLeaveTheDaemonHealthy) {
  const bool nightly = std::getenv("FABRICD_NIGHTLY") != nullptr;
  const size_t count = nightly ? 10'000'000 : 20'000;
  constexpr size_t kBatch = 200;
  const std::string topology = "superpod:sus=1,hosts=4,rails=2,radix=8";
  Run(topology);
  std::atomic<uint64_t> answers = 0;
  {
    auto& fabric = dynamic_cast<sim::SimTransport&>(*app->sim_control());
    auto opened = fabric.OpenProgram("node0002 mlx5_0");
    ASSERT_TRUE(opened.ok()) << opened.status();
    mad::Transport& hostile = **opened;
    const auto take = [&](auto burst) {
      for (const mad::Incoming& what : burst) {
        const auto* mad = std::get_if<mad::IncomingMad>(&what);
        answers += mad != nullptr && mad->kind == mad::IncomingMad::Kind::kReceived;
      }
    };
    ASSERT_TRUE(hostile.Start(take).ok());
    SaClient good(*app, "node0003 mlx5_0");
    const Bytes path = AskForPath(good, /*patiently=*/true);
    Corrupter corrupter;
    mad::OutgoingMad out;
    out.agent = mad::Agent::kSubnAdm;
    out.to.lid = app->view()->sm.lid;
    out.to.qpn = 1;
    out.to.qkey = 0x80010000;
    out.timeout = std::chrono::seconds(1);  // Without one the kernel takes no answer.
    for (size_t sent = 0; sent < count; ++sent) {
      out.payload = corrupter.Next();
      const absl::Status status = hostile.Send(out);
      ASSERT_TRUE(status.ok()) << status;
      if (sent % kBatch == 0) {
        ASSERT_EQ(AskForPath(good), path) << "after " << sent;
      }
    }
    ASSERT_EQ(AskForPath(good), path);
    EXPECT_TRUE(app->view()->subnet_up);
    hostile.Stop();
    good.Stop();
  }
  EXPECT_GT(answers, count / 4) << "few got further than the first check";
  printf("%zu MADs, %zu answers\n", count, static_cast<size_t>(answers));
  End();
  app.reset();
  Run(topology);
}

}  // namespace
}  // namespace fabricd::daemon
