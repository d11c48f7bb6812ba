// SPDX-License-Identifier: Apache-2.0
// Subnet Administration in process: PathRecord Gets by GID, half-world and all-pairs tables, and
// making a view, on a full two- or three-level tree. Arguments: radix, levels.
//   sa_benchmark                              all
//   sa_benchmark --benchmark_filter=Get       items_per_second: answers
// Tables also give `ns_per_path` and `times_memcpy`: their time by that of copying the same bytes,
// in the same run.
#include <benchmark/benchmark.h>

#include <chrono>
#include <cstring>
#include <map>
#include <memory>
#include <utility>

#include "common/check.h"
#include "common/rng.h"
#include "mad/wire/sa_path_records.h"
#include "routing/plan/engine.h"
#include "sa/answer.h"
#include "sa/paths/path_query.h"
#include "tests/support/fabrics.h"

namespace fabricd::sa {
namespace {

const ClientState kNobody;  // Clients have left nothing.

using Clock = std::chrono::steady_clock;

double Seconds(Clock::time_point since) {
  return std::chrono::duration<double>(Clock::now() - since).count();
}

wire::PortInfo RunningPort() {
  wire::PortInfo info;
  info.port_state = wire::PortState::kActive;
  info.link_width_active = 2;
  info.link_speed_ext_active = 8;
  info.neighbor_mtu = info.mtu_cap = 5;
  return info;
}

ViewInput MakeInput(int radix, int levels) {
  const testing::TestFabric fabric = testing::MakeFatTree(radix, levels).Build();
  fabric::SnapshotBuilder builder(*fabric.snapshot);
  fabric.snapshot->ForEachNode([&](const fabric::Node& node) {
    for (size_t number = node.first_end_port().value(); number < node.ports.size(); ++number) {
      const PortRef ref{node.index, PortNum(static_cast<uint8_t>(number))};
      if (number == 0 || !node.IsSwitch())
        builder.SetPortGuid(ref, Guid(node.guid().value() + number));
      builder.SetPortInfo(ref, RunningPort());
    }
  });
  ViewInput input;
  input.snapshot = builder.Build();
  input.lids = std::make_shared<const fabric::LidTable>(fabric.lids);
  routing::RoutingOptions options;
  options.chain = {"fat_tree"};
  input.plan = routing::RunChain({*input.snapshot, *input.lids, options}).plan;
  FABRICD_CHECK(input.plan != nullptr, "no plan");
  return input;
}

const SaView& ViewOf(const benchmark::State& state) {
  static std::map<std::pair<int64_t, int64_t>, std::unique_ptr<SaView>> views;
  auto& view = views[{state.range(0), state.range(1)}];
  if (!view)
    view = std::make_unique<SaView>(
        MakeInput(static_cast<int>(state.range(0)), static_cast<int>(state.range(1))));
  return *view;
}

constexpr uint64_t Bit(PathComponent component) {
  return uint64_t{1} << static_cast<unsigned>(component);
}

wire::MadBytes Request(const wire::PathRecord& record, uint64_t mask, wire::Method method) {
  wire::MadBytes bytes{};
  wire::SaHeader header;
  header.mad.management_class = wire::ManagementClass::kSubnAdm;
  header.mad.class_version = wire::kSaClassVersion;
  header.mad.method = method;
  header.mad.attribute = static_cast<wire::AttributeId>(wire::SaAttribute::kPathRecord);
  header.component_mask = mask;
  header.Encode(bytes);
  record.Encode(std::span(bytes).subspan<wire::kSaDataAt, wire::PathRecord::kBytes>());
  return bytes;
}

// Between random hosts, by GID, as RDMA-CM asks: request bytes in, answer bytes out.
void BM_GetPathRecord(benchmark::State& state) {
  const SaView& view = ViewOf(state);
  Rng rng(1);
  std::vector<std::pair<wire::MadBytes, Lid>> requests;
  for (int i = 0; i < 4096; ++i) {
    const EndPort& from = view.ends()[static_cast<uint32_t>(rng.Below(view.ends().size()))];
    const EndPort& to = view.ends()[static_cast<uint32_t>(rng.Below(view.ends().size()))];
    wire::PathRecord record;
    record.sgid = {view.sm().gid_prefix, from.guid.value()};
    record.dgid = {view.sm().gid_prefix, to.guid.value()};
    record.reversible = true;
    record.numb_path = 1;
    record.p_key = PKey(0xFFFF);
    const uint64_t mask = Bit(PathComponent::kSgid) | Bit(PathComponent::kDgid) |
                          Bit(PathComponent::kReversible) | Bit(PathComponent::kNumbPath) |
                          Bit(PathComponent::kPKey);
    requests.emplace_back(Request(record, mask, wire::Method::kGet), Lid(from.base_lid));
  }
  std::vector<uint8_t> reply;
  size_t at = 0;
  for (auto unused : state) {
    const auto& [request, lid] = requests[at++ % requests.size()];
    const Outcome outcome = Answer({view, kNobody}, request, lid, reply);
    FABRICD_CHECK(outcome == Outcome::kAnswered && reply[4] == 0 && reply[5] == 0, "no path");
    benchmark::DoNotOptimize(reply.data());
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_GetPathRecord)->Args({16, 2})->Args({16, 3})->Args({32, 3})->Args({48, 3});

void RunTable(benchmark::State& state, const wire::MadBytes& request, Lid from) {
  const SaView& view = ViewOf(state);
  std::vector<uint8_t> reply, copy;
  double answering = 0, copying = 0;
  size_t paths = 0;
  for (auto unused : state) {
    const auto start = Clock::now();
    FABRICD_CHECK(Answer({view, kNobody}, request, from, reply) == Outcome::kAnswered, "no answer");
    answering += Seconds(start);
    FABRICD_CHECK(reply[4] == 0 && reply[5] == 0, "refused");
    state.PauseTiming();
    copy.resize(reply.size());
    const auto again = Clock::now();
    std::memcpy(copy.data(), reply.data(), reply.size());
    benchmark::DoNotOptimize(copy.data());
    copying += Seconds(again);
    paths += (reply.size() - wire::kSaDataAt) / wire::PathRecord::kBytes;
    state.ResumeTiming();
  }
  state.SetItemsProcessed(static_cast<int64_t>(paths));
  state.counters["ns_per_path"] = answering * 1e9 / static_cast<double>(paths);
  state.counters["times_memcpy"] = answering / copying;
}

// From one host to all end ports.
void BM_HalfWorld(benchmark::State& state) {
  const SaView& view = ViewOf(state);
  const EndPort& from = view.ends()[view.ends().size() - 1];
  wire::PathRecord record;
  record.slid = Lid(from.base_lid);
  RunTable(state, Request(record, Bit(PathComponent::kSlid), wire::Method::kGetTable), record.slid);
}
BENCHMARK(BM_HalfWorld)->Args({16, 2})->Args({32, 3})->Args({48, 3});

void BM_AllPairs(benchmark::State& state) {
  const SaView& view = ViewOf(state);
  RunTable(state, Request({}, 0, wire::Method::kGetTable), Lid(view.ends()[0].base_lid));
}
BENCHMARK(BM_AllPairs)->Args({16, 2})->Args({12, 3})->Args({14, 3})->Unit(benchmark::kMillisecond);

// From all end ports to one, the part of all pairs of a fabric too large for one answer.
void BM_ToOne(benchmark::State& state) {
  const SaView& view = ViewOf(state);
  wire::PathRecord record;
  record.dlid = Lid(view.ends()[view.ends().size() - 1].base_lid);
  RunTable(state, Request(record, Bit(PathComponent::kDlid), wire::Method::kGetTable), record.dlid);
}
BENCHMARK(BM_ToOne)->Args({32, 3})->Args({48, 3});

void BM_MakeView(benchmark::State& state) {
  const ViewInput input = ViewOf(state).input();
  for (auto unused : state) benchmark::DoNotOptimize(SaView(input).ends().size());
}
BENCHMARK(BM_MakeView)->Args({32, 3})->Args({48, 3})->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace fabricd::sa

BENCHMARK_MAIN();
