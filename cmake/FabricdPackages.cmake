# SPDX-License-Identifier: Apache-2.0
# Debian packages, one for each install component: tools/package writes them to build/packages/.
#
#   fabricd         the daemon, its units, configuration and manual pages
#   fabricctl       the operator's CLI, for any machine
#   fabricd-tools   fabricplan and fabricsim, for any machine
#   fabricd-dev     the API as .proto files
include(GNUInstallDirs)
set(packages fabricd fabricctl fabricd-tools fabricd-dev)
set(packaging ${CMAKE_SOURCE_DIR}/packaging)
set(made ${CMAKE_BINARY_DIR}/packaging)

# The files that Debian's policy wants of every package.
file(MAKE_DIRECTORY ${made})
configure_file(${packaging}/changelog.Debian.in ${made}/changelog.Debian @ONLY)
execute_process(COMMAND gzip -9n -k -f ${made}/changelog.Debian COMMAND_ERROR_IS_FATAL ANY)
foreach(package ${packages})
  install(FILES ${packaging}/copyright ${made}/changelog.Debian.gz
          DESTINATION share/doc/${package} COMPONENT ${package})
endforeach()
install(DIRECTORY ${CMAKE_SOURCE_DIR}/docs/ DESTINATION share/doc/fabricd COMPONENT fabricd
        FILES_MATCHING PATTERN "*.md" PATTERN man EXCLUDE)
# Manual pages by their section, each with the package of its program.
foreach(page fabricd:fabricd.8 fabricd:fabricd.yaml.5 fabricctl:fabricctl.1
             fabricd-tools:fabricplan.1 fabricd-tools:fabricsim.1)
  string(REGEX MATCH "^([a-z-]+):(.*([0-9]))$" page ${page})
  set(source ${CMAKE_SOURCE_DIR}/docs/man/${CMAKE_MATCH_2})
  if(NOT EXISTS ${source})
    continue()
  endif()
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${source})
  file(COPY ${source} DESTINATION ${made})
  execute_process(COMMAND gzip -9n -k -f ${made}/${CMAKE_MATCH_2} COMMAND_ERROR_IS_FATAL ANY)
  install(FILES ${made}/${CMAKE_MATCH_2}.gz DESTINATION share/man/man${CMAKE_MATCH_3}
          COMPONENT ${CMAKE_MATCH_1})
endforeach()
install(DIRECTORY ${CMAKE_SOURCE_DIR}/proto/fabric/v1 DESTINATION share/fabricd/proto/fabric
        COMPONENT fabricd-dev)
install(DIRECTORY ${CMAKE_SOURCE_DIR}/proto/third_party/ DESTINATION share/fabricd/proto
        COMPONENT fabricd-dev FILES_MATCHING PATTERN "*.proto")
install(DIRECTORY ${CMAKE_SOURCE_DIR}/examples DESTINATION share/doc/fabricd-dev
        COMPONENT fabricd-dev USE_SOURCE_PERMISSIONS PATTERN "__pycache__" EXCLUDE)

set(CPACK_GENERATOR DEB)
set(CPACK_COMPONENTS_ALL ${packages})
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_PACKAGE_NAME fabricd)
set(CPACK_PACKAGE_VENDOR fabricd)
set(CPACK_PACKAGE_CONTACT "fabricd maintainers <maintainers@fabricd.invalid>")
set(CPACK_PACKAGE_DIRECTORY ${CMAKE_BINARY_DIR}/packages)
set(CPACK_SET_DESTDIR ON)  # /etc/fabricd lies outside of the prefix.
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ
    GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SECTION net)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)

set(CPACK_COMPONENT_FABRICD_DESCRIPTION
    "fabricd discovers an InfiniBand fabric, gives LIDs that survive restarts,
computes routes that are proved free of deadlocks before they are programmed,
reroutes around lost links within milliseconds, answers Subnet Administration
and offers the whole state over gRPC. It takes the place of opensm.")
set(CPACK_DEBIAN_FABRICD_PACKAGE_NAME fabricd)
set(CPACK_DEBIAN_FABRICD_PACKAGE_SECTION admin)
set(CPACK_DEBIAN_FABRICD_PACKAGE_DEPENDS
    "systemd | systemd-standalone-sysusers, systemd | systemd-standalone-tmpfiles")
set(CPACK_DEBIAN_FABRICD_PACKAGE_RECOMMENDS fabricctl)
set(CPACK_DEBIAN_FABRICD_PACKAGE_SUGGESTS infiniband-diags)
set(CPACK_DEBIAN_FABRICD_PACKAGE_CONTROL_EXTRA
    "${packaging}/postinst;${packaging}/prerm;${packaging}/postrm;${packaging}/conffiles")

set(CPACK_COMPONENT_FABRICCTL_DESCRIPTION
    "fabricctl shows an InfiniBand fabric that fabricd manages and controls it:
nodes, ports, links and routes, holds on what is to be repaired, partitions,
events, and what a change would do. Its grammar is that of kubectl.")
set(CPACK_DEBIAN_FABRICCTL_PACKAGE_NAME fabricctl)
set(CPACK_DEBIAN_FABRICCTL_PACKAGE_SECTION admin)

set(CPACK_COMPONENT_FABRICD-TOOLS_DESCRIPTION
    "fabricplan computes, proves and measures the routes of a topology file, with
cables and switches taken away. fabricsim writes topologies of fat-trees,
SuperPODs, tori and others, and runs fabricd's core against simulated ones.")
set(CPACK_DEBIAN_FABRICD-TOOLS_PACKAGE_NAME fabricd-tools)

set(CPACK_COMPONENT_FABRICD-DEV_DESCRIPTION
    "The gRPC services by which schedulers and tools read an InfiniBand fabric,
cordon its parts and follow its events, with examples of clients.")
set(CPACK_DEBIAN_FABRICD-DEV_PACKAGE_NAME fabricd-dev)
set(CPACK_DEBIAN_FABRICD-DEV_PACKAGE_ARCHITECTURE all)
set(CPACK_DEBIAN_FABRICD-DEV_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_FABRICD-DEV_PACKAGE_SHLIBDEPS OFF)
include(CPack)
