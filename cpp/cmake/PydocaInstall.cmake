# `cmake --install` gives a tree in which find_package(pydoca) and pkg-config work. Its components, as packages of a
# distribution: pydoca_runtime has the shared library, pydoca_development everything else.
include(CMakePackageConfigHelpers)

# What is installed is machine code for every linker: whether a program is optimised across files is for its builder to
# say, who may link with other options than the library had. GCC's objects have machine code beside what its own linker
# optimises, which is removed from the installed archive. Those of Clang with -flto would have none, so there the library
# is optimised file by file. A builder who told CMake has what they asked for.
foreach(target IN LISTS pydoca_targets)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-ffat-lto-objects>)
  elseif(pydoca_has_ipo)
    set_target_properties(${target} PROPERTIES INTERPROCEDURAL_OPTIMIZATION_RELEASE OFF)
  endif()
endforeach()

set(pydoca_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/pydoca)
set(pydoca_doc_dir ${CMAKE_INSTALL_DOCDIR})
install(TARGETS pydoca EXPORT pydocaTargets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT pydoca_runtime NAMELINK_COMPONENT pydoca_development
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT pydoca_development)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND pydoca_has_ipo AND pydoca_kind STREQUAL "STATIC_LIBRARY")
  install(CODE "
    execute_process(COMMAND_ERROR_IS_FATAL ANY
      COMMAND \"${CMAKE_OBJCOPY}\" --remove-section=.gnu.lto_* --remove-section=.gnu.debuglto_*
        --strip-symbol=__gnu_lto_v1 --strip-symbol=__gnu_lto_slim
        \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_LIBDIR}/$<TARGET_FILE_NAME:pydoca>\")"
    COMPONENT pydoca_development)
endif()
install(DIRECTORY include/pydoca ${CMAKE_CURRENT_BINARY_DIR}/umbrella/pydoca DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT pydoca_development
  FILES_MATCHING PATTERN "*.hpp")
install(EXPORT pydocaTargets NAMESPACE pydoca:: DESTINATION ${pydoca_package_dir} COMPONENT pydoca_development)

# The parts of find_package(pydoca COMPONENTS ...): what depends on headers that the build found, or not.
set(pydoca_components sim)
set(parts sha compress rdma)
set(headers openssl isal verbs)
foreach(part header IN ZIP_LISTS parts headers)
  if(pydoca_has_${header})
    list(APPEND pydoca_components ${part})
  endif()
endforeach()
configure_package_config_file(cmake/pydocaConfig.cmake.in pydocaConfig.cmake
  INSTALL_DESTINATION ${pydoca_package_dir})
write_basic_package_version_file(pydocaConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/pydocaConfig.cmake
              ${CMAKE_CURRENT_BINARY_DIR}/pydocaConfigVersion.cmake
  DESTINATION ${pydoca_package_dir} COMPONENT pydoca_development)

# pkg-config takes the prefix from the place of the file, so that the tree may be moved. A program that links the static
# library needs what CMake's own target names.
cmake_path(RELATIVE_PATH CMAKE_INSTALL_FULL_LIBDIR BASE_DIRECTORY "${CMAKE_INSTALL_PREFIX}" OUTPUT_VARIABLE pydoca_libdir)
string(REGEX REPLACE "[^/]+" ".." pydoca_up "${pydoca_libdir}/pkgconfig")
set(pydoca_link_flags "-L\${libdir} -lpydoca")
if(pydoca_kind STREQUAL "SHARED_LIBRARY")
  string(APPEND pydoca_link_flags " -Wl,-rpath,\${libdir}")
else()
  string(APPEND pydoca_link_flags " -pthread -ldl")
endif()
configure_file(cmake/pydoca.pc.in pydoca.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/pydoca.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig
  COMPONENT pydoca_development)
if(PYDOCA_BUILD_CAPI)
  include(PydocaInstallC)
endif()

install(FILES ../LICENSE DESTINATION ${pydoca_doc_dir} COMPONENT pydoca_development)
install(DIRECTORY ../licenses DESTINATION ${pydoca_doc_dir} COMPONENT pydoca_development)
install(DIRECTORY ../examples/ DESTINATION ${pydoca_doc_dir}/examples COMPONENT pydoca_development
  FILES_MATCHING PATTERN "*.cpp" PATTERN "*.[ch]" PATTERN "CMakeLists.txt" PATTERN "meson.build")
