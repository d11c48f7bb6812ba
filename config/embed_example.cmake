# SPDX-License-Identifier: Apache-2.0
# cmake -DINPUT=fabricd.example.yaml -DOUTPUT=example_yaml.cc -P embed_example.cmake
file(READ ${INPUT} text)
file(WRITE ${OUTPUT} "// Generated from fabricd.example.yaml.
#include \"config/load.h\"

namespace fabricd::config {

const std::string& ExampleYaml() {
  static const std::string text = R\"~~~(${text})~~~\";
  return text;
}

}  // namespace fabricd::config
")
