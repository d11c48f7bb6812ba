// SPDX-License-Identifier: Apache-2.0
#include "daemon/rpc/convert/fingerprint.h"

#include <memory>

#include <google/protobuf/descriptor.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

namespace fabricd::rpc {
namespace {

// FNV-1a.
uint64_t Mix(uint64_t hash, const std::string& bytes) {
  for (const char c : bytes) hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001B3;
  return (hash ^ 0xFF) * 0x100000001B3;  // Ends the text: no UTF-8 has this byte.
}

}  // namespace

uint64_t FingerprintOf(const google::protobuf::Message& request, const std::string& owner) {
  const std::unique_ptr<google::protobuf::Message> copy(request.New());
  copy->CopyFrom(request);
  for (const char* name : {"request_id", "validate_only", "ttl", "owner"})
    if (const auto* field = copy->GetDescriptor()->FindFieldByName(name))
      copy->GetReflection()->ClearField(copy.get(), field);
  std::string bytes;
  {
    google::protobuf::io::StringOutputStream stream(&bytes);
    google::protobuf::io::CodedOutputStream out(&stream);
    out.SetSerializationDeterministic(true);
    copy->SerializeToCodedStream(&out);
  }
  uint64_t hash = Mix(0xCBF29CE484222325, request.GetDescriptor()->full_name());
  hash = Mix(Mix(hash, owner), bytes);
  return hash == 0 ? 1 : hash;
}

}  // namespace fabricd::rpc
