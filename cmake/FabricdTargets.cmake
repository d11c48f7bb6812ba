# SPDX-License-Identifier: Apache-2.0
# The few rules that all our targets share.
add_library(fabricd_flags INTERFACE)
target_include_directories(fabricd_flags INTERFACE ${CMAKE_SOURCE_DIR})
target_compile_options(fabricd_flags INTERFACE -Wall -Wextra -Wshadow
                       -Wno-missing-field-initializers)
if(FABRICD_WERROR)
  target_compile_options(fabricd_flags INTERFACE -Werror)
endif()
if(FABRICD_SANITIZE)
  # A finding of UBSan fails the test that it is in.
  target_compile_options(fabricd_flags INTERFACE -fsanitize=${FABRICD_SANITIZE}
                         -fno-sanitize-recover=all -fno-omit-frame-pointer)
  # gcc says itself that sanitizers make this one guess wrong (std::regex, for example).
  target_compile_options(fabricd_flags INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
  target_link_options(fabricd_flags INTERFACE -fsanitize=${FABRICD_SANITIZE})
endif()

if(FABRICD_FUZZ)
  target_compile_options(fabricd_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()

# What tools/build builds, and what tools/test --quick builds.
add_custom_target(programs)
add_custom_target(quick_tests)
add_custom_target(loopback_tests)

# Parsing the same headers was a third of a build. The dev presets do without, so that a file which
# lacks an include is found.
set(FABRICD_COMMON_HEADERS <absl/container/flat_hash_map.h> <absl/container/flat_hash_set.h>
    <absl/status/statusor.h> <algorithm> <array> <chrono> <fmt/format.h> <functional> <map> <memory>
    <optional> <set> <span> <string> <variant> <vector>)
function(fabricd_reuse_headers name)
  if(NOT FABRICD_PRECOMPILE)
    return()
  endif()
  if(NOT TARGET fabricd_headers)
    file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/precompiled/headers.cc CONTENT "")
    add_library(fabricd_headers OBJECT ${CMAKE_BINARY_DIR}/precompiled/headers.cc)
    target_link_libraries(fabricd_headers PRIVATE fabricd_flags fmt::fmt)
    target_precompile_headers(fabricd_headers PRIVATE ${FABRICD_COMMON_HEADERS})
  endif()
  target_link_libraries(${name} PRIVATE fmt::fmt)
  target_precompile_headers(${name} REUSE_FROM fabricd_headers)
endfunction()

# gcc 12 takes strings made of literals for too small where it inlines much (its PR 105329).
function(fabricd_quiet_strings name)
  target_compile_options(${name} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-array-bounds -Wno-restrict
                         -Wno-stringop-overflow -Wno-stringop-overread>)
endfunction()

# Joins the sources of a target in compilations of `batch` files each, in the order in which they
# are named: templates are most of the compile time, the same in each file. The dev presets do
# without, so that a file which lacks an include is found.
function(fabricd_join_sources name batch)
  if(FABRICD_PRECOMPILE)
    set_target_properties(${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${batch})
  endif()
endfunction()

# These sources of this folder's targets are compiled one by one: they have helpers or constants of
# the same names as others.
function(fabricd_compile_alone)
  set_source_files_properties(${ARGN} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()

# fabricd_library(NAME sources... [LINK libs...] [OWN_HEADERS] [APART]): the static library of one
# folder.
# OWN_HEADERS: a target_precompile_headers() of its own follows.
# APART: no sources are joined.
function(fabricd_library name)
  cmake_parse_arguments(arg "APART;OWN_HEADERS" "" "LINK" ${ARGN})
  add_library(fabricd_${name} STATIC ${arg_UNPARSED_ARGUMENTS})
  target_link_libraries(fabricd_${name} PUBLIC fabricd_flags ${arg_LINK})
  if(NOT arg_APART)
    fabricd_join_sources(fabricd_${name} 12)
  endif()
  if(NOT arg_OWN_HEADERS)
    fabricd_reuse_headers(fabricd_${name})
  endif()
endfunction()

# fabricd_embed(VARIABLE FILE HEADER NAMESPACE FUNCTION): sets VARIABLE to a source that has the
# text of the file.
function(fabricd_embed variable file header namespace function)
  set(input ${CMAKE_CURRENT_SOURCE_DIR}/${file})
  get_filename_component(name ${file} NAME)
  set(output ${CMAKE_CURRENT_BINARY_DIR}/${name}.cc)
  set(script ${CMAKE_SOURCE_DIR}/cmake/EmbedText.cmake)
  add_custom_command(
    OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -DINPUT=${input} -DOUTPUT=${output} -DHEADER=${header}
            -DNAMESPACE=${namespace} -DFUNCTION=${function} -P ${script}
    DEPENDS ${input} ${script} VERBATIM)
  set(${variable} ${output} PARENT_SCOPE)
endfunction()

# fabricd_executable(NAME sources... [LINK libs...] [PACKAGE name]): a program in bin/, installed
# with the operators' tools unless another package is named.
function(fabricd_executable name)
  cmake_parse_arguments(arg "" "PACKAGE" "LINK" ${ARGN})
  if(NOT arg_PACKAGE)
    set(arg_PACKAGE fabricctl)
  endif()
  add_executable(${name} ${arg_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PRIVATE fabricd_flags ${arg_LINK})
  fabricd_join_sources(${name} 12)
  fabricd_reuse_headers(${name})
  add_dependencies(programs ${name})
  install(TARGETS ${name} RUNTIME DESTINATION bin COMPONENT ${arg_PACKAGE})
endfunction()

function(fabricd_test_flags name)
  target_link_libraries(${name} PRIVATE fabricd_flags fmt::fmt)
  target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-O0>)
endfunction()

function(fabricd_reuse_test_headers name)
  if(NOT FABRICD_PRECOMPILE)
    return()
  endif()
  if(NOT TARGET fabricd_test_headers)
    file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/precompiled/test_headers.cc CONTENT "")
    add_library(fabricd_test_headers OBJECT ${CMAKE_BINARY_DIR}/precompiled/test_headers.cc)
    fabricd_test_flags(fabricd_test_headers)
    target_link_libraries(fabricd_test_headers PRIVATE GTest::gmock)
    target_precompile_headers(fabricd_test_headers PRIVATE <gmock/gmock.h> <gtest/gtest.h>
                              ${FABRICD_COMMON_HEADERS})
  endif()
  target_link_libraries(${name} PRIVATE GTest::gmock)
  target_precompile_headers(${name} REUSE_FROM fabricd_test_headers)
endfunction()

# fabricd_test(NAME sources... [LINK libs...] [LABEL unit|property|golden|loopback|sim]): one
# GoogleTest program, one ctest. unit, property and golden are hermetic: a socket kills them.
# Test code is compiled, not tuned, unless its label is property: half of a build was its
# optimisation and the same headers.
# OWN_HEADERS: a target_precompile_headers() of its own follows.
# APART: its files have helpers of the same name, so they are not joined in one compilation.
# LEAKS: it fails when it leaks memory, in builds without sanitizers too: LeakSanitizer by itself is
# a matter of linking.
function(fabricd_test name)
  cmake_parse_arguments(arg "APART;LEAKS;OWN_HEADERS" "LABEL" "LINK" ${ARGN})
  if(NOT arg_LABEL)
    set(arg_LABEL unit)
  endif()
  add_executable(${name} ${arg_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PRIVATE fabricd_flags ${arg_LINK} GTest::gmock GTest::gtest_main)
  if(NOT arg_APART)
    # Eight processor seconds of each compilation, half of it, are the same headers' templates.
    fabricd_join_sources(${name} 24)
  endif()
  if(arg_LABEL STREQUAL property)
    fabricd_reuse_headers(${name})
  else()
    fabricd_test_flags(${name})
    if(NOT arg_OWN_HEADERS)
      fabricd_reuse_test_headers(${name})
    endif()
  endif()
  fabricd_link_fast(${name})
  if(arg_LEAKS AND NOT FABRICD_SANITIZE)
    target_link_options(${name} PRIVATE -fsanitize=leak)
  endif()
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  target_compile_definitions(${name} PRIVATE FABRICD_SOURCE_DIR="${CMAKE_SOURCE_DIR}"
                             FABRICD_BINARY_DIR="${CMAKE_BINARY_DIR}")
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES LABELS ${arg_LABEL} ENVIRONMENT
                       "LSAN_OPTIONS=suppressions=${CMAKE_SOURCE_DIR}/cmake/lsan.supp")
  if(arg_LABEL MATCHES "^(unit|property|golden)$")
    add_dependencies(quick_tests ${name})
    fabricd_refuse_sockets(${name})
  elseif(arg_LABEL STREQUAL loopback)
    add_dependencies(loopback_tests ${name})
  endif()
endfunction()

# There are some ninety test programs, and gold links one in half of the time of bfd. It comes with
# Debian's binutils.
include(CheckLinkerFlag)
check_linker_flag(CXX -fuse-ld=gold FABRICD_GOLD)
function(fabricd_link_fast name)
  if(FABRICD_GOLD)
    target_link_options(${name} PRIVATE -fuse-ld=gold)
  endif()
endfunction()

function(fabricd_refuse_sockets name)
  if(NOT TARGET fabricd_no_sockets)
    add_library(fabricd_no_sockets OBJECT ${CMAKE_SOURCE_DIR}/tests/support/no_sockets.cc)
    target_link_libraries(fabricd_no_sockets PRIVATE fabricd_flags)
  endif()
  target_link_libraries(${name} PRIVATE fabricd_no_sockets)
endfunction()

# fabricd_fuzzer(NAME sources... [LINK libs...] [MUTATIONS n]): a libFuzzer program (with
# FABRICD_FUZZ, clang), else a plain program that replays its corpus and n mutations of it (the same
# ones each time, 5000 by default), so that gcc builds try them all too.
function(fabricd_fuzzer name)
  cmake_parse_arguments(arg "" "MUTATIONS" "LINK" ${ARGN})
  if(FABRICD_FUZZ)
    add_executable(${name} ${arg_UNPARSED_ARGUMENTS})
    target_compile_options(${name} PRIVATE -fsanitize=fuzzer)
    target_link_options(${name} PRIVATE -fsanitize=fuzzer)
    set(arguments -runs=0)
  else()
    add_executable(${name} ${arg_UNPARSED_ARGUMENTS} ${CMAKE_SOURCE_DIR}/tests/fuzz/replay_main.cc)
    if(NOT arg_MUTATIONS)
      set(arg_MUTATIONS 5000)
    endif()
    set(arguments -mutations=${arg_MUTATIONS})
    fabricd_test_flags(${name})
    fabricd_reuse_test_headers(${name})
  endif()
  target_link_libraries(${name} PRIVATE fabricd_flags ${arg_LINK})
  fabricd_link_fast(${name})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  add_test(NAME ${name} COMMAND ${name} ${arguments} ${CMAKE_SOURCE_DIR}/tests/fuzz/corpus/${name})
  set_tests_properties(${name} PROPERTIES LABELS fuzz)
  add_dependencies(quick_tests ${name})
  fabricd_refuse_sockets(${name})
endfunction()
