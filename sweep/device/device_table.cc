// SPDX-License-Identifier: Apache-2.0
#include "sweep/device/device_table.h"

#include <utility>

#include "common/check.h"
#include "mad/wire/sm_info.h"

namespace fabricd::sweep {

DeviceTable::Device& DeviceTable::At(NodeIndex node) {
  if (node.value() >= devices_.size()) devices_.resize(node.value() + 1);
  return devices_[node.value()];
}

bool DeviceTable::Has(NodeIndex node) const {
  return node.value() < devices_.size() && devices_[node.value()].present;
}

const wire::DirectedPath& DeviceTable::PathTo(NodeIndex node) const {
  FABRICD_CHECK(Has(node), "node index {}", node);
  return devices_[node.value()].path;
}

void DeviceTable::SetPath(NodeIndex node, const wire::DirectedPath& path) {
  Device& device = At(node);
  device.present = true;
  device.path = path;
  device.alternative.reset();
}

void DeviceTable::SetAlternative(NodeIndex node, const wire::DirectedPath& path) {
  Device& device = At(node);
  if (device.present && !device.alternative && !(device.path == path)) device.alternative = path;
}

void DeviceTable::NoteAnswer(mad::DeviceId id, const wire::DirectedPath& way) {
  if (id >= devices_.size()) return;
  Device& device = devices_[id];
  if (device.present && device.alternative && *device.alternative == way)
    std::swap(device.path, *device.alternative);
}

DeviceTable::FurtherPort* DeviceTable::FindFurther(PortRef port) {
  for (FurtherPort& further : At(port.node).further_ports)
    if (further.port == port.port) return &further;
  return nullptr;
}

void DeviceTable::SetPortPath(PortRef port, const wire::DirectedPath& path) {
  Device& device = At(port.node);
  if (FurtherPort* further = FindFurther(port))
    further->path = path;
  else if (!(device.path == path))
    device.further_ports.push_back({port.port, path, std::nullopt});
}

const wire::DirectedPath* DeviceTable::FurtherPathTo(PortRef port) const {
  if (!Has(port.node)) return nullptr;
  for (const FurtherPort& further : devices_[port.node.value()].further_ports)
    if (further.port == port.port) return &further.path;
  return nullptr;
}

void DeviceTable::SetMKey(PortRef port, MKey key) {
  if (!key) return;
  if (FurtherPort* further = FindFurther(port))
    further->m_key = key;
  else
    At(port.node).m_key = key;
}

MKey DeviceTable::ConfiguredMKey(Guid port_guid) const {
  auto it = options_->m_key_by_guid.find(port_guid);
  return it == options_->m_key_by_guid.end() ? options_->m_key : it->second;
}

MKey DeviceTable::MKeyOf(NodeIndex node) const {
  const bool read = Has(node) && devices_[node.value()].m_key.has_value();
  return read ? *devices_[node.value()].m_key : options_->m_key;
}

mad::SmpRequest DeviceTable::Get(NodeIndex node, wire::AttributeId attribute,
                                 uint32_t modifier) const {
  FABRICD_CHECK(Has(node), "node index {}", node);
  const Device& device = devices_[node.value()];
  mad::SmpRequest request;
  request.method = wire::Method::kGet;
  request.attribute = attribute;
  request.modifier = modifier;
  request.m_key = device.m_key.value_or(options_->m_key);
  if (attribute == wire::AttributeId::kSmInfo) wire::SmInfo{.guid = own_}.Encode(request.data);
  request.path = device.path;
  request.alternative = device.alternative;
  request.device = node.value();
  return request;
}

mad::SmpRequest DeviceTable::Get(PortRef port, wire::AttributeId attribute,
                                 uint32_t modifier) const {
  mad::SmpRequest request = Get(port.node, attribute, modifier);
  for (const FurtherPort& further : devices_[port.node.value()].further_ports) {
    if (further.port != port.port) continue;
    request.path = further.path;
    request.m_key = further.m_key.value_or(options_->m_key);
    request.alternative.reset();
  }
  return request;
}

mad::SmpRequest DeviceTable::GetSmInfo(const wire::DirectedPath& path, mad::DeviceId device) const {
  mad::SmpRequest request;
  request.attribute = wire::AttributeId::kSmInfo;
  request.path = path;
  request.device = device;
  wire::SmInfo{.guid = own_}.Encode(request.data);
  return request;
}

void DeviceTable::Remove(NodeIndex node) {
  if (node.value() < devices_.size()) devices_[node.value()] = Device();
  applied_.Remove(node);
}

std::optional<Instant> DeviceTable::UnresponsiveSince(NodeIndex node) const {
  return Has(node) ? devices_[node.value()].unresponsive_since : std::nullopt;
}

void DeviceTable::SetUnresponsiveSince(NodeIndex node, std::optional<Instant> since) {
  if (Has(node)) devices_[node.value()].unresponsive_since = since;
}

bool DeviceTable::HasUnreadTables(const fabric::FabricSnapshot& snapshot) const {
  bool has_unread = false;
  snapshot.ForEachNode([&](const fabric::Node& node) {
    if (!node.switch_info || node.switch_info->linear_fdb_top == 0 || !Has(node.index)) return;
    has_unread |= applied_.IsUntouched(node.index);
  });
  return has_unread;
}

}  // namespace fabricd::sweep
