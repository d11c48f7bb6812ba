// SPDX-License-Identifier: Apache-2.0
// SaClient: a program on a host of the simulated fabric that asks Subnet Administration.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "daemon/app.h"
#include "mad/wire/sa_header.h"
#include "mad/wire/sa_state_records.h"
#include "mad/wire/smp.h"
#include "sim/transport/sim_transport.h"
#include "tests/sim/running_app.h"

namespace fabricd::daemon {

class SaClient {
 public:
  SaClient(App& app, const std::string& host) {
    auto& fabric = dynamic_cast<sim::SimTransport&>(*app.sim_control());
    auto opened = fabric.OpenProgram(host);
    EXPECT_TRUE(opened.ok()) << opened.status();
    transport_ = *std::move(opened);
    sm_lid_ = app.view()->sm.lid;
    EXPECT_TRUE(transport_->Start([this](auto burst) { Take(burst); }).ok());
  }
  Gid gid() const { return {0xFE80000000000000, transport_->local_port().port_guid.value()}; }

  template <typename Record>
  void Send(wire::Method method, const Record& record, uint64_t mask, uint32_t transaction,
            Duration timeout = kPatience) {
    mad::OutgoingMad out;
    out.agent = mad::Agent::kSubnAdm;
    out.to.lid = sm_lid_;
    out.to.qpn = 1;
    out.to.qkey = 0x80010000;
    out.timeout = timeout;
    out.payload.resize(wire::kMadBytes);
    wire::SaHeader header;
    header.mad.management_class = wire::ManagementClass::kSubnAdm;
    header.mad.class_version = wire::kSaClassVersion;
    header.mad.method = method;
    header.mad.attribute = static_cast<wire::AttributeId>(Record::kAttribute);
    header.mad.transaction_id = transaction;
    header.component_mask = mask;
    header.Encode(std::span<uint8_t, wire::kMadBytes>(out.payload.data(), wire::kMadBytes));
    record.Encode(
        std::span<uint8_t, Record::kBytes>(out.payload.data() + wire::kSaDataAt, Record::kBytes));
    const absl::Status sent = transport_->Send(out);
    EXPECT_TRUE(sent.ok()) << sent;
  }
  // The next MAD that came, of whatever kind.
  mad::IncomingMad Receive() {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(came_.wait_for(lock, kPatience, [this] { return !arrived_.empty(); }));
    if (arrived_.empty()) return {};
    mad::IncomingMad first = std::move(arrived_.front());
    arrived_.pop_front();
    return first;
  }
  template <typename Record>
  mad::IncomingMad Ask(wire::Method method, const Record& record, uint64_t mask) {
    Send(method, record, mask, ++transaction_);
    return Receive();
  }
  // The same, again and again where it is told to (BUSY).
  template <typename Record>
  mad::IncomingMad AskPatiently(wire::Method method, const Record& record, uint64_t mask) {
    const auto end = std::chrono::steady_clock::now() + kPatience;
    for (;;) {
      mad::IncomingMad answer = Ask(method, record, mask);
      const bool busy =
          !answer.payload.empty() &&
          wire::SaHeader::Decode(std::span<const uint8_t>(answer.payload).first<wire::kMadBytes>())
                  .mad.status == wire::kStatusBusy;
      if (!busy || std::chrono::steady_clock::now() > end) return answer;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }
  // As the kernel's ib_sa does for a caller that waits for two seconds (sa_query.c since Linux
  // 5.15): one transaction, repeated ten times at the same LID, and any status is final. kTimedOut:
  // no answer came.
  template <typename Record>
  mad::IncomingMad AskLikeTheKernel(wire::Method method, const Record& record, uint64_t mask) {
    constexpr int kRetries = 10;
    constexpr Duration kWait = std::chrono::seconds(2);
    mad::IncomingMad answer;
    answer.kind = mad::IncomingMad::Kind::kTimedOut;
    ++transaction_;
    for (int attempt = 0; attempt <= kRetries; ++attempt) {
      Send(method, record, mask, transaction_, kWait / kRetries);
      answer = Receive();
      if (answer.kind == mad::IncomingMad::Kind::kReceived) break;
    }
    return answer;
  }
  // What its own adapter says, past the SM. Asked again while the host does not respond, as one
  // that reboots.
  template <typename Attribute>
  Attribute ReadOwn(uint32_t modifier) {
    constexpr Duration kWait = std::chrono::milliseconds(100);
    const auto end = std::chrono::steady_clock::now() + kPatience;
    while (std::chrono::steady_clock::now() < end) {
      wire::Smp smp;
      smp.attribute = Attribute::kAttribute;
      smp.modifier = modifier;
      smp.tid = TransactionId(++transaction_);
      smp.path = wire::DirectedPath{};
      mad::OutgoingMad out;
      out.agent = mad::Agent::kSmpDirected;
      out.timeout = kWait;
      out.payload.resize(wire::kMadBytes);
      smp.Encode(std::span<uint8_t, wire::kMadBytes>(out.payload.data(), wire::kMadBytes));
      const absl::Status sent = transport_->Send(out);
      EXPECT_TRUE(sent.ok()) << sent;
      const std::optional<mad::IncomingMad> answer = AwaitRead();
      if (!answer || answer->kind != mad::IncomingMad::Kind::kReceived) continue;
      const auto read = wire::Smp::Decode(
          std::span<const uint8_t>(answer->payload).template first<wire::kMadBytes>());
      EXPECT_TRUE(read);
      return read ? Attribute::Decode(read->data) : Attribute();
    }
    ADD_FAILURE() << "the own adapter does not respond";
    return {};
  }
  void Answer(const mad::IncomingMad& report) {
    mad::OutgoingMad out{report.agent, report.from, {}, report.payload};
    out.to.qkey = 0x80010000;
    out.payload[3] |= wire::kResponseBit;
    EXPECT_TRUE(transport_->Send(out).ok());
  }
  void Stop() { transport_->Stop(); }

 private:
  std::optional<mad::IncomingMad> AwaitRead() {
    std::unique_lock lock(mutex_);
    came_.wait_for(lock, kPatience, [this] { return read_.has_value(); });
    return std::exchange(read_, std::nullopt);
  }
  void Take(std::span<mad::Incoming> burst) {
    for (mad::Incoming& what : burst)
      if (auto* mad = std::get_if<mad::IncomingMad>(&what)) TakeMad(mad);
  }
  void TakeMad(mad::IncomingMad* mad) {
    // An SM asks every port whether an SM is there: what is no response is not for us.
    const bool is_read =
        mad->agent == mad::Agent::kSmpDirected && (mad->kind != mad::IncomingMad::Kind::kReceived ||
                                                   (mad->payload[3] & wire::kResponseBit) != 0);
    if (!is_read && mad->agent != mad::Agent::kSubnAdm) return;
    std::lock_guard lock(mutex_);
    if (is_read)
      read_ = std::move(*mad);
    else
      arrived_.push_back(std::move(*mad));
    came_.notify_all();
  }

  std::unique_ptr<mad::Transport> transport_;
  Lid sm_lid_;
  uint32_t transaction_ = 0;
  std::mutex mutex_;
  std::condition_variable came_;
  std::deque<mad::IncomingMad> arrived_;
  std::optional<mad::IncomingMad> read_;
};

inline wire::SaHeader HeaderOf(const mad::IncomingMad& mad) {
  return wire::SaHeader::Decode(std::span<const uint8_t>(mad.payload).first<wire::kMadBytes>());
}
template <typename Record>
std::vector<Record> RecordsOf(const mad::IncomingMad& mad, size_t most = SIZE_MAX) {
  std::vector<Record> records;
  for (size_t at = wire::kSaDataAt; at + Record::kBytes <= mad.payload.size() && most > 0;
       at += Record::kBytes, --most)
    records.push_back(
        Record::Decode(std::span<const uint8_t>(mad.payload).subspan(at).first<Record::kBytes>()));
  return records;
}

// A group that its first member makes.
inline constexpr Gid kMgid{0xFF15A01C00000000, 0x77};

inline wire::McMemberRecord Membership(const SaClient& client) {
  wire::McMemberRecord record;
  record.mgid = kMgid;
  record.port_gid = client.gid();
  record.p_key = PKey(0xFFFF);
  record.join_state = 1;
  return record;
}
// MGID, PortGID, Q_Key, TClass, P_Key, SL, FlowLabel, JoinState.
inline constexpr uint64_t kCreateMask =
    1u << 0 | 1u << 1 | 1u << 2 | 1u << 6 | 1u << 7 | 1u << 12 | 1u << 13 | 1u << 16;

}  // namespace fabricd::daemon
