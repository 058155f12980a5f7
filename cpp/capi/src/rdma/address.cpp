#include "rdma/rdma.hpp"

using namespace pydoca;
using capi::Call;

capi::Owned<doca_rdma_addr> capi::make_address(const RdmaAddress& address) {
  Owned<doca_rdma_addr> made(Slab<doca_rdma_addr>::make());
  made->address = address;
  made->text = address.address();
  return made;
}

doca_error_t doca_rdma_addr_create(doca_rdma_addr_type addr_type, const char* address, std::uint16_t port,
                                   doca_rdma_addr** addr) {
  const Call call;
  if (!call.has(address, addr)) {
    return DOCA_ERROR_INVALID_VALUE;
  }
  return call.run([&] {
    const auto type = capi::enumerator<RdmaAddressType>(addr_type);
    *addr = capi::make_address(RdmaAddress::create(type, address, port)).release();
  });
}

doca_error_t doca_rdma_addr_destroy(doca_rdma_addr* addr) {
  const Call call;
  if (!call.has(addr)) {
    return DOCA_ERROR_INVALID_VALUE;
  }
  if (addr->is_of_connection) {
    return call.refuse(Status::bad_state, "it is a connection's address, which ends with the connection");
  }
  capi::Slab<doca_rdma_addr>::end(*addr);
  return DOCA_SUCCESS;
}

doca_error_t doca_rdma_addr_get_params(doca_rdma_addr* addr, doca_rdma_addr_type* addr_type, const char** address,
                                       std::uint16_t* port) {
  if (!Call().has(addr, addr_type, address, port)) {
    return DOCA_ERROR_INVALID_VALUE;
  }
  *addr_type = static_cast<doca_rdma_addr_type>(addr->address->type());
  *address = addr->text.c_str();
  *port = addr->address->port();
  return DOCA_SUCCESS;
}
