// SPDX-License-Identifier: Apache-2.0
// Real etcd members on loopback, for tests: free ports, a directory of their own, and an end with
// the test, also where that crashes.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "store/etcd/client.h"

namespace fabricd::support {

// Whether etcd is installed (tools/deps).
bool HaveEtcd();

class EtcdCluster {
 public:
  // One for all tests of the program, because a start takes longer than most of them: every member
  // runs, and there are no keys. What etcdctl has configured before stays.
  static EtcdCluster& Shared(size_t members = 1);

  struct Options {
    size_t members = 1;
    // A directory with server.pem, server.key and ca.pem: clients need a certificate of that
    // signer.
    std::string certificates = {};
    std::vector<std::string> arguments = {};  // More of them.
  };
  // Starts all, and waits until they answer.
  EtcdCluster() : EtcdCluster(Options{}) {}
  explicit EtcdCluster(Options options);
  ~EtcdCluster();

  void Start(size_t member);  // Without waiting.
  void Kill(size_t member);   // SIGKILL.
  void Pause(size_t member);  // SIGSTOP.
  void Continue(size_t member);
  // Kills all, and takes what they have stored.
  void Destroy();
  // Until a call that needs a leader is answered; a test failure after 20 s.
  void WaitUntilReady();

  const std::vector<std::string>& endpoints() const { return endpoints_; }
  // Of all members, with the certificate NAME.pem where there is TLS.
  store::etcd::ClientOptions client_options(const std::string& name = "client") const;
  std::unique_ptr<store::etcd::Client> MakeClient() const;
  // etcdctl of one member, with the version 3 of the API and no input; its output, or a
  // test failure.
  std::string Control(const std::string& arguments, size_t member = 0) const;

 private:
  void Renew();
  std::string DataOf(size_t member) const { return directory_ + "/" + std::to_string(member); }
  std::string Scheme() const { return options_.certificates.empty() ? "http" : "https"; }
  std::vector<std::string> CommandOf(size_t member) const;

  const Options options_;
  std::string directory_;
  std::vector<std::string> endpoints_, peers_;
  std::vector<pid_t> pids_;  // 0: it does not run.
};

}  // namespace fabricd::support
