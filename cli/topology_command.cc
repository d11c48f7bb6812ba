// SPDX-License-Identifier: Apache-2.0
// `topology`: the whole fabric in one text.
#include <cstdio>

#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/topology_svg.h"
#include "cli/topology_text.h"

namespace fabricd::cli {
namespace {

using Stub = pb::TopologyService::Stub;
using Piece = pb::GetTopologyResponse;

Result Export(Client& client, pb::TopologyFormat format,
              const std::function<Result(const Piece&)>& on_piece) {
  pb::GetTopologyRequest request;
  request.set_format(format);
  return client.Stream(client.topology(), &Stub::GetTopology, request, on_piece);
}

// As the daemon writes it, piece by piece.
Result Copy(Client& client, pb::TopologyFormat format) {
  return Export(client, format, [](const Piece& piece) -> Result {
    Print(piece.chunk());
    if (std::ferror(stdout)) return {kFailure, "cannot write the topology"};
    return {};
  });
}

std::string Render(Format format, const TopologyModel& model) {
  switch (format) {
    case Format::kDot: return ToDot(model);
    case Format::kSvg: return ToSvg(model);
    case Format::kSlurmConf: return ToSlurmConf(model);
    case Format::kSlurmYaml: return ToSlurmYaml(model);
    case Format::kTopograph: return ToTopograph(model);
    case Format::kK8sLabels: return ToK8sLabels(model);
    default: return ToTree(model);
  }
}

}  // namespace

Result FetchTopology(Client& client, pb::Topology* topology) {
  return Export(client, pb::TOPOLOGY_FORMAT_MESSAGE, [&](const Piece& piece) -> Result {
    topology->MergeFrom(piece.topology());
    return {};
  });
}

Result Topology(Client& client, const Globals& globals) {
  if (globals.format == Format::kJson) return Copy(client, pb::TOPOLOGY_FORMAT_JSON);
  if (globals.format == Format::kIbnetdiscover)
    return Copy(client, pb::TOPOLOGY_FORMAT_IBNETDISCOVER);
  pb::Topology topology;
  if (Result result = FetchTopology(client, &topology); !result.ok()) return result;
  PrintLong(globals, Render(globals.format, TopologyModel(topology)));
  return {};
}

}  // namespace fabricd::cli
