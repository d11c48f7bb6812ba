// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/verdict_page.h"

#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

#include <absl/status/status.h>

#include "common/json_text.h"
#include "common/mutex.h"
#include "common/process_clock.h"
#include "daemon/http/answer_wait.h"
#include "daemon/http/page_text.h"
#include "daemon/http/verdict_names.h"
#include "fabric/port_name.h"
#include "policy/target.h"
#include "policy/verdict/why_text.h"

namespace fabricd::http {
namespace {

using policy::Stage;
using policy::Verdict;
using query::VerdictRecord;
using query::VerdictView;

std::string Quoted(std::string_view text) { return JsonText(std::string(text)); }

int64_t SecondsOf(Duration duration) {
  return std::chrono::duration_cast<std::chrono::seconds>(duration).count();
}

// Bad, recovering, suspect, victim; of these the surest first.
std::vector<const VerdictRecord*> InOrder(const VerdictView& view) {
  std::vector<const VerdictRecord*> records;
  for (const VerdictRecord& record : view.records)
    if (VerdictOf(record) != Verdict::kUnknown) records.push_back(&record);
  const auto rank = [](const VerdictRecord& record) {
    const Stage stage = record.standing.stage;
    const int first = stage == Stage::kBad ? 0 : stage == Stage::kRecovering ? 1 : 2;
    return std::tuple(first, VerdictOf(record) == Verdict::kVictim, -record.found.confidence);
  };
  std::stable_sort(records.begin(), records.end(),
                   [&](const auto* one, const auto* other) { return rank(*one) < rank(*other); });
  return records;
}

class ViewText {
 public:
  ViewText(const VerdictView& view, const fabric::NodeNameMap& names,
           const fabric::HostTable& hosts)
      : view_(view), naming_{*view.snapshot, names, hosts} {}

  std::string Json() const {
    const auto records = InOrder(view_);
    size_t victims = 0;
    for (const telemetry::CongestionRoot& root : view_.congestion.roots)
      victims += root.victims.size();
    return fmt::format(
        "\"number\":{},\"enabled\":{},\"interval\":{},\"counts\":{{{}}},\"total\":{},"
        "\"verdicts\":[{}],\"causes\":[{}],\"action\":{},\"holds\":{},\"budget\":{},"
        "\"breaker\":{},\"roots_total\":{},\"victims_total\":{},\"without_root\":{},"
        "\"roots\":[{}]",
        view_.number, view_.enabled, SecondsOf(view_.interval), Counts(), records.size(),
        Listed(records, VerdictPage::kMostVerdicts,
               [&](const VerdictRecord* record) { return Record(*record); }),
        Listed(view_.findings, VerdictPage::kMostCauses,
               [&](const policy::CommonFinding& finding) { return Cause(finding); }),
        Quoted(ActionName(view_.configured)), view_.in_effect, view_.budget, view_.is_breaker_open,
        view_.congestion.roots.size(), victims, view_.congestion.without_root.size(),
        Listed(RootsInOrder(), VerdictPage::kMostRoots,
               [&](const telemetry::CongestionRoot* root) { return Root(*root); }));
  }

 private:
  template <typename List, typename Line>
  static std::string Listed(const List& list, size_t most, Line&& line) {
    std::string json;
    for (size_t i = 0; i < std::min(list.size(), most); ++i)
      json += (i == 0 ? "" : ",") + line(list[i]);
    return json;
  }

  std::string Counts() const {
    std::string json;
    for (size_t i = 0; i < view_.counts.size(); ++i)
      json += fmt::format("{}\"{}\":{}", i == 0 ? "" : ",", VerdictName(static_cast<Verdict>(i)),
                          view_.counts[i]);
    return json;
  }

  std::string Port(PortRef port) const { return PortJson(port, naming_); }

  std::string Record(const VerdictRecord& record) const {
    const policy::LinkResponse& response = record.response;
    const auto by = [](const auto& remark) { return Quoted(remark ? remark->by : ""); };
    const bool explained = record.finding > 0 && record.finding <= view_.findings.size();
    return fmt::format(
        "{{\"verdict\":\"{}\",\"stage\":\"{}\",\"culprit\":\"{}\",\"confidence\":{:.2f},"
        "\"since\":{},\"a\":{},\"b\":{},\"end\":\"{}\",\"remedy\":{},"
        "\"recommended\":{},\"action\":\"{}\",\"held_back\":{},\"hold\":{},\"operator\":{},"
        "\"known\":{},\"acknowledged\":{},\"overruled\":{},\"cause\":{},\"root\":{}}}",
        VerdictName(VerdictOf(record)), StageName(record.standing.stage),
        CulpritName(query::CulpritOf(record)), record.found.confidence,
        SecondsOf(view_.at - record.standing.since), Port(record.a), Port(record.b),
        AccusedEnd(record) == record.a ? "a" : "b", Quoted(query::RemedyOf(record)),
        Quoted(response.recommended ? HoldKindName(*response.recommended) : ""),
        ActionName(response.action), Quoted(response.held_back), response.hold,
        record.standing.needs_operator, record.standing.is_known, by(response.acknowledged),
        by(response.overruled),
        Quoted(explained ? FindingText(view_.findings[record.finding - 1]) : ""),
        Port(record.root));
  }

  std::string Cause(const policy::CommonFinding& finding) const {
    return fmt::format("{{\"cause\":\"{}\",\"subject\":{},\"text\":{},\"over\":{}}}",
                       CommonCauseName(finding.cause),
                       Quoted(SubjectOf(finding, naming_.snapshot, naming_.names)),
                       Quoted(FindingText(finding)), finding.is_over);
  }

  std::vector<const telemetry::CongestionRoot*> RootsInOrder() const {
    std::vector<const telemetry::CongestionRoot*> roots;
    for (const telemetry::CongestionRoot& root : view_.congestion.roots) roots.push_back(&root);
    std::stable_sort(roots.begin(), roots.end(), [](const auto* one, const auto* other) {
      return one->victims.size() > other->victims.size();
    });
    return roots;
  }

  std::string Root(const telemetry::CongestionRoot& root) const {
    const fabric::Port* port = view_.snapshot->port(root.port);
    return fmt::format(
        "{{\"kind\":\"{}\",\"port\":{},\"peer\":{},\"wait\":{:.3f},\"use\":{:.3f},\"cycle\":{},"
        "\"victims_total\":{},\"victims\":[{}]}}",
        telemetry::CongestionKindName(root.kind), Port(root.port),
        Port(port == nullptr ? PortRef() : port->peer), root.wait.share, root.wait.utilisation,
        root.is_cycle, root.victims.size(),
        Listed(root.victims, VerdictPage::kMostVictims,
               [&](const telemetry::WaitingPort& victim) { return Victim(victim); }));
  }

  std::string Victim(const telemetry::WaitingPort& victim) const {
    return fmt::format("{{\"port\":{},\"wait\":{:.3f},\"use\":{:.3f},\"hops\":{},\"towards\":{}}}",
                       Port(victim.port), victim.wait.share, victim.wait.utilisation, victim.hops,
                       Port(victim.towards));
  }

  const VerdictView& view_;
  const PortNaming naming_;
};

std::string EndName(const policy::EndEvidence& end, const fabric::FabricSnapshot& snapshot,
                    const fabric::NodeNameMap& names) {
  const fabric::Node* node = snapshot.FindNode(end.node);
  return node != nullptr ? fabric::PortName(*node, end.port, &names)
                         : fabric::PortName(fmt::format("{}", end.node), end.port);
}

}  // namespace

Reply VerdictPage::Verdicts(const Query& query) {
  const auto view = backend_.verdicts();
  const int64_t age = view->number == 0 ? 0 : SecondsOf(ProcessClock::Now() - view->at);
  if (ArgumentOf(query, "have") == fmt::format("{}", view->number))
    return Json(fmt::format("{{\"age\":{},\"number\":{}}}", age, view->number));
  // Before the first assessment there is no snapshot to name ports by, and nothing to name.
  if (view->snapshot == nullptr)
    return Json(fmt::format("{{\"age\":{},\"number\":{},\"enabled\":{}}}", age, view->number,
                            view->enabled));
  MutexLock lock(mutex_);  // One computation, whoever asks.
  if (view_ != view) {
    const auto hosts = backend_.hosts(*backend_.view());
    text_ = std::make_shared<const std::string>(
        ViewText(*view, backend_.node_name_map(), *hosts).Json());
    view_ = view;
  }
  return Json(fmt::format("{{\"age\":{},{}}}", age, *text_));
}

Reply VerdictPage::Evidence(const Query& query) {
  const auto snapshot = backend_.view()->snapshot;
  const auto port = PortOf(query, *snapshot);
  if (!port) return Text("no such port\n", 404);
  using Record = std::shared_ptr<const VerdictRecord>;
  const auto answer = WaitForAnswer<std::pair<absl::Status, Record>>([&](auto done) {
    backend_.EvaluateLink(*port, [done = std::move(done)](absl::Status status, Record record) {
      done({std::move(status), std::move(record)});
    });
  });
  if (!answer) return Text("no answer in time\n", 503);
  const auto& [status, record] = *answer;
  if (absl::IsNotFound(status)) return Text("no link whose two ends are read\n", 404);
  if (!status.ok() || record == nullptr || record->evidence == nullptr)
    return Text("not assessed now\n", 503);
  const policy::LinkEvidence& evidence = *record->evidence;
  const std::string a = EndName(evidence.a, *snapshot, backend_.node_name_map());
  const std::string b = EndName(evidence.b, *snapshot, backend_.node_name_map());
  return Json(fmt::format(
      "{{\"verdict\":\"{}\",\"text\":{}}}", VerdictName(VerdictOf(*record)),
      JsonText(WhyText(evidence, record->found, record->standing, ProcessClock::Now(), {a, b}))));
}

}  // namespace fabricd::http
