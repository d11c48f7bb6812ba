// SPDX-License-Identifier: Apache-2.0
// daemon/rpc/convert: messages of the API to values and back.
//
// Model → messages of fabric.v1: the only place that does this. Nothing secret (M_Key, SM_Key) is
// copied.
#pragma once

#include <string>

#include "fabric/v1/fabric.pb.h"
#include "fabric/v1/topology_service.pb.h"
#include "query/read_model.h"

namespace fabricd::rpc {

namespace pb = ::fabric::v1;

// "CA", "SWITCH", "ROUTER", or "UNKNOWN(n)".
std::string NodeTypeWord(wire::NodeType type);

// REQUIRES, of all: the node or port lives in the model's snapshot.
void ToProto(const query::ReadModel& model, PortRef port, pb::PortId* out);
void ToProto(const query::ReadModel& model, PortRef end_port, pb::EndPort* out);
void ToProto(const query::ReadModel& model, const fabric::Node& node, pb::Node* out);
void ToProto(const query::ReadModel& model, PortRef port, pb::PortView view, pb::Port* out);
void ToProto(const query::ReadModel& model, const query::LinkEnds& link, pb::Link* out);
void ToProto(const query::ReadModel& model, const fabric::Host& host, pb::Host* out);
void ToProto(const query::ReadModel& model, const std::string& version, pb::GetSmResponse* out);

}  // namespace fabricd::rpc
