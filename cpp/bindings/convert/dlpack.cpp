#include <pydoca/status.hpp>

#include "convert/convert.hpp"
#include "convert/view.hpp"

#include <cstdint>
#include <cstring>
#include <string>

namespace pydoca::bindings {

/// DLPack's structures in the layout of its stable ABI (versions 0.x, unversioned, and 1.x).
namespace dlpack {

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

}  // namespace dlpack

namespace {

constexpr dlpack::Version version{.major = 1, .minor = 0};

/// A tensor with its shape.
template <class Managed>
struct Shared {
  Managed managed{};
  std::int64_t shape = 0;
  std::int64_t stride = 1;
  std::shared_ptr<const void> owner;
};

/// A consumer that takes the tensor over renames the capsule. A capsule with its first name still owns the tensor.
template <class Managed>
void drop_untaken(PyObject* capsule) {
  if (PyCapsule_IsValid(capsule, Managed::capsule_name) == 0) return;
  auto* const managed = static_cast<Managed*>(PyCapsule_GetPointer(capsule, Managed::capsule_name));
  managed->deleter(managed);
}

template <class Managed>
std::unique_ptr<Shared<Managed>> share(Bytes bytes) {
  auto shared = std::make_unique<Shared<Managed>>();
  shared->shape = static_cast<std::int64_t>(bytes.size);
  shared->owner = std::move(bytes.owner);
  shared->managed.context = shared.get();
  shared->managed.deleter = [](Managed* self) { delete static_cast<Shared<Managed>*>(self->context); };
  shared->managed.tensor = {.data = bytes.data,
                            .device = {.type = dlpack::device_cpu, .id = 0},
                            .ndim = 1,
                            .dtype = {.code = dlpack::code_uint, .bits = 8, .lanes = 1},
                            .shape = &shared->shape,
                            .strides = &shared->stride,
                            .byte_offset = 0};
  return shared;
}

template <class Managed>
py::capsule to_capsule(std::unique_ptr<Shared<Managed>> shared) {
  PyObject* const capsule = PyCapsule_New(&shared->managed, Managed::capsule_name, drop_untaken<Managed>);
  if (capsule == nullptr) throw py::error_already_set();
  static_cast<void>(shared.release());  // owned by the capsule, or by the consumer that took it over
  return py::reinterpret_steal<py::capsule>(capsule);
}

Bytes duplicate(const Bytes& bytes) {
  // +1: an empty array would have no address
  const auto copy = std::shared_ptr<std::byte[]>(new std::byte[bytes.size + 1]);
  if (bytes.size != 0) std::memcpy(copy.get(), bytes.data, bytes.size);
  return {.data = copy.get(), .size = bytes.size, .readonly = false, .owner = copy};
}

void check(const DlpackRequest& request) {
  if (!request.stream.is_none()) {
    raise(Status::invalid_value, "DLPack: stream must be None, because this is CPU memory");
  }
  if (request.device && *request.device != std::pair<int, int>(dlpack::device_cpu, 0)) {
    throw py::buffer_error("DLPack: this is CPU memory, device (1, 0), and cannot be moved to another device");
  }
}

}  // namespace

py::capsule dlpack_capsule(Bytes bytes, const DlpackRequest& request) {
  check(request);
  if (request.copy) bytes = duplicate(bytes);
  if (request.max_version && request.max_version->first >= 1) {
    const std::uint64_t flags =
        (bytes.readonly ? dlpack::flag_read_only : 0) | (request.copy ? dlpack::flag_is_copied : 0);
    auto shared = share<dlpack::ManagedTensorVersioned>(std::move(bytes));
    shared->managed.version = version;
    shared->managed.flags = flags;
    return to_capsule(std::move(shared));
  }
  if (bytes.readonly) {
    throw py::buffer_error(
        "DLPack: the memory is read-only, and only DLPack 1.0 and later can express this; ask with max_version=(1, 0), "
        "or use numpy.frombuffer");
  }
  return to_capsule(share<dlpack::ManagedTensor>(std::move(bytes)));
}

}  // namespace pydoca::bindings
