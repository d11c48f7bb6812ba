// SPDX-License-Identifier: Apache-2.0
// `topology`: the whole fabric in one text.
#include <cstdio>
#include <fstream>

#include <fmt/format.h>

#include "cli/render/slurm_tree.h"
#include "cli/render/topology_svg.h"
#include "cli/render/topology_text.h"
#include "cli/terminal/text_file.h"
#include "cli/verbs/commands.h"

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

// The file that is in use; one that is not there yet keeps nothing.
Result ReadBefore(Format format, const std::string& path, SlurmTree* tree) {
  if (path.empty() || !std::ifstream(path)) return {};
  std::string text;
  Result result = ReadTextFile(path, &text);
  if (result.ok())
    result = format == Format::kSlurmYaml ? ReadSlurmYaml(text, tree) : ReadSlurmConf(text, tree);
  if (!result.ok()) result.message = fmt::format("{}: {}", path, result.message);
  return result;
}

std::string Render(Format format, const TopologyModel& model, const SlurmTree& before) {
  switch (format) {
    case Format::kDot: return ToDot(model);
    case Format::kSvg: return ToSvg(model);
    case Format::kSlurmConf: return ToSlurmConf(model, &before);
    case Format::kSlurmYaml: return ToSlurmYaml(model, &before);
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

Result Topology(Client& client, const Globals& globals, const std::string& keep) {
  const bool slurm = globals.format == Format::kSlurmConf || globals.format == Format::kSlurmYaml;
  if (!keep.empty() && !slurm) return {kUsage, "--keep goes with -o slurm-conf and slurm-yaml"};
  SlurmTree before;
  if (Result result = ReadBefore(globals.format, keep, &before); !result.ok()) return result;
  if (globals.format == Format::kJson) return Copy(client, pb::TOPOLOGY_FORMAT_JSON);
  if (globals.format == Format::kIbnetdiscover)
    return Copy(client, pb::TOPOLOGY_FORMAT_IBNETDISCOVER);
  pb::Topology topology;
  if (Result result = FetchTopology(client, &topology); !result.ok()) return result;
  PrintLong(globals, Render(globals.format, TopologyModel(topology), before));
  return {};
}

}  // namespace fabricd::cli
