def sub(p,*pairs):
    s=open(p).read()
    for a,b in pairs:
        assert a in s,(p,a)
        s=s.replace(a,b,1)
    open(p,'w').write(s)
sub('sweep/program/read_back.h',('''// correct for as long. So a device whose responses prove nothing, or that another SM writes to,
// costs at most one repair per kLongestWait. Requested heavy sweeps always read it.
//
''','''// correct for as long. So a device whose responses prove nothing, or that another SM writes to,
// costs at most one repair per kLongestWait. Requested heavy sweeps always read it. Until the samples
// have found it correct for that long, a device that differed more than once is a problem.
//
// Samples take at most AuditOptions::rate SMPs in a second. Without `repairs`, a difference is
// reported and the confirmed values stay, so nothing is written.
//
'''),('''  // Submits some requests.
  void Feed();
''','''  // Submits some requests.
  void Feed(Instant now);
  // When Feed() may submit more, where the rate held it up; kNever: it did not.
  Instant next_feed() const { return next_feed_; }
'''),('''  struct Result {
    bool all = false;  // AddAll() was called.
    size_t tables_read = 0;
    std::vector<NodeIndex> differing;         // Sorted.
''','''  struct Result {
    bool all = false;  // AddAll() was called.
    size_t tables_read = 0;
    std::vector<NodeIndex> differing;         // Sorted. To be repaired.
    std::vector<NodeIndex> drifting;          // Sorted. They have differed more than once.
'''),('''    kIdentity  // LID, LMC, MasterSMLID and GID prefix in an end port's PortInfo.
''','''    kSettings  // What fabricd sets in PortInfo.
'''),('''  struct Difference {
    uint32_t blocks = 0, entries = 0;
  };
''','''  struct Difference {
    uint32_t blocks = 0, entries = 0;
    Table first;
    wire::SmpData held{}, shown{};  // Of the first.
  };
'''),('''  static uint32_t EntriesDiffering(''','''  static wire::SmpData SettingsIn(const wire::PortInfo& info);
  static uint32_t EntriesDiffering('''),('''  void OnDifference(const Table& table, uint32_t entries);
''','''  void OnDifference(const Table& table, uint32_t entries, const wire::SmpData& held,
                    const wire::SmpData& shown);
  bool TakeToken(Instant now);
'''),('''  ReadBack(fabric::SnapshotBuilder& builder, DeviceTable& devices, mad::TransactionEngine& engine)
      : builder_(builder), devices_(devices), engine_(engine) {}
''','''  ReadBack(fabric::SnapshotBuilder& builder, DeviceTable& devices, mad::TransactionEngine& engine,
           const AuditOptions& options)
      : builder_(builder), devices_(devices), engine_(engine), options_(options) {}
'''),('''  mad::TransactionEngine& engine_;
  std::deque<Table> waiting_;
''','''  mad::TransactionEngine& engine_;
  const AuditOptions& options_;
  double tokens_ = 0;  // SMPs of samples that may be sent now.
  Instant tokens_at_{};
  Instant next_feed_ = kNever;
  std::deque<Table> waiting_;
'''))
s=open('sweep/program/read_back.cc').read()
def r(a,b,n=1):
    global s
    assert a in s,a
    s=s.replace(a,b,n)
r('''// The fields of an end port's PortInfo that identify the SM and the port's place in the subnet.
wire::SmpData IdentityIn(const wire::PortInfo& info) {
  wire::PortInfo identity;
  identity.lid = info.lid;
  identity.lmc = info.lmc;
  identity.master_sm_lid = info.master_sm_lid;
  identity.gid_prefix = info.gid_prefix;
  return BytesOf(identity);
}
''','''// Copies the fields that fabricd sets, but for the M_Key, which not every response shows, and for
// states, which surveys read.
void CopySettings(const wire::PortInfo& from, wire::PortInfo& to) {
  to.lid = from.lid;
  to.lmc = from.lmc;
  to.master_sm_lid = from.master_sm_lid;
  to.master_sm_sl = from.master_sm_sl;
  to.gid_prefix = from.gid_prefix;
  to.m_key_lease_period = from.m_key_lease_period;
  to.m_key_protect_bits = from.m_key_protect_bits;
  to.subnet_timeout = from.subnet_timeout;
  to.neighbor_mtu = from.neighbor_mtu;
  to.operational_vls = from.operational_vls;
  to.link_down_default_state = from.link_down_default_state;
  to.local_phy_errors = from.local_phy_errors;
  to.overrun_errors = from.overrun_errors;
  to.vl_stall_count = from.vl_stall_count;
  to.hoq_life = from.hoq_life;
  to.partition_enforcement_inbound = from.partition_enforcement_inbound;
  to.partition_enforcement_outbound = from.partition_enforcement_outbound;
}

std::string HexOf(const wire::SmpData& bytes) {
  std::string text;
  for (const uint8_t byte : bytes) text += fmt::format("{:02x}", byte);
  return text;
}
''')
r('''    tables.push_back({port, 0, Kind::kIdentity});
''','''    tables.push_back({port, 0, Kind::kSettings});
''')
s=s.replace('Kind::kIdentity','Kind::kSettings').replace('IdentityIn(','SettingsIn(')
r('''void ReadBack::AddOthersOfEndPorts(const fabric::Node& node, std::vector<Table>& tables) const {
''','''// What discovery reads.
void ReadBack::AddOthersOfEndPorts(const fabric::Node& node, std::vector<Table>& tables) const {
  for (const auto& [port, state] : node.LinkPorts())
    if (node.IsSwitch() && state.IsUp()) tables.push_back({port, 0, Kind::kSettings});
''')
r('''void ReadBack::Feed() {
  while (!waiting_.empty() && in_flight_.size() < kInFlight) {
    const Table table = waiting_.front();
    waiting_.pop_front();
    if (!Held(table)) continue;
''','''// A whole second's worth may come at once.
bool ReadBack::TakeToken(Instant now) {
  const double rate = options_.rate;
  const double seconds = std::chrono::duration<double>(now - tokens_at_).count();
  tokens_ = std::min(rate, tokens_ + seconds * rate);
  tokens_at_ = now;
  if (tokens_ < 1) {
    const std::chrono::duration<double> wait((1 - tokens_) / rate);
    next_feed_ = now + std::chrono::ceil<std::chrono::milliseconds>(wait);
    return false;
  }
  --tokens_;
  return true;
}

void ReadBack::Feed(Instant now) {
  next_feed_ = kNever;
  while (!waiting_.empty() && in_flight_.size() < kInFlight) {
    const Table table = waiting_.front();
    if (Held(table) && !all_ && !TakeToken(now)) return;
    waiting_.pop_front();
    if (!Held(table)) continue;
''')
r('''    case Kind::kSettings: return SettingsIn(wire::PortInfo::Decode(data));
  }
  return data;
}
''','''    case Kind::kSettings: return SettingsIn(wire::PortInfo::Decode(data));
  }
  return data;
}

wire::SmpData ReadBack::SettingsIn(const wire::PortInfo& info) {
  wire::PortInfo settings;
  CopySettings(info, settings);
  return BytesOf(settings);
}
''')
r('''      wire::PortInfo info = builder_.node(node)->port(table.port.port).info;
      info.lid = read.lid;
      info.lmc = read.lmc;
      info.master_sm_lid = read.master_sm_lid;
      info.gid_prefix = read.gid_prefix;
      builder_''','''      wire::PortInfo info = builder_.node(node)->port(table.port.port).info;
      CopySettings(read, info);
      builder_''')
r('''  if (kind == Kind::kSettings) bytes = a.size();
''','''  if (kind == Kind::kSettings) bytes = a.size();  // One entry.
''')
r('''    // Surveys find a port that has restarted or is about to.
    const auto& known = builder_.node(table.port.node)->port(table.port.port).info;
    if (!info.lid || info.port_state != known.port_state) return;
  }
  const uint32_t entries = EntriesDiffering(table.kind, *held, Canonical(table.kind, data));
  if (entries == 0 || IsBroken(Breakage::kNotReadBack)) return;
  Take(table, data);
  OnDifference(table, entries);
}

void ReadBack::OnDifference(const Table& table, uint32_t entries) {
  const NodeIndex index = table.port.node;
  const auto first = differences_.lower_bound({index, Kind::kForwarding});
  const bool is_first = first == differences_.end() || first->first.first != index;
  Difference& difference = differences_[{index, table.kind}];
  ++difference.blocks;
''','''    // Surveys find a port that has restarted or is about to.
    const fabric::Node& node = *builder_.node(table.port.node);
    const bool is_external = node.IsSwitch() && table.port.port != PortNum(0);
    const auto& known = node.port(table.port.port).info;
    if ((!info.lid && !is_external) || info.port_state != known.port_state) return;
  }
  const wire::SmpData shown = Canonical(table.kind, data);
  const uint32_t entries = EntriesDiffering(table.kind, *held, shown);
  if (entries == 0 || IsBroken(Breakage::kNotReadBack)) return;
  if (options_.repairs || all_) Take(table, data);
  OnDifference(table, entries, *held, shown);
}

void ReadBack::OnDifference(const Table& table, uint32_t entries, const wire::SmpData& held,
                            const wire::SmpData& shown) {
  const NodeIndex index = table.port.node;
  const auto first = differences_.lower_bound({index, Kind::kForwarding});
  const bool is_first = first == differences_.end() || first->first.first != index;
  Difference& difference = differences_[{index, table.kind}];
  if (++difference.blocks == 1) {
    difference.first = table;
    difference.held = held;
    difference.shown = shown;
  }
''')
r('''  event.message = fmt::format(
      "{} entries in {} {} blocks are not what was written: another program has written them, or "
      "the device has lost them; they are written again",
      difference.entries, difference.blocks, table);
  event.facts = {{"table", table},
''','''  event.message = fmt::format(
      "{} entries in {} {} blocks are not what was written: another program has written them, or "
      "the device has lost them; {}",
      difference.entries, difference.blocks, table,
      options_.repairs || all_ ? "they are written again" : "they stay (sweep.audit: report)");
  event.facts = {{"table", table},
                 {"port", fmt::format("{}", difference.first.port.port)},
                 {"block", fmt::format("{}", difference.first.block)},
                 {"held", HexOf(difference.held)},
                 {"shown", HexOf(difference.shown)},
''')
r('''  Result result;
  result.all = std::exchange(all_, false);
''','''  Result result;
  const bool repairs = options_.repairs || all_;
  result.all = all_;
''')
r('''        EventOf(key.first, key.second, difference, paces_[key.first].times, now));
  differences_.clear();
  return result;
''','''        EventOf(key.first, key.second, difference, paces_[key.first].times, now));
  differences_.clear();
  for (const auto& [node, pace] : paces_)
    if (pace.times > 1) result.drifting.push_back(node);
  if (!repairs) result.differing.clear();
  all_ = false;
  return result;
''')
open('sweep/program/read_back.cc','w').write(s)
sub('sweep/interface/options.h',('''struct SweepOptions {
''','''// How what devices hold is compared with what was written, in idle time (sweep/program/read_back.h).
struct AuditOptions {
  bool enabled = true;
  bool repairs = true;   // False: differences are only reported.
  uint32_t rate = 1000;  // Most SMPs of samples in a second.
};

struct SweepOptions {
'''),('''struct CoreOptions {
  mad::EngineOptions smp;
  SmOptions sm;
  LinkOptions link;
  SweepOptions sweep;
''','''struct CoreOptions {
  mad::EngineOptions smp;
  SmOptions sm;
  LinkOptions link;
  SweepOptions sweep;
  AuditOptions audit;
'''))
sub('recorder/fields.h',('''template <typename A>
void Visit(A& a, sweep::SweepOptions& o) {''','''template <typename A>
void Visit(A& a, sweep::AuditOptions& o) {
  a(o.enabled, o.repairs, o.rate);
}
template <typename A>
void Visit(A& a, sweep::SweepOptions& o) {'''))
import re
s=open('recorder/fields.h').read()
m=re.search(r'void Visit\(A& a, sweep::CoreOptions& o\) \{\n(.*?)\}',s,re.S)
print(m.group(0))
s=s.replace(m.group(1),m.group(1).replace('o.sweep,','o.sweep, o.audit,'))
open('recorder/fields.h','w').write(s)
sub('sweep/activity/idle_reads.h',('''        read_back_(ground.builder, ground.devices, ground.engine) {}
''','''        read_back_(ground.builder, ground.devices, ground.engine, ground.options.audit) {}
'''),('''  void OnReadBack(const mad::Completion& completion);
''','''  void OnReadBack(const mad::Completion& completion);
  // The next time that AdvanceReadBack() has work even if nothing else happens.
  Instant NextDeadline() const { return read_back_.empty() ? kNever : read_back_.next_feed(); }
'''),('''  void CancelQueued(Activity activity);
''','''  void CancelQueued(Activity activity);
  void ReportDrifting(const std::vector<NodeIndex>& nodes);
'''))
sub('sweep/activity/idle_reads.cc',('''  read_back_.AddSample(observed_.snapshot(), uses_vls, now);
''','''  if (ground_.options.audit.enabled) read_back_.AddSample(observed_.snapshot(), uses_vls, now);
'''),('''  read_back_.Feed();
  if (!read_back_.HasResult()) return std::nullopt;
  return read_back_.TakeResult(now);
}
''','''  read_back_.Feed(now);
  if (!read_back_.HasResult()) return std::nullopt;
  ReadBack::Result result = read_back_.TakeResult(now);
  ReportDrifting(result.drifting);
  return result;
}

void IdleReads::ReportDrifting(const std::vector<NodeIndex>& nodes) {
  ground_.problems.Remove(ProblemKind::kDrifts);
  for (const NodeIndex index : nodes)
    if (const fabric::Node* const node = observed_.snapshot()->node(index))
      ground_.problems.Add(ProblemKind::kDrifts, ProblemSubject::Of(*node),
                           "what it holds differs again and again from what was written: another "
                           "program writes to it, or it loses entries (events TableDiffers)");
}
'''))
sub('sweep/interface/problem.h',('''  kDuplicateGuid,
''','''  kDrifts,
  kDuplicateGuid,
'''))
sub('sweep/interface/problem.cc',('''    case ProblemKind::kDuplicateGuid:''','''    case ProblemKind::kDrifts: return "Drifts";
    case ProblemKind::kDuplicateGuid:'''))
sub('sweep/activity/activities.cc',('''  Instant next =
      std::min({mastership_.NextDeadline(), agenda_.next_retry(), follower_.NextDeadline()});
''','''  Instant next = std::min({mastership_.NextDeadline(), agenda_.next_retry(),
                           follower_.NextDeadline(), MayRead() ? reads_.NextDeadline() : kNever});
'''))
sub('tests/unit/sweep/program/read_back_test.cc',('ReadBack read_back_{small_.builder, devices_, engine_};','AuditOptions audit_;\n  ReadBack read_back_{small_.builder, devices_, engine_, audit_};'))
s=open('tests/unit/sweep/program/read_back_test.cc').read()
s=s.replace('read_back_.Feed();','read_back_.Feed(now_);')
s=s.replace('''  EXPECT_THAT(result.events[0].facts, testing::Contains(testing::Pair("entries", "2")));
}
''','''  const auto& facts = result.events[0].facts;
  EXPECT_THAT(facts, testing::Contains(testing::Pair("entries", "2")));
  EXPECT_THAT(facts, testing::Contains(testing::Pair("block", "0")));
  const auto bytes = [&](const char* name) {
    return std::find_if(facts.begin(), facts.end(), [&](auto& fact) { return fact.first == name; })
        ->second;
  };
  EXPECT_EQ(bytes("shown").substr(14, 2), "09");
  EXPECT_NE(bytes("held").substr(14, 2), "09");
}

TEST_F(ReadBackTest, WithoutRepairsADifferenceIsReportedAndWhatWasWrittenStaysWanted) {
  audit_.repairs = false;
  const NodeIndex node = small_.switches[1];
  const uint8_t written = devices_.applied().Lft(node).row().block(0)[7];
  registers_[{node, 0}][7] = 9;
  Sample();
  Answer();
  const ReadBack::Result result = read_back_.TakeResult(now_);
  EXPECT_THAT(result.differing, IsEmpty());
  EXPECT_EQ(devices_.applied().Lft(node).row().block(0)[7], written);
  ASSERT_THAT(result.events, SizeIs(1));
  EXPECT_THAT(result.events[0].message, testing::HasSubstr("they stay"));
}

TEST_F(ReadBackTest, SamplesKeepToTheirRate) {
  audit_.rate = 2;
  now_ += std::chrono::seconds(10);
  Sample();
  EXPECT_THAT(Answer(), SizeIs(2)) << "a second's worth at once";
  EXPECT_GT(read_back_.next_feed(), now_);
  EXPECT_THAT(Answer(), IsEmpty());
  now_ = read_back_.next_feed();
  EXPECT_THAT(Answer(), SizeIs(1));
  now_ += std::chrono::seconds(1);
  EXPECT_THAT(Answer(), SizeIs(1));
  EXPECT_TRUE(read_back_.HasResult());
  EXPECT_EQ(read_back_.next_feed(), kNever);
}

TEST_F(ReadBackTest, WhatWasAskedForIsReadAtOnce) {
  audit_.rate = 1;
  read_back_.AddAll(snapshot_, false);
  EXPECT_THAT(Answer(), SizeIs(2 * kBlocks));
}

TEST_F(ReadBackTest, ADeviceThatDiffersAgainDriftsUntilItWasRightForLong) {
  const NodeIndex node = small_.switches[0];
  const auto sample = [&](uint8_t entry) {
    registers_[{node, 0}][3] = entry;
    for (int i = 0; i < 3; ++i) Sample(), Answer();
    return read_back_.TakeResult(now_).drifting;
  };
  EXPECT_THAT(sample(200), IsEmpty());
  now_ += ReadBack::kFirstWait;
  std::vector<NodeIndex> drifting = sample(201);
  EXPECT_THAT(drifting, ElementsAre(node));
  now_ += 4 * ReadBack::kFirstWait;
  EXPECT_THAT(sample(201), IsEmpty());
}
''')
open('tests/unit/sweep/program/read_back_test.cc','w').write(s)
# config
sub('proto/fabric/config/v1/config.proto',('''  optional bool accept_foreign_ar = 4;
''','''  optional bool accept_foreign_ar = 4;
  // What is done about devices that hold something else than was written: repair, report or off.
  optional string audit = 5;
  // Most SMPs in a second by which this is looked for.
  optional uint32 audit_rate = 6;
'''))
sub('config/keys.h',('''  visitor.Flag("sweep.accept_foreign_ar", kResweep, c.sweep.accept_foreign_ar);
''','''  visitor.Flag("sweep.accept_foreign_ar", kResweep, c.sweep.accept_foreign_ar);
  visitor.Text("sweep.audit", kResweep, c.sweep.audit);
  visitor.Number("sweep.audit_rate", kResweep, c.sweep.audit_rate, NumberRange{1, 100'000});
'''))
sub('config/config.h',('''  bool accept_foreign_ar = false;
''','''  bool accept_foreign_ar = false;
  std::string audit = "repair";  // "report" or "off".
  uint32_t audit_rate = 1000;
'''))
sub('config/validate.cc',('''    const std::string& enforce = config_.partitions.enforce;
''','''    const std::string& audit = config_.sweep.audit;
    Require(audit == "repair" || audit == "report" || audit == "off", {"sweep.audit"},
            fmt::format("expected repair, report or off, got '{}'", audit));
    const std::string& enforce = config_.partitions.enforce;
'''))
sub('config/fabricd.example.yaml',('''  accept_foreign_ar: false
''','''  accept_foreign_ar: false
  # Tables, P_Keys and port settings are read back in idle time; where a device holds something else
  # than was written [resweep]: repair; report (an event, nothing is written); off (not read).
  audit: repair
  # Most SMPs in a second for that [resweep], 1-100000.
  audit_rate: 1000
'''))
sub('daemon/settings/core_options.cc',('''  options.lmc = config.lid.lmc;
''','''  options.audit = {config.sweep.audit != "off", config.sweep.audit == "repair",
                   config.sweep.audit_rate};
  options.lmc = config.lid.lmc;
'''))
sub('docs/WIRE.md',('''and only while nothing else goes on (`sweep/program/read_back.h`). What differs is an event, `TableDiffers` (device, table,
blocks, entries, how often), and is written again like any other difference.
''','''and only while nothing else goes on (`sweep/program/read_back.h`), with at most `sweep.audit_rate` SMPs in a second. What
differs is an event, `TableDiffers` (device, table, blocks, entries, how often; of the first block what was written, `held`,
and what was read, `shown`), and is written again like any other difference. With `sweep.audit: report` it stays, and
with `off` only a heavy sweep that is asked for reads tables. A device that differs again is the problem `Drifts`, until
it has been right for as long as it is left alone (below).
'''),('''| PortInfo of end ports: LID, LMC, MasterSMLID, GidPrefix | by discovery: repaired, no event | in turn |
| PortInfo of switch ports; all else in PortInfo | by discovery: repaired, no event | no |
''','''| PortInfo: what fabricd sets, but for M_Key and states | by discovery: repaired, no event | in turn |
'''))
