// SPDX-License-Identifier: Apache-2.0
#include "daemon/settings/m_key_records.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include <absl/strings/escaping.h>
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "common/number_text.h"
#include "common/status.h"
#include "daemon/base/side_file.h"
#include "daemon/settings/core_options.h"
#include "fabric/neighbors.h"

namespace fabricd::daemon {
namespace {

constexpr char kSecrets[] = "m_key_secrets", kKeys[] = "m_keys", kNeighbors[] = "neighbors";

// One word a line, as hexadecimal digits, newest first.
absl::StatusOr<std::vector<std::string>> Load(store::Store& store, const char* name) {
  auto text = store.GetMeta(name);
  if (!text.ok()) return text.status();
  std::vector<std::string> values;
  std::string_view rest = text->has_value() ? std::string_view(**text) : std::string_view();
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    const std::string bytes = absl::HexStringToBytes(absl::string_view(line.data(), line.size()));
    if (bytes.empty()) return absl::DataLossError(fmt::format("{} in the store is damaged", name));
    values.push_back(bytes);
  }
  return values;
}

// `current` becomes the first, durably, unless it is the first already. Empty: there is none.
absl::StatusOr<std::vector<std::string>> Remember(store::Store& store, const char* name,
                                                  const std::string& current) {
  auto values = Load(store, name);
  if (!values.ok() || current.empty()) return values;
  if (!values->empty() && values->front() == current) return values;
  std::erase(*values, current);
  values->insert(values->begin(), current);
  if (values->size() > 1 + MKeyRecords::kFormer) values->resize(1 + MKeyRecords::kFormer);
  std::string text;
  for (const std::string& value : *values)
    text += absl::BytesToHexString(absl::string_view(value.data(), value.size())) + "\n";
  if (absl::Status put = store.PutMeta(name, text); !put.ok()) return put;
  return values;
}

absl::StatusOr<fabric::Neighbors> LoadNeighbors(store::Store& store, const config::Sm& sm) {
  fabric::Neighbors neighbors;
  if (!sm.neighbors_file.empty()) {
    const auto text = ReadFileOf("sm.neighbors_file", sm.neighbors_file);
    if (!text.ok()) return text.status();
    size_t skipped = 0;
    neighbors = fabric::ParseNeighbors(*text, &skipped);
    if (skipped > 0) spdlog::warn("{}: {} lines are no links", sm.neighbors_file, skipped);
  }
  const auto own = store.GetMeta(kNeighbors);
  if (!own.ok()) return own.status();
  if (own->has_value())
    for (const auto& [port, guid] : fabric::ParseNeighbors(**own)) neighbors[port] = guid;
  return neighbors;
}

}  // namespace

absl::StatusOr<MKeyRecords> MKeyRecords::Open(store::Store& store, const config::Sm& sm) {
  MKeyRecords records;
  auto secret = ReadMKeySecret(sm);
  if (!secret.ok()) return secret.status();
  records.secret_ = *std::move(secret);
  auto secrets = Remember(store, kSecrets, records.secret_);
  if (!secrets.ok()) return secrets.status();
  std::erase(*secrets, records.secret_);
  records.former_secrets_ = *std::move(secrets);
  const std::string key = sm.m_key ? fmt::format("{:016x}", sm.m_key.value()) : std::string();
  const auto keys = Remember(store, kKeys, key);
  if (!keys.ok()) return keys.status();
  for (const std::string& text : *keys)
    if (const auto former = ParseHex<uint64_t>(text); former && *former != sm.m_key.value())
      records.former_keys_.emplace_back(*former);
  records.keeps_neighbors_ =
      !records.secret_.empty() || !records.former_secrets_.empty() || !sm.guid2mkey_file.empty();
  if (!records.keeps_neighbors_) return records;
  auto neighbors = LoadNeighbors(store, sm);
  if (!neighbors.ok()) return neighbors.status();
  records.neighbors_ = *std::move(neighbors);
  return records;
}

void MKeyRecords::AddTo(sweep::SmOptions& options) const {
  options.m_key_secret = secret_;
  options.former_m_key_secrets = former_secrets_;
  options.former_m_keys = former_keys_;
  options.neighbors = neighbors_;
}

// A standby's view may be old; the master's is what the ports were given keys by.
void MKeyRecords::Look(const std::shared_ptr<const sweep::FabricView>& view, Instant now,
                       const std::function<bool(std::function<void(store::Store&)>)>& post) {
  if (!IsDue(now) || view->snapshot == written_) return;
  if (view->sm.state != wire::SmState::kMaster || view->snapshot->node_count() == 0) return;
  const auto write = [snapshot = view->snapshot](store::Store& store) {
    const absl::Status put = store.PutMeta(kNeighbors, fabric::NeighborsText(*snapshot));
    if (!put.ok()) spdlog::error("the neighbors were not stored: {}", Message(put));
  };
  if (!post(write)) return;
  written_ = view->snapshot;
  next_write_ = now + kInterval;
}

}  // namespace fabricd::daemon
