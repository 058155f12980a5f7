# Programs for both sides of the PCIe link, and the cases that run two of them. The side is a text in the library
# (capi/src/base/side.cpp). These programs have the library in them, so that those for the other side are changed there.
get_target_property(pydoca_type pydoca TYPE)
if(pydoca_type STREQUAL SHARED_LIBRARY)
  return()
endif()

# c_add_program(<side> <name> <source>...): the executable <side>_<name>.
function(c_add_program side name)
  string(TOUPPER ${side} pydoca_arch)
  configure_file(${pydoca_SOURCE_DIR}/capi/include/doca_build_config.h.in ${side}/doca_build_config.h @ONLY)
  set(target c_${side}_${name})
  set_property(GLOBAL APPEND PROPERTY pydoca_c_programs ${target})
  add_executable(${target} ${ARGN})
  target_include_directories(${target} BEFORE PRIVATE ${CMAKE_CURRENT_BINARY_DIR}/${side} ${CMAKE_CURRENT_SOURCE_DIR})
  target_compile_definitions(${target} PRIVATE DOCA_ALLOW_EXPERIMENTAL_API _GNU_SOURCE)
  target_compile_options(${target} PRIVATE ${pydoca_c_warnings})
  target_link_libraries(${target} PRIVATE ${c_parts})
  set_target_properties(${target} PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/programs
    OUTPUT_NAME ${side}_${name}
    LINKER_LANGUAGE CXX)
  if(NOT side STREQUAL PYDOCA_SIDE)
    set(from_host "s/programs of the side=host/programs of the side=dpu /")
    set(from_dpu "s/programs of the side=dpu /programs of the side=host/")
    add_custom_command(TARGET ${target} POST_BUILD VERBATIM
      COMMAND ${CMAKE_COMMAND} -E env LC_ALL=C sed -i ${from_${PYDOCA_SIDE}} $<TARGET_FILE:${target}>)
  endif()
endfunction()

# c_add_example(<side> <folder> <name> <source>...)
set(c_examples "${pydoca_SOURCE_DIR}/../examples/c")
function(c_add_example side folder name)
  list(TRANSFORM ARGN PREPEND "${c_examples}/")
  c_add_program(${side} ${name} "${c_examples}/${folder}/${name}.c" "${c_examples}/common/common.c" ${ARGN})
  target_include_directories(c_${side}_${name} PRIVATE "${c_examples}/common")
endfunction()

foreach(side host dpu)
  c_add_program(${side} actor programs/actor.c programs/actor_comch.c programs/actor_event.c programs/actor_memory.c)
  c_add_example(${side} cache_invalidate cache_invalidate)
  c_add_example(${side} clock clock)
  c_add_example(${side} dma_copy dma_copy common/dma_common.c)
  c_add_example(${side} graph graph_copy common/dma_common.c)
  c_add_example(${side} logger logger)
  c_add_example(${side} options copy_texts common/dma_common.c)
  c_add_example(${side} progress_engine_event progress_engine_event)
  foreach(name rdma_receive rdma_send)
    c_add_example(${side} rdma_messages ${name} common/files.c common/rdma_common.c common/rdma_message.c)
  endforeach()
  foreach(name rdma_requester rdma_responder)
    c_add_example(${side} rdma_memory ${name} common/files.c common/rdma_common.c)
  endforeach()
  foreach(name rdma_event_owner rdma_event_publisher)
    c_add_example(${side} rdma_sync_event ${name} common/files.c common/rdma_common.c)
  endforeach()
  foreach(name rdma_client rdma_server)
    c_add_example(${side} rdma_address ${name} common/files.c common/rdma_common.c common/rdma_message.c)
  endforeach()
  c_add_example(${side} sha sha_digest)
  c_add_example(${side} sync_event_local sync_event_local)
  c_add_example(${side} sync_event_remote sync_event_remote common/files.c)
endforeach()
c_add_example(host comch comch_client comch/messages.c)
c_add_example(dpu comch comch_server comch/messages.c)
c_add_example(host dma_copy_remote dma_copy_host common/files.c dma_copy_remote/descriptors.c)
c_add_example(dpu dma_copy_remote dma_copy_dpu common/files.c common/dma_common.c dma_copy_remote/descriptors.c)

c_add_cases(c_pair_test
  programs/program.c
  programs/comch_pair.c
  programs/comch_hostile_test.c
  programs/comch_pair_test.c
  programs/event_pair_test.c
  programs/examples_test.c
  programs/memory_pair_test.c
  programs/side_test.c
)
get_property(c_programs GLOBAL PROPERTY pydoca_c_programs)
add_dependencies(c_pair_test ${c_programs})
target_compile_definitions(c_pair_test PRIVATE
  HOST_ACTOR="$<TARGET_FILE:c_host_actor>"
  DPU_ACTOR="$<TARGET_FILE:c_dpu_actor>"
  EXAMPLES="${CMAKE_CURRENT_BINARY_DIR}/programs"
  EXAMPLE_OPTIONS="${c_examples}/options/options.json")
if(TARGET c_verbs_test)
  add_dependencies(device_tests c_pair_test)
endif()
