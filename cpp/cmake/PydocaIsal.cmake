# ISA-L's headers, for backend/sim/compress. Never its library: it is loaded at run time, where it is there.
find_path(PYDOCA_ISAL_INCLUDE_DIR isa-l/igzip_lib.h DOC "Directory that holds isa-l/igzip_lib.h")
if(PYDOCA_ISAL_INCLUDE_DIR)
  set(pydoca_has_isal TRUE)
else()
  set(pydoca_has_isal FALSE)
  message(STATUS "ISA-L's headers are not installed, so the simulated compression engine will be absent\n"
                 "   Debian/Ubuntu: apt-get install libisal-dev")
endif()
