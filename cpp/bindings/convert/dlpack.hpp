/// DLPack's structures in the layout of its stable ABI (versions 0.x, unversioned, and 1.x).
#pragma once

#include <cstdint>

namespace pydoca::bindings::dlpack {

inline constexpr std::int32_t device_cpu = 1;
inline constexpr std::uint8_t code_uint = 1;
inline constexpr std::uint64_t flag_read_only = 1;
inline constexpr std::uint64_t flag_is_copied = 2;

struct Version {
  std::uint32_t major;
  std::uint32_t minor;
};

struct Device {
  std::int32_t type;
  std::int32_t id;
};

struct DataType {
  std::uint8_t code;
  std::uint8_t bits;
  std::uint16_t lanes;
};

struct Tensor {
  void* data;
  Device device;
  std::int32_t ndim;
  DataType dtype;
  std::int64_t* shape;
  std::int64_t* strides;
  std::uint64_t byte_offset;
};

/// The content of a capsule called "dltensor".
struct ManagedTensor {
  static constexpr const char* capsule_name = "dltensor";
  Tensor tensor;
  void* context;
  void (*deleter)(ManagedTensor* self);
};

/// The content of a capsule called "dltensor_versioned".
struct ManagedTensorVersioned {
  static constexpr const char* capsule_name = "dltensor_versioned";
  Version version;
  void* context;
  void (*deleter)(ManagedTensorVersioned* self);
  std::uint64_t flags;
  Tensor tensor;
};

}  // namespace pydoca::bindings::dlpack
