// SPDX-License-Identifier: Apache-2.0
#include "config/opensm_import.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/load.h"

namespace fabricd::config {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

OpensmImport Imported(const std::string& conf, std::map<std::string, std::string> files = {}) {
  OpensmImport import = ImportOpensm({conf, std::move(files), "/etc/opensm"});
  const auto again = LoadYaml(import.yaml, "imported", nullptr);
  EXPECT_TRUE(again.ok()) << again.status();
  if (again.ok()) {
    EXPECT_EQ(*again, import.config);
  }
  return import;
}

const ImportedLine& LineOf(const OpensmImport& import, const std::string& key) {
  const auto found = std::find_if(import.lines.begin(), import.lines.end(),
                                  [&](const ImportedLine& line) { return line.key == key; });
  static const ImportedLine kMissing;
  EXPECT_NE(found, import.lines.end()) << key;
  return found == import.lines.end() ? kMissing : *found;
}

TEST(OpensmImport, RefersToTheFilesOfSubnetAdministration) {
  const std::string conf = "sa_db_file /var/log/opensm-sa.dump\nprefix_routes_file routes.conf\n";
  const OpensmImport without = Imported(conf);
  EXPECT_EQ(without.config.sm.sa_db_file, "/var/log/opensm-sa.dump");
  EXPECT_EQ(without.config.sm.prefix_routes_file, "") << "there is no such file";
  EXPECT_EQ(LineOf(without, "prefix_routes_file").verdict, Verdict::kImplied);
  const OpensmImport with = Imported(conf, {{"routes.conf", "* *\n"}});
  EXPECT_EQ(with.config.sm.prefix_routes_file, "/etc/opensm/routes.conf");
}

TEST(OpensmImport, TakesOverEqualOptions) {
  const OpensmImport import = Imported(
      "# comment\n\nsm_priority 9\nm_key 0x00000000deadbeef\nm_key_protection_level 2\n"
      "packet_life_time 0x10\nlmc_esp0 TRUE\n  sweep_on_trap\tFALSE  \n"
      "root_guid_file roots\nnode_name_map_name (null)\n");
  EXPECT_EQ(import.config.sm.priority, 9);
  EXPECT_EQ(import.config.sm.m_key, MKey(0xdeadbeef));
  EXPECT_EQ(import.config.sm.m_key_protect, 2);
  EXPECT_EQ(import.config.link.packet_life_time, 16);
  EXPECT_TRUE(import.config.lid.lmc_enhanced_port0);
  EXPECT_FALSE(import.config.sweep.on_trap);
  EXPECT_EQ(import.config.routing.roots_file, "/etc/opensm/roots");
  EXPECT_EQ(LineOf(import, "sm_priority").line, 3);
  EXPECT_EQ(LineOf(import, "sm_priority").verdict, Verdict::kTaken);
  EXPECT_EQ(LineOf(import, "m_key").value, "***");
  EXPECT_THAT(ImportReport(import), Not(HasSubstr("deadbeef")));
  EXPECT_THAT(import.yaml, HasSubstr("  # opensm.conf:3: sm_priority\n  priority: 9\n"));
}

TEST(OpensmImport, TranslatesDifferentOptions) {
  const OpensmImport import = Imported(
      "sweep_interval 15\nsminfo_polling_timeout 2500\nforce_heavy_sweep true\n"
      "routing_engine ftree,updn,minhop,mine\nno_partition_enforcement TRUE\npart_enforce in\n"
      "babbling_port_policy TRUE\nlog_flags 0x07\n");
  EXPECT_EQ(import.config.sweep.light_interval, seconds(15));
  EXPECT_EQ(import.config.sweep.heavy_interval, seconds(15));
  EXPECT_EQ(import.config.sm.polling_timeout, milliseconds(2500));
  EXPECT_THAT(import.config.routing.chain, ElementsAre("rail", "fat_tree", "up_down", "min_hop"));
  EXPECT_THAT(LineOf(import, "routing_engine").message, HasSubstr("without mine"));
  EXPECT_EQ(import.config.partitions.enforce, "off");
  EXPECT_EQ(LineOf(import, "part_enforce").verdict, Verdict::kDropped);
  EXPECT_EQ(import.config.conditions.noisy_traps, "enforce");
  EXPECT_EQ(import.config.log.level, LogLevel::kDebug);
}

TEST(OpensmImport, RefersToExistingFiles) {
  const std::string conf = "partition_config_file /etc/opensm/partitions.conf\n";
  EXPECT_EQ(Imported(conf).config.partitions.file, "");
  const OpensmImport import =
      Imported(conf, {{"partitions.conf", "Default=0x7fff : ALL=full ;"}, {"guid2lid", ""}});
  EXPECT_EQ(import.config.partitions.file, "/etc/opensm/partitions.conf");
  EXPECT_EQ(import.config.lid.guid2lid_file, "/etc/opensm/guid2lid");
  ASSERT_EQ(import.lines.size(), 2u);
  EXPECT_EQ(import.lines[1].file, "guid2lid");
}

TEST(OpensmImport, ReportsLinesThatItDoesNotUnderstand) {
  const OpensmImport import = Imported(
      "sm_priority 16\nsweep_interval soon\nhm_ca_flapping report\nperfmgr TRUE\nlmc 1\nlmc 2\n"
      "guid 0x0002c90300001234\nm_key_lease_period 60\nqos_max_vls 4\nqos_ca_max_vls 0\n"
      "part_enforce sideways\nrouting_engine mine\n\x01\x02 3\nnode_name_map_name\n");
  EXPECT_EQ(import.config.sm.priority, 0);
  EXPECT_THAT(LineOf(import, "sm_priority").message, HasSubstr("expected 0-15, got 16"));
  EXPECT_EQ(LineOf(import, "sweep_interval").verdict, Verdict::kNotUnderstood);
  EXPECT_EQ(LineOf(import, "hm_ca_flapping").verdict, Verdict::kNotUnderstood);
  EXPECT_EQ(LineOf(import, "perfmgr").verdict, Verdict::kDropped);
  EXPECT_EQ(LineOf(import, "lmc").message, "line 6 says it again");
  EXPECT_EQ(import.config.lid.lmc, 2);
  EXPECT_THAT(LineOf(import, "guid").message, HasSubstr("umad:DEVICE:PORT"));
  EXPECT_THAT(LineOf(import, "m_key_lease_period").message, HasSubstr("needs a sm.m_key"));
  EXPECT_EQ(LineOf(import, "qos_max_vls").verdict, Verdict::kDropped);
  EXPECT_EQ(LineOf(import, "qos_ca_max_vls").verdict, Verdict::kImplied);
  EXPECT_EQ(LineOf(import, "part_enforce").verdict, Verdict::kNotUnderstood);
  EXPECT_EQ(LineOf(import, "routing_engine").verdict, Verdict::kNotUnderstood);
  EXPECT_EQ(LineOf(import, "node_name_map_name").verdict, Verdict::kImplied);
  EXPECT_EQ(import.lines.size(), 14u);
  EXPECT_THAT(ImportReport(import), HasSubstr("opensm.conf:3: hm_ca_flapping report: not under"));
}

// The defaults that OpenSM writes contain no option that fabricd lacks.
TEST(OpensmImport, DefaultsOfOpensmAreImportedCompletely) {
  const auto file = std::filesystem::temp_directory_path() /
                    ("fabricd-opensm-" + std::to_string(getpid()) + ".conf");
  const std::string command = "opensm -c " + file.string() + " >/dev/null 2>&1";
  if (std::system(command.c_str()) != 0 || !std::filesystem::exists(file))
    GTEST_SKIP() << "opensm is not installed";
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  std::filesystem::remove(file);
  const OpensmImport import = Imported(text.str());
  EXPECT_GT(import.lines.size(), 150u);
  for (const ImportedLine& line : import.lines) {
    EXPECT_NE(line.verdict, Verdict::kNotUnderstood) << line.key << " " << line.message;
    EXPECT_NE(line.verdict, Verdict::kDropped) << line.key << " " << line.value;
  }
  Config expected;
  // What its file says counts, though the defaults here find a dead master sooner.
  expected.sm.polling_timeout = seconds(10);
  expected.sm.polling_retries = 4;
  expected.sm.sa_key = SmKey(1);
  EXPECT_EQ(import.config, expected);
}

}  // namespace
}  // namespace fabricd::config
