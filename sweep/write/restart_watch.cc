// SPDX-License-Identifier: Apache-2.0
#include "sweep/write/restart_watch.h"

namespace fabricd::sweep {

mad::SmpRequest ReadOfPort(const DeviceTable& devices, const fabric::Node& node, PortNum port) {
  return devices.Get({node.index, port}, wire::AttributeId::kPortInfo,
                     PortConfig::ModifierOf(node, port));
}

void RestartWatch::Check(NodeIndex node, bool expected) {
  const fabric::Node* known = ground_.builder.node(node);
  if (known == nullptr || !known->port(PortNum(0)).info.lid) return;
  if (!expected && lid_set_.contains(node)) return OnRestart(node);
  ReadAgain({node, PortNum(0)});
}

void RestartWatch::OnRestart(NodeIndex node) {
  ground_.devices.applied().ForgetWritten(node);
  ground_.record.rereads().NoteChanged(node);
  ground_.record.NoteUnsent(node);
}

void RestartWatch::ReadAgain(PortRef port) {
  ground_.record.rereads().Await(port);
  ground_.sender.Submit(ReadOfPort(ground_.devices, *ground_.builder.node(port.node), port.port),
                        {port.node, 0, port.port, Work::kReadPort});
}

}  // namespace fabricd::sweep
