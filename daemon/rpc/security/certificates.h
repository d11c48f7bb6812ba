// SPDX-License-Identifier: Apache-2.0
// The certificate, key and signers that a listener on TCP shows and asks for: read from their
// files, judged, and read again when the files change. Knows no gRPC. Any thread.
#pragma once

#include <memory>
#include <string>
#include <thread>

#include <absl/status/statusor.h>

#include "common/bounded_queue.h"
#include "config/config.h"

namespace fabricd::rpc {

// PEM texts that go together.
struct CertificateTexts {
  std::string identity;  // Certificates, the own one first, and the key.
  std::string signers;   // Of clients.
  friend bool operator==(const CertificateTexts&, const CertificateTexts&) = default;
};

// kInvalidArgument: a file is not named, cannot be read, or its text is nothing that TLS can use,
// such as a key of another certificate; the message begins with the key of the configuration.
absl::StatusOr<CertificateTexts> ReadCertificates(const config::Security& security);

// Keeps the last good texts where gRPC reads them, whatever becomes of the files.
//
// gRPC reads files on its own and hands out whatever they hold. It is given descriptors of this
// process instead (/proc/self/fd/N), behind each of which stands a text in memory, changed at once:
// a key never meets the certificate of another moment, and no copy of a key is on a disk.
class CertificateKeeper {
 public:
  // Errors as ReadCertificates(), or kInternal. The files are looked at every `refresh_seconds`.
  static absl::StatusOr<std::unique_ptr<CertificateKeeper>> Start(const config::Security& security,
                                                                  unsigned refresh_seconds);
  ~CertificateKeeper();

  std::string identity_path() const;
  std::string signers_path() const;

 private:
  CertificateKeeper(config::Security security, unsigned refresh_seconds);
  absl::Status Publish(const CertificateTexts& texts);
  void Run();
  void Refresh();

  const config::Security security_;
  const unsigned refresh_seconds_;
  int identity_ = -1, signers_ = -1;
  CertificateTexts in_use_;
  std::string fault_;  // What was said last of the files.
  BoundedQueue<int> stop_{1};
  std::thread thread_;
};

}  // namespace fabricd::rpc
