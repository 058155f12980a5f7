# The fuzz targets, which the tests and libFuzzer's executable share.
set(pydoca_fuzz_sources
  fuzz/targets/blob_target.cpp
  fuzz/targets/receive_queue_target.cpp
  fuzz/targets/channel_target.cpp
  fuzz/targets/file_target.cpp
  fuzz/targets/handshake_target.cpp
  fuzz/targets/hello_target.cpp
  fuzz/targets/import_target.cpp
  fuzz/targets/inflate_target.cpp
  fuzz/targets/owner_target.cpp
  fuzz/targets/packet_target.cpp
  fuzz/targets/recording_target.cpp
  fuzz/targets/ring_target.cpp
  fuzz/targets.cpp
  fuzz/targets/topology_target.cpp
)
if(pydoca_has_verbs)
  list(APPEND pydoca_fuzz_sources fuzz/targets/verbs_targets.cpp)
else()
  list(APPEND pydoca_fuzz_sources fuzz/targets/no_verbs_targets.cpp)
endif()
if(PYDOCA_BUILD_CAPI)
  list(APPEND pydoca_fuzz_sources fuzz/targets/argp_target.cpp)
  get_target_property(pydoca_fuzz_includes pydoca_capi C_INCLUDE_DIRS)
  set_source_files_properties("${CMAKE_CURRENT_LIST_DIR}/../fuzz/targets/argp_target.cpp" PROPERTIES
    COMPILE_DEFINITIONS DOCA_ALLOW_EXPERIMENTAL_API
    INCLUDE_DIRECTORIES "${pydoca_fuzz_includes}")
else()
  list(APPEND pydoca_fuzz_sources fuzz/targets/no_capi_targets.cpp)
endif()
list(TRANSFORM pydoca_fuzz_sources PREPEND "${CMAKE_CURRENT_LIST_DIR}/../")
