// The copies of a batch in a loop, without an engine: the floor of memcpy_many in gather.py.
#include <cstddef>
#include <cstdint>
#include <cstring>

/// rows: source address, destination address, bytes and user data of each copy, as memcpy_many takes them.
extern "C" void copy_rows(const std::uint64_t* rows, std::size_t count);

void copy_rows(const std::uint64_t* rows, std::size_t count) {
  for (const std::uint64_t* row = rows; row != rows + 4 * count; row += 4) {
    std::memcpy(reinterpret_cast<void*>(row[1]), reinterpret_cast<const void*>(row[0]), row[2]);
  }
}
