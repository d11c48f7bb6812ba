# SPDX-License-Identifier: Apache-2.0
# fabricd_proto_library(NAME FILES a.proto... [ROOT dir] [LINK libs...] [GRPC]): the static library
# fabricd_NAME of the code generated from .proto files below ROOT (proto/ if none is given).
# Generated code keeps its own, looser warnings: it is not ours to fix.
find_program(FABRICD_GRPC_CPP_PLUGIN grpc_cpp_plugin REQUIRED)

function(fabricd_generated_flags name)
  if(FABRICD_SANITIZE)
    target_compile_options(${name} PRIVATE -fsanitize=${FABRICD_SANITIZE})
  endif()
endfunction()

# Generated files are joined in compilations of several each. They define two names of the same kind
# in every file; a macro gives each file its own. What uses these names in protobuf's headers is
# precompiled, hence read before.
function(fabricd_join_generated_sources name)
  if(NOT FABRICD_PRECOMPILE)
    return()
  endif()
  if(NOT TARGET fabricd_proto_headers)
    file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/precompiled/proto_headers.cc CONTENT "")
    add_library(fabricd_proto_headers OBJECT ${CMAKE_BINARY_DIR}/precompiled/proto_headers.cc)
    target_link_libraries(fabricd_proto_headers PRIVATE protobuf::libprotobuf)
    fabricd_generated_flags(fabricd_proto_headers)
    target_precompile_headers(
      fabricd_proto_headers PRIVATE <google/protobuf/generated_message_reflection.h>
      <google/protobuf/reflection_ops.h> <google/protobuf/wire_format.h>)
  endif()
  target_precompile_headers(${name} REUSE_FROM fabricd_proto_headers)
  set_target_properties(${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 12
                        UNITY_BUILD_UNIQUE_ID FABRICD_FILE UNITY_BUILD_CODE_BEFORE_INCLUDE
"#define FABRICD_JOIN_(a, b) a##b
#define FABRICD_JOIN(a, b) FABRICD_JOIN_(a, b)
#define schemas FABRICD_JOIN(schemas_, FABRICD_FILE)
#define file_default_instances FABRICD_JOIN(instances_, FABRICD_FILE)"
                        UNITY_BUILD_CODE_AFTER_INCLUDE
"#undef FABRICD_JOIN_
#undef FABRICD_JOIN
#undef schemas
#undef file_default_instances")
endfunction()

function(fabricd_proto_library name)
  cmake_parse_arguments(arg "GRPC" "ROOT" "FILES;LINK" ${ARGN})
  set(root ${CMAKE_SOURCE_DIR}/proto)
  if(arg_ROOT)
    set(root ${arg_ROOT})
  endif()
  set(out ${CMAKE_BINARY_DIR}/proto_gen)
  file(MAKE_DIRECTORY ${out})
  set(generated)
  foreach(file IN LISTS arg_FILES)
    cmake_path(ABSOLUTE_PATH file BASE_DIRECTORY ${root})
    cmake_path(RELATIVE_PATH file BASE_DIRECTORY ${root} OUTPUT_VARIABLE relative)
    string(REGEX REPLACE "\\.proto$" "" stem ${relative})
    set(outputs ${out}/${stem}.pb.cc ${out}/${stem}.pb.h)
    set(grpc_arguments)
    if(arg_GRPC)
      list(APPEND outputs ${out}/${stem}.grpc.pb.cc ${out}/${stem}.grpc.pb.h)
      set(grpc_arguments --grpc_out=${out} --plugin=protoc-gen-grpc=${FABRICD_GRPC_CPP_PLUGIN})
    endif()
    # Files that import each other are regenerated together: cheap, and never stale.
    add_custom_command(
      OUTPUT ${outputs}
      COMMAND protobuf::protoc -I ${root} --cpp_out=${out} ${grpc_arguments} ${root}/${relative}
      DEPENDS ${arg_FILES} COMMENT "protoc ${relative}" VERBATIM)
    list(APPEND generated ${outputs})
  endforeach()
  add_library(fabricd_${name} STATIC ${generated})
  target_include_directories(fabricd_${name} SYSTEM PUBLIC ${out})
  fabricd_join_generated_sources(fabricd_${name})
  target_link_libraries(fabricd_${name} PUBLIC protobuf::libprotobuf ${arg_LINK})
  if(arg_GRPC)
    target_link_libraries(fabricd_${name} PUBLIC PkgConfig::GRPCPP)
  endif()
  fabricd_generated_flags(fabricd_${name})
endfunction()
