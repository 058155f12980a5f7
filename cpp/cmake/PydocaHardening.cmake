# pydoca_harden(<target>): its code notices an overrun stack and an overrun buffer, and ends the process.
# pydoca_harden_module(<target> <version script>): and its tables of addresses are read-only once it is loaded,
# and it exports what the script names.
# Builds with sanitizers are left alone: they bring checks of their own, and fortified calls go around their interceptors.
include(CheckCXXCompilerFlag)
include(CheckCXXSourceCompiles)
include(CheckLinkerFlag)

# The highest level that both the compiler and the C library have; 0 where they have none.
function(pydoca_find_fortify_level result)
  set(CMAKE_REQUIRED_QUIET ON)
  foreach(level 3 2)
    set(CMAKE_REQUIRED_FLAGS "-O2 -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=${level}")
    check_cxx_source_compiles("
      #include <cstdlib>
      #if __USE_FORTIFY_LEVEL != ${level}
      #error
      #endif
      int main() {}" PYDOCA_HAS_FORTIFY_${level})
    if(PYDOCA_HAS_FORTIFY_${level})
      set(${result} ${level} PARENT_SCOPE)
      return()
    endif()
  endforeach()
  set(${result} 0 PARENT_SCOPE)
endfunction()

# A distribution's own flags name the level that it wants. What its compiler defines by itself is replaced.
# Without optimisation the C library refuses to be fortified.
function(pydoca_fortify target)
  if("${CMAKE_CXX_FLAGS} ${CMAKE_CXX_FLAGS_RELEASE} ${CMAKE_CXX_FLAGS_RELWITHDEBINFO}" MATCHES "_FORTIFY_SOURCE")
    return()
  endif()
  pydoca_find_fortify_level(level)
  if(level)
    set(optimised $<CONFIG:Release,RelWithDebInfo,MinSizeRel>)
    target_compile_options(${target} PRIVATE
      $<${optimised}:-U_FORTIFY_SOURCE> $<${optimised}:-D_FORTIFY_SOURCE=${level}>)
  endif()
endfunction()

# Links with a flag that every linker of Linux has; one that has not is told of, and linked without.
function(pydoca_require_linker_flag variable flag)
  check_linker_flag(CXX "${flag}" ${variable})
  if(NOT ${variable})
    message(WARNING "The linker does not take ${flag}, so the Python module is not hardened as it should be")
  endif()
endfunction()

function(pydoca_harden target)
  if(PYDOCA_SANITIZE)
    return()
  endif()
  check_cxx_compiler_flag(-fstack-protector-strong PYDOCA_HAS_STACK_PROTECTOR)
  if(PYDOCA_HAS_STACK_PROTECTOR)
    target_compile_options(${target} PRIVATE -fstack-protector-strong)
  endif()
  pydoca_fortify(${target})
endfunction()

function(pydoca_harden_module target version_script)
  if(PYDOCA_SANITIZE)
    return()
  endif()
  pydoca_harden(${target})
  pydoca_require_linker_flag(PYDOCA_HAS_RELRO "-Wl,-z,relro,-z,now")
  if(PYDOCA_HAS_RELRO)
    target_link_options(${target} PRIVATE "-Wl,-z,relro,-z,now")
  endif()
  # Tried with a script without names: some linkers refuse a name that the program of the test does not define.
  set(probe "${CMAKE_CURRENT_BINARY_DIR}/exports_nothing.map")
  file(WRITE "${probe}" "{ local: *; };\n")
  pydoca_require_linker_flag(PYDOCA_HAS_VERSION_SCRIPT "-Wl,--version-script=${probe}")
  if(PYDOCA_HAS_VERSION_SCRIPT)
    target_link_options(${target} PRIVATE "-Wl,--version-script=${version_script}")
    set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS "${version_script}")
  endif()
endfunction()
