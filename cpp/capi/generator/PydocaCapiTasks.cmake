# The program that writes the task functions of C's libraries, from the tables of tasks of the engine's.
add_executable(pydoca_capi_generator
  generator/declarations.cpp
  generator/definitions.cpp
  generator/libraries.cpp
  generator/main.cpp
  generator/task_text.cpp
  generator/words.cpp)
target_compile_features(pydoca_capi_generator PRIVATE cxx_std_20)
target_include_directories(pydoca_capi_generator PRIVATE
  generator $<TARGET_PROPERTY:pydoca,INTERFACE_INCLUDE_DIRECTORIES>)
pydoca_enable_warnings(pydoca_capi_generator)

# pydoca_capi_tasks(<library> [HEADERS <other header>...] SOURCES <source>...): a part, doca-<library>, with task
# functions. Its header stands in the build directory, made of include/doca_<library>.h.in.
function(pydoca_capi_tasks library)
  cmake_parse_arguments(PARSE_ARGV 1 part "" "" "HEADERS;SOURCES")
  set(template "${CMAKE_CURRENT_SOURCE_DIR}/include/doca_${library}.h.in")
  set(header "${CMAKE_CURRENT_BINARY_DIR}/include/doca_${library}.h")
  set(source "${CMAKE_CURRENT_BINARY_DIR}/${library}_tasks.cpp")
  add_custom_command(OUTPUT "${header}" "${source}"
    COMMAND pydoca_capi_generator ${library} "${template}" "${header}" "${source}"
    DEPENDS pydoca_capi_generator "${template}" COMMENT "Task functions of ${library}" VERBATIM)
  target_sources(pydoca_capi PRIVATE "${header}")
  string(REPLACE _ - name ${library})
  pydoca_capi_part(${name} HEADERS "${header}" ${part_HEADERS} SOURCES ${part_SOURCES} "${source}" REQUIRES common)
endfunction()
