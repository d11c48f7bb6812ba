// SPDX-License-Identifier: Apache-2.0
// What every method owes to every client: found by the service descriptors, asked over a
// connection, so that a new method or field is tried as soon as it is there.
#include "daemon/rpc/convert/request_check.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <set>

#include <google/protobuf/descriptor.h>
#include <google/protobuf/dynamic_message.h>

#include "daemon/base/access.h"
#include "daemon/rpc/convert/fingerprint.h"
#include "tests/unit/daemon/rpc/running_server.h"

namespace fabricd::rpc::testing {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::DescriptorPool;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::MethodDescriptor;
using ::testing::HasSubstr;
using ::testing::Not;

std::string PathOf(const MethodDescriptor& method) {
  return method.service()->full_name() + "/" + method.name();
}

// Those of the services that are always served; call_access_test sees to it that none is missing.
std::vector<const MethodDescriptor*> Methods() {
  std::vector<const MethodDescriptor*> methods;
  for (const MethodRule& rule : MethodRules()) {
    std::string name(rule.method);
    name[name.find('/')] = '.';
    const auto* method = DescriptorPool::generated_pool()->FindMethodByName(name);
    if (method != nullptr && name.starts_with("fabric.v1.")) methods.push_back(method);
  }
  EXPECT_GT(methods.size(), 40u);
  return methods;
}

std::unique_ptr<Message> NewMessage(const Descriptor* kind) {
  return std::unique_ptr<Message>(
      google::protobuf::MessageFactory::generated_factory()->GetPrototype(kind)->New());
}

// Calls `visit(request, field's path, field)` for each field of the method's request, inner ones
// too, with the message that holds it made in `request`.
using Visit = std::function<void(Message& request, Message& holder, const FieldDescriptor& field,
                                 const std::string& path)>;
void ForEachField(const Descriptor* root, const std::vector<const FieldDescriptor*>& way,
                  const Visit& visit) {
  const Descriptor* kind = way.empty() ? root : way.back()->message_type();
  for (int i = 0; i < kind->field_count(); ++i) {
    const FieldDescriptor* field = kind->field(i);
    if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE && !field->is_map()) {
      auto longer = way;
      longer.push_back(field);
      if (longer.size() < 4) ForEachField(root, longer, visit);
      continue;
    }
    const auto request = NewMessage(root);
    Message* holder = request.get();
    std::string path;
    for (const FieldDescriptor* step : way) {
      const auto& values = *holder->GetReflection();
      holder = step->is_repeated() ? values.AddMessage(holder, step)
                                   : values.MutableMessage(holder, step);
      path += step->name() + ".";
    }
    visit(*request, *holder, *field, path + field->name());
  }
}

class EveryMethodTest : public ::testing::Test {
 protected:
  EveryMethodTest() {
    backend_.on_partitions = [](const auto&, const daemon::PartitionsDone& done) {
      done(absl::FailedPreconditionError("no master"), nullptr);
    };
    backend_.on_hold = [](const auto&, const daemon::HoldDone& done) {
      done(absl::FailedPreconditionError("no master"), nullptr);
    };
    backend_.on_mastership = [](const auto&, const daemon::MastershipDone& done) {
      done(absl::FailedPreconditionError("no master"), nullptr);
    };
    backend_.on_sweep = [](bool, const std::function<void(absl::Status)>& done) {
      done(absl::OkStatus());
    };
  }
  grpc::Status Call(const MethodDescriptor& method, const Message& request) {
    const bool endless = method.name().starts_with("Watch");
    return CallGeneric(server_.channel, PathOf(method), request.SerializeAsString(),
                       std::chrono::milliseconds(endless ? 300 : 20'000));
  }
  void ExpectRefused(const MethodDescriptor& method, const Message& request,
                     const std::string& field) {
    const grpc::Status status = Call(method, request);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT)
        << PathOf(method) << " " << field << ": " << status.error_message();
    if (status.error_code() != grpc::StatusCode::INVALID_ARGUMENT) return;
    EXPECT_EQ(ReasonOf(status), "INVALID_REQUEST") << PathOf(method);
    const auto wrong = DetailOf<google::rpc::BadRequest>(status);
    ASSERT_EQ(wrong.field_violations_size(), 1) << PathOf(method) << " " << field;
    EXPECT_EQ(wrong.field_violations(0).field(), field) << PathOf(method);
  }

  SmallFabric fabric_;
  FakeBackend backend_{fabric_.View()};
  RunningServer server_{backend_};
};

TEST_F(EveryMethodTest, RefusesUnknownEnumValues) {
  int tried = 0;
  for (const MethodDescriptor* method : Methods())
    ForEachField(method->input_type(), {},
                 [&](Message& request, Message& holder, const FieldDescriptor& field,
                     const std::string& path) {
                   if (field.cpp_type() != FieldDescriptor::CPPTYPE_ENUM) return;
                   const auto& values = *holder.GetReflection();
                   if (field.is_repeated())
                     values.AddEnumValue(&holder, &field, 99);
                   else
                     values.SetEnumValue(&holder, &field, 99);
                   ExpectRefused(*method, request, path);
                   ++tried;
                 });
  EXPECT_GE(tried, 10);
}

TEST_F(EveryMethodTest, RefusesControlCharacters) {
  int tried = 0;
  for (const MethodDescriptor* method : Methods()) {
    if (method->client_streaming()) continue;  // Its text is a file.
    ForEachField(method->input_type(), {},
                 [&](Message& request, Message& holder, const FieldDescriptor& field,
                     const std::string& path) {
                   const bool document =
                       std::find(std::begin(kDocumentFields), std::end(kDocumentFields),
                                 field.full_name()) != std::end(kDocumentFields);
                   if (field.type() != FieldDescriptor::TYPE_STRING || document) return;
                   for (const char* text : {"a\x1b[2J", "two\nlines", "\xC2\x9B", "\xE2\x80\xAE"}) {
                     const auto& values = *holder.GetReflection();
                     values.ClearField(&holder, &field);
                     if (field.is_repeated())
                       values.AddString(&holder, &field, text);
                     else
                       values.SetString(&holder, &field, text);
                     ExpectRefused(*method, request, path);
                     if (HasFailure()) return;
                   }
                   ++tried;
                 });
  }
  EXPECT_GE(tried, 60);
}

TEST_F(EveryMethodTest, RefusesEmptyNamesInLists) {
  int tried = 0;
  for (const MethodDescriptor* method : Methods())
    ForEachField(method->input_type(), {},
                 [&](Message& request, Message& holder, const FieldDescriptor& field,
                     const std::string& path) {
                   if (field.type() != FieldDescriptor::TYPE_STRING) return;
                   if (!field.is_repeated()) return;
                   holder.GetReflection()->AddString(&holder, &field, "");
                   ExpectRefused(*method, request, path);
                   ++tried;
                 });
  EXPECT_GE(tried, 20);
}

TEST_F(EveryMethodTest, AnswersNoNotFoundForEmptyRequests) {
  for (const MethodDescriptor* method : Methods()) {
    const grpc::Status status = Call(*method, *NewMessage(method->input_type()));
    EXPECT_NE(status.error_code(), grpc::StatusCode::NOT_FOUND)
        << PathOf(*method) << ": " << status.error_message();
    EXPECT_THAT(status.error_message(), Not(HasSubstr("\"\""))) << PathOf(*method);
  }
}

// Other methods are idempotent.
TEST(EveryMutation, TakesARequestId) {
  const std::set<std::string> kRepeatable = {
      "fabric.v1.AdminService/AcceptTakeover",       "fabric.v1.AdminService/ReloadConfig",
      "fabric.v1.AdminService/SetPriority",          "fabric.v1.AdminService/StartSweep",
      "fabric.v1.RemediationService/AckHold",        "fabric.v1.RemediationService/ClearDamping",
      "fabric.v1.TelemetryService/PollCounters",     "fabric.v1.VerdictService/AckVerdict",
      "fabric.v1.VerdictService/OverruleVerdict",    "fabric.v1.VerdictService/ReleaseVerdict",
      "fabric.v1.VerdictService/ResetVerdictBreaker"};
  std::set<std::string> without;
  for (const MethodDescriptor* method : Methods())
    if (FindRule(PathOf(*method))->is_mutation &&
        method->input_type()->FindFieldByName("request_id") == nullptr)
      without.insert(PathOf(*method));
  EXPECT_EQ(without, kRepeatable);
}

TEST(RequestCheck, DocumentsAreFieldsOfTheApi) {
  const auto& api = *DescriptorPool::generated_pool();
  for (const std::string_view name : kDocumentFields)
    EXPECT_NE(api.FindFieldByName(std::string(name)), nullptr) << name;
  pb::ValidateConfigRequest file;
  file.set_yaml("log:\n  level: info\n");
  EXPECT_TRUE(CheckRequest(file).ok());
  pb::ImportOpensmRequest files;
  (*files.mutable_files())["guid2lid"] = "0x1 0x1\n";
  EXPECT_TRUE(CheckRequest(files).ok());
}

TEST(RequestCheck, AcceptsUtf8Texts) {
  pb::CreateHoldRequest request;
  request.set_reason("Größe · 設備 \xF0\x9F\x94\xA7");
  request.set_owner("slurm/job7");
  EXPECT_TRUE(CheckRequest(request).ok());
}

TEST(Fingerprint, DependsOnTheRequestedChangeOnly) {
  pb::CreateHoldRequest request;
  request.set_target("node1");
  request.set_reason("why");
  const uint64_t first = FingerprintOf(request, "slurm");
  request.set_request_id("r-1");
  request.set_owner("slurm");
  request.mutable_ttl()->set_seconds(7);
  EXPECT_EQ(FingerprintOf(request, "slurm"), first);
  EXPECT_NE(FingerprintOf(request, "slurm2"), first);
  request.set_target("node2");
  EXPECT_NE(FingerprintOf(request, "slurm"), first);
  // Stored: it is the same in every version.
  EXPECT_EQ(FingerprintOf(pb::DeleteHoldRequest()), FingerprintOf(pb::DeleteHoldRequest(), ""));
}

}  // namespace
}  // namespace fabricd::rpc::testing
