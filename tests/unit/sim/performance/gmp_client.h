// SPDX-License-Identifier: Apache-2.0
// A program that reads counters by GMPs from a fabric that a TinySm has brought up.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "mad/wire/perf.h"
#include "mad/wire/registers.h"
#include "mad/wire/vendor_mad.h"
#include "tests/unit/sim/test_client.h"

namespace fabricd::sim {

inline mad::OutgoingMad EncodePerf(const wire::PerfMad& perf, Lid to, Duration timeout) {
  mad::OutgoingMad mad;
  mad.agent = mad::Agent::kPerf;
  mad.to.lid = to;
  mad.to.qpn = 1;
  mad.to.qkey = PerformanceAgent::kQKey;
  mad.timeout = timeout;
  mad.payload.resize(wire::kMadBytes);
  perf.Encode(std::span<uint8_t, wire::kMadBytes>(mad.payload.data(), wire::kMadBytes));
  return mad;
}

inline mad::OutgoingMad EncodeVendor(const wire::VendorMad& vendor, Lid to, Duration timeout) {
  mad::OutgoingMad mad;
  mad.agent = mad::Agent::kVendor;
  mad.to.lid = to;
  mad.to.qpn = 1;
  mad.to.qkey = PerformanceAgent::kQKey;
  mad.timeout = timeout;
  mad.payload.resize(wire::kMadBytes);
  vendor.Encode(std::span<uint8_t, wire::kMadBytes>(mad.payload.data(), wire::kMadBytes));
  return mad;
}

inline std::span<const uint8_t, wire::kMadBytes> BytesOf(const mad::IncomingMad& mad) {
  return std::span<const uint8_t, wire::kMadBytes>(mad.payload.data(), wire::kMadBytes);
}

// A 1-SU SuperPOD: 4 hosts with 2 HCAs, two leaves (su1-rail0-leaf, su1-rail1-leaf), spines.
class GmpFabric {
 public:
  explicit GmpFabric(const std::string& kind = "superpod:sus=1,hosts=4,rails=2,radix=8",
                     SimOptions options = {})
      : topology(*Generate(kind)), fabric(*topology, options) {
    client.now = Instant(std::chrono::seconds(1));
    TinySm sm(client);
    up = sm.BringUp();
    lids = sm.lid;
  }

  NodeIndex Node(const std::string& name) { return fabric.FindNode(name).value(); }
  Lid LidOf(NodeIndex node) { return lids.at(fabric.device(node)->guid()); }
  PortRef Port(const std::string& name, uint8_t port) { return {Node(name), PortNum(port)}; }

  // nullopt: timed out, after which kTestTimeout has passed.
  std::optional<mad::IncomingMad> Exchange(mad::OutgoingMad mad) {
    const std::vector<mad::IncomingMad> arrived = fabric.Exchange(client.now, host, std::move(mad));
    if (arrived.back().kind == mad::IncomingMad::Kind::kTimedOut) {
      client.now += kTestTimeout;
      return std::nullopt;
    }
    return arrived.back();
  }
  std::optional<wire::PerfMad> Exchange(wire::PerfMad perf, Lid to) {
    perf.transaction_id = ++tid;
    const auto answer = Exchange(EncodePerf(perf, to, kTestTimeout));
    return answer ? wire::PerfMad::Decode(BytesOf(*answer)) : std::nullopt;
  }
  std::optional<wire::VendorMad> Exchange(wire::VendorMad vendor, NodeIndex to) {
    vendor.transaction_id = ++tid;
    const auto answer = Exchange(EncodeVendor(vendor, LidOf(to), kTestTimeout));
    status = 0xFFFF;
    if (!answer) return std::nullopt;
    const auto decoded = wire::VendorMad::Decode(BytesOf(*answer));
    if (decoded) status = decoded->status;
    return decoded;
  }
  // The block of a register that `request` asks for. nullopt as Get.
  template <typename Request>
  std::optional<wire::RegisterBlock> GetRegister(NodeIndex node, const Request& request,
                                                 uint16_t block = 0) {
    wire::AccessRegister access;
    access.block = block;
    request.Encode(access.bytes);
    wire::VendorMad vendor;
    vendor.attribute = wire::VendorAttribute::kAccessRegister;
    vendor.modifier = static_cast<uint32_t>(Request::kRegister);
    access.Encode(vendor.data);
    const auto answer = Exchange(vendor, node);
    if (!answer || status != wire::kStatusOk) return std::nullopt;
    return wire::AccessRegister::Decode(answer->data).bytes;
  }
  template <typename Attribute>
  std::optional<wire::PerfMad> Send(NodeIndex node, wire::Method method, const Attribute& value) {
    wire::PerfMad perf;
    perf.method = method;
    perf.attribute = Attribute::kAttribute;
    value.Encode(perf.data);
    return Exchange(perf, LidOf(node));
  }
  // nullopt: no answer, or one with a status other than 0, which is left in `status`.
  template <typename Attribute>
  std::optional<Attribute> Get(PortRef port) {
    Attribute select;
    select.port_select = port.port.value();
    const auto answer = Send(port.node, wire::Method::kGet, select);
    status = answer ? answer->status : uint16_t{0xFFFF};
    if (!answer || answer->status != wire::kStatusOk) return std::nullopt;
    return Attribute::Decode(answer->data);
  }
  std::optional<wire::ClassPortInfo> GetClassPortInfo(NodeIndex node) {
    wire::PerfMad perf;
    perf.attribute = wire::PerfAttribute::kClassPortInfo;
    const auto answer = Exchange(perf, LidOf(node));
    status = answer ? answer->status : uint16_t{0xFFFF};
    if (!answer) return std::nullopt;
    return wire::ClassPortInfo::Decode(answer->data);
  }
  void Count(PortRef port, Counter counter, uint64_t count) {
    if (!fabric.AddToCounter(client.now, port, counter, count).ok()) up = false;
  }
  void Quirks(PortRef port, const std::string& text) {
    if (!fabric.SetPerformance(port.node, *ParsePerformanceOptions(text)).ok()) up = false;
  }

  std::shared_ptr<const fabric::FabricSnapshot> topology;
  SimFabric fabric;
  PortRef host = fabric.DefaultHostPort();
  TestClient client{fabric, host};
  std::map<Guid, Lid> lids;
  bool up = false;  // False too once a call of the fabric has failed.
  uint16_t status = 0;
  uint32_t tid = 0x1000;
};

}  // namespace fabricd::sim
