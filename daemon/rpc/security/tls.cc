// SPDX-License-Identifier: Apache-2.0
#include "daemon/rpc/security/tls.h"

#include <grpcpp/security/tls_certificate_provider.h>
#include <grpcpp/security/tls_credentials_options.h>

#include "common/status.h"

namespace fabricd::rpc {

absl::StatusOr<std::shared_ptr<grpc::ServerCredentials>> MutualTls(
    const CertificateKeeper& keeper) {
  constexpr unsigned kRefreshSeconds = 1;  // Of a text in memory.
  const auto provider = std::make_shared<grpc::experimental::FileWatcherCertificateProvider>(
      keeper.identity_path(), keeper.identity_path(), keeper.signers_path(), kRefreshSeconds);
  grpc::experimental::TlsServerCredentialsOptions options(provider);
  options.watch_root_certs();
  options.watch_identity_key_cert_pairs();
  options.set_cert_request_type(GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  auto credentials = grpc::experimental::TlsServerCredentials(options);
  if (credentials == nullptr) return Internal("gRPC makes no TLS credentials");
  return credentials;
}

}  // namespace fabricd::rpc
