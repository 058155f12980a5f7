# `cmake --install` gives a tree in which find_package(pydoca) works.
include(CMakePackageConfigHelpers)

# What is installed is for every linker, also one that cannot optimise across files: GCC's objects have machine code,
# too. Those of Clang with -flto would have none, so there the library is optimised file by file, unless CMake was told.
foreach(target pydoca pydoca_setup)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-ffat-lto-objects>)
  elseif(pydoca_has_ipo)
    set_target_properties(${target} PROPERTIES INTERPROCEDURAL_OPTIMIZATION_RELEASE OFF)
  endif()
endforeach()

set(pydoca_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/pydoca)
install(TARGETS pydoca EXPORT pydocaTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY include/pydoca DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.hpp")
install(EXPORT pydocaTargets NAMESPACE pydoca:: DESTINATION ${pydoca_package_dir})

configure_package_config_file(cmake/pydocaConfig.cmake.in pydocaConfig.cmake
  INSTALL_DESTINATION ${pydoca_package_dir})
write_basic_package_version_file(pydocaConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/pydocaConfig.cmake
              ${CMAKE_CURRENT_BINARY_DIR}/pydocaConfigVersion.cmake
  DESTINATION ${pydoca_package_dir})
