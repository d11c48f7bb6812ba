// SPDX-License-Identifier: Apache-2.0
#include "cli/shell/completion.h"

#include <algorithm>

#include <fmt/format.h>

#include "cli/shell/grammar.h"
#include "cli/verbs/commands.h"
#include "cli/verbs/listing.h"

namespace fabricd::cli {
namespace {

using Words = std::vector<std::string>;

bool StartsWith(const std::string& text, const std::string& start) {
  return text.compare(0, start.size(), start) == 0;
}

// An option of the command or of one that it is part of.
const CLI::Option* FindOption(const CLI::App* command, const std::string& name) {
  for (; command; command = command->get_parent()) {
    if (const CLI::Option* option = command->get_option_no_throw(name)) return option;
  }
  return nullptr;
}

const CLI::App* FindCommand(const CLI::App* command, const std::string& name) {
  const auto found =
      command->get_subcommands([&](const CLI::App* each) { return each->get_name() == name; });
  return found.empty() ? nullptr : found.front();
}

// The positional that the next word would be; the last one takes all that follow when it may.
const CLI::Option* Positional(const CLI::App* command, size_t number) {
  const auto positionals =
      command->get_options([](const CLI::Option* each) { return each->get_positional(); });
  if (number < positionals.size()) return positionals[number];
  if (positionals.empty() || positionals.back()->get_items_expected_max() <= 1) return nullptr;
  return positionals.back();
}

// "{auto,always,never}" in what an option says of its values.
Words Choices(const std::string& type) {
  const size_t open = type.find('{'), close = type.find('}');
  if (open == std::string::npos || close == std::string::npos) return {};
  Words words(1);
  for (size_t i = open + 1; i < close; ++i) {
    if (type[i] == ',')
      words.emplace_back();
    else
      words.back() += type[i];
  }
  return words;
}

// Names of things of a kind as they can be typed: without blanks.
Words Names(const Grammar& grammar, Resource resource) {
  if (!KindOf(resource).fetch || resource == Resource::kRecord) return {};
  Client client(grammar.globals().endpoint, grammar.globals().timeout);
  if (!client.usable().ok()) return {};
  Globals globals = grammar.globals();
  globals.format = Format::kName;
  GetOptions options;
  options.resource = resource;
  Listing listing;
  if (!FetchListing(client, globals, options, &listing).ok()) return {};
  Words names;
  for (std::string& name : listing.names) {
    name.erase(0, name.find('/') + 1);
    if (const size_t blank = name.find(' '); blank != std::string::npos) name[blank] = '/';
    if (name.find(' ') == std::string::npos) names.push_back(std::move(name));
  }
  return names;
}

// Names that fit the word for a resource typed before.
Words NamesAfter(const Grammar& grammar, const TypedWords& typed) {
  for (const auto& [option, value] : typed.values) {
    if (option->get_type_name() != kResourceValue) continue;
    if (const auto resource = ParseResource(value)) return Names(grammar, *resource);
  }
  return {};
}

Words TargetsAfter(const Grammar& grammar, const TypedWords& typed) {
  const auto first = typed.values.find(typed.option);
  if (first == typed.values.end()) {
    Words words = {"hca", "host", "link", "port", "switch"};
    for (std::string& name : Names(grammar, Resource::kHost)) words.push_back(std::move(name));
    return words;
  }
  if (first->second == "hca") return Names(grammar, Resource::kNode);
  if (const auto resource = ParseResource(first->second)) return Names(grammar, *resource);
  return Names(grammar, Resource::kHost);
}

Words ValuesOf(const Grammar& grammar, const TypedWords& typed) {
  const std::string type = typed.option->get_type_name();
  if (const Words choices = Choices(type); !choices.empty()) return choices;
  const std::string kind = type.substr(0, type.find(':'));
  if (kind == kFileValue) return {kFilesDirective};
  if (kind == kDirectoryValue) return {kDirectoriesDirective};
  if (kind == kNameValue) return NamesAfter(grammar, typed);
  if (kind == kTargetValue) return TargetsAfter(grammar, typed);
  if (kind == kNodeValue) return Names(grammar, Resource::kNode);
  if (kind == kSwitchValue) return Names(grammar, Resource::kSwitch);
  if (kind == kHostValue) return Names(grammar, Resource::kHost);
  if (kind == kPortValue) return Names(grammar, Resource::kPort);
  if (kind == kHoldValue) return Names(grammar, Resource::kHold);
  if (kind == kPartitionValue) return Names(grammar, Resource::kPartition);
  Words words;
  if (kind == kResourceValue)
    for (const ResourceKind& each : ResourceKinds()) words.push_back(each.plural);
  if (kind == kFormValue) {
    const Forms& forms = grammar.FormsOf(typed.command);
    words.assign(forms.begin(), forms.end());
  }
  if (kind == kContextValue)
    for (const auto& [name, context] : grammar.contexts().contexts) words.push_back(name);
  return words;
}

void AddOptions(const CLI::App* command, Words* words) {
  for (; command; command = command->get_parent())
    for (const CLI::Option* option : command->get_options()) {
      if (option->get_positional()) continue;
      for (const std::string& name : option->get_lnames()) words->push_back("--" + name);
    }
}

}  // namespace

TypedWords ReadWords(const CLI::App& app, const Words& words) {
  TypedWords typed;
  typed.command = &app;
  const CLI::Option* pending = nullptr;  // An option whose value comes next.
  size_t positionals = 0;
  bool& only_names = typed.only_names;
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    const bool last = i + 1 == words.size();
    const size_t equal = word.find('=');
    const bool long_option = !only_names && StartsWith(word, "--");
    if (pending) {
      if (!last) typed.values[pending] = word;
      if (last) typed.option = pending;
      pending = nullptr;
    } else if (long_option && equal != std::string::npos) {
      const CLI::Option* option = FindOption(typed.command, word.substr(0, equal));
      if (option && !last) typed.values[option] = word.substr(equal + 1);
      if (last) {
        typed.option = option;
        typed.before = word.substr(0, equal + 1);
        typed.current = word.substr(equal + 1);
        return typed;
      }
    } else if (last) {
      if (only_names || !StartsWith(word, "-"))
        typed.option = Positional(typed.command, positionals);
    } else if (word == "--") {
      only_names = true;
    } else if (!only_names && word.size() > 1 && word.front() == '-') {
      const CLI::Option* option = FindOption(typed.command, word);
      if (option && option->get_expected_max() > 0) pending = option;
    } else if (const CLI::App* inner = only_names ? nullptr : FindCommand(typed.command, word)) {
      typed.command = inner;
      positionals = 0;
    } else if (const CLI::Option* option = Positional(typed.command, positionals)) {
      typed.values.emplace(option, word);  // The first: a word for a resource, a kind of target.
      ++positionals;
    }
    if (last) typed.current = word;
  }
  return typed;
}

Words Candidates(const Grammar& grammar, const TypedWords& typed) {
  Words words;
  if (StartsWith(typed.current, "-") && typed.before.empty() && !typed.only_names) {
    AddOptions(typed.command, &words);
  } else if (typed.option) {
    words = ValuesOf(grammar, typed);
  }
  if (!typed.option || typed.option->get_positional()) {
    for (const CLI::App* command :
         typed.command->get_subcommands([](const CLI::App*) { return true; }))
      words.push_back(command->get_name());
  }
  if (words.size() == 1 && StartsWith(words.front(), ":")) return words;
  Words fitting;
  for (const std::string& word : words)
    if (StartsWith(word, typed.current)) fitting.push_back(typed.before + word);
  return fitting;
}

std::string CompletionScript(const std::string& shell) {
  if (shell == "bash") {
    return R"(# Completion of fabricctl for bash: source <(fabricctl completion bash)
_fabricctl() {
  local cur words cword
  if declare -F _get_comp_words_by_ref >/dev/null; then
    _get_comp_words_by_ref -n "=:" cur words cword
  else
    cur=${COMP_WORDS[COMP_CWORD]} words=("${COMP_WORDS[@]}") cword=$COMP_CWORD
  fi
  local IFS=$'\n' reply
  reply=$("${words[0]}" __complete "${words[@]:1:cword}" 2>/dev/null)
  case $reply in
    :files) compopt -o default; COMPREPLY=(); return ;;
    :directories) compopt -o dirnames; COMPREPLY=(); return ;;
  esac
  COMPREPLY=($reply)
  [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *= ]] && compopt -o nospace
  declare -F __ltrim_colon_completions >/dev/null && __ltrim_colon_completions "$cur"
}
complete -F _fabricctl fabricctl
)";
  }
  if (shell == "zsh") {
    return R"(#compdef fabricctl
# Completion of fabricctl for zsh: source <(fabricctl completion zsh), or _fabricctl in $fpath
_fabricctl() {
  local -a reply
  reply=("${(@f)$(${words[1]} __complete "${(@)words[2,CURRENT]}" 2>/dev/null)}")
  case ${reply[1]} in
    :files) _files ;;
    :directories) _files -/ ;;
    *) compadd -Q -S ' ' -- ${reply:#*=} ; compadd -Q -S '' -- ${(M)reply:#*=} ;;
  esac
}
if [ "$funcstack[1]" = "_fabricctl" ]; then _fabricctl "$@"; else compdef _fabricctl fabricctl; fi
)";
  }
  if (shell == "fish") {
    return R"(# Completion of fabricctl for fish: fabricctl completion fish | source
function __fabricctl_complete
    set -l words (commandline -opc)
    set -l reply ($words[1] __complete $words[2..-1] (commandline -ct) 2>/dev/null)
    switch "$reply[1]"
        case :files
            __fish_complete_path (commandline -ct)
        case :directories
            __fish_complete_directories (commandline -ct)
        case '*'
            printf '%s\n' $reply
    end
end
complete -c fabricctl -f -a '(__fabricctl_complete)'
)";
  }
  return {};
}

}  // namespace fabricd::cli
