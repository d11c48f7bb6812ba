// SPDX-License-Identifier: Apache-2.0
#include "sa/import/opensm_dump.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "fabric/multicast_groups.h"

namespace fabricd::sa {
namespace {

constexpr std::string_view kSpace = " \t\r";

// The fields of one line, from left to right. After a fault all are 0.
class Fields {
 public:
  explicit Fields(std::string_view line) : line_(line) {}

  // The hexadecimal number behind the next `name`, which ends with "0x".
  uint64_t Number(std::string_view name, unsigned bits) {
    if (!Find(name)) return 0;
    return Digits(name, bits);
  }
  template <typename T>
  T Get(std::string_view name) {
    return T(static_cast<uint16_t>(Number(name, 16)));
  }
  uint8_t Byte(std::string_view name) { return static_cast<uint8_t>(Number(name, 8)); }
  uint16_t Word(std::string_view name) { return static_cast<uint16_t>(Number(name, 16)); }
  uint32_t Long(std::string_view name) { return static_cast<uint32_t>(Number(name, 32)); }
  // Two halves of 64 bits with ":0x" between them.
  Gid Halves(std::string_view name) {
    const uint64_t high = Number(name, 64);
    return {high, Number(":0x", 64)};
  }
  // What stands between the next `name` and the `end` that the rest of the fields begin with.
  std::string Text(std::string_view name, std::string_view end) {
    if (!Find(name)) return {};
    const size_t stop = line_.rfind(end);
    if (stop == std::string_view::npos || stop < at_) {
      Fail(fmt::format("no `{}`", end));
      return {};
    }
    const std::string text(line_.substr(at_, stop - at_));
    at_ = stop;
    return text;
  }
  void Fail(std::string reason) {
    if (!fault_) fault_ = std::move(reason);
  }
  const std::optional<std::string>& fault() const { return fault_; }

 private:
  bool Find(std::string_view name) {
    if (fault_) return false;
    const size_t found = line_.find(name, at_);
    if (found == std::string_view::npos) {
      Fail(fmt::format("no `{}`", name));
      return false;
    }
    at_ = found + name.size();
    return true;
  }
  uint64_t Digits(std::string_view name, unsigned bits) {
    uint64_t number = 0;
    const char* const begin = line_.data() + at_;
    const char* const end = line_.data() + line_.size();
    const auto [stop, error] = std::from_chars(begin, end, number, 16);
    const bool ends = stop == end || *stop == ':' || kSpace.find(*stop) != std::string_view::npos;
    if (error != std::errc() || !ends || (bits < 64 && number >> bits != 0)) {
      Fail(fmt::format("behind `{}` is no hexadecimal number of {} bits", name, bits));
      return 0;
    }
    at_ += static_cast<size_t>(stop - begin);
    return number;
  }

  const std::string_view line_;
  size_t at_ = 0;
  std::optional<std::string> fault_;
};

template <typename T, size_t kCount>
void Spread(Gid halves, std::array<T, kCount>& values) {
  constexpr size_t kBits = sizeof(T) * 8, kEach = kCount / 2;
  for (size_t i = 0; i < kCount; ++i) {
    const uint64_t half = i < kEach ? halves.prefix : halves.low;
    values[i] = static_cast<T>(half >> (kBits * (kEach - 1 - i % kEach)));
  }
}

Group GroupOf(Fields& fields, std::string_view line) {
  Group group;
  wire::McMemberRecord& record = group.record;
  const Lid mlid = fields.Get<Lid>("MC Group 0x");
  group.permanent = line.substr(0, line.find(": ")).find("(well known)") != std::string_view::npos;
  record.mgid = fields.Halves(" mgid=0x");
  fields.Halves(" port_gid=0x");  // Of the group's making, which is over.
  record.q_key = fields.Long(" qkey=0x");
  record.mlid = fields.Get<Lid>(" mlid=0x");
  record.mtu = fields.Byte(" mtu=0x") & 0x3F;
  record.traffic_class = fields.Byte(" tclass=0x");
  record.p_key = fields.Get<PKey>(" pkey=0x");
  record.rate = fields.Byte(" rate=0x") & 0x3F;
  record.packet_life_time = fields.Byte(" pkt_life=0x") & 0x3F;
  const uint32_t sl_flow_hop = fields.Long(" sl_flow_hop=0x");
  record.sl = ServiceLevel(static_cast<uint8_t>(sl_flow_hop >> 28));
  record.flow_label = sl_flow_hop >> 8 & 0xFFFFF;
  record.hop_limit = sl_flow_hop & 0xFF;
  record.scope = fields.Byte(" scope_state=0x") >> 4;
  fields.Byte(" proxy_join=0x");
  record.mtu_selector = record.rate_selector = record.life_time_selector = wire::Selector::kExactly;
  if (record.mlid != mlid || mlid < fabric::kFirstMulticastLid || mlid > fabric::kLastMulticastLid)
    fields.Fail(fmt::format("{:#06x} and {:#06x} are not one multicast LID", mlid.value(),
                            record.mlid.value()));
  if (!record.mgid.IsMulticast()) fields.Fail("the MGID is not of a group");
  return group;
}

Member MemberOf(Fields& fields) {
  Member member;
  member.gid = fields.Halves(" port_gid=0x");
  member.join_state = fields.Byte(" scope_state=0x") & 0xF;
  const bool by_proxy = fields.Byte(" proxy_join=0x") != 0;
  if (!by_proxy) member.requester = member.gid;
  if (member.join_state == 0) fields.Fail("a member without a JoinState");
  return member;
}

Service ServiceOf(Fields& fields) {
  Service service;
  wire::ServiceRecord& record = service.record;
  record.service_id = fields.Number(" id=0x", 64);
  record.service_gid = fields.Halves(" gid=0x");
  record.p_key = fields.Get<PKey>(" pkey=0x");
  record.lease = fields.Long(" lease=0x");
  Spread(fields.Halves(" key=0x"), record.key);
  const std::string name = fields.Text(" name='", "' data8=0x");
  if (name.size() >= record.name.size()) fields.Fail("a name of more than 63 bytes");
  if (!fields.fault()) std::copy(name.begin(), name.end(), record.name.begin());
  Spread(fields.Halves(" data8=0x"), record.data8);
  Spread(fields.Halves(" data16=0x"), record.data16);
  Spread(fields.Halves(" data32=0x"), record.data32);
  Spread(fields.Halves(" data64=0x"), record.data64);
  // The lease that was left at that time, in seconds.
  const WallMs modified = fields.Long(" modified_time=0x");
  const uint32_t left = fields.Long(" lease_period=0x");
  if (left != UINT32_MAX) service.expires = (modified + WallMs{left}) * 1000;
  return service;
}

Subscription SubscriptionOf(Fields& fields) {
  Subscription made;
  wire::InformInfo& info = made.info;
  made.target.gid = fields.Halves(" subscriber_gid=0x");
  made.number = fields.Word(" subscriber_enum=0x");
  info.gid = fields.Halves(" gid=0x");
  info.lid_range_begin = fields.Get<Lid>(" lid_range_begin=0x");
  info.lid_range_end = fields.Get<Lid>(" lid_range_end=0x");
  info.is_generic = fields.Byte(" is_generic=0x");
  info.subscribe = fields.Byte(" subscribe=0x");
  info.type = fields.Word(" trap_type=0x");
  info.trap_number = fields.Word(" trap_num=0x");
  info.resp_time_value = fields.Long(" qpn_resp_time_val=0x") & 0x1F;
  info.producer_type = fields.Long(" node_type=0x") & 0xFFFFFF;
  fields.Word(" rep_addr: lid=0x");  // Found by the GID.
  fields.Byte(" path_bits=0x");
  fields.Byte(" static_rate=0x");
  info.qpn = made.target.qpn = fields.Long(" remote_qp=0x");
  fields.Long(" remote_qkey=0x");
  made.target.pkey_index = fields.Word(" pkey_ix=0x");
  made.target.sl = ServiceLevel(fields.Byte(" sl=0x") & 0xF);
  if (!made.target.gid) fields.Fail("a subscriber without a GID");
  return made;
}

fabric::AliasBlock AliasesOf(Fields& fields) {
  fabric::AliasBlock block;
  block.port = Guid(fields.Number(" base_guid=0x", 64));
  fields.Word(" lid=0x");
  block.block = fields.Byte(" block_num=0x");
  for (size_t entry = 0; entry < wire::GuidInfo::kEntries; ++entry) {
    const Guid guid(fields.Number(fmt::format(" guid{}=0x", entry), 64));
    if (!guid || (block.block == 0 && entry == 0)) continue;  // The port's own.
    block.info.guids[entry] = guid;
    block.said |= static_cast<uint8_t>(1u << entry);
  }
  if (!block.port) fields.Fail("a port without a GUID");
  return block;
}

class Parser {
 public:
  void Take(size_t number, std::string_view line) {
    line_ = number;
    line.remove_prefix(std::min(line.find_first_not_of(kSpace), line.size()));
    if (line.empty() || line[0] == '#') return;
    Fields fields(line);
    const auto is = [&](std::string_view word) { return line.substr(0, word.size()) == word; };
    if (is("mcm_port")) {
      TakeMember(fields);
    } else if (is("MC Group")) {
      Put(fields, GroupOf(fields, line), dump.groups);
      in_group_ = !fields.fault();
    } else if (is("Service Record:")) {
      Put(fields, ServiceOf(fields), dump.services);
    } else if (is("InformInfo Record:")) {
      Put(fields, SubscriptionOf(fields), dump.subscriptions);
    } else if (is("GUIDInfo Record:")) {
      Put(fields, AliasesOf(fields), dump.aliases);
    } else {
      fields.Fail("no record that OpenSM writes");
    }
    if (fields.fault() && dump.faults.size() < kMostDumpFaults)
      dump.faults.push_back({number, *fields.fault()});
  }

  OpensmDump dump;

 private:
  template <typename T>
  void Put(const Fields& fields, T value, std::vector<Dumped<T>>& list) {
    in_group_ = false;
    if (!fields.fault()) list.push_back({line_, std::move(value)});
  }
  void TakeMember(Fields& fields) {
    const Member member = MemberOf(fields);
    if (fields.fault()) return;
    // Those of a group that has a fault of its own need no second one.
    if (!in_group_) {
      if (dump.faults.empty()) fields.Fail("a member without a group before it");
      return;
    }
    std::vector<Member>& members = dump.groups.back().value.members;
    const auto place = std::lower_bound(members.begin(), members.end(), member.gid,
                                        [](const Member& a, Gid b) { return a.gid < b; });
    if (place != members.end() && place->gid == member.gid)
      fields.Fail("a member that the group has already");
    else
      members.insert(place, member);
  }

  size_t line_ = 0;
  bool in_group_ = false;
};

}  // namespace

OpensmDump ParseOpensmDump(std::string_view text) {
  Parser parser;
  for (size_t number = 1; !text.empty(); ++number) {
    const size_t end = std::min(text.find('\n'), text.size());
    parser.Take(number, text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return std::move(parser.dump);
}

}  // namespace fabricd::sa
