// SPDX-License-Identifier: Apache-2.0
#include "tests/support/api_storm.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <set>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <google/protobuf/stubs/logging.h>
#include <grpcpp/generic/generic_stub.h>

#include "common/check.h"
#include "daemon/base/access.h"
#include "fabric/v1/topology_service.grpc.pb.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "tests/support/hostile_messages.h"

namespace fabricd::test {
namespace {

namespace pb = ::fabric::v1;
using google::protobuf::DescriptorPool;
using google::protobuf::Message;
using google::protobuf::MessageFactory;
using google::protobuf::MethodDescriptor;
using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr milliseconds kPatience{20'000};  // With a daemon that has other things to do.
constexpr milliseconds kWatched{150};
constexpr milliseconds kSlack{10'000};  // Of the client itself, on a busy machine.
constexpr size_t kMostFindings = 20;
constexpr size_t kMostMessageBytes = 8 << 10;
constexpr size_t kBombBytes = 24 << 20;

std::string PathOf(const MethodDescriptor* method) {
  if (method == nullptr) return "fabric.v1.TopologyService/BurnDown";
  return method->service()->full_name() + "/" + method->name();
}

bool IsEndless(const MethodDescriptor* method) {
  return method != nullptr && method->server_streaming() && method->name().starts_with("Watch");
}

// The message of `kind`, to be filled.
std::unique_ptr<Message> NewMessage(const google::protobuf::Descriptor* kind) {
  return std::unique_ptr<Message>(MessageFactory::generated_factory()->GetPrototype(kind)->New());
}

// Makes it a dry run, where there are any.
bool MakeHarmless(Message& request) {
  const auto* field = request.GetDescriptor()->FindFieldByName("validate_only");
  if (field != nullptr) request.GetReflection()->SetBool(&request, field, true);
  return field != nullptr;
}

bool IsMutation(const MethodDescriptor* method) {
  const rpc::MethodRule* rule = rpc::FindRule(PathOf(method));
  return rule == nullptr || rule->is_mutation;
}

std::vector<const MethodDescriptor*> Methods(bool harmless) {
  std::vector<const MethodDescriptor*> methods;
  for (const rpc::MethodRule& rule : rpc::MethodRules()) {
    std::string name(rule.method);
    std::replace(name.begin(), name.end(), '/', '.');
    // Simulated faults are no part of the API.
    if (!name.starts_with("fabric.v1.")) continue;
    const auto* method = DescriptorPool::generated_pool()->FindMethodByName(name);
    FABRICD_CHECK(method != nullptr, "{} is not linked into this program", name);
    const bool can_be_dry = MakeHarmless(*NewMessage(method->input_type()));
    if (!harmless || !rule.is_mutation || can_be_dry) methods.push_back(method);
  }
  return methods;
}

bool HasErrorInfo(const grpc::Status& status) {
  google::rpc::Status details;
  if (!details.ParseFromString(status.error_details())) return false;
  google::rpc::ErrorInfo info;
  for (const auto& any : details.details())
    if (any.UnpackTo(&info) && info.domain() == "fabric.v1" && !info.reason().empty()) return true;
  return false;
}

grpc::ByteBuffer BufferOf(const std::string& bytes) {
  const grpc::Slice slice(bytes);
  return {&slice, 1};
}

// One connection and the calls on it, one at a time.
class Client {
 public:
  Client(const std::string& server, int number) {
    grpc::ChannelArguments arguments;
    arguments.SetInt("storm.client", number);  // Else they would share a connection.
    arguments.SetMaxReceiveMessageSize(-1);
    channel_ = grpc::CreateCustomChannel(server, grpc::InsecureChannelCredentials(), arguments);
    stub_ = std::make_unique<grpc::GenericStub>(channel_);
  }
  ~Client() {
    queue_.Shutdown();
    void* tag = nullptr;
    for (bool ok = false; queue_.Next(&tag, &ok);) continue;
  }

  // `learn` sees each answer.
  template <typename Learn>
  StormEnd Run(const StormCall& call, Learn&& learn) {
    const auto start = Clock::now();
    StormEnd end;
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + call.deadline);
    if (call.compressed) context.set_compression_algorithm(GRPC_COMPRESS_GZIP);
    const auto stream = stub_->PrepareCall(&context, "/" + PathOf(call.method), &queue_);
    stream->StartCall(this);
    bool ok = Wait();
    for (size_t i = 0; ok && i < call.messages.size(); ++i) {
      stream->Write(BufferOf(call.messages[i]), this);
      ok = Wait();
    }
    if (ok) {
      stream->WritesDone(this);
      Wait();
    }
    for (int reads = 0;; ++reads) {
      if (reads == call.reads) {
        context.TryCancel();
        end.given_up = true;
      }
      grpc::ByteBuffer answer;
      stream->Read(&answer, this);
      if (!Wait()) break;
      learn(answer);
    }
    stream->Finish(&end.status, this);
    Wait();
    end.took = std::chrono::duration_cast<milliseconds>(Clock::now() - start);
    return end;
  }
  const std::shared_ptr<grpc::Channel>& channel() const { return channel_; }

 private:
  bool Wait() {
    void* tag = nullptr;
    bool ok = false;
    FABRICD_CHECK(queue_.Next(&tag, &ok));
    return ok;
  }

  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<grpc::GenericStub> stub_;
  grpc::CompletionQueue queue_;
};

// Sends anything to the socket and goes away.
void SendGarbage(const std::string& server, HostileMessages& make) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string path = server.substr(server.find(':') + 1);
  if (path.size() >= sizeof(address.sun_path)) return;
  std::memcpy(address.sun_path, path.data(), path.size());
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return;
  if (connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) {
    std::string bytes = make.rng().Chance(0.5) ? "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" : "";
    for (uint64_t left = make.rng().Below(300); left > 0; --left)
      bytes += static_cast<char>(make.rng().Below(make.rng().Chance(0.5) ? 12 : 256));
    (void)send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
  }
  close(fd);
}

// Names of hosts, nodes and ports.
std::vector<std::string> NamesAt(const std::string& server) {
  const auto stub =
      pb::TopologyService::NewStub(grpc::CreateChannel(server, grpc::InsecureChannelCredentials()));
  std::set<std::string> names;
  grpc::ClientContext nodes_context, hosts_context;
  pb::ListNodesRequest nodes_request;
  nodes_request.set_page_size(40);
  pb::ListNodesResponse nodes;
  pb::ListHostsRequest hosts_request;
  hosts_request.set_page_size(40);
  pb::ListHostsResponse hosts;
  const grpc::Status status = stub->ListNodes(&nodes_context, nodes_request, &nodes);
  FABRICD_CHECK(status.ok(), "{}", status.error_message());
  FABRICD_CHECK(stub->ListHosts(&hosts_context, hosts_request, &hosts).ok());
  for (const pb::Node& node : nodes.nodes()) {
    names.insert({node.name(), node.guid()});
    names.insert(node.name() + "/1");
  }
  for (const pb::Host& host : hosts.hosts()) names.insert(host.name());
  return {names.begin(), names.end()};
}

// The request of a call, or what comes instead of one.
StormCall MakeCall(const MethodDescriptor* method, HostileMessages& make, bool harmless) {
  StormCall call{method, {}, false, IsEndless(method) ? kWatched : kPatience, 1000, false};
  Rng& rng = make.rng();
  const auto request = NewMessage(method->input_type());
  const bool may_be_damaged = !harmless || !IsMutation(method);
  if (may_be_damaged && rng.Below(4) == 0) {
    call.damaged = true;
    call.messages = {make.Damaged(*request)};
  } else if (may_be_damaged && rng.Below(2000) == 0) {
    call.damaged = call.compressed = true;
    call.messages = {std::string(kBombBytes, '\0')};
  } else {
    make.Fill(*request);
    if (harmless) MakeHarmless(*request);
    call.messages = {request->SerializeAsString()};
  }
  // Nothing, or too many.
  if (method->client_streaming() || rng.Below(100) == 0)
    call.messages.resize(rng.Below(4), call.messages[0]);
  if (rng.Below(8) == 0) call.reads = static_cast<int>(rng.Below(3));
  if (rng.Below(16) == 0) call.deadline = milliseconds(1 + rng.Below(30));
  return call;
}

}  // namespace

std::string JudgeEnd(const StormCall& call, const StormEnd& end) {
  using grpc::StatusCode;
  const grpc::Status& status = end.status;
  const bool hurried = call.deadline < kPatience;
  if (end.took > call.deadline + kSlack) return "it hung beyond its deadline";
  if (status.error_message().size() > kMostMessageBytes) return "its message is as long as a book";
  switch (status.error_code()) {
    case StatusCode::OK: return call.method == nullptr ? "there is no such method" : "";
    case StatusCode::CANCELLED: return end.given_up ? "" : "nobody gave it up";
    case StatusCode::DEADLINE_EXCEEDED: return hurried ? "" : "it took too long";
    case StatusCode::UNIMPLEMENTED: return call.method == nullptr ? "" : "it is a method of ours";
    case StatusCode::UNKNOWN:
    case StatusCode::INTERNAL:
    case StatusCode::DATA_LOSS:
    case StatusCode::UNAUTHENTICATED: return "no answer to a request that is wrong";
    case StatusCode::RESOURCE_EXHAUSTED:
      // gRPC's own, which it says before the daemon sees the request.
      if (status.error_message().find("larger than max") != std::string::npos) return "";
      break;
    default: break;
  }
  return HasErrorInfo(status) ? "" : "no ErrorInfo";
}

ApiStorm::ApiStorm(StormOptions options)
    : options_(std::move(options)),
      methods_(Methods(options_.harmless)),
      names_(NamesAt(options_.server)) {
  google::protobuf::SetLogHandler(nullptr);  // It complains of each text that is not UTF-8.
}

void ApiStorm::Run(uint64_t rounds) {
  std::vector<std::thread> clients;
  for (int i = 0; i < options_.clients; ++i)
    clients.emplace_back([this, i, rounds] { RunClient(i, rounds); });
  for (std::thread& client : clients) client.join();
}

void ApiStorm::RunClient(int number, uint64_t rounds) {
  Client client(options_.server, number);
  HostileMessages make(options_.seed * 1000 + static_cast<uint64_t>(number), names_);
  for (uint64_t round = 0; round < rounds; ++round) {
    for (const MethodDescriptor* method : methods_) {
      if (stopped_) return;
      const StormCall call = MakeCall(method, make, options_.harmless);
      const auto answer = NewMessage(method->output_type());
      Note(call, client.Run(call, [&](const grpc::ByteBuffer& bytes) {
        std::vector<grpc::Slice> slices;
        if (!bytes.Dump(&slices).ok()) return;
        std::string text;
        for (const grpc::Slice& slice : slices)
          text.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
        if (answer->ParseFromString(text)) make.Learn(*answer);
      }));
    }
    const StormCall unknown{nullptr, {make.Text()}, true, kPatience, 1000, false};
    Note(unknown, client.Run(unknown, [](const grpc::ByteBuffer&) {}));
    SendGarbage(options_.server, make);
  }
}

void ApiStorm::Note(const StormCall& call, const StormEnd& end) {
  const std::string wrong = JudgeEnd(call, end);
  std::lock_guard lock(mutex_);
  ++calls_;
  ++codes_[PathOf(call.method)][end.status.error_code()];
  if (wrong.empty() || findings_.size() >= kMostFindings) return;
  std::string request = "(damaged)";
  if (call.method != nullptr && !call.damaged && !call.messages.empty()) {
    const auto message = NewMessage(call.method->input_type());
    if (message->ParseFromString(call.messages[0]))
      request = message->ShortDebugString().substr(0, 1000);
  }
  findings_.push_back(fmt::format(
      "{}: {}: status {} \"{}\" after {} ms, {} messages: {}", PathOf(call.method), wrong,
      static_cast<int>(end.status.error_code()), end.status.error_message().substr(0, 300),
      end.took.count(), call.messages.size(), request));
}

}  // namespace fabricd::test
