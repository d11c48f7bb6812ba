// SPDX-License-Identifier: Apache-2.0
#include "cli/verbs/listing.h"

#include <algorithm>

#include <fmt/format.h>
#include <google/protobuf/descriptor.h>

#include "cli/render/selector.h"
#include "cli/verbs/partition_commands.h"

namespace fabricd::cli {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

// The field that an answer lists its items in; null: it is the item.
const FieldDescriptor* ItemsField(const Message& answer, const Descriptor* item) {
  if (answer.GetDescriptor() == item) return nullptr;
  const Descriptor* type = answer.GetDescriptor();
  for (int i = 0; i < type->field_count(); ++i) {
    if (type->field(i)->is_repeated() && !type->field(i)->is_map() &&
        type->field(i)->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      return type->field(i);
    }
  }
  return nullptr;
}

// A single thing asked for by name is shown as itself, a list as the answer.
std::unique_ptr<Message> DocumentOf(const GetOptions& options, const Descriptor* item,
                                    std::unique_ptr<Message> answer) {
  const FieldDescriptor* field = ItemsField(*answer, item);
  // Records have a type, not a name, before what chooses them.
  const bool one = options.names.size() == 1 && options.resource != Resource::kRecord;
  if (!field || !one || answer->GetReflection()->FieldSize(*answer, field) != 1) return answer;
  const Message& only = answer->GetReflection()->GetRepeatedMessage(*answer, field, 0);
  std::unique_ptr<Message> document(only.New());
  document->CopyFrom(only);
  return document;
}

void AddLabelColumns(const GetOptions& options, const Listing& listing, const Descriptor* item,
                     Table* table) {
  const auto& labels = LabelsOf(item);
  for (const std::string& name : options.label_columns) {
    const auto label = std::find_if(labels.begin(), labels.end(),
                                    [&](const Label& each) { return name == each.name; });
    std::vector<std::string> cells;
    for (const Message* each : listing.items)
      cells.push_back(label == labels.end() ? "" : LabelText(*each, *label));
    std::string header = name;
    std::transform(header.begin(), header.end(), header.begin(),
                   [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
    table->AddColumn(header, std::move(cells));
  }
  if (!options.show_labels) return;
  std::vector<std::string> cells;
  for (const Message* each : listing.items) {
    std::vector<std::string> texts;
    for (const Label& label : labels) {
      std::string value = LabelText(*each, label);
      // Commas part labels.
      std::replace(value.begin(), value.end(), ',', '|');
      if (!value.empty()) texts.push_back(fmt::format("{}={}", label.name, value));
    }
    cells.push_back(fmt::format("{}", fmt::join(texts, ",")));
  }
  table->AddColumn("LABELS", std::move(cells));
}

Result ColumnTable(const Globals& globals, const Listing& listing, const Descriptor* item,
                   Table* table) {
  std::vector<Column> columns;
  if (Result result = ParseColumns(globals.columns, item, &columns); !result.ok()) return result;
  std::vector<std::string> headers;
  for (const Column& column : columns) headers.push_back(column.header);
  *table = Table(headers);
  for (const Message* each : listing.items) {
    std::vector<Cell> cells;
    for (const Column& column : columns) cells.emplace_back(column.path.Text(*each));
    table->AddRow(std::move(cells));
  }
  return {};
}

}  // namespace

Result ParseColumns(const std::string& text, const Descriptor* item, std::vector<Column>* columns) {
  for (size_t at = 0; at <= text.size();) {
    const size_t comma = std::min(text.find(',', at), text.size());
    const std::string part = text.substr(at, comma - at);
    at = comma + 1;
    const size_t colon = part.find(':');
    if (colon == 0 || colon == std::string::npos || colon + 1 == part.size()) {
      return {kUsage, fmt::format("-o custom-columns: \"{}\" is not HEADER:.field", part)};
    }
    std::string error;
    const auto path = FieldPath::Parse(part.substr(colon + 1), item, &error);
    if (!path) return {kUsage, "-o custom-columns: " + error};
    columns->push_back({part.substr(0, colon), *path});
  }
  return {};
}

std::vector<const Message*> ItemsOf(const Message& answer, const Descriptor* item) {
  const FieldDescriptor* field = ItemsField(answer, item);
  if (!field) return {&answer};
  std::vector<const Message*> items;
  const auto* reflection = answer.GetReflection();
  const int size = reflection->FieldSize(answer, field);
  items.reserve(static_cast<size_t>(size));
  for (int i = 0; i < size; ++i) items.push_back(&reflection->GetRepeatedMessage(answer, field, i));
  return items;
}

Result PickItems(const GetOptions& options, const Descriptor* item, Message* answer) {
  Selector labels, fields;
  Result result = Selector::Parse(options.labels, item, Selector::By::kLabels, &labels);
  if (result.ok()) result = Selector::Parse(options.fields, item, Selector::By::kFields, &fields);
  if (!result.ok()) return result;
  std::optional<FieldPath> by;
  if (!options.sort_by.empty()) {
    std::string error;
    by = FieldPath::Parse(options.sort_by, item, &error);
    if (!by) return {kUsage, "--sort-by: " + error};
  }
  const FieldDescriptor* field = ItemsField(*answer, item);
  const bool picks = !options.labels.empty() || !options.fields.empty();
  if (!field || (!picks && !by)) return {};
  const auto* reflection = answer->GetReflection();
  struct Ranked {
    std::string key;
    int at;
  };
  std::vector<Ranked> kept;
  for (int i = 0; i < reflection->FieldSize(*answer, field); ++i) {
    const Message& each = reflection->GetRepeatedMessage(*answer, field, i);
    if (labels.Matches(each) && fields.Matches(each))
      kept.push_back({by ? by->Text(each) : std::string(), i});
  }
  if (by)
    std::stable_sort(kept.begin(), kept.end(), [](const Ranked& a, const Ranked& b) {
      return CompareNatural(a.key, b.key) < 0;
    });
  // The answer anew, all but the items copied.
  std::vector<std::unique_ptr<Message>> items(
      static_cast<size_t>(reflection->FieldSize(*answer, field)));
  for (size_t i = items.size(); i > 0; --i)
    items[i - 1].reset(reflection->ReleaseLast(answer, field));
  for (const Ranked& each : kept)
    reflection->AddAllocatedMessage(answer, field, items[static_cast<size_t>(each.at)].release());
  if (const auto* total = answer->GetDescriptor()->FindFieldByName("total_size"))
    reflection->SetUInt32(answer, total, static_cast<uint32_t>(kept.size()));
  return {};
}

Result MakeListing(const Globals& globals, const GetOptions& options,
                   std::unique_ptr<Message> answer, Listing* listing) {
  *listing = Listing();
  const ResourceKind& kind = KindOf(options.resource);
  // Links that have flapped are something of their own.
  const Descriptor* item =
      options.damped ? pb::DampedLink::descriptor() : static_cast<const Descriptor*>(kind.item);
  if (Result result = PickItems(options, item, answer.get()); !result.ok()) return result;
  if (globals.IsTable()) listing->table = kind.table(*answer, globals.format == Format::kWide);
  if (kind.notes) listing->notes = kind.notes(*answer);
  listing->document = DocumentOf(options, item, std::move(answer));
  listing->items = ItemsOf(*listing->document, item);
  int at = 0;
  for (const Message* each : listing->items)
    listing->names.push_back(kind.name(*each, options, at++));
  if (globals.format == Format::kCustomColumns)
    return ColumnTable(globals, *listing, item, &listing->table);
  if (globals.IsTable()) AddLabelColumns(options, *listing, item, &listing->table);
  return {};
}

Result FetchListing(Client& client, const Globals& globals, const GetOptions& options,
                    Listing* listing) {
  const ResourceKind& kind = KindOf(options.resource);
  if (!kind.fetch) return {kUsage, fmt::format("{} cannot be listed", kind.plural)};
  for (const std::string& name : options.label_columns) {
    Selector labels;
    Result result = Selector::Parse(name, kind.item, Selector::By::kLabels, &labels);
    if (!result.ok()) return result;
  }
  std::unique_ptr<Message> answer;
  if (Result result = kind.fetch(client, options, globals.wide(), &answer); !result.ok())
    return result;
  return MakeListing(globals, options, std::move(answer), listing);
}

Result Get(Client& client, const Globals& globals, const GetOptions& options) {
  if (globals.format == Format::kConf) {
    if (options.resource == Resource::kPartition) return ExportPartitions(client);
    return {kUsage, "-o conf: partitions have such a form"};
  }
  Listing listing;
  Result result = FetchListing(client, globals, options, &listing);
  if (result.code == kNotFound && options.ignore_not_found) return {};
  if (!result.ok() || PrintDocument(globals, *listing.document)) return result;
  if (globals.format == Format::kName) {
    std::string text;
    for (const std::string& name : listing.names) text += name + "\n";
    PrintLong(globals, text);
    return {};
  }
  PrintError("{}", listing.notes);
  if (listing.items.empty()) {
    if (!options.ignore_not_found) PrintError("No resources found.\n");
  } else {
    PrintLong(globals, listing.table.Render(globals.style));
  }
  return {};
}

}  // namespace fabricd::cli
