// SPDX-License-Identifier: Apache-2.0
// PortRows: the physical ports of a snapshot with the labels that their series have: those of
// treydock's infiniband_exporter. Its families are of switches or of HCAs: so are the rows.
#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "fabric/snapshot.h"

namespace fabricd::http {

// Of a switch the node GUID, of an HCA the port GUID.
Guid LabelGuid(const fabric::Node& node, PortNum port);

class PortRow {
 public:
  PortRow(const fabric::Node& node, PortNum number);

  PortRef ref() const { return {node_->index, number_}; }
  const fabric::Node& node() const { return *node_; }
  PortNum number() const { return number_; }
  const fabric::Port& port() const { return node_->port(number_); }
  // guid="0x0002c90300000001",port="12"
  std::string_view labels() const { return {labels_.data(), size_}; }

 private:
  const fabric::Node* node_;
  PortNum number_;
  uint8_t size_ = 0;
  std::array<char, 40> labels_;
};

struct PortRows {
  // Of each port that was read. The snapshot outlives it.
  explicit PortRows(const fabric::FabricSnapshot& snapshot);

  struct Kind {
    const char* word;  // "switch", "hca"
    std::vector<PortRow> rows;
  };
  std::array<Kind, 2> kinds = {{{"switch", {}}, {"hca", {}}}};
};

}  // namespace fabricd::http
