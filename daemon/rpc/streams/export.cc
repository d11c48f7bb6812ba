// SPDX-License-Identifier: Apache-2.0
#include "daemon/rpc/streams/export.h"

#include <ctime>

#include <google/protobuf/util/json_util.h>

#include "common/check.h"
#include "daemon/base/wall_clock.h"
#include "daemon/rpc/convert/convert.h"
#include "fabric/ibnetdiscover_text.h"

namespace fabricd::rpc {
namespace {

constexpr size_t kPieceBytes = 256 * 1024;

std::string Json(const google::protobuf::Message& message) {
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  options.always_print_primitive_fields = true;
  std::string json;
  const auto status = google::protobuf::util::MessageToJsonString(message, &json, options);
  FABRICD_CHECK(status.ok(), "{}", status.ToString());
  return json;
}

// fabric.v1.Topology, element by element: the message as a whole is never in memory.
class JsonExport {
 public:
  explicit JsonExport(std::shared_ptr<const query::ReadModel> model) : model_(std::move(model)) {}

  bool Next(std::string* piece) {
    if (step_ == kEnd) return false;
    while (step_ != kEnd && piece->size() < kPieceBytes) Append(piece);
    return true;
  }

 private:
  enum Step { kBegin, kNodes, kHosts, kLinks, kEnd };

  template <typename Proto, typename Source>
  void AppendElement(const Source& source, std::string* piece) {
    Proto proto;
    ToProto(*model_, source, &proto);
    *piece += at_ == 0 ? "\n" : ",\n";
    *piece += Json(proto);
    ++at_;
  }
  void Enter(Step step, const char* text, std::string* piece) {
    step_ = step;
    at_ = 0;
    *piece += text;
  }
  void Append(std::string* piece) {
    const std::vector<NodeIndex>& nodes = model_->names->nodes;
    switch (step_) {
      case kBegin:
        *piece += fmt::format("{{\"generation\":{},", model_->view->generation.value());
        return Enter(kNodes, "\"nodes\":[", piece);
      case kNodes:
        if (at_ == nodes.size()) return Enter(kHosts, "],\n\"hosts\":[", piece);
        return AppendElement<pb::Node>(*model_->snapshot().node(nodes[at_]), piece);
      case kHosts:
        if (at_ == model_->hosts->hosts().size()) {
          model_->ForEachLink([this](const query::LinkEnds& link) { links_.push_back(link); });
          return Enter(kLinks, "],\n\"links\":[", piece);
        }
        return AppendElement<pb::Host>(model_->hosts->hosts()[at_], piece);
      case kLinks:
        if (at_ == links_.size()) return Enter(kEnd, "]}\n", piece);
        return AppendElement<pb::Link>(links_[at_], piece);
      case kEnd: return;
    }
  }

  const std::shared_ptr<const query::ReadModel> model_;
  Step step_ = kBegin;
  size_t at_ = 0;  // In the list of this step.
  std::vector<query::LinkEnds> links_;
};

// fabric.v1.Topology in pieces of as many elements as fill one.
class MessageExport {
 public:
  explicit MessageExport(std::shared_ptr<const query::ReadModel> model)
      : model_(std::move(model)) {}

  bool Next(pb::Topology* piece) {
    const size_t before = at_;
    const std::vector<NodeIndex>& nodes = model_->names->nodes;
    const auto& hosts = model_->hosts->hosts();
    const size_t links_begin = nodes.size() + hosts.size();
    if (at_ == 0)
      model_->ForEachLink([this](const query::LinkEnds& link) { links_.push_back(link); });
    if (at_ == 0) piece->set_generation(static_cast<uint32_t>(model_->view->generation.value()));
    for (; at_ < links_begin + links_.size() && at_ - before < kElements; ++at_) {
      if (at_ < nodes.size())
        ToProto(*model_, *model_->snapshot().node(nodes[at_]), piece->add_nodes());
      else if (at_ < links_begin)
        ToProto(*model_, hosts[at_ - nodes.size()], piece->add_hosts());
      else
        ToProto(*model_, links_[at_ - links_begin], piece->add_links());
    }
    return at_ > before;
  }

 private:
  static constexpr size_t kElements = 500;  // 100 to 500 kB.

  const std::shared_ptr<const query::ReadModel> model_;
  size_t at_ = 0;  // Among nodes, then hosts, then links.
  std::vector<query::LinkEnds> links_;
};

std::string LocalTime() {
  const std::time_t now = WallNowMs() / 1000;
  std::tm local{};
  localtime_r(&now, &local);
  char text[64];
  const size_t length = std::strftime(text, sizeof(text), "%a %b %e %H:%M:%S %Y", &local);
  return std::string(text, length);
}

std::string Ibnetdiscover(const query::ReadModel& model) {
  fabric::TopologyTextOptions options;
  options.generated_on = LocalTime();
  const PortRef own = model.view->sm.port;
  if (const fabric::Node* node = model.snapshot().node(own.node)) {
    options.from_node = node->guid();
    options.from_port = model.view->sm.guid;
  }
  options.names = model.names->by_name.map();
  return fabric::WriteIbnetdiscover(model.snapshot(), options);
}

}  // namespace

absl::StatusOr<NextPiece<pb::GetTopologyResponse>> ExportTopology(
    std::shared_ptr<const query::ReadModel> model, pb::TopologyFormat format) {
  switch (format) {
    case pb::TOPOLOGY_FORMAT_UNSPECIFIED:
    case pb::TOPOLOGY_FORMAT_JSON: {
      auto json = std::make_shared<JsonExport>(std::move(model));
      return [json](pb::GetTopologyResponse* response) -> absl::StatusOr<bool> {
        return json->Next(response->mutable_chunk());
      };
    }
    case pb::TOPOLOGY_FORMAT_IBNETDISCOVER: {
      auto text = std::make_shared<const std::string>(Ibnetdiscover(*model));
      return [text,
              at = size_t{0}](pb::GetTopologyResponse* response) mutable -> absl::StatusOr<bool> {
        if (at >= text->size()) return false;
        *response->mutable_chunk() = text->substr(at, kPieceBytes);
        at += kPieceBytes;
        return true;
      };
    }
    case pb::TOPOLOGY_FORMAT_MESSAGE: {
      auto pieces = std::make_shared<MessageExport>(std::move(model));
      return [pieces](pb::GetTopologyResponse* response) -> absl::StatusOr<bool> {
        return pieces->Next(response->mutable_topology());
      };
    }
    default: return BadField("format", fmt::format("{} is not a format", static_cast<int>(format)));
  }
}

}  // namespace fabricd::rpc
