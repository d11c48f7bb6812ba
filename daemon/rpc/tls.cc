// SPDX-License-Identifier: Apache-2.0
#include "daemon/rpc/tls.h"

#include <sys/stat.h>

#include <grpcpp/security/tls_certificate_provider.h>
#include <grpcpp/security/tls_credentials_options.h>
#include <spdlog/spdlog.h>

#include "common/status.h"
#include "daemon/side_file.h"

namespace fabricd::rpc {
namespace {

absl::Status CheckPem(const char* key, const std::string& path) {
  if (path.empty())
    return InvalidArgument("{}: needed to listen on TCP, which takes mutual TLS", key);
  const auto text = daemon::ReadText(path);
  if (!text.ok()) return InvalidArgument("{}: {}", key, Message(text.status()));
  if (text->find("-----BEGIN ") == std::string::npos)
    return InvalidArgument("{}: {}: no PEM file", key, path);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::shared_ptr<grpc::ServerCredentials>> MutualTls(const config::Security& security,
                                                                   unsigned refresh_seconds) {
  FABRICD_RETURN_IF_ERROR(CheckPem("security.tls_cert", security.tls_cert));
  FABRICD_RETURN_IF_ERROR(CheckPem("security.tls_key", security.tls_key));
  FABRICD_RETURN_IF_ERROR(CheckPem("security.tls_ca", security.tls_ca));
  struct stat info {};
  if (stat(security.tls_key.c_str(), &info) == 0 && (info.st_mode & S_IRWXO) != 0)
    spdlog::warn("security.tls_key: {} can be read by everybody on this machine", security.tls_key);
  const auto provider = std::make_shared<grpc::experimental::FileWatcherCertificateProvider>(
      security.tls_key, security.tls_cert, security.tls_ca, refresh_seconds);
  grpc::experimental::TlsServerCredentialsOptions options(provider);
  options.watch_root_certs();
  options.watch_identity_key_cert_pairs();
  options.set_cert_request_type(GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  auto credentials = grpc::experimental::TlsServerCredentials(options);
  if (credentials == nullptr) return Internal("gRPC makes no TLS credentials");
  return credentials;
}

}  // namespace fabricd::rpc
