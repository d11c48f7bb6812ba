// SPDX-License-Identifier: Apache-2.0
#include "daemon/rpc/security/certificates.h"

#include <fcntl.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>
#include <vector>

#include <spdlog/spdlog.h>

#include "common/status.h"
#include "daemon/base/side_file.h"

namespace fabricd::rpc {
namespace {

constexpr size_t kMostBytes = size_t{1} << 20;  // Of a file.

template <typename T, void (*Free)(T*)>
struct Deleter {
  void operator()(T* object) const { Free(object); }
};
using Context = std::unique_ptr<SSL_CTX, Deleter<SSL_CTX, SSL_CTX_free>>;
using Certificate = std::unique_ptr<X509, Deleter<X509, X509_free>>;
using Key = std::unique_ptr<EVP_PKEY, Deleter<EVP_PKEY, EVP_PKEY_free>>;
struct BioDeleter {
  void operator()(BIO* bio) const { BIO_free(bio); }
};
using Bio = std::unique_ptr<BIO, BioDeleter>;

Bio Open(const std::string& text) {
  return Bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

// A key with a passphrase is refused, instead of asking for it at a terminal.
int NoPassphrase(char*, int, int, void*) { return -1; }

std::string WhatOpensslSays() {
  const char* reason = ERR_reason_error_string(ERR_peek_last_error());
  ERR_clear_error();
  return reason != nullptr ? reason : "not understood";
}

absl::Status NotUsable(const char* key, const std::string& path, const char* what) {
  return InvalidArgument("{}: {}: {} ({})", key, path, what, WhatOpensslSays());
}

absl::StatusOr<std::vector<Certificate>> Certificates(const char* key, const std::string& path,
                                                      const std::string& text) {
  const Bio bio = Open(text);
  std::vector<Certificate> all;
  while (X509* next = PEM_read_bio_X509(bio.get(), nullptr, NoPassphrase, nullptr))
    all.emplace_back(next);
  const bool at_end = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
  if (!at_end) return NotUsable(key, path, "a certificate in it cannot be read");
  if (all.empty()) return NotUsable(key, path, "has no certificate");
  ERR_clear_error();
  return all;
}

void WarnIfExpired(const char* key, const std::string& path, const X509* certificate) {
  if (X509_cmp_current_time(X509_get0_notAfter(certificate)) < 0)
    spdlog::warn("{}: {}: the certificate has expired", key, path);
}

absl::StatusOr<std::string> Read(const char* key, const std::string& path) {
  if (path.empty())
    return InvalidArgument("{}: needed to listen on TCP, which takes mutual TLS", key);
  return daemon::ReadFileOf(key, path, kMostBytes);
}

// As the handshake will use them, so that what it would refuse is refused here.
absl::Status Judge(const config::Security& security, const std::string& cert,
                   const std::string& key, const std::string& signers) {
  ERR_clear_error();
  const Context context(SSL_CTX_new(TLS_server_method()));
  auto own = Certificates("security.tls_cert", security.tls_cert, cert);
  if (!own.ok()) return own.status();
  if (SSL_CTX_use_certificate(context.get(), own->front().get()) != 1)
    return NotUsable("security.tls_cert", security.tls_cert, "TLS does not take the certificate");
  const Bio bio = Open(key);
  const Key private_key(PEM_read_bio_PrivateKey(bio.get(), nullptr, NoPassphrase, nullptr));
  if (!private_key)
    return NotUsable("security.tls_key", security.tls_key, "has no key without a passphrase");
  if (SSL_CTX_use_PrivateKey(context.get(), private_key.get()) != 1 ||
      SSL_CTX_check_private_key(context.get()) != 1)
    return NotUsable("security.tls_key", security.tls_key,
                     "is not the key of the certificate in security.tls_cert");
  auto trusted = Certificates("security.tls_ca", security.tls_ca, signers);
  if (!trusted.ok()) return trusted.status();
  WarnIfExpired("security.tls_cert", security.tls_cert, own->front().get());
  for (const Certificate& each : *trusted)
    WarnIfExpired("security.tls_ca", security.tls_ca, each.get());
  return absl::OkStatus();
}

// -1: errno says why.
int InMemory(const std::string& text) {
  const int fd = memfd_create("fabricd-tls", MFD_CLOEXEC);
  size_t written = 0;
  while (fd >= 0 && written < text.size()) {
    const ssize_t count = write(fd, text.data() + written, text.size() - written);
    if (count <= 0) {
      close(fd);
      return -1;
    }
    written += static_cast<size_t>(count);
  }
  return fd;
}

std::string PathOf(int fd) { return fmt::format("/proc/self/fd/{}", fd); }

}  // namespace

absl::StatusOr<CertificateTexts> ReadCertificates(const config::Security& security) {
  const auto cert = Read("security.tls_cert", security.tls_cert);
  if (!cert.ok()) return cert.status();
  const auto key = Read("security.tls_key", security.tls_key);
  if (!key.ok()) return key.status();
  auto signers = Read("security.tls_ca", security.tls_ca);
  if (!signers.ok()) return signers.status();
  FABRICD_RETURN_IF_ERROR(Judge(security, *cert, *key, *signers));
  // Readers take the first key that they find, which must be that of security.tls_key.
  const bool has_key = cert->find("PRIVATE KEY-----") != std::string::npos;
  if (has_key && security.tls_cert != security.tls_key)
    return InvalidArgument("security.tls_cert: {}: has a key, although security.tls_key is {}",
                           security.tls_cert, security.tls_key);
  return CertificateTexts{has_key ? *cert : *cert + "\n" + *key, *std::move(signers)};
}

CertificateKeeper::CertificateKeeper(config::Security security, unsigned refresh_seconds)
    : security_(std::move(security)), refresh_seconds_(refresh_seconds) {}

absl::StatusOr<std::unique_ptr<CertificateKeeper>> CertificateKeeper::Start(
    const config::Security& security, unsigned refresh_seconds) {
  auto texts = ReadCertificates(security);
  if (!texts.ok()) return texts.status();
  struct stat info {};
  if (stat(security.tls_key.c_str(), &info) == 0 && (info.st_mode & S_IRWXO) != 0)
    spdlog::warn("security.tls_key: {} can be read by everybody on this machine", security.tls_key);
  std::unique_ptr<CertificateKeeper> keeper(new CertificateKeeper(security, refresh_seconds));
  FABRICD_RETURN_IF_ERROR(keeper->Publish(*texts));
  keeper->in_use_ = *std::move(texts);
  keeper->thread_ = std::thread([raw = keeper.get()] { raw->Run(); });
  return keeper;
}

CertificateKeeper::~CertificateKeeper() {
  stop_.Close();
  if (thread_.joinable()) thread_.join();
  for (const int fd : {identity_, signers_})
    if (fd >= 0) close(fd);
}

std::string CertificateKeeper::identity_path() const { return PathOf(identity_); }
std::string CertificateKeeper::signers_path() const { return PathOf(signers_); }

// The descriptors' numbers stay; what is behind them is exchanged at once.
absl::Status CertificateKeeper::Publish(const CertificateTexts& texts) {
  const std::pair<int*, const std::string*> all[] = {{&identity_, &texts.identity},
                                                     {&signers_, &texts.signers}};
  for (const auto& [place, text] : all) {
    const int fd = InMemory(*text);
    if (fd < 0) return Internal("cannot keep certificates in memory: {}", std::strerror(errno));
    if (*place < 0) {
      *place = fd;
      continue;
    }
    const bool exchanged = dup3(fd, *place, O_CLOEXEC) >= 0;
    close(fd);
    if (!exchanged) return Internal("cannot exchange certificates: {}", std::strerror(errno));
  }
  return absl::OkStatus();
}

void CertificateKeeper::Run() {
  std::vector<int> nothing;
  while (stop_.DrainUntil(
      nothing, std::chrono::steady_clock::now() + std::chrono::seconds(refresh_seconds_)))
    Refresh();
}

void CertificateKeeper::Refresh() {
  auto texts = ReadCertificates(security_);
  absl::Status status = texts.status();
  if (status.ok() && *texts != in_use_) {
    status = Publish(*texts);
    if (status.ok()) {
      in_use_ = *std::move(texts);
      spdlog::info("connections over TLS that begin from now on use the new certificates");
    }
  }
  const std::string fault = status.ok() ? "" : Message(status);
  if (fault != fault_ && !fault.empty())
    spdlog::error("{}; the certificates of before stay in use", fault);
  fault_ = fault;
}

}  // namespace fabricd::rpc
