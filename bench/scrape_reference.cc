// SPDX-License-Identifier: Apache-2.0
// What others take for the page that a scrape of fabricd brought: prometheus-cpp, from building its
// objects to its text, and copying the page line by line, which is the least there can be.
//
//   scrape_reference FILE [REPEATS]   prints JSON; bench/metrics_scrape calls it
#include <time.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <prometheus/text_serializer.h>

namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

double CpuMilliseconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}

struct Series {
  std::vector<std::pair<std::string, std::string>> labels;
  double value = 0;
};
struct Family {
  std::string name;
  MetricType type = MetricType::Gauge;
  std::vector<Series> series;
};

// Of the labels between the braces; ours have no comma within a value.
Series ReadLabels(std::string_view labels) {
  Series series;
  while (!labels.empty()) {
    const size_t equals = labels.find('='), end = labels.find('"', equals + 2);
    if (equals == labels.npos || end == labels.npos) break;
    series.labels.emplace_back(labels.substr(0, equals),
                               labels.substr(equals + 2, end - equals - 2));
    labels.remove_prefix(std::min(labels.size(), end + 2));
  }
  return series;
}

template <typename Visit>
void ForEachLine(std::string_view page, Visit&& visit) {
  while (!page.empty()) {
    const size_t end = page.find('\n');
    visit(page.substr(0, end));
    page.remove_prefix(end == page.npos ? page.size() : end + 1);
  }
}

// Histograms are left out: they are few.
std::vector<Family> Read(std::string_view page) {
  std::vector<Family> families;
  bool skipped = false;
  ForEachLine(page, [&](std::string_view line) {
    if (line.substr(0, 7) == "# TYPE ") {
      const size_t space = line.find(' ', 7);
      const std::string_view type = line.substr(space + 1);
      skipped = type == "histogram";
      if (skipped) return;
      families.push_back({std::string(line.substr(7, space - 7)),
                          type == "counter" ? MetricType::Counter : MetricType::Gauge,
                          {}});
      return;
    }
    if (skipped || line.empty() || line[0] == '#') return;
    const size_t brace = line.find('{'), end = line.rfind('}');
    Series series;
    if (brace != line.npos) series = ReadLabels(line.substr(brace + 1, end - brace - 1));
    series.value = std::strtod(std::string(line.substr(line.rfind(' ') + 1)).c_str(), nullptr);
    families.back().series.push_back(std::move(series));
  });
  return families;
}

std::vector<MetricFamily> Build(const std::vector<Family>& families) {
  std::vector<MetricFamily> built;
  for (const Family& family : families) {
    MetricFamily& made = built.emplace_back();
    made.name = family.name;
    made.help = "As fabricd's.";
    made.type = family.type;
    for (const Series& series : family.series) {
      ClientMetric metric;
      for (const auto& [name, value] : series.labels) metric.label.push_back({name, value});
      (family.type == MetricType::Counter ? metric.counter.value : metric.gauge.value) =
          series.value;
      made.metric.push_back(std::move(metric));
    }
  }
  return built;
}

}  // namespace

int main(int argc, char** argv) {
  const int repeats = argc > 2 ? std::atoi(argv[2]) : 5;
  std::ifstream file(argc > 1 ? argv[1] : "");
  const std::string page((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (page.empty() || repeats < 1) {
    fmt::print(stderr, "usage: scrape_reference FILE [REPEATS]\n");
    return 2;
  }
  const std::vector<Family> families = Read(page);
  double build = 0, serialize = 0, copy = 0;
  size_t bytes = 0;
  for (int i = 0; i < repeats; ++i) {
    const double start = CpuMilliseconds();
    const std::vector<MetricFamily> built = Build(families);
    const double built_at = CpuMilliseconds();
    bytes = prometheus::TextSerializer().Serialize(built).size();
    const double serialized_at = CpuMilliseconds();
    std::string copied;
    ForEachLine(page, [&](std::string_view line) {
      copied += line;
      copied += '\n';
    });
    build += built_at - start;
    serialize += serialized_at - built_at;
    copy += CpuMilliseconds() - serialized_at;
  }
  fmt::print(
      "{{\"build_ms\": {:.1f}, \"serialize_ms\": {:.1f}, \"copy_ms\": {:.1f}, "
      "\"bytes\": {}}}\n",
      build / repeats, serialize / repeats, copy / repeats, bytes);
  return 0;
}
