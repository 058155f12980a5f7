# rdma-core's headers, for backend/verbs. Never its libraries: they are loaded at run time, where they are there.
find_path(PYDOCA_VERBS_INCLUDE_DIR infiniband/verbs.h DOC "Directory that holds infiniband/verbs.h")
find_path(PYDOCA_RDMACM_INCLUDE_DIR rdma/rdma_cma.h DOC "Directory that holds rdma/rdma_cma.h")
if(PYDOCA_VERBS_INCLUDE_DIR AND PYDOCA_RDMACM_INCLUDE_DIR)
  set(pydoca_has_verbs TRUE)
else()
  set(pydoca_has_verbs FALSE)
  message(STATUS "rdma-core's headers are not installed, so RDMA devices will be unavailable\n"
                 "   Debian/Ubuntu: apt-get install libibverbs-dev librdmacm-dev")
endif()
