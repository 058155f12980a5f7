#include "memory/mmap_object.hpp"

#include <pydoca/log.hpp>
#include <pydoca/status.hpp>

#include "call/raw_method.hpp"
#include "convert/convert.hpp"
#include "convert/parse.hpp"
#include "convert/python.hpp"
#include "loop/blocking_call.hpp"
#include "memory/buf_list.hpp"

#include <algorithm>
#include <exception>
#include <string>
#include <utility>

namespace pydoca::bindings {

namespace {

bool is_same(const py::object& one, const DeviceObject& other) {
  return one.cast<const DeviceObject&>().shared() == other.shared();
}

/// Whether an element points into map.
BufList::Predicate is_of(const Mmap& map) {
  return [&map](const BufList::Element& element) { return element.buf->mmap() == &map; };
}

}  // namespace

const DeviceObject& to_device(py::handle object) { return argument_of<DeviceObject>(object.ptr(), "a pydoca.Device"); }

/// Calls without the GIL, so other threads run; their calls on this map throw in_use.
template <typename Call>
void MmapObject::wait_for(Call call) {
  waiting_ = true;
  try {
    call_blocking(call, finalizing_ ? Signals::pending : Signals::handled);
  } catch (...) {
    waiting_ = false;
    throw;
  }
  waiting_ = false;
}

MmapObject::MmapObject() : mmap_(Mmap::create()) {}

MmapObject::MmapObject(py::object device, std::shared_ptr<Mmap> imported, py::object user_data)
    : mmap_(std::move(imported)), user_data_(std::move(user_data)) {
  devices_.push_back(std::move(device));
}

MmapObject::~MmapObject() {
  finalize();
  // A peer's access has not ended: the engine looks once more, then keeps the memory. The end of the engine's map
  // destroys no Python object.
  if (!released_ && mmap_ != nullptr) call_blocking([this] { mmap_.reset(); }, Signals::pending);
}

void MmapObject::refuse_waiting() {
  throw Error(Status::in_use, "the memory map is being started, stopped or closed by another thread; wait for it");
}

void MmapObject::add_device(py::object device) {
  get()->add_device(to_device(device).get());
  devices_.push_back(std::move(device));
}

void MmapObject::remove_device(const py::object& device) {
  const DeviceObject& removed = to_device(device);
  get()->remove_device(*removed.shared());
  std::erase_if(devices_, [&](const py::object& other) { return is_same(other, removed); });
}

void MmapObject::require_writable(Access access) const {
  if (held_ == nullptr || !held_->readonly() || !allows_writing(access)) return;
  throw Error(Status::invalid_value, "the memory is read-only, and access \"" + to_text(access) +
                                         "\" includes writing; give writable memory (a bytearray for bytes), or ask "
                                         "for local_read_only, pci_read_only or rdma_read");
}

void MmapObject::set_memrange(py::object memory) {
  const std::shared_ptr<Mmap>& mmap = get();
  std::shared_ptr<const HeldBuffer> held = HeldBuffer::of_values(memory);
  std::swap(held_, held);
  try {
    if (access_chosen_) require_writable(mmap->permissions());
    mmap->set_memrange(held_->data(), held_->size(), held_);
  } catch (...) {
    std::swap(held_, held);
    throw;
  }
  memory_ = std::move(memory);
  if (held_->readonly() && !access_chosen_) mmap->set_permissions(Access::local_read_only);
}

void MmapObject::set_permissions(Access access) {
  const std::shared_ptr<Mmap>& mmap = get();
  require_writable(access);
  mmap->set_permissions(access);
  access_chosen_ = true;
}

void MmapObject::set_user_data(py::object data) {
  get()->set_user_data(0);  // the engine's user data word is not used; the engine decides whether it may be set
  user_data_ = std::move(data);
}

void MmapObject::set_free_callback(py::object callback) {
  require_callback(callback, "free_callback");
  // The engine decides whether it may be set; the callback is called here, with the memory.
  get()->set_free_callback(nullptr);
  free_callback_ = std::move(callback);
  callback_due_ = false;
}

void MmapObject::set_dmabuf_memrange(int dmabuf_fd, std::uint64_t addr, std::uint64_t offset, std::uint64_t len) {
  get()->set_dmabuf_memrange(dmabuf_fd, reinterpret_cast<void*>(addr), offset, len);
}

void MmapObject::start() {
  const std::shared_ptr<Mmap>& mmap = get();
  wait_for([&] { mmap->start(); });
  callback_due_ = true;
  drain_log();
}

template <typename Call>
void MmapObject::end_with(Call call) {
  try {
    wait_for(call);
  } catch (const Error& error) {
    if (error.status() != Status::not_permitted) throw;
    const std::string bufs = BufList::describe(is_of(*mmap_));
    throw Error(error.status(),
                error.what() + (bufs.empty() ? ": tasks in flight have them; wait for the tasks" : bufs));
  }
}

void MmapObject::stop() {
  const std::shared_ptr<Mmap>& mmap = get();
  end_with([&] { mmap->stop(); });
  exports_.clear();
  drain_log();
}

void MmapObject::enter() {
  if (closed_) throw Error(Status::bad_state, "the memory map is closed; make another");
  if (!get()->is_started()) start();
}

bool MmapObject::uses(const DeviceObject& device) const {
  return std::ranges::any_of(devices_,
                             [&](const py::object& one) { return &one.cast<const DeviceObject&>() == &device; });
}

bool MmapObject::lends(const Device& device, std::uint64_t addr, std::uint64_t len) const noexcept {
  if (waiting_ || !mmap_->is_started() || mmap_->is_from_export() || !mmap_->contains(addr, len)) return false;
  return std::ranges::any_of(
      devices_, [&](const py::object& one) { return object_of<DeviceObject>(one.ptr()).shared().get() == &device; });
}

void MmapObject::close_if_idle() {
  const py::object self = py::cast(this);
  release_idle();
  try {
    close();
  } catch (const Error&) {
    // A task or a peer has the memory: the device's own end says what still uses it.
  }
}

void MmapObject::release_idle() const { BufList::release_idle(is_of(*mmap_)); }

void MmapObject::close() {
  if (released_) return;
  const std::shared_ptr<Mmap>& mmap = get();
  end_with([&] { mmap->close(); });
  closed_ = true;
  exports_.clear();
  if (mmap->is_closed()) let_go();
}

void MmapObject::let_go() {
  released_ = true;
  held_.reset();
  devices_.clear();
  const py::object memory = std::exchange(memory_, py::none());
  const py::object callback = std::exchange(free_callback_, py::none());
  if (callback_due_ && !callback.is_none()) callback(memory);
}

/// A peer that imports the blob is refused: this side tells why.
void MmapObject::tell_withdrawn() const noexcept {
  log::engine(log::Level::info, "mmap", [this] {
    return "a memory map of " + std::to_string(mmap_->len()) +
           " bytes was exported, and no name holds it any more: its export is withdrawn; keep it, in a with block say, "
           "as long as peers need it";
  });
}

void MmapObject::finalize() noexcept {
  if (released_) return;
  const py::error_scope error;
  if (mmap_->is_exported()) tell_withdrawn();
  finalizing_ = true;
  try {
    if (mmap_->num_bufs() != 0) release_idle();  // the collector has also found them: each keeps the map
    close();
  } catch (py::error_already_set& raised) {
    raised.discard_as_unraisable("the free callback of a pydoca.Mmap");
  } catch (const std::exception&) {
    // A peer's access has not ended: the engine keeps the memory, and the free callback does not run. Or a task has a
    // buf: the end of its engine releases that, and then this map.
  }
  finalizing_ = false;
}

template <typename Export>
py::bytes MmapObject::export_with(Export exporting, const char* how, const py::object& device) {
  const std::shared_ptr<Mmap>& mmap = get();
  if (closed_) {
    throw Error(Status::not_permitted, "export mmap (" + mmap->describe() + "): it is closed; make another");
  }
  if (device.is_none() && devices_.size() != 1) {
    const std::string what = "export mmap (" + mmap->describe() + "): it has ";
    throw Error(Status::invalid_value,
                what + (devices_.empty() ? "no device; add_device() one before start()"
                                         : std::to_string(devices_.size()) + " devices; name the one to export on"));
  }
  const DeviceObject& chosen = to_device(device.is_none() ? devices_.front() : device);
  py::bytes blob = to_python(((*mmap).*exporting)(*chosen.shared()));
  std::pair<const char*, std::string> made(how, chosen.shared()->info().name());
  if (std::ranges::find(exports_, made) == exports_.end()) exports_.push_back(std::move(made));
  return blob;
}

py::bytes MmapObject::export_pci(const py::object& device) { return export_with(&Mmap::export_pci, "pci", device); }

py::bytes MmapObject::export_rdma(const py::object& device) { return export_with(&Mmap::export_rdma, "rdma", device); }

const char* MmapObject::state() const noexcept {
  if (is_closed()) return "closed";
  if (mmap_->is_from_export()) return "imported";
  return mmap_->is_started() ? "started" : "stopped";
}

py::tuple MmapObject::snapshot(std::size_t limit) const {
  return py::make_tuple(state(), exports_, BufList::snapshot(is_of(*mmap_), limit));
}

Bytes MmapObject::bytes() const {
  if (closed_) throw Error(Status::bad_state, "the memory map is closed");
  if (mmap_->is_from_export()) {
    throw py::buffer_error("imported memory is reachable by tasks only; copy it to local memory (Dma.memcpy)");
  }
  if (held_ == nullptr) throw py::buffer_error("the memory map has no range yet; set_memrange() gives it one");
  return {.data = held_->data(), .size = held_->size(), .readonly = held_->readonly(), .owner = held_};
}

}  // namespace pydoca::bindings
