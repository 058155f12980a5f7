#include <pydoca/status.hpp>

#include <cstring>

int main() {
  try {
    throw pydoca::Error{pydoca::Status::bad_state, "thrown by the consumer"};
  } catch (const pydoca::Error& error) {
    const bool right =
        error.status() == pydoca::Status::bad_state && std::strstr(error.what(), "thrown by the consumer") != nullptr;
    return right ? 0 : 1;
  }
}
