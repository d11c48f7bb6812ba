// SPDX-License-Identifier: Apache-2.0
// Certificates of servers and clients: which are accepted, and what becomes of them when their
// files change.
#include <filesystem>
#include <fstream>
#include <thread>

#include "common/status.h"
#include "daemon/rpc/security/certificates.h"
#include "tests/unit/daemon/rpc/security/tls_fixture.h"

namespace fabricd::rpc::testing {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;

TEST_F(TlsTest, AConnectionWithoutACertificateIsRefused) {
  EXPECT_EQ(GetSm(Connect("")).error_code(), grpc::StatusCode::UNAVAILABLE);
  const Certificates strangers(directory_ / "strangers", "signer");
  strangers.Sign("admin", "z", "URI:spiffe://cluster/root");
  EXPECT_EQ(GetSm(Connect(strangers, "admin", certificates_)).error_code(),
            grpc::StatusCode::UNAVAILABLE);
  const auto plain = grpc::CreateChannel(fmt::format("localhost:{}", server_->ports()[0]),
                                         grpc::InsecureChannelCredentials());
  EXPECT_EQ(GetSm(plain).error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_TRUE(GetSm(Connect("viewer")).ok());
}

TEST_F(TlsTest, CertificatesAreRotatedWithoutARestart) {
  const auto before = Connect("viewer");
  ASSERT_TRUE(GetSm(before).ok());
  const Certificates next(directory_ / "next", "next signer");
  next.Sign("server", "head1", "DNS:localhost");
  next.Sign("viewer", "x", "DNS:monitor.example");
  using std::filesystem::copy_options;
  for (const char* file : {"server.key", "server.pem", "ca.pem"})
    std::filesystem::copy_file(next.path(file), certificates_.path(file),
                               copy_options::overwrite_existing);
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  grpc::Status status;
  do {
    status = GetSm(Connect(next, "viewer", next));
  } while (!status.ok() && std::chrono::steady_clock::now() < end);
  EXPECT_TRUE(status.ok()) << status.error_message();
  // Certificates of the old signer are refused. Connections that exist stay open.
  const Certificates old(directory_ / "old", "signer");
  old.Sign("viewer", "x", "DNS:monitor.example");
  EXPECT_FALSE(GetSm(Connect(old, "viewer", next)).ok());
  EXPECT_TRUE(GetSm(before).ok());
}

TEST_F(TlsTest, FaultyFilesKeepThePreviousCertificates) {
  // The signers that the server asks for; "ca.pem" stays what its clients trust.
  std::filesystem::copy_file(certificates_.path("ca.pem"), certificates_.path("signers.pem"));
  options_.security.tls_ca = certificates_.path("signers.pem");
  Start();
  const Certificates other(directory_ / "other", "other signer");
  other.Sign("server", "head1", "DNS:localhost");
  const std::pair<const char*, std::string> faults[] = {
      {"server.pem", "garbage\n"},
      {"server.pem", "-----BEGIN CERTIFICATE-----\ngarbage\n-----END CERTIFICATE-----\n"},
      {"server.pem", ""},
      {"server.key", "garbage\n"},
      {"server.key", other.Read("server.key")},  // Of another certificate.
      {"signers.pem", "garbage\n"}};
  for (const auto& [file, text] : faults) {
    const std::string good = certificates_.Read(file);
    std::ofstream(certificates_.path(file)) << text;
    const auto judged = ReadCertificates(options_.security);
    EXPECT_EQ(judged.status().code(), absl::StatusCode::kInvalidArgument) << file;
    EXPECT_THAT(Message(judged.status()), HasSubstr(certificates_.path(file)));
    std::ofstream(certificates_.path(file)) << good;
  }
  EXPECT_TRUE(ReadCertificates(options_.security).ok());
  const auto still_served = [&](const char* what) {
    // The server looks at the files every second, and gRPC at what the server has.
    const auto end = std::chrono::steady_clock::now() + milliseconds(2500);
    while (std::chrono::steady_clock::now() < end) {
      ASSERT_TRUE(GetSm(Connect("viewer")).ok()) << what;
      std::this_thread::sleep_for(milliseconds(100));
    }
  };
  std::ofstream(certificates_.path("server.key")) << other.Read("server.key");
  still_served("a key of another certificate");
  for (const char* file : {"server.pem", "server.key", "signers.pem"})
    std::ofstream(certificates_.path(file)) << "-----BEGIN CERTIFICATE-----\ngarbage\n";
  still_served("garbage in all files");
}

TEST_F(TlsTest, ConnectionsEndAtTheirAgeAndCertificatesAreCheckedAgain) {
  options_.connection_age = milliseconds(500);
  options_.connection_grace = milliseconds(500);
  Start();
  const auto channel = Connect("viewer");
  const auto stub = pb::TopologyService::NewStub(channel);
  pb::WatchTopologyRequest request;
  request.set_kind(pb::TOPOLOGY_KIND_NODE);
  // The server closes the connection. The client reconnects and resumes the stream.
  for (int i = 0; i < 2; ++i) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
    const auto reader = stub->WatchTopology(&context, request);
    pb::WatchTopologyResponse response;
    size_t objects = 0;
    while (reader->Read(&response)) {
      objects += response.has_change();
      if (response.has_synced()) request.set_resource_version(response.synced().resource_version());
    }
    EXPECT_EQ(reader->Finish().error_code(), grpc::StatusCode::UNAVAILABLE);
    EXPECT_EQ(objects == 0, i > 0);
  }
  EXPECT_TRUE(GetSm(channel).ok());
  // A signer that is not trusted any more: whom it vouched for is out at the next connection.
  const Certificates next(directory_ / "next", "next signer");
  std::filesystem::copy_file(next.path("ca.pem"), certificates_.path("ca.pem"),
                             std::filesystem::copy_options::overwrite_existing);
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (GetSm(channel).ok() && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(milliseconds(20));
  EXPECT_EQ(GetSm(channel).error_code(), grpc::StatusCode::UNAVAILABLE);
}

TEST_F(TlsTest, MissingFilesAreReported) {
  ServerOptions options = options_;
  options.security.tls_key = directory_ / "missing";
  auto server = Server::Start(options, backend_);
  EXPECT_EQ(server.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(Message(server.status()), HasSubstr("security.tls_key: " + (directory_ / "missing")));
}

}  // namespace
}  // namespace fabricd::rpc::testing
