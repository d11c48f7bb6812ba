// SPDX-License-Identifier: Apache-2.0
#include "sa/records/record_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "mad/wire/sa_components.h"
#include "mad/wire/sa_records.h"
#include "mad/wire/sa_state_records.h"

namespace fabricd::sa {
namespace {

template <typename Record>
std::map<std::string, std::string> Fields(const Record& record) {
  std::array<uint8_t, Record::kBytes> bytes;
  record.Encode(bytes);
  std::map<std::string, std::string> fields;
  for (const auto& [name, value] : FieldsOf(Record::kAttribute, bytes)) fields[name] = value;
  return fields;
}

TEST(RecordText, GidsAreWrittenAsAddresses) {
  EXPECT_EQ(AddressOf({0xFE80000000000000, 0x0002C90200000101}), "fe80::2:c902:0:101");
  EXPECT_EQ(AddressOf({0xFF12401BFFFF0000, 0x00000000FFFFFFFF}), "ff12:401b:ffff::ffff:ffff");
  EXPECT_EQ(AddressOf({}), "::");
  EXPECT_EQ(AddressOf({0, 1}), "::1");
  EXPECT_EQ(AddressOf({0x0001000200030004, 0x0005000600070000}), "1:2:3:4:5:6:7:0");
}

// A wrong number of names ends the program.
TEST(RecordText, EveryTypeNamesAllItsComponents) {
  for (const std::string& name : RecordTypes()) {
    const auto type = FindRecordType(name);
    ASSERT_TRUE(type) << name;
    const std::vector<uint8_t> record(wire::LayoutOf(*type)->bytes, 0xFF);
    EXPECT_FALSE(FieldsOf(*type, record).empty());
  }
  EXPECT_EQ(RecordTypes().size(), 15u);
}

TEST(RecordText, FindsTypesByAnyOfTheirNames) {
  EXPECT_EQ(FindRecordType("noderecord"), wire::SaAttribute::kNodeRecord);
  EXPECT_EQ(FindRecordType("Path"), wire::SaAttribute::kPathRecord);
  EXPECT_EQ(FindRecordType("sl2vl"), wire::SaAttribute::kSlToVlMappingTableRecord);
  EXPECT_EQ(FindRecordType("MCMember"), wire::SaAttribute::kMcMemberRecord);
  EXPECT_EQ(FindRecordType("record"), std::nullopt);
  EXPECT_EQ(FindRecordType(""), std::nullopt);
}

TEST(RecordText, ShowsTheValuesOfComponents) {
  wire::PortInfoRecord port;
  port.lid = Lid(7);
  port.port = PortNum(3);
  port.info.port_state = wire::PortState::kActive;
  port.info.capability_mask = 0x0250E84A;
  port.info.neighbor_mtu = 5;
  port.info.link_speed_ext_active = 4;
  port.info.subnet_timeout = 18;
  auto fields = Fields(port);
  EXPECT_EQ(fields["LID"], "7");
  EXPECT_EQ(fields["PortState"], "4");
  EXPECT_EQ(fields["CapabilityMask"], "0x0250e84a");
  EXPECT_EQ(fields["NeighborMTU"], "5");
  EXPECT_EQ(fields["LinkSpeedExtActive"], "4");
  EXPECT_EQ(fields["SubnetTimeOut"], "18");
  wire::ServiceRecord service;
  service.service_gid = {0xFE80000000000000, 1};
  service.name = {'a', 0x01, 'b'};
  service.key[15] = 0xAB;
  fields = Fields(service);
  EXPECT_EQ(fields["ServiceGID"], "fe80::1");
  EXPECT_EQ(fields["ServiceName"], "a?b");
  EXPECT_EQ(fields["ServiceKey"], "000000000000000000000000000000ab");
}

TEST(RecordText, FieldsAndValuesMatchInAnyNotation) {
  EXPECT_EQ(FindField(wire::SaAttribute::kNodeRecord, "lid"), 0u);
  EXPECT_EQ(FindField(wire::SaAttribute::kNodeRecord, "NODEDESCRIPTION"), 13u);
  EXPECT_EQ(FindField(wire::SaAttribute::kNodeRecord, "-"), std::nullopt);
  EXPECT_EQ(FindField(wire::SaAttribute::kNodeRecord, "MLID"), std::nullopt);
  EXPECT_TRUE(MeansTheSame("0x00ab", "171"));
  EXPECT_TRUE(MeansTheSame("0XAB", "0xab"));
  EXPECT_FALSE(MeansTheSame("0xab", "ab"));
  EXPECT_TRUE(MeansTheSame("Leaf1", "leaf1"));
  EXPECT_FALSE(MeansTheSame("", "0"));
  EXPECT_FALSE(MeansTheSame("0x", "0"));
}

}  // namespace
}  // namespace fabricd::sa
