// SPDX-License-Identifier: Apache-2.0
// A SaState with its disk: requests of clients go in, their answers come out.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "common/check.h"
#include "sa/state/sa_state.h"
#include "tests/unit/sa/sa_fixture.h"

namespace fabricd::sa::testing {

class StateShell {
 public:
  static constexpr WallMs kEpoch = 1'700'000'000'000;

  explicit StateShell(SaFabric fabric) : made(std::move(fabric)) { Restart(); }

  // As after a crash: what is durable is left.
  void Restart() {
    auto loaded = SaState::Make(rows, kEpoch);
    FABRICD_CHECK(loaded.ok(), "{}", std::string(loaded.status().message()));
    state = *std::move(loaded);
    arrived.clear();
    ShowFabric();
  }
  void ShowFabric(bool settled = true) { Show({nullptr, settled, now}); }
  // A view that comes late.
  void ShowFabricPublishedAt(Instant published) { Show({nullptr, true, published}); }
  void Show(FabricChanged changed) {
    changed.view = view = std::make_shared<const SaView>(made.input);
    Step(std::move(changed));
  }
  void Step(StateEvent event) {
    state->Step(std::move(event), now);
    Carry();
  }
  // The time passes to the next thing that waits for it, at most by `most`.
  void Pass(Duration most) {
    const Instant end = now + most;
    while (state->NextDeadline() <= end) {
      now = std::max(now, state->NextDeadline());
      Step(TimePassed{});
    }
    now = end;
  }
  // Sends a request and returns its answer; none yet: the outcome is kNotARequest.
  Reply Ask(const Query& query, Lid from) {
    std::vector<uint8_t> bytes;
    Reply reply;
    reply.outcome = Answer({*view, *clients, WallNow()}, query.Bytes(), from, bytes);
    if (reply.outcome == Outcome::kChange) {
      arrived.clear();
      mad::Address address;
      address.lid = from;
      address.qpn = 1;
      address.global = global;
      Step(ClientRequest{address, query.Bytes()});
      reply.outcome = arrived.empty() ? Outcome::kNotARequest : Outcome::kAnswered;
      if (!arrived.empty()) bytes = arrived.front().payload;
    }
    if (reply.outcome != Outcome::kAnswered) return reply;
    reply.header = HeaderOf(bytes);
    reply.data.assign(bytes.begin() + wire::kSaDataAt, bytes.end());
    return reply;
  }
  template <typename Record>
  Reply Set(const Record& record, uint64_t mask, Lid from, SmKey key = {}) {
    return Change(record, mask, from, wire::Method::kSet, key);
  }
  template <typename Record>
  Reply Delete(const Record& record, uint64_t mask, Lid from, SmKey key = {}) {
    return Change(record, mask, from, wire::Method::kDelete, key);
  }
  template <typename Record>
  std::vector<Record> Table(const Record& wanted, uint64_t mask, Lid from, SmKey key = {}) {
    Query query = testing::Ask(wanted, mask);
    query.key = key;
    return Ask(query, from).Records<Record>();
  }
  // Reports on their way since the last call; each is answered, or timed out, by `answered`.
  std::vector<mad::OutgoingMad> TakeReports(bool answered) {
    std::vector<mad::OutgoingMad> taken = std::exchange(reports, {});
    for (const mad::OutgoingMad& report : taken) {
      mad::IncomingMad back;
      back.kind = answered ? mad::IncomingMad::Kind::kReceived : mad::IncomingMad::Kind::kTimedOut;
      back.agent = report.agent;
      back.payload = report.payload;
      if (answered) back.payload[3] |= wire::kResponseBit;
      Step(back);
    }
    return taken;
  }
  WallMs WallNow() const {
    return kEpoch +
           std::chrono::duration_cast<std::chrono::milliseconds>(now.time_since_epoch()).count();
  }
  static wire::SaHeader HeaderOf(const std::vector<uint8_t>& payload) {
    return wire::SaHeader::Decode(std::span<const uint8_t>(payload).first<wire::kMadBytes>());
  }

  SaFabric made;
  StoredRows rows;
  bool disk_fails = false, disk_waits = false;
  std::optional<WriteRows> waiting;  // The write, while disk_waits.
  std::unique_ptr<SaState> state;
  std::shared_ptr<const SaView> view;
  std::shared_ptr<const ClientState> clients = std::make_shared<const ClientState>();
  std::shared_ptr<const fabric::MulticastGroups> groups;
  std::shared_ptr<const fabric::AliasGuids> aliases;  // As the core was told; null: of nothing new.
  std::vector<mad::OutgoingMad> arrived, reports;     // Responses; Reports.
  int writes = 0;
  std::optional<mad::GlobalRoute> global;  // Of the requests; nullopt: they have no GRH.
  Instant now{std::chrono::seconds(10)};

  void FinishWrite() {
    const WriteRows write = *std::exchange(waiting, std::nullopt);
    absl::Status status;
    if (disk_fails) {
      status = absl::UnavailableError("disk full");
    } else {
      for (const auto& [key, value] : write.changes) {
        if (value)
          rows[key] = *value;
        else
          rows.erase(key);
      }
    }
    state->Step(RowsWritten{write.id, status}, now);
    Carry();
  }

 private:
  template <typename Record>
  Reply Change(const Record& record, uint64_t mask, Lid from, wire::Method method, SmKey key) {
    Query query = testing::Ask(record, mask, method);
    query.key = key;
    return Ask(query, from);
  }
  void Carry() {
    StateEffects effects = state->TakeEffects(now);
    for (mad::OutgoingMad& mad : effects.send)
      (mad.timeout > Duration::zero() ? reports : arrived).push_back(std::move(mad));
    if (effects.publish) clients = effects.publish;
    if (effects.groups) groups = effects.groups;
    if (effects.aliases) aliases = effects.aliases;
    if (!effects.write) return;
    ++writes;
    waiting = std::move(effects.write);
    if (!disk_waits) FinishWrite();
  }
};

}  // namespace fabricd::sa::testing
