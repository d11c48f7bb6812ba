// SPDX-License-Identifier: Apache-2.0
#include "sweep/device/device_table.h"

#include <algorithm>
#include <utility>

#include "common/check.h"
#include "mad/wire/sm_info.h"
#include "sweep/device/m_keys.h"

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

void DeviceTable::NoteAnswer(mad::DeviceId id, const wire::DirectedPath& path,
                             std::optional<MKey> found_key) {
  if (id >= devices_.size()) return;
  Device& device = devices_[id];
  if (found_key) {
    Keys* keys = &device.key.keys;
    for (FurtherPort& further : device.further_ports)
      if (further.path == path) keys = &further.key.keys;
    const auto at = std::find(keys->begin(), keys->end(), *found_key);
    if (at != keys->end()) std::rotate(keys->begin(), at, at + 1);
  }
  if (device.present && device.alternative && *device.alternative == path)
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
    device.further_ports.push_back({port.port, path, {}});
}

const wire::DirectedPath* DeviceTable::FurtherPathTo(PortRef port) const {
  if (!Has(port.node)) return nullptr;
  for (const FurtherPort& further : devices_[port.node.value()].further_ports)
    if (further.port == port.port) return &further.path;
  return nullptr;
}

DeviceTable::KeyState& DeviceTable::KeyOf(PortRef port) {
  FurtherPort* const further = FindFurther(port);
  return further != nullptr ? further->key : At(port.node).key;
}

void DeviceTable::SetPossibleMKeys(PortRef port, Guid port_guid) {
  KeyState& key = KeyOf(port);
  key.port_guid = port_guid;
  if (!key.shown) key.keys = PossibleMKeys(*options_, port_guid);
}

void DeviceTable::SetMKey(PortRef port, MKey m_key) {
  if (!m_key) return;
  KeyState& key = KeyOf(port);
  key.keys = {m_key};
  key.shown = true;
}

void DeviceTable::ExpectMKey(PortRef port, MKey m_key) {
  Keys& keys = KeyOf(port).keys;
  if (keys.empty()) keys = {options_->m_key};
  // A port without a key takes any.
  if (!m_key || std::find(keys.begin(), keys.end(), m_key) != keys.end()) return;
  if (keys.size() >= kMostMKeys) keys.pop_back();
  keys.insert(keys.begin() + 1, m_key);
}

MKey DeviceTable::ConfiguredMKey(Guid port_guid) const { return WantedMKey(*options_, port_guid); }

// REQUIRES: Has(port.node).
const DeviceTable::Keys& DeviceTable::KnownKeysOf(PortRef port) const {
  const Device& device = devices_[port.node.value()];
  for (const FurtherPort& further : device.further_ports)
    if (further.port == port.port) return further.key.keys;
  return device.key.keys;
}

MKey DeviceTable::MKeyOf(PortRef port) const {
  if (!Has(port.node) || KnownKeysOf(port).empty()) return options_->m_key;
  return KnownKeysOf(port).front();
}

std::vector<MKey> DeviceTable::OwnKeys() const { return PossibleMKeys(*options_, own_); }

std::vector<MKey> DeviceTable::KeysOf(PortRef port) const {
  return !port.IsNone() && Has(port.node) ? KnownKeysOf(port) : Keys();
}

void DeviceTable::PutKeys(const Keys& keys, mad::SmpRequest& request) const {
  request.m_key = keys.empty() ? options_->m_key : keys.front();
  request.other_keys.clear();
  if (keys.size() > 1) request.other_keys.assign(keys.begin() + 1, keys.end());
}

mad::SmpRequest DeviceTable::Get(NodeIndex node, wire::AttributeId attribute,
                                 uint32_t modifier) const {
  FABRICD_CHECK(Has(node), "node index {}", node);
  const Device& device = devices_[node.value()];
  mad::SmpRequest request;
  request.method = wire::Method::kGet;
  request.attribute = attribute;
  request.modifier = modifier;
  PutKeys(device.key.keys, request);
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
    PutKeys(further.key.keys, request);
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
  if (Has(node)) {
    search_.NoteGone(devices_[node.value()].key.port_guid);
    for (const FurtherPort& further : devices_[node.value()].further_ports)
      search_.NoteGone(further.key.port_guid);
  }
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
