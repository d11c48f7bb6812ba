# SPDX-License-Identifier: Apache-2.0
# cmake -DINPUT=FILE -DOUTPUT=FILE.cc -DHEADER=H -DNAMESPACE=NS -DFUNCTION=F -P EmbedText.cmake:
# the text of a file as `const std::string& NS::F()`, which the header declares.
file(READ ${INPUT} text)
get_filename_component(name ${INPUT} NAME)
file(WRITE ${OUTPUT} "// Generated from ${name}.
#include \"${HEADER}\"

namespace ${NAMESPACE} {

const std::string& ${FUNCTION}() {
  static const std::string text = R\"~~~(${text})~~~\";
  return text;
}

}  // namespace ${NAMESPACE}
")
