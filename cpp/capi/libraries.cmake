# The libraries: parts whose objects are contexts, and what goes with them.
pydoca_capi_part(clock HEADERS doca_clock.h SOURCES library/clock.cpp REQUIRES common)
pydoca_capi_part(graph HEADERS doca_graph.h SOURCES library/graph.cpp REQUIRES common)
pydoca_capi_part(comch
  HEADERS doca_comch.h
  SOURCES comch/client.cpp comch/connection.cpp comch/endpoint.cpp comch/server.cpp
  REQUIRES common)
target_sources(pydoca_capi PRIVATE src/library/task_functions.cpp)
pydoca_capi_tasks(dma SOURCES library/dma.cpp)
pydoca_capi_tasks(mmap_advise SOURCES library/mmap_advise.cpp)
pydoca_capi_tasks(rdma
  HEADERS
    doca_rdma_bridge.h
  SOURCES
    rdma/address.cpp
    rdma/bridge.cpp
    rdma/capabilities.cpp
    rdma/connection.cpp
    rdma/rdma.cpp
    rdma/settings.cpp
)
pydoca_capi_tasks(sha SOURCES library/sha.cpp)
pydoca_capi_tasks(sync_event
  SOURCES library/sync_event.cpp library/sync_event_processors.cpp library/sync_event_values.cpp)
