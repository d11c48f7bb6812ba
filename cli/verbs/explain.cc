// SPDX-License-Identifier: Apache-2.0
#include "cli/verbs/explain.h"

#include <vector>

#include <fmt/format.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>

#include "cli/verbs/resource.h"

// All files of the API with their comments, as protoc --include_source_info writes them.
extern "C" const char fabricd_api_descriptors[], fabricd_api_descriptors_end[];
asm(".pushsection .rodata\n"
    ".global fabricd_api_descriptors, fabricd_api_descriptors_end\n"
    "fabricd_api_descriptors:\n"
    ".incbin \"" FABRICD_API_DESCRIPTORS
    "\"\n"
    "fabricd_api_descriptors_end:\n"
    ".byte 0\n"
    ".popsection\n");

namespace fabricd::cli {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::EnumDescriptor;
using google::protobuf::FieldDescriptor;

constexpr size_t kColumns = 96;

const google::protobuf::DescriptorPool& Pool() {
  static const auto* pool = [] {
    google::protobuf::FileDescriptorSet files;
    files.ParseFromArray(fabricd_api_descriptors,
                         static_cast<int>(fabricd_api_descriptors_end - fabricd_api_descriptors));
    auto* made = new google::protobuf::DescriptorPool;
    for (const auto& file : files.file()) made->BuildFile(file);
    return made;
  }();
  return *pool;
}

// The comment before it, its lines filled anew; blank lines part paragraphs.
template <typename Described>
std::string Comment(const Described& described, const std::string& indent) {
  google::protobuf::SourceLocation location;
  if (!described.GetSourceLocation(&location)) return {};
  std::string text, line = indent;
  const auto flush = [&] {
    if (line != indent) text += line + "\n";
    line = indent;
  };
  std::string word;
  bool blank = true;  // Nothing yet on this line of the comment.
  for (const char c : location.leading_comments + "\n") {
    if (c != ' ' && c != '\n') {
      word += c;
      blank = false;
      continue;
    }
    if (!word.empty() && line.size() + 1 + word.size() > kColumns) flush();
    if (!word.empty()) line += (line == indent ? "" : " ") + word;
    word.clear();
    if (c == '\n' && blank) flush();
    if (c == '\n') blank = true;
  }
  flush();
  return text;
}

std::string TypeText(const FieldDescriptor& field) {
  if (field.is_map()) {
    return fmt::format("map[{}]{}", field.message_type()->map_key()->cpp_type_name(),
                       TypeText(*field.message_type()->map_value()));
  }
  std::string name = field.type_name();
  if (field.message_type()) name = field.message_type()->name();
  if (field.enum_type()) name = field.enum_type()->name();
  return (field.is_repeated() ? "[]" : "") + name;
}

void AddFields(const Descriptor& type, std::string* text) {
  *text += "\nFIELDS:\n";
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor& field = *type.field(i);
    *text += fmt::format("  {}  <{}>\n{}", field.name(), TypeText(field), Comment(field, "    "));
  }
}

void AddValues(const EnumDescriptor& type, std::string* text) {
  *text += fmt::format("\n{}:\n{}\nVALUES:\n", type.name(), Comment(type, "  "));
  for (int i = 0; i < type.value_count(); ++i)
    *text += fmt::format("  {}\n{}", type.value(i)->name(), Comment(*type.value(i), "    "));
}

const Descriptor* FindType(const std::string& word) {
  const auto resource = ParseResource(word);
  return Pool().FindMessageTypeByName(resource ? KindOf(*resource).item->full_name()
                                               : "fabric.v1." + word);
}

std::string ListFields(const Descriptor& type) {
  std::vector<std::string> names;
  for (int i = 0; i < type.field_count(); ++i) names.push_back(type.field(i)->name());
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace

Result ExplainText(const std::string& path, std::string* text) {
  text->clear();
  size_t at = path.find('.');
  const Descriptor* type = FindType(path.substr(0, at));
  if (!type) {
    return {kNotFound, fmt::format("no resource \"{}\" (fabricctl api-resources lists them)",
                                   path.substr(0, at))};
  }
  const FieldDescriptor* field = nullptr;
  while (at != std::string::npos) {
    const size_t next = path.find('.', at + 1);
    const std::string name = path.substr(at + 1, next - at - 1);
    field = type ? type->FindFieldByName(name) : nullptr;
    if (!field) {
      return {kNotFound,
              type ? fmt::format("{} has no field {} ({})", type->name(), name, ListFields(*type))
                   : fmt::format("nothing is below {}", path.substr(0, at))};
    }
    type = field->is_map() ? nullptr : field->message_type();
    at = next;
  }
  if (!field) {
    *text = fmt::format("{}  <{}>\n{}", path, type->full_name(), Comment(*type, "  "));
    AddFields(*type, text);
    return {};
  }
  *text = fmt::format("{}  <{}>\n{}", path, TypeText(*field), Comment(*field, "  "));
  if (field->enum_type()) AddValues(*field->enum_type(), text);
  if (type && type->file()->package() == "fabric.v1") {
    *text += fmt::format("\n{}:\n{}", type->name(), Comment(*type, "  "));
    AddFields(*type, text);
  }
  return {};
}

Result Explain(const Globals& globals, const std::string& path) {
  std::string text;
  if (Result result = ExplainText(path, &text); !result.ok()) return result;
  PrintLong(globals, text);
  return {};
}

Result ShowResources(const Globals& globals) {
  Table table({"NAME", "SINGULAR", "SHORT", "WATCHED", "MESSAGE", "WHAT"});
  std::string names;
  for (const ResourceKind& kind : ResourceKinds()) {
    names += std::string(kind.plural) + "\n";
    table.AddRow({kind.plural, kind.singular, kind.short_word, kind.watched ? "yes" : "no",
                  kind.item->full_name(), kind.help});
  }
  Print(globals.format == Format::kName ? names : table.Render(globals.style));
  return {};
}

}  // namespace fabricd::cli
