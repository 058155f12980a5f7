#include <pydoca/comch.hpp>
#include <pydoca/device.hpp>
#include <pydoca/dma.hpp>
#include <pydoca/mmap.hpp>
#include <pydoca/rdma.hpp>
#include <pydoca/sim.hpp>
#include <pydoca/status.hpp>

#include <array>
#include <cstddef>
#include <memory>

/// A program outside pydoca: it finds a device, maps memory, and resolves every symbol that these libraries need. Its
/// builder may have no exceptions.

#ifdef __cpp_exceptions
#include <cstring>

template <class Create>
static bool refuses_no_device(Create create) {
  try {
    create(nullptr);
  } catch (const pydoca::Error& error) {
    return error.status() == pydoca::Status::invalid_value;
  }
  return false;
}

static bool throws_errors() {
  if (!refuses_no_device(pydoca::Dma::create) || !refuses_no_device(pydoca::Rdma::create) ||
      !refuses_no_device([](const auto& device) { return pydoca::comch::Client::create(device, "name"); })) {
    return false;
  }
  try {
    throw pydoca::Error{pydoca::Status::bad_state, "thrown by the consumer"};
  } catch (const pydoca::Error& error) {
    return error.status() == pydoca::Status::bad_state &&
           std::strstr(error.what(), "thrown by the consumer") != nullptr;
  }
}
#else
static bool throws_errors() { return true; }
#endif

static bool maps_memory() {
  pydoca::sim::set_topology(pydoca::sim::default_topology("bluefield2"));
  const auto device = pydoca::Device::open(pydoca::find_device("p0", pydoca::Side::dpu));
  std::array<std::byte, 4096> bytes{};
  const auto map = pydoca::Mmap::create();
  map->add_device(device);
  map->set_memrange(bytes.data(), bytes.size());
  map->start();
  const auto dma = pydoca::Dma::create(device);
  dma->close();
  return device->info().name() == "p0";
}

int main() {
  if (!maps_memory()) {
    return 2;
  }
  return throws_errors() ? 0 : 1;
}
