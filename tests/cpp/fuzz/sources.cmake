# The fuzz targets, which the tests and libFuzzer's executable share.
set(pydoca_fuzz_sources
  fuzz/blob_target.cpp
  fuzz/board_target.cpp
  fuzz/channel_target.cpp
  fuzz/file_target.cpp
  fuzz/handshake_target.cpp
  fuzz/hello_target.cpp
  fuzz/import_target.cpp
  fuzz/inflate_target.cpp
  fuzz/owner_target.cpp
  fuzz/packet_target.cpp
  fuzz/recording_target.cpp
  fuzz/ring_target.cpp
  fuzz/targets.cpp
  fuzz/topology_target.cpp
)
if(pydoca_has_verbs)
  list(APPEND pydoca_fuzz_sources fuzz/verbs_targets.cpp)
else()
  list(APPEND pydoca_fuzz_sources fuzz/no_verbs_targets.cpp)
endif()
list(TRANSFORM pydoca_fuzz_sources PREPEND "${CMAKE_CURRENT_LIST_DIR}/../")
