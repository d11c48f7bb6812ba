// SPDX-License-Identifier: Apache-2.0
#include "sweep/device/ignored_settings.h"

#include <fmt/format.h>

namespace fabricd::sweep {
namespace {

using wire::PortInfo;

struct Field {
  const char* name;
  bool (*differs)(const PortInfo& a, const PortInfo& b);
};

constexpr Field kFields[] = {
    {"NeighborMTU", [](const auto& a, const auto& b) { return a.neighbor_mtu != b.neighbor_mtu; }},
    {"OperationalVLs",
     [](const auto& a, const auto& b) { return a.operational_vls != b.operational_vls; }},
    {"HOQLife", [](const auto& a, const auto& b) { return a.hoq_life != b.hoq_life; }},
    {"VLStallCount",
     [](const auto& a, const auto& b) { return a.vl_stall_count != b.vl_stall_count; }},
    {"SubnetTimeOut",
     [](const auto& a, const auto& b) { return a.subnet_timeout != b.subnet_timeout; }},
    {"M_KeyLeasePeriod",
     [](const auto& a, const auto& b) { return a.m_key_lease_period != b.m_key_lease_period; }},
    {"M_KeyProtectBits",
     [](const auto& a, const auto& b) { return a.m_key_protect_bits != b.m_key_protect_bits; }},
    {"LocalPhyErrors, OverrunErrors",
     [](const auto& a, const auto& b) {
       return a.local_phy_errors != b.local_phy_errors || a.overrun_errors != b.overrun_errors;
     }},
};

}  // namespace

std::vector<Problem> IgnoredSettings(const PortInfo& wanted, const PortInfo& kept,
                                     const fabric::Node& node, PortNum port) {
  std::vector<Problem> problems;
  if (wanted.partition_enforcement_inbound != kept.partition_enforcement_inbound ||
      wanted.partition_enforcement_outbound != kept.partition_enforcement_outbound) {
    const bool lets_pass =
        wanted.partition_enforcement_inbound || wanted.partition_enforcement_outbound;
    problems.push_back({ProblemKind::kNotEnforced, ProblemSubject::Of(node, port),
                        lets_pass ? "it does not take PartitionEnforcement: packets of other "
                                    "partitions pass"
                                  : "it goes on enforcing partitions, though it was told to stop"});
  }
  std::string fields;
  for (const Field& field : kFields)
    if (field.differs(wanted, kept))
      fields += fmt::format("{}{}", fields.empty() ? "" : ", ", field.name);
  if (!fields.empty())
    problems.push_back({ProblemKind::kSettingsIgnored, ProblemSubject::Named(fields),
                        fmt::format("{} keeps its own; others may too", SubjectText(node, port))});
  return problems;
}

}  // namespace fabricd::sweep
