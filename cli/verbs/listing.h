// SPDX-License-Identifier: Apache-2.0
// `get`: a listing is asked for, picked from, ordered and shown, whatever it is a listing of.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cli/render/fields.h"
#include "cli/verbs/globals.h"
#include "cli/verbs/resource.h"

namespace fabricd::cli {

// A listing as it is now. The document, items and names go together: one name, item and row each.
struct Listing {
  std::unique_ptr<google::protobuf::Message> document;  // What JSON and YAML show.
  std::vector<const google::protobuf::Message*> items;  // In the document.
  std::vector<std::string> names;                       // "node/leaf1"
  Table table{{}};
  std::string notes;  // What holds for all of it, lines.
};

// Of "custom-columns=NAME:.path,…".
struct Column {
  std::string header;
  FieldPath path;
};
Result ParseColumns(const std::string& text, const google::protobuf::Descriptor* item,
                    std::vector<Column>* columns);

// The items of an answer: those of its first repeated field, or itself when it is none.
std::vector<const google::protobuf::Message*> ItemsOf(const google::protobuf::Message& answer,
                                                      const google::protobuf::Descriptor* item);
// Keeps the items that both selectors choose, ordered by options.sort_by (equal ones as they
// were). kUsage: they do not fit the item. Pure.
Result PickItems(const GetOptions& options, const google::protobuf::Descriptor* item,
                 google::protobuf::Message* answer);

// What is shown of an answer of this kind: picked, ordered, with a table where one is shown.
Result MakeListing(const Globals& globals, const GetOptions& options,
                   std::unique_ptr<google::protobuf::Message> answer, Listing* listing);
Result FetchListing(Client& client, const Globals& globals, const GetOptions& options,
                    Listing* listing);
Result Get(Client& client, const Globals& globals, const GetOptions& options);
// Prints the listing, then what changes in it, until the daemon cannot be reached.
Result Watch(Client& client, const Globals& globals, const GetOptions& options);

}  // namespace fabricd::cli
