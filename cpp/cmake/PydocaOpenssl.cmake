# OpenSSL's headers, for backend/sim/sha. Never its library: it is loaded at run time, where it is there.
find_path(PYDOCA_OPENSSL_INCLUDE_DIR openssl/evp.h DOC "Directory that holds openssl/evp.h")
if(PYDOCA_OPENSSL_INCLUDE_DIR)
  set(pydoca_has_openssl TRUE)
else()
  set(pydoca_has_openssl FALSE)
  message(STATUS "OpenSSL's headers are not installed, so the simulated SHA engine will be absent\n"
                 "   Debian/Ubuntu: apt-get install libssl-dev")
endif()
