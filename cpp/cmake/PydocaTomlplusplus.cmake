# pydoca_tomlplusplus: toml++ as headers only. Private to detail/text/toml.cpp.
find_path(PYDOCA_TOMLPLUSPLUS_INCLUDE_DIR toml++/toml.h DOC "Directory that holds toml++/toml.h")
if(NOT EXISTS "${PYDOCA_TOMLPLUSPLUS_INCLUDE_DIR}/toml++/toml.h")
  set(place "${PYDOCA_TOMLPLUSPLUS_INCLUDE_DIR}")
  unset(PYDOCA_TOMLPLUSPLUS_INCLUDE_DIR CACHE) # else the next run would not look again
  message(FATAL_ERROR
    "pydoca needs toml++'s headers (toml++/toml.h), and they are not installed (${place}).\n"
    "  Debian/Ubuntu: apt-get install libtomlplusplus-dev\n"
    "  Fedora:        dnf install tomlplusplus-devel\n"
    "  elsewhere:     -DPYDOCA_TOMLPLUSPLUS_INCLUDE_DIR=, the directory that holds toml++/toml.h")
endif()

add_library(pydoca_tomlplusplus INTERFACE)
target_include_directories(pydoca_tomlplusplus SYSTEM INTERFACE ${PYDOCA_TOMLPLUSPLUS_INCLUDE_DIR})
# The reason is that of fmt: a program may have toml++ of another version.
target_compile_definitions(pydoca_tomlplusplus INTERFACE toml=pydoca_toml)
