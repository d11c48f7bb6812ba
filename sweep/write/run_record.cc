// SPDX-License-Identifier: Apache-2.0
#include "sweep/write/run_record.h"

#include <utility>

#include <fmt/format.h>

#include "sweep/device/completion.h"

namespace fabricd::sweep {
namespace {

PortRef SubjectOf(const WorkItem& item) {
  return IsOfSwitch(item.work) ? PortRef{item.node, PortNum(0)} : item.ref();
}

}  // namespace

void RunRecord::NoteFailure(const WorkItem& item, const mad::Completion& completion) {
  NoteUnsent(item.node);
  AddProblem(
      SubjectOf(item),
      completion.outcome == mad::Completion::Outcome::kResponse ? "SetRefused" : "Unresponsive",
      fmt::format("{} {}: {}", wire::MethodName(completion.method),
                  wire::AttributeName(completion.attribute), WhyNot(completion)));
}

void RunRecord::NoteContradiction(const WorkItem& item, const mad::Completion& completion) {
  NoteUnsent(item.node);
  AddProblem(SubjectOf(item), "SetRefused",
             fmt::format("answers Set {} {} with other values",
                         wire::AttributeName(completion.attribute), completion.modifier));
}

void RunRecord::NoteRefusal(PortRef port, std::string text) {
  ++failures_;
  AddProblem(port, "SetRefused", std::move(text));
}

void RunRecord::AddProblem(PortRef port, std::string kind, std::string text) {
  problems_.Add(std::move(kind), NameOf(port), std::move(text));
}

std::string RunRecord::NameOf(PortRef port) const {
  const fabric::Node* node = builder_.node(port.node);
  if (node == nullptr) return fmt::format("node index {}", port.node);
  if (port.port == PortNum(0)) return fmt::format("\"{}\" ({})", node->description, node->guid());
  return fmt::format("\"{}\" ({}) port {}", node->description, node->guid(), port.port);
}

}  // namespace fabricd::sweep
