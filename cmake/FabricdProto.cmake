# SPDX-License-Identifier: Apache-2.0
# fabricd_proto_library(NAME FILES a.proto... [ROOT dir] [LINK libs...] [GRPC]): the static library
# fabricd_NAME of the code generated from .proto files below ROOT (proto/ if none is given).
# Generated code keeps its own, looser warnings: it is not ours to fix.
find_program(FABRICD_GRPC_CPP_PLUGIN grpc_cpp_plugin REQUIRED)

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
  target_link_libraries(fabricd_${name} PUBLIC protobuf::libprotobuf ${arg_LINK})
  if(arg_GRPC)
    target_link_libraries(fabricd_${name} PUBLIC PkgConfig::GRPCPP)
  endif()
  if(FABRICD_SANITIZE)
    target_compile_options(fabricd_${name} PRIVATE -fsanitize=${FABRICD_SANITIZE})
  endif()
endfunction()
