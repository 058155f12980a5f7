# pydoca_nlohmann_json: nlohmann's JSON library as headers only. Private to capi/src/argp/json.cpp.
find_path(PYDOCA_NLOHMANN_JSON_INCLUDE_DIR nlohmann/json.hpp DOC "Directory that holds nlohmann/json.hpp")
if(NOT EXISTS "${PYDOCA_NLOHMANN_JSON_INCLUDE_DIR}/nlohmann/json.hpp")
  set(place "${PYDOCA_NLOHMANN_JSON_INCLUDE_DIR}")
  unset(PYDOCA_NLOHMANN_JSON_INCLUDE_DIR CACHE) # else the next run would not look again
  message(FATAL_ERROR
    "pydoca's C API needs the headers of nlohmann's JSON library (nlohmann/json.hpp), and they are not installed (${place}).\n"
    "  Debian/Ubuntu: apt-get install nlohmann-json3-dev\n"
    "  Fedora:        dnf install json-devel\n"
    "  elsewhere:     -DPYDOCA_NLOHMANN_JSON_INCLUDE_DIR=, the directory that holds nlohmann/json.hpp\n"
    "  A build without DOCA's C API does not need it: -DPYDOCA_BUILD_CAPI=OFF")
endif()

add_library(pydoca_nlohmann_json INTERFACE)
target_include_directories(pydoca_nlohmann_json SYSTEM INTERFACE ${PYDOCA_NLOHMANN_JSON_INCLUDE_DIR})
# The reason is that of fmt: a program may have another version of it.
target_compile_definitions(pydoca_nlohmann_json INTERFACE nlohmann=pydoca_nlohmann)
