// SPDX-License-Identifier: Apache-2.0
#include "recorder/recorder.h"

#include <utility>

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>

#include "common/status.h"
#include "recorder/effects_text.h"
#include "recorder/fields.h"

namespace fabricd::recorder {
namespace {

static_assert(
    std::is_same_v<std::variant_alternative_t<kAnswerEvent, sweep::Event>, sweep::Answer>);
static_assert(
    std::is_same_v<std::variant_alternative_t<kMadEvent, sweep::Event>, mad::IncomingMad>);

// A batch of this size is passed on: it compresses well, and a power failure loses little.
constexpr size_t kBatchBytes = size_t{128} << 10;

// Appends a record to a serialised pb::Batch.
void AppendRecord(int field, const google::protobuf::MessageLite& content, std::string& batch) {
  using Out = google::protobuf::io::CodedOutputStream;
  using google::protobuf::internal::WireFormatLite;
  constexpr auto kMessage = WireFormatLite::WIRETYPE_LENGTH_DELIMITED;
  const auto tag = WireFormatLite::MakeTag(field, kMessage);
  const auto size = static_cast<uint32_t>(content.ByteSizeLong());
  const auto record =
      static_cast<uint32_t>(Out::VarintSize32(tag) + Out::VarintSize32(size)) + size;
  const auto batch_tag = WireFormatLite::MakeTag(pb::Batch::kRecordsFieldNumber, kMessage);
  const size_t begin = batch.size();
  batch.resize(begin + Out::VarintSize32(batch_tag) + Out::VarintSize32(record) + record);
  auto* at = reinterpret_cast<uint8_t*>(batch.data()) + begin;
  at = Out::WriteTagToArray(batch_tag, at);
  at = Out::WriteVarint32ToArray(record, at);
  at = Out::WriteTagToArray(tag, at);
  at = Out::WriteVarint32ToArray(size, at);
  content.SerializeWithCachedSizesToArray(at);
}

void PutRoute(const mad::GlobalRoute& route, pb::GlobalRoute& out) {
  out.set_gid_prefix(route.gid.prefix);
  out.set_gid_low(route.gid.low);
  out.set_gid_index(route.gid_index);
  out.set_hop_limit(route.hop_limit);
  out.set_traffic_class(route.traffic_class);
  out.set_flow_label(route.flow_label);
}

mad::GlobalRoute RouteOf(const pb::GlobalRoute& in) {
  return {{in.gid_prefix(), in.gid_low()},
          static_cast<uint8_t>(in.gid_index()),
          static_cast<uint8_t>(in.hop_limit()),
          static_cast<uint8_t>(in.traffic_class()),
          in.flow_label()};
}

// An answer without a result: the shell could not carry the question out.
struct AnswerText {
  pb::Answer& out;

  void Refuse(std::string text = {}) const {
    out.set_refused(true);
    out.set_text(std::move(text));
  }
  void operator()(const sweep::Persisted& persisted) const {
    out.set_status(static_cast<uint32_t>(persisted.status.code()));
    out.set_text(std::string(persisted.status.message()));
  }
  void operator()(const sweep::MastershipClaimed& claimed) const {
    (*this)(sweep::Persisted{claimed.status});
    out.set_continues(claimed.continues);
  }
  void operator()(const sweep::PlanReady& ready) const {
    if (ready.result.after == nullptr && ready.result.steps.empty()) Refuse();
  }
  void operator()(const sweep::TablesOrdered& ordered) const {
    if (ordered.push.writes.empty()) Refuse();
  }
  void operator()(const sweep::CablesChecked& checked) const {
    if (checked.problems.empty()) Refuse();
  }
  void operator()(const sweep::TreesReady& ready) const {
    if (ready.plan == nullptr) Refuse(ready.fault);
  }
  template <typename Evaluated>
  requires requires(const Evaluated& evaluated) { evaluated.consequences; }
  void operator()(const Evaluated& evaluated) const {
    const routing::Consequences& found = evaluated.consequences;
    if (!found.plan_found && found.steps.empty() && found.cut_off.empty()) Refuse(found.why_not);
  }
};

template <typename A>
void VisitState(A& a, CoreInputs& inputs) {
  a(inputs.lids, inputs.holds, inputs.partitions, inputs.takeover);
  VisitShared(a, inputs.groups);
  VisitShared(a, inputs.aliases);
  VisitShared(a, inputs.vouched);
  a(inputs.actions);
}

template <size_t... I>
absl::StatusOr<sweep::Event> ReadEvent(size_t index, std::string_view bytes,
                                       std::index_sequence<I...>) {
  std::optional<sweep::Event> event;
  const auto read = [&]<size_t J>() {
    if constexpr (J != kAnswerEvent && J != kMadEvent)
      if (auto value = Unarchive<std::variant_alternative_t<J, sweep::Event>>(bytes))
        event = *std::move(value);
  };
  ((I == index ? read.template operator()<I>() : void()), ...);
  if (!event)
    return MakeStatus(absl::StatusCode::kDataLoss, "an event of kind {} cannot be read", index);
  return *std::move(event);
}

}  // namespace

void Recorder::Add(int field, const google::protobuf::MessageLite& content) {
  if (batch_.bytes.size() >= kBatchBytes) Flush();
  AppendRecord(field, content, batch_.bytes);
  ++batch_.records;
  ++records_;
}

void Recorder::Flush() {
  if (batch_.records == 0) return;
  PackedBatch full = std::exchange(batch_, {});
  const uint64_t count = full.records;
  if (lost_ > 0) {
    pb::Batch lost;
    lost.add_records()->set_lost(lost_);
    full.bytes.insert(0, lost.SerializeAsString());
    ++full.records;
  }
  if (sink_(std::move(full))) {
    lost_ = 0;
  } else {
    lost_ += count;
    lost_in_all_ += count;
  }
}

int64_t Recorder::After(Instant now) {
  const int64_t ns = now.time_since_epoch().count();
  return ns - std::exchange(last_ns_, ns);
}

void Recorder::OnStart(const CoreInputs& inputs) {
  CoreInputs copy = inputs;
  aliases_.Replace(copy.options);
  aliases_.Learn(copy.local.port_guid);
  for (const fabric::LidRecord& record : copy.lids) aliases_.Learn(record.port_guid);
  ArchiveWriter state;
  VisitState(state, copy);
  pb::Start start;
  start.set_options(Archive(std::move(copy.options)));
  start.set_device(copy.local.device);
  start.set_port(copy.local.port.value());
  start.set_port_guid(copy.local.port_guid.value());
  start.set_node_guid(copy.local.node_guid.value());
  start.set_state(state.Take());
  Add(pb::Record::kStartFieldNumber, start);
}

void Recorder::PutMad(const mad::IncomingMad& mad, pb::Mad& out) {
  scratch_ = mad.payload;
  aliases_.Replace(scratch_);
  size_t size = scratch_.size();
  while (size > 0 && scratch_[size - 1] == 0) --size;
  out.set_kind(static_cast<uint32_t>(mad.kind));
  out.set_agent(static_cast<uint32_t>(mad.agent));
  out.set_lid(mad.from.lid.value());
  out.set_qpn(mad.from.qpn);
  out.set_qkey(mad.from.qkey);
  out.set_sl(mad.from.sl.value());
  out.set_p_key_index(mad.from.pkey_index);
  out.set_path_bits(mad.from.path_bits);
  if (mad.from.global)
    PutRoute(*mad.from.global, *out.mutable_global());
  else
    out.clear_global();
  out.set_size(static_cast<uint32_t>(scratch_.size()));
  out.set_payload(scratch_.data(), size);
}

void Recorder::OnStep(const sweep::Event& event, Instant now) {
  const auto add = [&](pb::Step& step) {
    step.set_after_ns(After(now));
    step.set_event(static_cast<uint32_t>(event.index()));
    Add(pb::Record::kStepFieldNumber, step);
  };
  if (const auto* mad = std::get_if<mad::IncomingMad>(&event)) {
    PutMad(*mad, *mad_step_.mutable_mad());
    add(mad_step_);
  } else {
    pb::Step step;
    PutEvent(event, step);
    add(step);
  }
}

void Recorder::PutEvent(const sweep::Event& event, pb::Step& step) {
  if (const auto* answer = std::get_if<sweep::Answer>(&event)) {
    pb::Answer& out = *step.mutable_answer();
    out.set_question(answer->id.value());
    out.set_kind(static_cast<uint32_t>(answer->what.index()));
    std::visit(AnswerText{out}, answer->what);
    return;
  }
  std::visit(
      [&](auto value) {
        using T = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<T, sweep::OptionsChanged>) aliases_.Replace(value.options);
        if constexpr (!std::is_same_v<T, sweep::Answer> && !std::is_same_v<T, mad::IncomingMad>)
          step.set_value(Archive(std::move(value)));
      },
      event);
}

void Recorder::OnEffects(const sweep::Effects& effects, Instant now) {
  pb::Taken taken;
  taken.set_after_ns(After(now));
  taken.set_digest(DigestOf(effects, &aliases_));
  taken.set_sends(static_cast<uint32_t>(effects.send.size()));
  taken.set_questions(static_cast<uint32_t>(effects.questions.size()));
  taken.set_events(static_cast<uint32_t>(effects.events.size()));
  taken.set_finished(static_cast<uint32_t>(effects.finished.size()));
  Add(pb::Record::kTakenFieldNumber, taken);
}

absl::StatusOr<CoreInputs> InputsOf(const pb::Start& start) {
  CoreInputs inputs;
  auto options = Unarchive<sweep::CoreOptions>(start.options());
  ArchiveReader state(start.state());
  VisitState(state, inputs);
  if (!options || !state.ok() || start.port() > 255)
    return MakeStatus(absl::StatusCode::kDataLoss, "the core's start cannot be read");
  inputs.options = *std::move(options);
  inputs.local = {start.device(), PortNum(static_cast<uint8_t>(start.port())),
                  Guid(start.port_guid()), Guid(start.node_guid())};
  return inputs;
}

absl::StatusOr<sweep::Event> EventOf(const pb::Step& step) {
  if (step.event() != kMadEvent)
    return ReadEvent(step.event(), step.value(),
                     std::make_index_sequence<std::variant_size_v<sweep::Event>>());
  const pb::Mad& in = step.mad();
  if (in.size() > wire::kMadBytes * 16 || in.payload().size() > in.size() || in.kind() > 2 ||
      in.agent() > 4)
    return MakeStatus(absl::StatusCode::kDataLoss, "a MAD of {} bytes", in.size());
  mad::IncomingMad mad;
  mad.kind = static_cast<mad::IncomingMad::Kind>(in.kind());
  mad.agent = static_cast<mad::Agent>(in.agent());
  mad.from = {Lid(static_cast<uint16_t>(in.lid())),
              in.qpn(),
              in.qkey(),
              ServiceLevel(static_cast<uint8_t>(in.sl())),
              static_cast<uint16_t>(in.p_key_index()),
              static_cast<uint8_t>(in.path_bits())};
  if (in.has_global()) mad.from.global = RouteOf(in.global());
  mad.payload.assign(in.payload().begin(), in.payload().end());
  mad.payload.resize(in.size());
  return mad;
}

}  // namespace fabricd::recorder
