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
  AddProblem(SubjectOf(item),
             completion.outcome == mad::Completion::Outcome::kResponse ? ProblemKind::kSetRefused
                                                                       : ProblemKind::kUnresponsive,
             fmt::format("{} {}: {}", wire::MethodName(completion.method),
                         wire::AttributeName(completion.attribute), WhyNot(completion)));
}

void RunRecord::NoteContradiction(const WorkItem& item, const mad::Completion& completion) {
  NoteUnsent(item.node);
  AddProblem(SubjectOf(item), ProblemKind::kSetRefused,
             fmt::format("answers Set {} {} with other values",
                         wire::AttributeName(completion.attribute), completion.modifier));
}

void RunRecord::NoteRefusal(PortRef port, std::string text) {
  ++failures_;
  AddProblem(port, ProblemKind::kSetRefused, std::move(text));
}

void RunRecord::AddProblem(PortRef port, ProblemKind kind, std::string text) {
  const fabric::Node* node = builder_.node(port.node);
  problems_.Add(kind,
                node != nullptr ? ProblemSubject::Of(*node, port.port)
                                : ProblemSubject::Named(fmt::format("node index {}", port.node)),
                std::move(text));
}

}  // namespace fabricd::sweep
