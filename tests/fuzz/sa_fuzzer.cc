// SPDX-License-Identifier: Apache-2.0
// Requests to Subnet Administration of any bytes, over a small fabric with partitions, several LIDs
// and tables. What comes in is judged by the form of what goes out.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "common/check.h"
#include "mad/wire/sa_components.h"
#include "routing/plan/engine.h"
#include "sa/answer.h"
#include "sa/state/sa_state.h"
#include "sa/view/asker.h"
#include "tests/support/fabrics.h"

namespace fabricd::sa {
namespace {

const ClientState kNobody;  // Clients have left nothing.

constexpr SmKey kSmKey{0x0101010101010101};

SaView MakeView() {
  const testing::TestFabric fabric = testing::MakeFatTree(4, 2).Build(1);
  fabric::SnapshotBuilder builder(*fabric.snapshot);
  auto tables = std::make_shared<fabric::TablesByPort>();
  fabric.snapshot->ForEachNode([&](const fabric::Node& node) {
    const PortRef end{node.index, node.first_end_port()};
    builder.SetPortGuid(end, Guid(node.guid().value() + 1));
    wire::PKeyTable keys;
    keys.keys[0] = PKey(static_cast<uint16_t>(node.index.value() % 2 << 15 | 0x7FFF));
    (*tables)[end].p_keys.push_back({end.port, 0, keys});
    (*tables)[end].lanes.push_back({PortNum(), PortNum(), {}});
    (*tables)[end].arbitration.push_back({end.port, 1, {}});
  });
  ViewInput input;
  input.snapshot = builder.Build();
  input.lids = std::make_shared<const fabric::LidTable>(fabric.lids);
  routing::RoutingOptions options;
  options.chain = {"up_down"};
  options.threads = 1;
  input.plan = routing::RunChain({*input.snapshot, *input.lids, options}).plan;
  input.tables = tables;
  input.sm.sm_key = kSmKey;
  input.sm.managers = {{{NodeIndex(0), PortNum(0)}, {}}};
  return SaView(input);
}

// What every answer keeps to, whatever was asked.
void CheckReply(const wire::SaHeader& request, const std::vector<uint8_t>& reply) {
  FABRICD_CHECK(reply.size() >= wire::kSaDataAt);
  wire::MadBytes head{};
  std::copy_n(reply.begin(), std::min(reply.size(), head.size()), head.begin());
  const wire::SaHeader header = wire::SaHeader::Decode(head);
  FABRICD_CHECK(header.mad.transaction_id == request.mad.transaction_id);
  const wire::Method asked = request.mad.method;
  const uint8_t expected = asked == wire::Method::kSet ? 0x81
                           : asked == wire::Method::kGetTraceTable
                               ? 0x92
                               : static_cast<uint8_t>(asked) | 0x80;
  FABRICD_CHECK(static_cast<uint8_t>(header.mad.method) == expected);
  FABRICD_CHECK(!header.sm_key, "the SM_Key was told");
  const size_t data = reply.size() - wire::kSaDataAt;
  FABRICD_CHECK(data <= RecordTable::kMostBytes);
  if (header.rmpp.version == 0) {
    FABRICD_CHECK(reply.size() == wire::kMadBytes);
    return;
  }
  FABRICD_CHECK(header.mad.status == wire::kStatusOk, "records and an error");
  const size_t record = header.attribute_offset * 8u;
  FABRICD_CHECK(record == 0 ? data == 0 : data % record == 0);
  FABRICD_CHECK(header.rmpp.data2 >= data + 20);
}

// What a request changes is durable, is answered, and can be read back.
void CheckChange(const SaView& view, const std::vector<uint8_t>& request, Lid from) {
  const Instant now{std::chrono::hours(1)};
  auto state = *SaState::Make({}, 0);
  // Not owned: the view outlives every state.
  state->Step(FabricChanged{std::shared_ptr<const SaView>(&view, [](const SaView*) {}), true, now},
              now);
  StoredRows rows;
  const auto settle = [&] {
    size_t answers = 0;
    for (int round = 0; round < 3; ++round) {
      StateEffects effects = state->TakeEffects(now);
      for (const mad::OutgoingMad& mad : effects.send) answers += mad.timeout == Duration::zero();
      if (!effects.write) continue;
      for (const auto& [key, value] : effects.write->changes) {
        if (value)
          rows[key] = *value;
        else
          rows.erase(key);
      }
      state->Step(RowsWritten{effects.write->id, absl::OkStatus()}, now);
    }
    return answers;
  };
  settle();
  mad::Address address;
  address.lid = from;
  for (int time = 0; time < 2; ++time) {
    state->Step(ClientRequest{address, request}, now);
    FABRICD_CHECK(settle() == 1, "no answer, or more than one");
  }
  const auto again = SaState::Make(rows, 0);
  FABRICD_CHECK(again.ok(), "{}", std::string(again.status().message()));
  FABRICD_CHECK(*(*again)->Trees() == *state->Trees(), "other groups after a restart");
}

}  // namespace
}  // namespace fabricd::sa

// Byte 0: the LID that asks. Byte 1: bit 0 leaves the class and version as they are, bit 1 the
// SM_Key; else they are made right, so that most inputs get further than the first check.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace fabricd;      // NOLINT(google-build-using-namespace)
  using namespace fabricd::sa;  // NOLINT(google-build-using-namespace)
  static const SaView* const kView = new SaView(MakeView());
  if (size < 2) return 0;
  std::vector<uint8_t> request(std::max(size - 2, wire::kMadBytes));
  std::copy(data + 2, data + size, request.begin());
  const std::span<uint8_t, wire::kMadBytes> head(request.data(), wire::kMadBytes);
  wire::SaHeader header = wire::SaHeader::Decode(head);
  if ((data[1] & 1) == 0) {
    header.mad.base_version = 1;
    header.mad.management_class = wire::ManagementClass::kSubnAdm;
    header.mad.class_version = wire::kSaClassVersion;
  }
  if ((data[1] & 2) == 0) header.sm_key = data[1] & 4 ? kSmKey : SmKey();
  header.Encode(head);
  std::vector<uint8_t> reply, again;
  const Outcome outcome = Answer({*kView, kNobody}, request, Lid(data[0]), reply);
  if (outcome == Outcome::kAnswered) CheckReply(header, reply);
  FABRICD_CHECK(Answer({*kView, kNobody}, request, Lid(data[0]), again) == outcome &&
                again == reply);
  if (outcome == Outcome::kChange) CheckChange(*kView, request, Lid(data[0]));
  return 0;
}
