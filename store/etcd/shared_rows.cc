// SPDX-License-Identifier: Apache-2.0
#include "store/etcd/shared_rows.h"

#include <algorithm>
#include <random>
#include <string_view>
#include <utility>

#include "common/breakage.h"
#include "common/number_text.h"
#include "common/status.h"
#include "store/etcd/batch_text.h"
#include "store/etcd/schema.h"

namespace fabricd::store::etcd {
namespace {

constexpr std::string_view kNodes = "node/";
constexpr size_t kPartBytes = kMostBytes / 2;

std::string RandomHandle() {
  std::random_device device;
  return fmt::format("{:08x}{:08x}", device(), device());
}

std::string DataPrefix(const std::string& prefix) { return prefix + "data/"; }

// The value of control/epoch: "INSTANCE NAME", and a second line where there is an endpoint.
std::string InstanceOf(const std::string& value) { return value.substr(0, value.find(' ')); }
EpochOwner OwnerOf(const std::string& value) {
  const size_t begin = value.find(' ') + 1, end = value.find('\n');
  EpochOwner owner{value.substr(begin, end == std::string::npos ? end : end - begin)};
  if (end != std::string::npos) owner.endpoint = value.substr(end + 1);
  return owner;
}

bool IsOf(std::string_view sequence, const std::string& handle) {
  return sequence.starts_with(handle + " ");
}

constexpr std::string_view kCarriedOver = " = ";

Change ChangeOf(const FlatChanges::value_type& change, const std::string& prefix) {
  const auto& [key, value] = change;
  return {DataPrefix(prefix) + key, value.value_or(""), !value.has_value()};
}

std::vector<Change> ChangesOf(const FlatChanges& changes, const std::string& prefix) {
  std::vector<Change> list;
  for (const auto& change : changes) list.push_back(ChangeOf(change, prefix));
  return list;
}

size_t BytesOf(const std::string& key, const std::optional<std::string>& value) {
  return key.size() + (value ? value->size() : 0) + 64;  // And what surrounds them.
}

bool HaveSameKey(const FlatChanges& some, const FlatChanges& many) {
  if (IsBroken(Breakage::kBatchNotCompared)) return false;
  return std::any_of(some.begin(), some.end(),
                     [&many](const auto& change) { return many.contains(change.first); });
}

bool FitsOneTransaction(const FlatChanges& changes) {
  size_t bytes = 0;
  for (const auto& [key, value] : changes) bytes += BytesOf(key, value);
  return changes.size() <= kMostChanges && bytes <= kMostBytes;
}

std::string WrittenByAnother(const std::string& where) {
  return where + ": another fabricd has had the epoch since this one has read it";
}

Change Deletion(std::string key, std::string range_end = {}) {
  return {std::move(key), "", true, std::move(range_end)};
}

}  // namespace

std::string_view WriteOf(std::string_view sequence) {
  const size_t at = sequence.find(kCarriedOver);
  return at == std::string_view::npos ? sequence : sequence.substr(at + kCarriedOver.size());
}

// The control keys; what is not there has mod_revision 0.
struct SharedRows::Control {
  KeyValue schema, epoch, sequence, commit, resigned, history;
  std::vector<Node> nodes;
  FlatChanges batch;
  bool has_parts = false;
};

absl::StatusOr<SharedRows::Control> SharedRows::ControlOf(const std::vector<KeyValue>& kvs,
                                                          const std::string& prefix) {
  Control control;
  const std::string begin = prefix + "control/";
  bool is_batch_good = true;
  for (const KeyValue& kv : kvs) {
    if (!kv.key.starts_with(begin)) continue;
    const std::string name = kv.key.substr(begin.size());
    if (name == "schema") control.schema = kv;
    if (name == "epoch") control.epoch = kv;
    if (name == "sequence") control.sequence = kv;
    if (name == "commit") control.commit = kv;
    if (name == "resigned") control.resigned = kv;
    if (name == "history") control.history = kv;
    if (name.starts_with(kNodes))
      control.nodes.push_back(
          {name.substr(kNodes.size()), ReadStatement(kv.value), SchemaOf(kv.value)});
    if (!name.starts_with("batch/")) continue;
    control.has_parts = true;
    is_batch_good = DecodeChanges(kv.value, control.batch) && is_batch_good;
  }
  if (control.schema.mod_revision != 0) {
    const auto schema = ParseNumber<int>(control.schema.value);
    if (!schema || *schema < 1)
      return MakeStatus(absl::StatusCode::kDataLoss, "etcd {}: schema version '{}'", prefix,
                        control.schema.value);
    if (*schema > kSchema)
      return FailedPrecondition(
          "etcd {}: schema version {} is newer than this fabricd, which knows {}", prefix, *schema,
          kSchema);
  }
  if (control.commit.mod_revision != 0 && !is_batch_good)
    return MakeStatus(absl::StatusCode::kDataLoss, "etcd {}: a committed batch is damaged", prefix);
  return control;
}

SharedRows::SharedRows(Client& client, SharedRowsOptions options)
    : client_(client),
      options_(std::move(options)),
      handle_(RandomHandle()),
      epoch_(client, options_.clock) {}

std::string SharedRows::NextSequence() { return fmt::format("{} {}", handle_, ++writes_); }

std::string SharedRows::PartKey(size_t number) const {
  return Key("batch/") + fmt::format("{:06}", number);
}

Change SharedRows::PartsDeletion(size_t first) const {
  return Deletion(PartKey(first), EndOfPrefix(Key("batch/")));
}

absl::StatusOr<SharedRows::Control> SharedRows::Look(const std::optional<std::string>& expected,
                                                     bool by_force) {
  const std::string begin = Key("");
  const auto read = RangeAll(client_, {begin, EndOfPrefix(begin)}, 16);
  if (!read.ok()) return read.status();
  auto control = ControlOf(read->kvs, options_.prefix);
  if (!control.ok()) return control.status();
  cluster_ = read->cluster;
  taken_.was_empty = control->schema.mod_revision == 0;
  const std::string& last = control->sequence.value;
  if (expected && taken_.was_empty && !expected->empty())
    return FailedPrecondition("{}: it is empty, and was not before: etcd has lost its data",
                              where());
  if (!IsOf(last, handle_)) {
    foreign_ = last;
    writes_before_foreign_ = writes_;
  }
  if (expected && !IsOnlyOurs(*expected, last)) {
    is_superseded_ = true;
    return FailedPrecondition("{}", WrittenByAnother(where()));
  }
  const bool is_of_another =
      control->epoch.mod_revision != 0 && InstanceOf(control->epoch.value) != options_.instance;
  taken_.from_another = is_of_another && by_force;
  if (is_of_another && !by_force) {
    is_superseded_ = expected.has_value();
    return MakeStatus(absl::StatusCode::kAborted, "{}: another fabricd uses it: {}", where(),
                      OwnerOf(control->epoch.value).name);
  }
  return control;
}

bool SharedRows::IsOnlyOurs(const std::string& expected, const std::string& last) const {
  const std::string_view write = WriteOf(expected);
  if (WriteOf(last) == write) return true;
  if (!IsOf(last, handle_)) return false;
  if (!IsOf(write, handle_)) return write == WriteOf(foreign_);
  return ParseNumber<uint64_t>(write.substr(handle_.size() + 1)).value_or(0) >
         writes_before_foreign_;
}

absl::Status SharedRows::Inspect(const std::optional<std::string>& expected) {
  return Look(expected, /*by_force=*/false).status();
}

absl::Status SharedRows::Attach(const std::optional<std::string>& expected, bool by_force) {
  epoch_.Forget();
  const auto control = Look(expected, by_force);
  if (!control.ok()) return control.status();
  found_ = control->sequence.value;
  FABRICD_RETURN_IF_ERROR(TakeEpoch(*control));
  const absl::Status inherited = InheritBatch(*control);
  if (!inherited.ok()) epoch_.Forget();
  return inherited;
}

absl::Status SharedRows::TakeEpoch(const Control& control) {
  const auto lease = epoch_.Grant(options_.lease);
  if (!lease.ok()) return lease.status();
  std::string owner = fmt::format("{} {}", options_.instance, options_.name);
  if (!options_.endpoint.empty()) owner += "\n" + options_.endpoint;
  Transaction take;
  take.comparisons = {
      {Key("schema"), Comparison::Field::kModRevision, control.schema.mod_revision},
      {Key("epoch"), Comparison::Field::kModRevision, control.epoch.mod_revision},
      {Key("sequence"), Comparison::Field::kModRevision, control.sequence.mod_revision}};
  // It counts as a write: who has lost the epoch sees that another one has had it, and has shown
  // or used what may not have been acknowledged.
  const std::string ours = NextSequence();
  take.changes = {{Key("epoch"), owner, false, "", *lease}, {Key("sequence"), ours}};
  if (control.schema.mod_revision == 0)
    take.changes.push_back({Key("schema"), std::to_string(kSchema)});
  take.reads = {{Key("epoch")}};
  const auto taken = client_.Commit(take);
  if (!taken.ok()) return taken.status();
  // It may have been taken by an attempt whose answer was lost.
  const bool is_taken = taken->succeeded || (!taken->kvs.empty() && taken->kvs[0].lease == *lease);
  if (is_taken) {
    sequence_ = ours;
    sequence_revision_ = taken->succeeded ? taken->revision : taken->kvs[0].mod_revision;
    epoch_.Begin(Key("epoch"), sequence_revision_);
    return absl::OkStatus();
  }
  epoch_.Release();
  return MakeStatus(absl::StatusCode::kAborted, "{}: another fabricd has just taken it: {}",
                    where(), taken->kvs.empty() ? "" : OwnerOf(taken->kvs[0].value).name);
}

absl::Status SharedRows::InheritBatch(const Control& control) {
  if (owed_ && owed_->commit == control.commit.mod_revision) return absl::OkStatus();
  owed_.reset();
  const bool is_void = is_batch_void_ && IsOf(control.sequence.value, handle_);
  if (control.commit.mod_revision != 0 && !is_void) {
    Owe(control.batch, control.commit.mod_revision);
    return absl::OkStatus();
  }
  if (!control.has_parts && control.commit.mod_revision == 0) return absl::OkStatus();
  FABRICD_RETURN_IF_ERROR(
      CommitFenced({Deletion(Key("commit")), PartsDeletion(0)}, Counts::kAsWrite).status);
  is_batch_void_ = false;
  return absl::OkStatus();
}

absl::StatusOr<FlatRows> SharedRows::Load() {
  const std::string data = DataPrefix(options_.prefix);
  auto read = RangeAll(client_, {data, EndOfPrefix(data)});
  if (!read.ok()) return read.status();
  FlatRows rows;
  for (KeyValue& kv : read->kvs) rows[kv.key.substr(data.size())] = std::move(kv.value);
  if (owed_) Apply(owed_->batch, rows);
  return rows;
}

// From the control keys up to those that begin with `last`.
absl::StatusOr<SharedRows::View> SharedRows::ReadUpTo(Client& client, const std::string& prefix,
                                                      const std::string& last) {
  auto read = RangeAll(client, {prefix + "control/", EndOfPrefix(prefix + last)});
  if (!read.ok()) return read.status();
  const auto control = ControlOf(read->kvs, prefix);
  if (!control.ok()) return control.status();
  if (control->schema.mod_revision == 0) return NotFound("etcd {}: nothing is there", prefix);
  View view;
  view.sequence = control->sequence.value;
  if (control->epoch.mod_revision != 0) {
    view.owner = OwnerOf(control->epoch.value);
    view.owner->epoch = control->epoch.mod_revision;
    view.owner_instance = InstanceOf(control->epoch.value);
    for (const Node& node : control->nodes)
      if (node.instance == view.owner_instance) view.owner->role = node.statement.role;
  }
  view.schema = ParseNumber<int>(control->schema.value).value_or(0);
  view.resigned = ParseNumber<int64_t>(control->resigned.value).value_or(0);
  view.nodes = control->nodes;
  view.history = control->history;
  const std::string data = DataPrefix(prefix);
  for (KeyValue& kv : read->kvs)
    if (kv.key.starts_with(data)) view.rows[kv.key.substr(data.size())] = std::move(kv.value);
  if (control->commit.mod_revision != 0) Apply(control->batch, view.rows);
  return view;
}

absl::StatusOr<SharedRows::View> SharedRows::ReadView(Client& client, const std::string& prefix) {
  return ReadUpTo(client, prefix, "data/");
}

absl::StatusOr<SharedRows::View> SharedRows::ReadControl(Client& client,
                                                         const std::string& prefix) {
  return ReadUpTo(client, prefix, "control/");
}

absl::StatusOr<FlatRows> SharedRows::Read(Client& client, const std::string& prefix) {
  auto view = ReadView(client, prefix);
  if (!view.ok()) return view.status();
  return std::move(view->rows);
}

bool SharedRows::View::MayRaiseSchema() const {
  return schema < kSchema && nodes.size() > 1 &&
         std::all_of(nodes.begin(), nodes.end(),
                     [](const Node& node) { return node.schema >= kSchema; });
}

absl::Status SharedRows::RaiseSchema() {
  return CommitFenced({{Key("schema"), std::to_string(kSchema)}}, Counts::kNot).status;
}

void SharedRows::Resign() {
  const int64_t epoch = epoch_.revision();
  if (epoch != 0) (void)CommitFenced({{Key("resigned"), std::to_string(epoch)}}, Counts::kNot);
  epoch_.Release();
}

SharedRows::Result SharedRows::Write(const FlatChanges& changes) {
  for (const auto& [key, value] : changes)
    if (BytesOf(key, value) > kMostRowBytes)
      return {Outcome::kRefused, InvalidArgument("{}: {} has {} bytes, at most {} can be stored",
                                                 where(), key, value->size(), kMostRowBytes)};
  if (changes.empty()) return {};
  const bool is_large = !FitsOneTransaction(changes);
  if (owed_ && (is_large || HaveSameKey(changes, owed_->batch))) {
    Result carried = CarryOver();
    if (carried.outcome != Outcome::kDone) return carried;
  }
  if (is_large) return WriteLarge(changes);
  return CommitFenced(ChangesOf(changes, options_.prefix), Counts::kAsWrite);
}

SharedRows::Result SharedRows::WriteLarge(const FlatChanges& changes) {
  if (IsBroken(Breakage::kLargeWriteInParts)) {
    Owe(changes, 0);
    return CarryOver();
  }
  const std::vector<std::string> parts = EncodeChanges(changes, kPartBytes);
  for (size_t i = 0; i < parts.size(); ++i) {
    Result staged = CommitFenced({{PartKey(i), parts[i]}}, Counts::kNot);
    if (staged.outcome != Outcome::kDone) return staged;
  }
  // Parts that an owner before has left, and whose commit was refused, are none of this batch.
  Result committed =
      CommitFenced({{Key("commit"), std::to_string(parts.size())}, PartsDeletion(parts.size())},
                   Counts::kAsWrite);
  is_batch_void_ = committed.outcome == Outcome::kNotReached;
  if (committed.outcome != Outcome::kDone) return committed;
  Owe(changes, sequence_revision_);
  return {};
}

void SharedRows::Owe(FlatChanges batch, int64_t commit) {
  owed_ = {std::move(batch), commit, "", options_.clock() + kCarryOverAfter};
}

SharedRows::Result SharedRows::CarryOver() {
  Result carried;
  auto alive = options_.clock();
  while (owed_ && carried.outcome == Outcome::kDone) {
    if (options_.clock() - alive >= options_.lease / 3) {
      (void)epoch_.KeepAlive();
      alive = options_.clock();
    }
    carried = CarryOverSome();
  }
  return carried;
}

void SharedRows::CarryOverIfDue(size_t transactions) {
  if (!owed_ || options_.clock() < owed_->due) return;
  if (IsBroken(Breakage::kNeverCarriedOver)) return;
  const auto end = options_.clock() + kCarryOverTime;
  for (; owed_ && transactions > 0 && options_.clock() <= end; --transactions)
    if (CarryOverSome().outcome != Outcome::kDone) break;
}

// What one transaction takes. The keys stay in `owed_` until the parts are deleted: who inherits
// the batch writes all of them.
SharedRows::Result SharedRows::CarryOverSome() {
  std::vector<Change> some;
  size_t bytes = 0;
  auto at = owed_->batch.lower_bound(owed_->next);
  for (; at != owed_->batch.end() && some.size() + 3 < kMostChanges; ++at) {
    bytes += BytesOf(at->first, at->second);
    if (bytes > kMostBytes) break;
    some.push_back(ChangeOf(*at, options_.prefix));
  }
  const bool is_last = at == owed_->batch.end();
  const std::string next = is_last ? "" : at->first;
  if (is_last) {
    some.push_back(Deletion(Key("commit")));
    some.push_back(PartsDeletion(0));
  }
  // The last one counts, so that an attempt that arrives late cannot delete the parts of the next
  // write.
  Result carried = CommitFenced(std::move(some), is_last ? Counts::kAsCarriedOver : Counts::kNot);
  // The next Attach() finds what is left.
  if (carried.outcome == Outcome::kNotReached) epoch_.Forget();
  if (carried.outcome != Outcome::kDone) return carried;
  if (is_last)
    owed_.reset();
  else
    owed_->next = next;
  return carried;
}

SharedRows::Result SharedRows::CommitFenced(std::vector<Change> changes, Counts counts) {
  // Read once: 0 would compare equal to a key that has expired.
  const int64_t epoch = epoch_.revision();
  if (epoch == 0) return {Outcome::kEpochOver, Unavailable("{}: the lease is over", where())};
  std::string ours;
  if (counts != Counts::kNot) ours = NextSequence();
  if (counts == Counts::kAsCarriedOver) ours.append(kCarriedOver).append(WriteOf(sequence_));
  if (!ours.empty()) changes.push_back({Key("sequence"), ours});
  std::vector<Comparison> fence = {
      {Key("epoch"), Comparison::Field::kModRevision, epoch},
      {Key("sequence"), Comparison::Field::kModRevision, sequence_revision_}};
  if (IsBroken(Breakage::kNotFenced)) fence.clear();
  const auto result = client_.Commit({fence, std::move(changes), {{Key("sequence")}}});
  if (!result.ok())
    return {absl::IsUnavailable(result.status()) ? Outcome::kNotReached : Outcome::kRefused,
            result.status()};
  if (!result->succeeded) return ResultOfRefusal(*result, ours);
  if (!ours.empty()) {
    sequence_ = ours;
    sequence_revision_ = result->revision;
  }
  return {};
}

SharedRows::Result SharedRows::ResultOfRefusal(const TransactionResult& refused,
                                               const std::string& ours) {
  KeyValue sequence;
  for (const KeyValue& kv : refused.kvs)
    if (kv.key == Key("sequence")) sequence = kv;
  if (!ours.empty() && sequence.value == ours) {  // Done by an attempt whose answer was lost.
    sequence_ = ours;
    sequence_revision_ = sequence.mod_revision;
    return {};
  }
  epoch_.Forget();
  // An own write that had no answer may have arrived since. The next Attach() says whether another
  // fabricd was here before it, and whether etcd has lost all keys.
  if (IsOf(sequence.value, handle_) || sequence.mod_revision == 0)
    return {Outcome::kEpochOver, Unavailable("{}: the lease is over", where())};
  is_superseded_ = true;
  // Not FAILED_PRECONDITION: an attempt without an answer may have been carried out before.
  return {Outcome::kTakenOver, Unavailable("{}", WrittenByAnother(where()))};
}

}  // namespace fabricd::store::etcd
