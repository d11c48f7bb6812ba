// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/pages.h"

#include <utility>

#include <spdlog/spdlog.h>

#include "daemon/http/counter_page.h"
#include "daemon/http/event_counts.h"
#include "daemon/http/fabric_page.h"
#include "daemon/http/metrics.h"
#include "daemon/http/verdict_page.h"

namespace fabricd::http {
namespace {

// 200 once there is something to serve: after the first sweep, or as standby.
Reply Health(const daemon::Backend& backend) {
  const auto view = backend.view();
  const bool standby = view->sm.state == wire::SmState::kStandby;
  const std::string state(wire::SmStateName(view->sm.state));
  if (view->sweeps_done == 0 && !standby) return Text("starting: " + state + "\n", 503);
  return Text("ok: " + state + (view->subnet_up ? ", subnet up\n" : "\n"));
}

// The data of the page /ui: they share the read model.
struct UiPages {
  explicit UiPages(daemon::Backend& backend)
      : models(backend), fabric(backend, models), counters(backend, models), verdicts(backend) {}

  daemon::Models models;
  FabricPage fabric;
  CounterPage counters;
  VerdictPage verdicts;
};

void AddUi(daemon::Backend& backend, Pages& pages) {
  const auto ui = std::make_shared<UiPages>(backend);
  const auto html = std::make_shared<const std::string>(UiHtml());
  pages["/ui"] = {[html](const Query&) {
                    return Reply{200, "text/html; charset=utf-8", html};
                  },
                  Page::Cost::kQuick};
  pages["/ui/fabric.json"].make = [ui](const Query& query) { return ui->fabric.Fabric(query); };
  pages["/ui/ports.json"].make = [ui](const Query& query) { return ui->fabric.Ports(query); };
  pages["/ui/events.json"].make = [ui](const Query& query) { return ui->fabric.Events(query); };
  pages["/ui/heat.json"].make = [ui](const Query& query) { return ui->counters.Heat(query); };
  pages["/ui/history.json"].make = [ui](const Query& query) { return ui->counters.History(query); };
  pages["/ui/verdicts.json"].make = [ui](const Query& query) {
    return ui->verdicts.Verdicts(query);
  };
  pages["/ui/verdict.json"].make = [ui](const Query& query) {
    return ui->verdicts.Evidence(query);
  };
}

constexpr char kStart[] =
    "fabricd\n\n/ui       the fabric\n/metrics  for Prometheus\n/healthz  200 or 503\n";

}  // namespace

absl::StatusOr<std::unique_ptr<HttpServer>> ServePages(
    const std::string& address, const std::string& version, daemon::Backend& backend,
    std::function<std::vector<rpc::HandledCalls>()> handled_calls) {
  const auto events = EventCounts::Start(backend.events());
  if (events == nullptr) spdlog::warn("http_listen: events are not counted: too many watchers");
  MetricSources sources{&backend, version, events, std::move(handled_calls)};
  Pages pages;
  pages["/"] = {[](const Query&) { return Text(kStart); }, Page::Cost::kQuick};
  pages["/metrics"].make = [sources](const Query&) {
    Reply reply = Text(MetricsText(sources));
    reply.type = "text/plain; version=0.0.4; charset=utf-8";
    return reply;
  };
  pages["/healthz"] = {[&backend](const Query&) { return Health(backend); }, Page::Cost::kQuick};
  AddUi(backend, pages);
  auto server = HttpServer::Start(address, std::move(pages));
  if (server.ok() && !(*server)->is_loopback())
    spdlog::warn("http_listen: {} shows the fabric to everybody who reaches it", address);
  return server;
}

}  // namespace fabricd::http
