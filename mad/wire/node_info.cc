// SPDX-License-Identifier: Apache-2.0
#include "mad/wire/node_info.h"

#include <algorithm>

#include "mad/wire/bytes.h"

namespace fabricd::wire {

NodeInfo NodeInfo::Decode(std::span<const uint8_t, kSmpDataBytes> data) {
  const uint8_t* at = data.data();
  NodeInfo info;
  info.base_version = at[0];
  info.class_version = at[1];
  info.node_type = static_cast<NodeType>(at[2]);
  info.num_ports = at[3];
  info.system_image_guid = Guid(Load64(at + 4));
  info.node_guid = Guid(Load64(at + 12));
  info.port_guid = Guid(Load64(at + 20));
  info.partition_cap = Load16(at + 28);
  info.device_id = Load16(at + 30);
  info.revision = Load32(at + 32);
  info.local_port = PortNum(at[36]);
  info.vendor_id = Load24(at + 37);
  return info;
}

void NodeInfo::Encode(std::span<uint8_t, kSmpDataBytes> data) const {
  std::fill(data.begin(), data.end(), uint8_t{0});
  uint8_t* at = data.data();
  at[0] = base_version;
  at[1] = class_version;
  at[2] = static_cast<uint8_t>(node_type);
  at[3] = num_ports;
  Store64(at + 4, system_image_guid.value());
  Store64(at + 12, node_guid.value());
  Store64(at + 20, port_guid.value());
  Store16(at + 28, partition_cap);
  Store16(at + 30, device_id);
  Store32(at + 32, revision);
  at[36] = local_port.value();
  Store24(at + 37, vendor_id);
}

NodeDescription NodeDescription::Decode(std::span<const uint8_t, kSmpDataBytes> data) {
  const auto end = std::find(data.begin(), data.end(), uint8_t{0});
  return {.text = std::string(data.begin(), end)};
}

void NodeDescription::Encode(std::span<uint8_t, kSmpDataBytes> data) const {
  const size_t length = std::min(text.size(), data.size());
  const auto end = std::copy_n(text.begin(), length, data.begin());
  std::fill(end, data.end(), uint8_t{0});
}

}  // namespace fabricd::wire
