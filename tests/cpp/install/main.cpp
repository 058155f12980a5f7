#include <pydoca/comch.hpp>
#include <pydoca/dma.hpp>
#include <pydoca/rdma.hpp>
#include <pydoca/status.hpp>

#include <cstring>

/// Makes the linker resolve every symbol that these libraries need.
template <class Create>
bool refuses_no_device(Create create) {
  try {
    create(nullptr);
  } catch (const pydoca::Error& error) {
    return error.status() == pydoca::Status::invalid_value;
  }
  return false;
}

int main() {
  if (!refuses_no_device(pydoca::Dma::create) || !refuses_no_device(pydoca::Rdma::create) ||
      !refuses_no_device([](const auto& device) { return pydoca::comch::Client::create(device, "name"); })) {
    return 2;
  }
  try {
    throw pydoca::Error{pydoca::Status::bad_state, "thrown by the consumer"};
  } catch (const pydoca::Error& error) {
    const bool right =
        error.status() == pydoca::Status::bad_state && std::strstr(error.what(), "thrown by the consumer") != nullptr;
    return right ? 0 : 1;
  }
}
