// SPDX-License-Identifier: Apache-2.0
// Certificates made by openssl, as an operator would make them.
#pragma once

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace fabricd::rpc::testing {

// A directory with a signer's certificate and what it signed.
class Certificates {
 public:
  Certificates(std::string directory, const std::string& signer)
      : directory_(std::move(directory)) {
    Run(
        fmt::format("mkdir -p {0} && cd {0} && openssl req -x509 -newkey ec -pkeyopt "
                    "ec_paramgen_curve:P-256 -nodes -days 2 -subj '/CN={1}' -keyout ca.key -out "
                    "ca.pem",
                    directory_, signer));
  }
  // NAME.pem and NAME.key; `alternative`: "URI:spiffe://cluster/x", "DNS:localhost".
  void Sign(const std::string& name, const std::string& common_name,
            const std::string& alternative) const {
    const std::string extension =
        alternative.empty() ? "" : fmt::format("subjectAltName={}", alternative);
    Run(
        fmt::format("cd {0} && openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes "
                    "-subj '/CN={2}' -keyout {1}.key -out {1}.csr && printf '{3}' > {1}.ext && "
                    "openssl x509 -req -in {1}.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days "
                    "2 -extfile {1}.ext -out {1}.pem",
                    directory_, name, common_name, extension));
  }
  std::string path(const std::string& file) const { return directory_ + "/" + file; }
  std::string Read(const std::string& file) const {
    std::ostringstream text;
    text << std::ifstream(path(file)).rdbuf();
    return text.str();
  }

 private:
  static void Run(const std::string& command) {
    const std::string quiet = "(" + command + ") >/dev/null 2>&1";
    EXPECT_EQ(std::system(quiet.c_str()), 0) << command;
  }
  const std::string directory_;
};

}  // namespace fabricd::rpc::testing
