// SPDX-License-Identifier: Apache-2.0
// Tables and texts of partitions. Pure.
#pragma once

#include <string>

#include "cli/render/table.h"
#include "fabric/v1/partition_service.pb.h"

namespace fabricd::cli {

namespace pb = ::fabric::v1;

std::string PKeyText(const pb::Partition& partition);   // "0x8001"
std::string MembershipWord(pb::Membership membership);  // "full"
std::string TraitsText(const pb::GroupTraits& traits);  // "MTU 2048, 10 Gb/s, SL 0"
Table PartitionTable(const pb::ListPartitionsResponse& partitions, bool wide);
// Of one that was asked for with its members.
Table PartitionMemberTable(const pb::Partition& partition);

}  // namespace fabricd::cli
