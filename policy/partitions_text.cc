// SPDX-License-Identifier: Apache-2.0
#include "policy/partitions_text.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include <absl/container/flat_hash_map.h>

#include "common/gid_text.h"
#include "common/number_text.h"
#include "common/status.h"
#include "fabric/rate.h"

namespace fabricd::policy {
namespace {

std::string_view Trim(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n\v\f";
  const size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

// As C writes numbers: 0x for hex, 0 for octal. nullopt: no number, or beyond 64 bits.
std::optional<uint64_t> ParseCNumber(std::string_view text) {
  const bool octal = text.size() > 1 && text.front() == '0' && !HasHexPrefix(text);
  return octal ? ParseNumber<uint64_t>(text.substr(1), 8) : ParseDecimalOrHex<uint64_t>(text);
}

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// The first of the words that begins with `text`; nullopt: none does, or `text` is empty.
template <typename Words>
std::optional<size_t> FindAbbreviated(const Words& words, std::string_view text) {
  if (text.empty()) return std::nullopt;
  for (size_t i = 0; i < std::size(words); ++i)
    if (std::string_view(words[i]).starts_with(text)) return i;
  return std::nullopt;
}

constexpr std::array kMemberships = {Membership::kFull, Membership::kLimited, Membership::kBoth};
constexpr std::array kClasses = {PortClass::kAll,      PortClass::kChannelAdapters,
                                 PortClass::kSwitches, PortClass::kRouters,
                                 PortClass::kVirtual,  PortClass::kSelf};

// What a token says: "name=value", or "name" alone.
struct Token {
  size_t line = 0;
  std::string_view name;
  std::optional<std::string_view> value;
};

Token MakeToken(std::string_view text, size_t line) {
  const size_t equals = text.find('=');
  Token token{line, Trim(text.substr(0, equals)), std::nullopt};
  if (equals != std::string_view::npos) token.value = Trim(text.substr(equals + 1));
  return token;
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}
  ParsedPartitions Run();

 private:
  struct Definition {
    size_t line = 0;
    uint16_t number = 0;  // 0: to be given out, by name where there is one.
    std::string name;
    bool has_key = false;
    bool index0 = false;
    bool ipoib = false;
    size_t traits_line = 0;  // 0: no trait is given.
    GroupTraits traits;
    Membership standard = Membership::kLimited;
    std::vector<Member> members;
    std::vector<std::pair<size_t, PartitionGroup>> groups;  // With their lines.
  };

  template <typename... Args>
  void Fault(size_t line, fmt::format_string<Args...> format, Args&&... args) {
    if (out_.faults.size() < kMaxLineNotes)
      out_.faults.push_back({line, fmt::format(format, std::forward<Args>(args)...)});
  }
  template <typename... Args>
  void Note(size_t line, fmt::format_string<Args...> format, Args&&... args) {
    if (out_.notes.size() < kMaxLineNotes)
      out_.notes.push_back({line, fmt::format(format, std::forward<Args>(args)...)});
  }

  void TakeOutComments();
  // Up to the next of `ends` or to the end; `line` is that of its first character that is no blank.
  std::string_view Take(std::string_view ends, size_t& line);
  bool ReadDefinition();
  void ReadHead(std::string_view head, size_t line, Definition& definition);
  void ReadName(const Token& token, Definition& definition);
  void ReadFlag(const Token& token, Definition& definition);
  void ReadBody(std::string_view body, size_t line, Definition& definition);
  void ReadStandard(const Token& token, Definition& definition);
  void ReadMember(const Token& token, Definition& definition);
  void ReadGroup(const Token& token, Definition& definition);
  // Whether the token is a trait; if so it is taken.
  bool ReadTrait(const Token& token, GroupTraits& traits);
  uint64_t ReadValue(const Token& token, uint64_t least, uint64_t most);
  void GiveNumbers();
  void Enter(Definition& definition);
  void EnterTraits(const Definition& definition, Partition& partition);
  void EnterGroups(const Definition& definition, Partition& partition);

  std::string text_;  // Comments are blanks here.
  size_t at_ = 0, line_ = 1;
  std::vector<Definition> definitions_;
  ParsedPartitions out_;
};

ParsedPartitions Parser::Run() {
  TakeOutComments();
  while (ReadDefinition()) {
  }
  if (definitions_.empty() && out_.ok()) Fault(1, "nothing is defined");
  GiveNumbers();
  out_.partitions = Partitions::Base();
  for (Definition& definition : definitions_) Enter(definition);
  for (Partition& partition : out_.partitions.list) {
    Normalise(partition.members);
    Normalise(partition.groups);
  }
  const auto by_line = [](const LineNote& a, const LineNote& b) { return a.line < b.line; };
  std::stable_sort(out_.faults.begin(), out_.faults.end(), by_line);
  std::stable_sort(out_.notes.begin(), out_.notes.end(), by_line);
  if (out_.ok())
    if (const absl::Status checked = CheckPartitions(out_.partitions); !checked.ok())
      Fault(1, "{}", Message(checked));
  if (!out_.ok()) out_.partitions = Partitions();
  return std::move(out_);
}

void Parser::TakeOutComments() {
  bool comment = false;
  for (char& c : text_) {
    if (c == '\n') comment = false;
    if (c == '#') comment = true;
    if (comment) c = ' ';
  }
}

std::string_view Parser::Take(std::string_view ends, size_t& line) {
  const std::string_view all(text_);
  while (at_ < all.size() && Trim(all.substr(at_, 1)).empty()) line_ += all[at_++] == '\n';
  line = line_;
  const size_t end = std::min(all.find_first_of(ends, at_), all.size());
  const std::string_view taken = all.substr(at_, end - at_);
  line_ += static_cast<size_t>(std::count(taken.begin(), taken.end(), '\n'));
  at_ = end;
  return taken;
}

// False: the text has ended.
bool Parser::ReadDefinition() {
  Definition definition;
  const std::string_view head = Take(":;", definition.line);
  if (at_ == text_.size()) {
    if (!head.empty()) Fault(definition.line, "a definition without \":\" and \";\"");
    return false;
  }
  if (text_[at_++] == ';') {
    if (head.empty())
      Note(definition.line, "a \";\" that ends nothing");
    else
      Fault(definition.line, "a definition without \":\"");
    return true;
  }
  ReadHead(head, definition.line, definition);
  size_t line = 0;
  const std::string_view body = Take(";", line);
  ReadBody(body, line, definition);
  if (at_ == text_.size())
    Fault(definition.line, "the definition that begins here does not end with \";\"");
  else
    ++at_;
  definitions_.push_back(std::move(definition));
  return at_ < text_.size();
}

void Parser::ReadHead(std::string_view head, size_t line, Definition& definition) {
  bool first = true;
  while (true) {
    const size_t end = std::min(head.find(','), head.size());
    const std::string_view piece = head.substr(0, end);
    const std::string_view trimmed = Trim(piece);
    const auto lead = piece.begin() + (trimmed.empty() ? 0 : trimmed.data() - piece.data());
    const Token token =
        MakeToken(piece, line + static_cast<size_t>(std::count(piece.begin(), lead, '\n')));
    if (first)
      ReadName(token, definition);
    else if (!trimmed.empty())
      ReadFlag(token, definition);
    first = false;
    line += static_cast<size_t>(std::count(piece.begin(), piece.end(), '\n'));
    if (end == head.size()) return;
    head.remove_prefix(end + 1);
  }
}

// "name=key", "name", "=key", or "key" alone, which begins with a digit.
void Parser::ReadName(const Token& token, Definition& definition) {
  std::string_view name = token.name;
  std::optional<std::string_view> key = token.value;
  if (!key && !name.empty() && IsDigit(name.front())) key = std::exchange(name, {});
  definition.name = std::string(name);
  if (const absl::Status checked = CheckPartitionName(name); !checked.ok())
    Fault(token.line, "{}", Message(checked));
  if (!key) return;
  const auto number = ParseCNumber(*key);
  if (!number || *number > 0xFFFF)
    return Fault(token.line, "\"{}\" is not a P_Key of 0x0000 to 0xffff", *key);
  definition.number = static_cast<uint16_t>(*number & kPartitionBits);
  definition.has_key = definition.number != 0;
}

void Parser::ReadFlag(const Token& token, Definition& definition) {
  if (ReadTrait(token, definition.traits)) {
    definition.traits_line = token.line;
    return;
  }
  constexpr std::array kFlags = {"indx0", "ipoib", "defmember"};
  const auto flag = FindAbbreviated(kFlags, token.name);
  if (!flag) return Note(token.line, "flag \"{}\" is not known and ignored", token.name);
  if (*flag == 2) return ReadStandard(token, definition);
  if (token.value) Note(token.line, "{} takes no value", kFlags[*flag]);
  (*flag == 0 ? definition.index0 : definition.ipoib) = true;
}

void Parser::ReadStandard(const Token& token, Definition& definition) {
  const auto membership = ParseMembership(token.value.value_or(""));
  if (!membership)
    return Fault(token.line, "defmember is full, limited or both, not \"{}\"",
                 token.value.value_or(""));
  definition.standard = *membership;
}

// A list: separated by commas and line ends. A group's traits follow it on its line.
void Parser::ReadBody(std::string_view body, size_t line, Definition& definition) {
  bool in_group = false;
  while (!body.empty()) {
    const size_t end = std::min(body.find_first_of(",\n"), body.size());
    std::string_view piece = Trim(body.substr(0, end));
    const bool ends_line = end < body.size() && body[end] == '\n';
    body.remove_prefix(std::min(end + 1, body.size()));
    // "defmember=limited : 0x1, …"
    constexpr std::string_view kStandard = "defmember";
    const size_t colon = piece.find(':');
    if (piece.starts_with(kStandard) && colon != std::string_view::npos) {
      ReadStandard(MakeToken(piece.substr(0, colon), line), definition);
      piece = Trim(piece.substr(colon + 1));
    }
    const Token token = MakeToken(piece, line);
    if (token.name == "mgid") {
      ReadGroup(token, definition);
      in_group = true;
    } else if (in_group && ReadTrait(token, definition.groups.back().second.traits)) {
      // It is taken.
    } else if (!piece.empty()) {
      in_group = false;
      ReadMember(token, definition);
    }
    if (!ends_line) continue;
    ++line;
    in_group = false;
  }
}

void Parser::ReadMember(const Token& token, Definition& definition) {
  if (token.name == "defmember") return ReadStandard(token, definition);
  Member member;
  member.membership = definition.standard;
  if (token.value) {
    const auto membership = ParseMembership(*token.value);
    if (!membership) Note(token.line, "\"{}\" is taken as limited", *token.value);
    member.membership = membership.value_or(Membership::kLimited);
  }
  std::array<std::string_view, kClasses.size()> names;
  for (size_t i = 0; i < kClasses.size(); ++i) names[i] = PortClassName(kClasses[i]);
  if (const auto found = FindAbbreviated(names, token.name)) {
    member.ports = kClasses[*found];
    if (names[*found] != token.name)
      Note(token.line, "\"{}\" is taken as {}", token.name, names[*found]);
  } else {
    const auto guid = ParseCNumber(token.name);
    if (!guid || *guid == 0) {
      const bool colon = token.name.find(':') != std::string_view::npos ||
                         token.value.value_or("").find(':') != std::string_view::npos;
      return Fault(token.line, "\"{}\" is not a GUID nor a kind of ports{}", token.name,
                   colon ? "; is the \";\" of a definition missing before it?" : "");
    }
    member.guid = Guid(*guid);
  }
  definition.members.push_back(member);
}

void Parser::ReadGroup(const Token& token, Definition& definition) {
  PartitionGroup group;
  const auto mgid = ParseGid(token.value.value_or(""));
  if (!mgid || !mgid->IsMulticast())
    Fault(token.line, "\"{}\" is not a multicast GID", token.value.value_or(""));
  else
    group.mgid = *mgid;
  definition.groups.emplace_back(token.line, group);
}

// 0, and a fault: the value is not a number between the two.
uint64_t Parser::ReadValue(const Token& token, uint64_t least, uint64_t most) {
  const auto value = ParseCNumber(token.value.value_or(""));
  if (value && *value >= least && *value <= most) return *value;
  Fault(token.line, "{} is {} to {:#x}, not \"{}\"", token.name, least, most,
        token.value.value_or(""));
  return 0;
}

bool Parser::ReadTrait(const Token& token, GroupTraits& traits) {
  constexpr std::array kTraits = {"mtu", "rate", "sl", "scope", "Q_Key", "TClass", "FlowLabel"};
  const auto trait = FindAbbreviated(kTraits, token.name);
  if (!trait) return false;
  switch (*trait) {
    case 0: traits.mtu = static_cast<uint8_t>(ReadValue(token, 1, 5)); break;
    case 1:
      traits.rate = static_cast<uint8_t>(ReadValue(token, 1, 63));
      if (traits.rate != 0 && fabric::RankOfRate(traits.rate) == 0)
        Fault(token.line, "there is no rate {}", traits.rate);
      break;
    case 2: traits.sl = static_cast<uint8_t>(ReadValue(token, 0, 15)); break;
    case 3: traits.scopes |= static_cast<uint16_t>(1u << ReadValue(token, 0, 15)); break;
    case 4: traits.q_key = static_cast<uint32_t>(ReadValue(token, 0, 0xFFFFFFFF)); break;
    case 5: traits.traffic_class = static_cast<uint8_t>(ReadValue(token, 0, 0xFF)); break;
    default: traits.flow_label = static_cast<uint32_t>(ReadValue(token, 0, 0xFFFFF));
  }
  return true;
}

// Those without a P_Key get the lowest that nobody names, in the order of their names' first
// definitions.
void Parser::GiveNumbers() {
  std::set<uint16_t> taken{kDefaultPartition};
  absl::flat_hash_map<std::string_view, uint16_t> by_name{{"Default", kDefaultPartition}};
  for (const Definition& definition : definitions_)
    if (definition.has_key) taken.insert(definition.number);
  uint16_t last = 0;
  for (Definition& definition : definitions_) {
    const auto same = by_name.find(definition.name);
    if (!definition.has_key && same != by_name.end()) definition.number = same->second;
    if (definition.number == 0) {
      do ++last;
      while (taken.contains(last));
      if (last >= kDefaultPartition) {
        last = kDefaultPartition;
        Fault(definition.line, "no P_Key is left");
      }
      definition.number = last;
    }
    if (!definition.name.empty()) by_name.try_emplace(definition.name, definition.number);
  }
}

void Parser::Enter(Definition& definition) {
  Partition& partition = out_.partitions.Get(definition.number);
  if (partition.name.empty()) partition.name = definition.name;
  if (!definition.name.empty() && partition.name != definition.name)
    Note(definition.line, "partition {:#06x} is called \"{}\" already", definition.number,
         partition.name);
  partition.index0 = partition.index0 || definition.index0;
  EnterTraits(definition, partition);
  EnterGroups(definition, partition);
  partition.members.insert(partition.members.end(), definition.members.begin(),
                           definition.members.end());
}

void Parser::EnterTraits(const Definition& definition, Partition& partition) {
  if (!definition.ipoib) {
    if (definition.traits_line != 0)
      Note(definition.traits_line, "without ipoib there is no group that this is about");
    return;
  }
  if (partition.ipoib && *partition.ipoib != definition.traits)
    Note(definition.line, "the broadcast group of partition {:#06x} was described before",
         definition.number);
  if (!partition.ipoib) partition.ipoib = definition.traits;
}

void Parser::EnterGroups(const Definition& definition, Partition& partition) {
  for (const auto& [line, from] : definition.groups) {
    PartitionGroup group = from;
    if (!group.mgid) continue;  // It is a fault.
    const uint16_t wanted = definition.number | kFullMemberBit;
    const uint16_t key = static_cast<uint16_t>(group.mgid.prefix >> 16);
    if (IsIpGroup(group.mgid)) {
      if (key != 0 && key != wanted)
        Fault(line, "mgid {} is of the partition {:#06x}, not of {:#06x}", GidText(group.mgid),
              key & kPartitionBits, definition.number);
      group.mgid.prefix = (group.mgid.prefix & ~uint64_t{0xFFFF0000}) | uint64_t{wanted} << 16;
    }
    partition.groups.push_back(group);
  }
}

std::string TraitsText(const GroupTraits& traits) {
  const GroupTraits standard;
  std::string text;
  const auto add = [&](std::string_view name, uint64_t value, bool hex) {
    text += hex ? fmt::format(",{}={:#x}", name, value) : fmt::format(",{}={}", name, value);
  };
  if (traits.rate != standard.rate) add("rate", traits.rate, false);
  if (traits.mtu != standard.mtu) add("mtu", traits.mtu, false);
  if (traits.sl != standard.sl) add("sl", traits.sl, false);
  for (unsigned scope = 0; scope < 16; ++scope)
    if ((traits.scopes >> scope & 1) != 0) add("scope", scope, false);
  if (traits.q_key) add("Q_Key", *traits.q_key, true);
  if (traits.traffic_class != 0) add("TClass", traits.traffic_class, false);
  if (traits.flow_label != 0) add("FlowLabel", traits.flow_label, true);
  return text;
}

}  // namespace

ParsedPartitions ParsePartitions(std::string_view text) { return Parser(text).Run(); }

std::string FaultsText(const std::vector<LineNote>& faults, size_t most) {
  std::string text;
  for (size_t i = 0; i < std::min(faults.size(), most); ++i)
    text += fmt::format("{}line {}: {}", i == 0 ? "" : "; ", faults[i].line, faults[i].text);
  if (faults.size() > most) text += fmt::format("; and {} more", faults.size() - most);
  return text;
}

std::optional<Membership> ParseMembership(std::string_view text) {
  std::array<std::string_view, kMemberships.size()> names;
  for (size_t i = 0; i < kMemberships.size(); ++i) names[i] = MembershipName(kMemberships[i]);
  const auto found = FindAbbreviated(names, text);
  return found ? std::optional(kMemberships[*found]) : std::nullopt;
}

std::optional<PortClass> ParsePortClass(std::string_view text) {
  for (PortClass ports : kClasses)
    if (PortClassName(ports) == text) return ports;
  return std::nullopt;
}

std::string MemberText(const Member& member) {
  const std::string_view membership = MembershipName(member.membership);
  if (member.ports != PortClass::kNone)
    return fmt::format("{}={}", PortClassName(member.ports), membership);
  return fmt::format("{}={}", member.guid, membership);
}

std::string GroupText(const PartitionGroup& group) {
  return fmt::format("mgid={}{}", GidText(group.mgid), TraitsText(group.traits));
}

std::string HeadText(const Partition& partition) {
  return fmt::format("{}={:#06x}{}{}{}", partition.name, partition.number,
                     partition.index0 ? ",indx0" : "", partition.ipoib ? ",ipoib" : "",
                     partition.ipoib ? TraitsText(*partition.ipoib) : "");
}

std::string FormatPartitions(const Partitions& partitions) {
  std::string text;
  for (const Partition& partition : partitions.list) {
    text += HeadText(partition) + ":";
    for (const PartitionGroup& group : partition.groups) text += "\n    " + GroupText(group);
    for (const Member& member : partition.members)
      text += fmt::format("\n    {}{}", MemberText(member),
                          &member == &partition.members.back() ? "" : ",");
    // OpenSM takes no line with nothing but the end.
    text += partition.groups.empty() && partition.members.empty() ? " ;\n" : ";\n";
  }
  return text;
}

}  // namespace fabricd::policy
