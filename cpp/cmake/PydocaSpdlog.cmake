# pydoca_spdlog: spdlog as headers only, with the fmt that its headers come with. Private to log.cpp.
# With sanitizers the headers take half a minute to compile; there its library is linked, if it is installed.
if(PYDOCA_SANITIZE)
  find_package(spdlog QUIET CONFIG)
  if(TARGET spdlog::spdlog)
    add_library(pydoca_spdlog INTERFACE)
    target_link_libraries(pydoca_spdlog INTERFACE spdlog::spdlog)
    return()
  endif()
endif()

find_path(PYDOCA_SPDLOG_INCLUDE_DIR spdlog/spdlog.h DOC "Directory that holds spdlog/spdlog.h")
if(NOT EXISTS "${PYDOCA_SPDLOG_INCLUDE_DIR}/spdlog/spdlog.h")
  set(place "${PYDOCA_SPDLOG_INCLUDE_DIR}")
  unset(PYDOCA_SPDLOG_INCLUDE_DIR CACHE) # else the next run would not look again
  message(FATAL_ERROR
    "pydoca needs spdlog's headers (spdlog/spdlog.h), and they are not installed (${place}).\n"
    "  Debian/Ubuntu: apt-get install libspdlog-dev\n"
    "  Fedora:        dnf install spdlog-devel\n"
    "  elsewhere:     -DPYDOCA_SPDLOG_INCLUDE_DIR=, the directory that holds spdlog/spdlog.h")
endif()

add_library(pydoca_spdlog INTERFACE)
target_include_directories(pydoca_spdlog SYSTEM INTERFACE ${PYDOCA_SPDLOG_INCLUDE_DIR})
# Log lines have no fractions, for which fmt has 15 kB of code and tables. The namespaces are pydoca's own: a program that
# links the engine may have another version of fmt or spdlog, or the same one with other settings.
target_compile_definitions(pydoca_spdlog INTERFACE SPDLOG_HEADER_ONLY fmt=pydoca_fmt spdlog=pydoca_spdlog
  FMT_USE_FLOAT=0 FMT_USE_DOUBLE=0 FMT_USE_LONG_DOUBLE=0)

# Distributions strip the bundled fmt and use their own package of it.
if(NOT EXISTS "${PYDOCA_SPDLOG_INCLUDE_DIR}/spdlog/fmt/bundled/core.h"
   AND NOT EXISTS "${PYDOCA_SPDLOG_INCLUDE_DIR}/spdlog/fmt/bundled/base.h")
  find_path(PYDOCA_FMT_INCLUDE_DIR fmt/core.h DOC "Directory that holds fmt/core.h")
  if(NOT PYDOCA_FMT_INCLUDE_DIR)
    message(FATAL_ERROR
      "spdlog in ${PYDOCA_SPDLOG_INCLUDE_DIR} uses fmt's own headers (fmt/core.h), and they are not installed.\n"
      "  Debian/Ubuntu: apt-get install libfmt-dev")
  endif()
  target_include_directories(pydoca_spdlog SYSTEM INTERFACE ${PYDOCA_FMT_INCLUDE_DIR})
  target_compile_definitions(pydoca_spdlog INTERFACE SPDLOG_FMT_EXTERNAL FMT_HEADER_ONLY)
endif()
