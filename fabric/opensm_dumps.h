// SPDX-License-Identifier: Apache-2.0
// OpenSM's dump files: opensm-subnet.lst, opensm.fdbs, opensm-lfts.dump and opensm.mcfdbs as
// OpenSM 3.3 writes them, so that ibdmchk and people's scripts can judge a fabric, and readers for
// the tables. Pure functions. (ReadTopology() of ibnetdiscover_text.h reads opensm-subnet.lst.)
//
// Switches and ports come by GUID and number; a table of 10,000 LIDs and 1,000 switches makes
// hundreds of megabytes of text, so the writers hand it to a sink in pieces.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "fabric/ibnetdiscover_text.h"
#include "fabric/lid_table.h"
#include "fabric/snapshot.h"

namespace fabricd::fabric {

// Takes the next piece of a file.
using TextSink = std::function<void(std::string_view)>;
inline TextSink AppendTo(std::string& text) {
  return [&text](std::string_view piece) { text += piece; };
}

// Egress port of a switch for a LID; 255: no route.
using EgressPortOf = std::function<uint8_t(NodeIndex, Lid)>;

// Links with both ends at least INIT, once from each end. `sm_node` is marked as OpenSM marks its
// own; None(): nobody is. LIDs are those of `lids`, where it has one, else those that the ports
// report.
void WriteSubnetLst(const FabricSnapshot& snapshot, const LidTable& lids, NodeIndex sm_node,
                    const TextSink& sink);
// LIDs 1 … lids.top(). Hops are those of the walk along the tables; not optimal: the fabric has a
// shorter way.
void WriteFdbs(const FabricSnapshot& snapshot, const LidTable& lids, const EgressPortOf& egress,
               const TextSink& sink);
// LIDs 0 … lids.top(); those without an owner or route are left out.
void WriteLftsDump(const FabricSnapshot& snapshot, const LidTable& lids, const EgressPortOf& egress,
                   const TextSink& sink);

// SL of packets that start at a switch or at an end port on it.
using ServiceLevelOf = std::function<uint8_t(NodeIndex source_switch, Lid)>;
// In the form of `ibdmchk -c`: a line "0x<node GUID> <LID> <SL>" for each node and LID in use. A
// node whose ports hang on several switches has the lines of each, by port.
void WritePathSlDump(const FabricSnapshot& snapshot, const LidTable& lids,
                     const ServiceLevelOf& level, const TextSink& sink);
// In the form of `ibdmchk -d`: a line "0x<switch GUID> <in> <out> 0x<VL><VL> …" (SL 0-15) for each
// pair of a switch's ports, when SL n takes lane n % lanes, modulo the VLs of `out` where known.
void WriteSl2vlDump(const FabricSnapshot& snapshot, uint8_t lanes, const TextSink& sink);

struct MulticastEntry {
  Lid mlid;
  std::vector<PortNum> ports;  // Ascending.
  friend bool operator==(const MulticastEntry&, const MulticastEntry&) = default;
};
// A switch's entries with at least one port, by MLID.
using MulticastEntriesOf = std::function<std::vector<MulticastEntry>(NodeIndex)>;
void WriteMcfdbs(const FabricSnapshot& snapshot, const MulticastEntriesOf& entries,
                 const TextSink& sink);

struct UnicastTable {
  Guid switch_guid;
  std::vector<uint8_t> egress;  // [LID]; 255: no route.
};
struct UnicastTables {
  std::vector<UnicastTable> tables;  // As they come in the text.
  std::vector<SkippedLine> skipped;
};
// opensm.fdbs, opensm-lfts.dump, or what ibroute and dump_lfts print.
UnicastTables ReadUnicastTables(std::string_view text);

struct MulticastTable {
  Guid switch_guid;
  std::vector<MulticastEntry> entries;
};
struct MulticastTables {
  std::vector<MulticastTable> tables;
  std::vector<SkippedLine> skipped;
};
// opensm.mcfdbs.
MulticastTables ReadMcfdbs(std::string_view text);

}  // namespace fabricd::fabric
