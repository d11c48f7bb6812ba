// SPDX-License-Identifier: Apache-2.0
#include "sweep/desired/desired_state.h"

namespace fabricd::sweep {
namespace {

// Whether partitions name GUIDs that are no port's own GUID.
bool NamesUnknownGuids(const policy::PartitionIndex& index,
                       const fabric::FabricSnapshot& snapshot) {
  if (index.guid_count() == 0) return false;
  size_t known = 0;
  snapshot.ForEachNode([&](const fabric::Node& node) {
    for (const fabric::Port& port : node.ports) known += port.guid && index.Names(port.guid);
  });
  return known < index.guid_count();
}

// A GUID that disappears with its port starts no search: while the partitions stay the same, the
// result can only change from true to false.
bool MustReadAllGuids(const DesiredInputs& inputs, const DesiredState* before) {
  if (before != nullptr && before->keys.generation == inputs.partitions_generation &&
      (!before->guids.read_all || fabric::SameNodes(*before->snapshot, *inputs.snapshot)))
    return before->guids.read_all;
  return NamesUnknownGuids(*inputs.partitions, *inputs.snapshot);
}

}  // namespace

DesiredState Derive(const DesiredInputs& inputs, const DesiredState* before) {
  DesiredState desired;
  desired.snapshot = inputs.snapshot;
  desired.lids = inputs.lids;
  desired.keys = {inputs.partitions, inputs.partitions_generation, inputs.partition_options,
                  inputs.intent.unpartitioned};
  desired.guids = {inputs.aliases, MustReadAllGuids(inputs, before)};
  desired.ports = {inputs.local, inputs.intent.disabled, inputs.intent.reenabled, inputs.first_run};
  desired.multicast_blocks = inputs.multicast_blocks;
  return desired;
}

}  // namespace fabricd::sweep
