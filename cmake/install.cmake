# What is installed, and how other projects find it: find_package(ropewalk) and pkg-config. Nothing
# installed names a folder of this machine unless a CMAKE_INSTALL_*DIR is absolute: it can be moved.
include(CMakePackageConfigHelpers)

set(ropewalk_cmake_dir ${CMAKE_INSTALL_LIBDIR}/cmake/ropewalk)
# Inside another project, CMAKE_INSTALL_DOCDIR is that project's.
set(ropewalk_doc_dir ${CMAKE_INSTALL_DATAROOTDIR}/doc/ropewalk)
if(PROJECT_IS_TOP_LEVEL)
  set(ropewalk_doc_dir ${CMAKE_INSTALL_DOCDIR})
endif()

# What a C program that links the static library wants of C++.
set(cxx_library stdc++)
if("c++" IN_LIST CMAKE_CXX_IMPLICIT_LINK_LIBRARIES)
  set(cxx_library c++)
endif()

# In a .pc file a relative folder is below the prefix, which is found from where the file lies.
function(ropewalk_install_pc name)
  set(prefix ${CMAKE_INSTALL_PREFIX})
  if(NOT IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}")
    file(RELATIVE_PATH up "/p/${CMAKE_INSTALL_LIBDIR}/pkgconfig" /p)
    string(REGEX REPLACE "/$" "" prefix "\${pcfiledir}/${up}")
  endif()
  set(libdir ${CMAKE_INSTALL_LIBDIR})
  set(includedir ${CMAKE_INSTALL_INCLUDEDIR})
  foreach(folder libdir includedir)
    if(NOT IS_ABSOLUTE "${${folder}}")
      string(PREPEND ${folder} "\${prefix}/")
    endif()
  endforeach()
  # pkg-config splits flags at spaces.
  foreach(folder prefix libdir includedir)
    string(REPLACE " " "\\ " ${folder} "${${folder}}")
  endforeach()
  configure_file(cmake/${name}.pc.in ${PROJECT_BINARY_DIR}/${name}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endfunction()

# A library, its .pc file, and its targets in a file of their own: a package may leave one out.
function(ropewalk_install_library target name pc)
  install(TARGETS ${target} EXPORT ${name})
  install(EXPORT ${name} NAMESPACE ropewalk:: DESTINATION ${ropewalk_cmake_dir})
  ropewalk_install_pc(${pc})
endfunction()

# The header of a library that is not built stays out.
install(DIRECTORY include/ropewalk DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  FILES_MATCHING PATTERN *.hpp PATTERN *.h PATTERN model.hpp EXCLUDE)
ropewalk_install_library(ropewalk ropewalkTargets ropewalk)
if(TARGET ropewalk_model)
  install(FILES include/ropewalk/model.hpp DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/ropewalk)
  ropewalk_install_library(ropewalk_model ropewalkModelTargets ropewalk-model)
endif()
if(TARGET ropewalk_cli)
  install(TARGETS ropewalk_cli)
endif()

# Shared libraries are found from where the program lies; what the caller wants of it comes first.
if(BUILD_SHARED_LIBS)
  set(origin $ORIGIN)
  if(APPLE)
    set(origin @loader_path)
  endif()
  file(RELATIVE_PATH to_libraries ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBDIR})
  if(TARGET ropewalk_model)
    set_property(TARGET ropewalk_model APPEND PROPERTY INSTALL_RPATH ${origin})
  endif()
  if(TARGET ropewalk_cli)
    set_property(TARGET ropewalk_cli APPEND PROPERTY INSTALL_RPATH ${origin}/${to_libraries})
  endif()
endif()

# While the major version is 0 a minor one may break, and so serves itself alone. From 1.0 on this is
# SameMajorVersion.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/ropewalkConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
configure_file(cmake/ropewalkConfig.cmake.in ${PROJECT_BINARY_DIR}/ropewalkConfig.cmake @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/ropewalkConfig.cmake ${PROJECT_BINARY_DIR}/ropewalkConfigVersion.cmake
  DESTINATION ${ropewalk_cmake_dir})
install(FILES LICENSE README.md CHANGELOG.md DESTINATION ${ropewalk_doc_dir})
install(DIRECTORY docs DESTINATION ${ropewalk_doc_dir} OPTIONAL FILES_MATCHING PATTERN *.md PATTERN *.svg
  PATTERN measure EXCLUDE)
