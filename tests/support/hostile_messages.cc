// SPDX-License-Identifier: Apache-2.0
#include "tests/support/hostile_messages.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

#include <fmt/format.h>
#include <google/protobuf/descriptor.h>

#include "common/check.h"

namespace fabricd::test {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

constexpr size_t kMostLearnt = 32;  // Of a field.
constexpr int kDeepest = 4;
constexpr int64_t kUsualBudget = 400 << 10, kLargeBudget = 3 << 20;

// What readers of names, numbers, lists, patterns, files and tokens stumble over.
const std::string kEdges[] = {
    "node[0001-9999999999]",
    "a[0-9][0-9][0-9][0-9][0-9][0-9][0-9][0-9]",
    "node[",
    "node[9-1]",
    "[-]",
    "n[1,,2]",
    "0x",
    "0xffffffffffffffff",
    "0x0",
    "S-0000000000000000",
    "lid:0",
    "lid:65535",
    "lid:-1",
    "lid:99999999999999999999",
    "/",
    "//1",
    "leaf/",
    "leaf/0",
    "leaf/255",
    "leaf/256",
    "leaf[1]",
    "*",
    "**",
    "(a*)*$",
    "../../../../etc/shadow",
    "/dev/zero",
    "/proc/self/mem",
    "%s%n%999999d",
    std::string("nul\0inside", 10),
    "\xE2\x80\xAE\xF0\x9F\x92\xA9",
    "'; DROP TABLE holds; --",
    "-1",
    "18446744073709551616",
    "1e309",
    "ALL=full ;",
    "Default=0x7fff,ipoib:ALL=full;",
    "tenant=0x8001,rate=99999,mtu=-1: ALL, SELF=limited;",
    "sm: {priority: 99}\nrouting: [",
    "a: &a [*a, *a, *a]\nb: &b [*a, *a]",
    "vendid=0x2c9\nswitchguids=0x1(1)\nSwitch 4294967295 \"S-1\" # \"x\"\n[999] \"H-1\"[1]",
    "00000000000000000000000000000000ffffffff",
    "ffffffffffffffffffffffffffffffffffffffff",
    "\n\n\n",
    " ",
};

// What requests need to be good, where no answer says it under the same name.
const std::map<std::string, std::vector<std::string>>& Usual() {
  static const std::map<std::string, std::vector<std::string>> kUsual = {
      {"partition", {"Default", "0x7fff", "one", "two"}},
      {"name", {"one", "two"}},
      {"subjects", {"ALL"}},
      {"subject", {"ALL", "SELF"}},
      {"paths", {"name", "members", "p_key", "guid", "state", "a", "b"}},
      {"type", {"NodeRecord", "PathRecord", "PortInfoRecord"}},
      {"id", {"1", "2", "3"}},
      {"files", {"opensm.fdbs", "opensm-subnet.lst"}},
      {"engines", {"rail", "fat_tree", "up_down", "min_hop"}},
      {"states", {"ACTIVE", "DOWN"}},
  };
  return kUsual;
}

bool IsText(const FieldDescriptor& field) { return field.type() == FieldDescriptor::TYPE_STRING; }

}  // namespace

HostileMessages::HostileMessages(uint64_t seed, std::vector<std::string> names)
    : rng_(seed), names_(std::move(names)) {
  FABRICD_CHECK(!names_.empty());
}

void HostileMessages::Fill(Message& message) {
  budget_ = rng_.Below(300) == 0 ? kLargeBudget : kUsualBudget;
  good_ = rng_.Chance(0.5);
  FillMessage(message, 0);
}

void HostileMessages::FillMessage(Message& message, int depth) {
  const auto* descriptor = message.GetDescriptor();
  // Few fields at a time reach further than all at once.
  const uint64_t of_eight = good_ ? 4 + rng_.Below(5) : rng_.Below(9);
  for (int i = 0; i < descriptor->field_count(); ++i)
    if (rng_.Below(8) < of_eight) FillField(message, *descriptor->field(i), depth);
}

void HostileMessages::FillField(Message& message, const FieldDescriptor& field, int depth) {
  if (!field.is_repeated()) return Put(message, field, depth);
  static constexpr uint64_t kCounts[] = {0, 1, 1, 1, 2, 3, 8, 40};
  uint64_t count = kCounts[rng_.Below(std::size(kCounts))];
  if (IsGood())
    count = rng_.Below(3);
  else if (rng_.Below(100) == 0)
    count = 5000;
  for (uint64_t i = 0; i < count && budget_ > 0; ++i) Put(message, field, depth);
}

void HostileMessages::Put(Message& message, const FieldDescriptor& field, int depth) {
  const Reflection& reflection = *message.GetReflection();
  const bool many = field.is_repeated();
  const auto put = [&](auto add, auto set, auto value) {
    budget_ -= 8;
    (reflection.*(many ? add : set))(&message, &field, std::move(value));
  };
  using R = Reflection;
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return put(&R::AddInt32, &R::SetInt32, static_cast<int32_t>(Number()));
    case FieldDescriptor::CPPTYPE_INT64: return put(&R::AddInt64, &R::SetInt64, Number());
    case FieldDescriptor::CPPTYPE_UINT32:
      return put(&R::AddUInt32, &R::SetUInt32, static_cast<uint32_t>(Number()));
    case FieldDescriptor::CPPTYPE_UINT64:
      return put(&R::AddUInt64, &R::SetUInt64, static_cast<uint64_t>(Number()));
    case FieldDescriptor::CPPTYPE_DOUBLE: return put(&R::AddDouble, &R::SetDouble, Fraction());
    case FieldDescriptor::CPPTYPE_FLOAT:
      return put(&R::AddFloat, &R::SetFloat, static_cast<float>(Fraction()));
    case FieldDescriptor::CPPTYPE_BOOL: return put(&R::AddBool, &R::SetBool, rng_.Chance(0.5));
    case FieldDescriptor::CPPTYPE_ENUM: {
      const auto* kind = field.enum_type();
      const bool real = IsGood() || rng_.Below(8) > 0;
      const auto index = static_cast<int>(rng_.Below(static_cast<uint64_t>(kind->value_count())));
      return put(&R::AddEnumValue, &R::SetEnumValue,
                 real ? kind->value(index)->number() : static_cast<int>(Number()));
    }
    case FieldDescriptor::CPPTYPE_STRING: {
      const bool is_bytes = field.type() == FieldDescriptor::TYPE_BYTES;
      std::string text = is_bytes && rng_.Chance(0.3) ? Bytes(rng_.Below(600))
                         : IsGood()                   ? Known(field.name())
                                                      : Text();
      budget_ -= static_cast<int64_t>(text.size());
      return put(&R::AddString, &R::SetString, std::move(text));
    }
    case FieldDescriptor::CPPTYPE_MESSAGE:
      if (depth >= kDeepest) return;
      return FillMessage(*(many ? reflection.AddMessage(&message, &field)
                                : reflection.MutableMessage(&message, &field)),
                         depth + 1);
  }
}

const std::string& HostileMessages::Known() {
  if (learnt_.empty() || rng_.Chance(0.6)) return names_[rng_.Below(names_.size())];
  const auto& values =
      std::next(learnt_.begin(), static_cast<ptrdiff_t>(rng_.Below(learnt_.size())))->second;
  return values[rng_.Below(values.size())];
}

const std::string& HostileMessages::Known(const std::string& field) {
  const auto usual = Usual().find(field);
  if (usual != Usual().end() && rng_.Chance(0.5))
    return usual->second[rng_.Below(usual->second.size())];
  const auto found = learnt_.find(field == "page_token" ? "next_page_token" : field);
  if (found == learnt_.end() || rng_.Chance(0.4)) return names_[rng_.Below(names_.size())];
  return found->second[rng_.Below(found->second.size())];
}

std::string HostileMessages::Text() {
  switch (rng_.Below(16)) {
    case 0: return "";
    case 1: return fmt::format("{}/{}", Known(), Number());
    case 2: return Known() + "/" + Known();
    case 3: return fmt::format("{}[{}]", Known(), rng_.Below(70));
    case 4:
    case 5: return kEdges[rng_.Below(std::size(kEdges))];
    case 6: return fmt::format("{}", Number());
    case 7: return fmt::format("lid:{}", rng_.Below(80));
    case 8: return rng_.Below(8) == 0 ? LongText() : Known();
    case 9: {  // A token with a digit changed, half a name.
      std::string text = Known();
      if (text.empty()) return text;
      const size_t at = rng_.Below(text.size());
      if (rng_.Chance(0.5)) return text.substr(0, at);
      text[at] = static_cast<char>('0' + rng_.Below(75));
      return text;
    }
    case 10: return rng_.Below(20) == 0 ? Bytes(1 + rng_.Below(40)) : Known();
    default: return Known();
  }
}

std::string HostileMessages::LongText() {
  static constexpr size_t kSizes[] = {64, 255, 256, 4096, 9000, 70'000, 300'000};
  const size_t size = kSizes[rng_.Below(std::size(kSizes))];
  std::string piece = rng_.Chance(0.5) ? "\xC3\xA4" : Known() + (rng_.Chance(0.5) ? "," : "\n");
  if (piece.empty()) piece = "x";
  std::string text;
  while (text.size() < size) text += piece;
  return text;
}

std::string HostileMessages::Bytes(size_t size) {
  std::string bytes(size, '\0');
  for (char& byte : bytes) byte = static_cast<char>(rng_.Below(256));
  return bytes;
}

int64_t HostileMessages::Number() {
  static constexpr int64_t kEdgeNumbers[] = {0,
                                             1,
                                             -1,
                                             2,
                                             255,
                                             256,
                                             65535,
                                             65536,
                                             315'576'000'001,
                                             999'999'999,
                                             1'000'000'000,
                                             std::numeric_limits<int32_t>::max(),
                                             std::numeric_limits<int32_t>::min(),
                                             std::numeric_limits<uint32_t>::max(),
                                             std::numeric_limits<int64_t>::max(),
                                             std::numeric_limits<int64_t>::min()};
  if (IsGood()) return static_cast<int64_t>(rng_.Below(5));
  if (rng_.Chance(0.5)) return kEdgeNumbers[rng_.Below(std::size(kEdgeNumbers))];
  return rng_.Chance(0.5) ? static_cast<int64_t>(rng_.Below(100))
                          : static_cast<int64_t>(rng_.Next());
}

double HostileMessages::Fraction() {
  using Limits = std::numeric_limits<double>;
  const double values[] = {
      0, -0.0, 0.5, 1, -1, Limits::quiet_NaN(), Limits::infinity(), -1e300, Limits::denorm_min()};
  return values[rng_.Below(std::size(values))];
}

std::string HostileMessages::Damaged(const Message& kind) {
  if (rng_.Below(4) == 0) return Bytes(rng_.Below(200));
  if (rng_.Below(12) == 0) {  // Field 1 as a group, again and again; or as a message in a message.
    const size_t depth = 1 + rng_.Below(100'000);
    return std::string(depth, rng_.Chance(0.5) ? '\x0B' : '\x0A');
  }
  const std::unique_ptr<Message> message(kind.New());
  Fill(*message);
  std::string bytes = message->SerializePartialAsString();
  for (uint64_t change = 1 + rng_.Below(4); change > 0 && !bytes.empty(); --change) {
    const size_t at = rng_.Below(bytes.size());
    switch (rng_.Below(4)) {
      case 0: bytes[at] = static_cast<char>(rng_.Below(256)); break;
      case 1: bytes.resize(at); break;
      case 2: bytes.insert(at, bytes.substr(at / 2, 64)); break;
      default: bytes.insert(at, Bytes(1 + rng_.Below(8)));
    }
  }
  return bytes;
}

void HostileMessages::Learn(const Message& answer) {
  const Reflection& reflection = *answer.GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection.ListFields(answer, &fields);
  for (const FieldDescriptor* field : fields) {
    const int count = field->is_repeated() ? std::min(3, reflection.FieldSize(answer, field)) : 1;
    for (int i = 0; i < count; ++i) {
      if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
        Learn(field->is_repeated() ? reflection.GetRepeatedMessage(answer, field, i)
                                   : reflection.GetMessage(answer, field));
      } else if (IsText(*field)) {
        std::string text = field->is_repeated() ? reflection.GetRepeatedString(answer, field, i)
                                                : reflection.GetString(answer, field);
        if (text.empty() || text.size() > 300) continue;
        std::vector<std::string>& values = learnt_[field->name()];
        if (values.size() < kMostLearnt)
          values.push_back(std::move(text));
        else
          values[rng_.Below(kMostLearnt)] = std::move(text);
      }
    }
  }
}

}  // namespace fabricd::test
