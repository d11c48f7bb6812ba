// SPDX-License-Identifier: Apache-2.0
#include "tests/support/etcd.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "store/etcd/grpc_client.h"

namespace fabricd::support {
namespace {

using std::chrono::milliseconds;

// Free a moment ago; all at once, so that none is given twice.
std::vector<std::string> FreeAddresses(size_t count) {
  std::vector<int> sockets;
  std::vector<std::string> addresses;
  for (size_t i = 0; i < count; ++i) {
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    EXPECT_EQ(bind(fd, reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size), 0);
    addresses.push_back(fmt::format("127.0.0.1:{}", ntohs(address.sin_port)));
    sockets.push_back(fd);
  }
  for (const int fd : sockets) close(fd);
  return addresses;
}

pid_t Spawn(const std::vector<std::string>& command, const std::string& log) {
  std::vector<char*> words;
  for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  const pid_t parent = getpid(), pid = fork();
  if (pid != 0) return pid;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);
  const int out = open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  dup2(out, 1);
  dup2(out, 2);
  execvp(words[0], words.data());
  _exit(127);
}

}  // namespace

bool HaveEtcd() { return std::system("command -v etcd etcdctl >/dev/null") == 0; }

EtcdCluster& EtcdCluster::Shared(size_t members) {
  static std::map<size_t, std::unique_ptr<EtcdCluster>> clusters;
  std::unique_ptr<EtcdCluster>& cluster = clusters[members];
  if (cluster == nullptr)
    cluster = std::make_unique<EtcdCluster>(Options{.members = members});
  else
    cluster->Renew();
  return *cluster;
}

void EtcdCluster::Renew() {
  for (size_t i = 0; i < pids_.size(); ++i)
    if (pids_[i] == 0)
      Start(i);
    else
      Continue(i);
  WaitUntilReady();
  const std::string all(1, '\0');
  const auto deleted = MakeClient()->DeleteRange(all, all);
  EXPECT_TRUE(deleted.ok()) << deleted.status();
}

EtcdCluster::EtcdCluster(Options options)
    : options_(std::move(options)), directory_(::testing::TempDir() + "/fabricd_etcd_XXXXXX") {
  if (mkdtemp(directory_.data()) == nullptr) ADD_FAILURE() << "no directory " << directory_;
  auto addresses = FreeAddresses(2 * options_.members);
  endpoints_.assign(addresses.begin(), addresses.begin() + static_cast<long>(options_.members));
  peers_.assign(addresses.begin() + static_cast<long>(options_.members), addresses.end());
  pids_.resize(options_.members);
  for (size_t i = 0; i < options_.members; ++i) Start(i);
  WaitUntilReady();
}

EtcdCluster::~EtcdCluster() {
  Destroy();
  std::filesystem::remove_all(directory_);
}

std::vector<std::string> EtcdCluster::CommandOf(size_t member) const {
  std::string cluster;
  for (size_t i = 0; i < peers_.size(); ++i)
    cluster += fmt::format("{}m{}=http://{}", i == 0 ? "" : ",", i, peers_[i]);
  const std::string client = Scheme() + "://" + endpoints_[member];
  const std::string peer = "http://" + peers_[member];
  std::vector<std::string> command = {"etcd",
                                      fmt::format("--name=m{}", member),
                                      "--data-dir=" + DataOf(member),
                                      "--listen-client-urls=" + client,
                                      "--advertise-client-urls=" + client,
                                      "--listen-peer-urls=" + peer,
                                      "--initial-advertise-peer-urls=" + peer,
                                      "--initial-cluster=" + cluster,
                                      "--heartbeat-interval=50",
                                      "--election-timeout=250"};
  if (!options_.certificates.empty()) {
    command.push_back("--cert-file=" + options_.certificates + "/server.pem");
    command.push_back("--key-file=" + options_.certificates + "/server.key");
    command.push_back("--trusted-ca-file=" + options_.certificates + "/ca.pem");
    command.push_back("--client-cert-auth");
  }
  command.insert(command.end(), options_.arguments.begin(), options_.arguments.end());
  return command;
}

void EtcdCluster::Start(size_t member) {
  pids_[member] = Spawn(CommandOf(member), fmt::format("{}/{}.log", directory_, member));
}

void EtcdCluster::Kill(size_t member) {
  if (pids_[member] == 0) return;
  kill(pids_[member], SIGKILL);
  waitpid(std::exchange(pids_[member], 0), nullptr, 0);
}

void EtcdCluster::Pause(size_t member) { kill(pids_[member], SIGSTOP); }
void EtcdCluster::Continue(size_t member) { kill(pids_[member], SIGCONT); }

void EtcdCluster::Destroy() {
  for (size_t i = 0; i < pids_.size(); ++i) {
    Kill(i);
    std::filesystem::remove_all(DataOf(i));
  }
}

void EtcdCluster::WaitUntilReady() {
  const auto client = MakeClient();
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  absl::Status status;
  do {
    status = client->Range({"ready"}).status();
    if (status.ok() || !absl::IsUnavailable(status)) return;
  } while (std::chrono::steady_clock::now() < end);
  ADD_FAILURE() << "etcd does not answer: " << status;
}

store::etcd::ClientOptions EtcdCluster::client_options(const std::string& name) const {
  store::etcd::ClientOptions options;
  options.endpoints = endpoints_;
  if (options_.certificates.empty()) return options;
  options.ca = options_.certificates + "/ca.pem";
  options.cert = fmt::format("{}/{}.pem", options_.certificates, name);
  options.key = fmt::format("{}/{}.key", options_.certificates, name);
  return options;
}

std::unique_ptr<store::etcd::Client> EtcdCluster::MakeClient() const {
  auto client = store::etcd::MakeGrpcClient(client_options());
  EXPECT_TRUE(client.ok()) << client.status();
  return *std::move(client);
}

std::string EtcdCluster::Control(const std::string& arguments, size_t member) const {
  const std::string command = fmt::format("ETCDCTL_API=3 etcdctl --endpoints={} {} </dev/null 2>&1",
                                          endpoints_[member], arguments);
  FILE* const pipe = popen(command.c_str(), "r");
  std::string output;
  char buffer[4096];
  while (const size_t size = fread(buffer, 1, sizeof buffer, pipe)) output.append(buffer, size);
  EXPECT_EQ(pclose(pipe), 0) << command << "\n" << output;
  return output;
}

}  // namespace fabricd::support
