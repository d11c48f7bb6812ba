// SPDX-License-Identifier: Apache-2.0
#include "mad/wire/sa_components.h"

#include <algorithm>

#include "mad/wire/bytes.h"
#include "mad/wire/sa_record_fields.h"

namespace fabricd::wire {
namespace {

// Counts the components that it is shown.
class ComponentList {
 public:
  template <typename T>
  void Field(unsigned width, const T&) {
    Add(width);
  }
  void Split(unsigned high, unsigned low, uint64_t) {
    Add(high);
    Add(low);
  }
  void Reserved(unsigned width) { Add(width); }
  template <size_t kSize>
  void Bytes(const std::array<uint8_t, kSize>&) {
    Add(8 * kSize);
  }
  template <typename T>
  void Attribute(const T&, std::initializer_list<uint16_t> widths) {
    for (uint16_t width : widths) Add(width);
  }
  std::span<const Component> list() const { return {list_.data(), count_}; }

 private:
  void Add(size_t width) {
    if (count_ < list_.size())
      list_[count_++] = {static_cast<uint16_t>(at_), static_cast<uint16_t>(width)};
    at_ += width;
  }

  std::array<Component, 64> list_{};  // As many as a ComponentMask has bits.
  size_t count_ = 0, at_ = 0;
};

template <typename Record>
const RecordLayout* LayoutFor() {
  static const ComponentList kComponents = [] {
    ComponentList list;
    const Record record;
    VisitFields(list, record);
    return list;
  }();
  static const RecordLayout kLayout{Record::kAttribute, Record::kBytes, kComponents.list()};
  return &kLayout;
}

}  // namespace

const RecordLayout* LayoutOf(SaAttribute attribute) {
  switch (attribute) {
    case SaAttribute::kNodeRecord: return LayoutFor<NodeRecord>();
    case SaAttribute::kPortInfoRecord: return LayoutFor<PortInfoRecord>();
    case SaAttribute::kSlToVlMappingTableRecord: return LayoutFor<SlToVlMappingTableRecord>();
    case SaAttribute::kSwitchInfoRecord: return LayoutFor<SwitchInfoRecord>();
    case SaAttribute::kLinearForwardingTableRecord: return LayoutFor<LinearForwardingTableRecord>();
    case SaAttribute::kMulticastForwardingTableRecord:
      return LayoutFor<MulticastForwardingTableRecord>();
    case SaAttribute::kSmInfoRecord: return LayoutFor<SmInfoRecord>();
    case SaAttribute::kLinkRecord: return LayoutFor<LinkRecord>();
    case SaAttribute::kGuidInfoRecord: return LayoutFor<GuidInfoRecord>();
    case SaAttribute::kPKeyTableRecord: return LayoutFor<PKeyTableRecord>();
    case SaAttribute::kVlArbitrationTableRecord: return LayoutFor<VlArbitrationTableRecord>();
    case SaAttribute::kPathRecord: return LayoutFor<PathRecord>();
    case SaAttribute::kMultiPathRecord: return LayoutFor<MultiPathRecord>();
    case SaAttribute::kTraceRecord: return LayoutFor<TraceRecord>();
    case SaAttribute::kServiceRecord: return LayoutFor<ServiceRecord>();
    case SaAttribute::kMcMemberRecord: return LayoutFor<McMemberRecord>();
    case SaAttribute::kInformInfo: return LayoutFor<InformInfo>();
    case SaAttribute::kInformInfoRecord: return LayoutFor<InformInfoRecord>();
    case SaAttribute::kClassPortInfo:
    case SaAttribute::kNotice: break;
  }
  return nullptr;
}

Lid LidOfRecord(std::span<const uint8_t> record) { return Lid(Load16(record.data())); }

RecordMatcher::RecordMatcher(const RecordLayout& layout, uint64_t component_mask,
                             std::span<const uint8_t> query) {
  std::copy_n(query.begin(), layout.bytes, query_.begin());
  for (size_t number = 0; number < layout.components.size(); ++number) {
    if ((component_mask >> number & 1) == 0) continue;
    const Component& component = layout.components[number];
    for (size_t bit = component.at; bit < size_t{component.at} + component.width; ++bit)
      care_[bit / 8] |= static_cast<uint8_t>(0x80 >> bit % 8);
  }
}

void RecordMatcher::Ignore(const Component& component) {
  for (size_t bit = component.at; bit < size_t{component.at} + component.width; ++bit)
    care_[bit / 8] &= static_cast<uint8_t>(~(0x80 >> bit % 8));
}

}  // namespace fabricd::wire
