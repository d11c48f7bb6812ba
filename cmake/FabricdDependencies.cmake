# SPDX-License-Identifier: Apache-2.0
# Every outside library, found once, as an imported target. tools/deps installs them.
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
find_package(TBB REQUIRED)
find_package(spdlog REQUIRED)
find_package(fmt REQUIRED)
find_package(Protobuf REQUIRED)
pkg_check_modules(GRPCPP REQUIRED IMPORTED_TARGET grpc++)
pkg_check_modules(ABSL REQUIRED IMPORTED_TARGET
                  absl_status absl_statusor absl_flat_hash_map absl_flat_hash_set
                  absl_inlined_vector absl_time)
pkg_check_modules(YAML_CPP REQUIRED IMPORTED_TARGET yaml-cpp)
pkg_check_modules(SQLITE3 REQUIRED IMPORTED_TARGET sqlite3)
pkg_check_modules(LIBSYSTEMD REQUIRED IMPORTED_TARGET libsystemd)
pkg_check_modules(LIBIBUMAD REQUIRED IMPORTED_TARGET libibumad)
pkg_check_modules(LIBIBVERBS REQUIRED IMPORTED_TARGET libibverbs)
if(FABRICD_TESTS)
  find_package(GTest REQUIRED)
  include(GoogleTest)
endif()
if(FABRICD_BENCH)
  find_package(benchmark REQUIRED)
endif()
