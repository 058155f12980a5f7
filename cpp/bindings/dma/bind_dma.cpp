#include <pydoca/dma.hpp>

#include "convert/bindings.hpp"
#include "convert/collectable.hpp"
#include "convert/convert.hpp"
#include "convert/parse.hpp"
#include "convert/raw_method.hpp"
#include "memory/buf_object.hpp"
#include "memory/mmap_object.hpp"
#include "task/context_object.hpp"
#include "task/task_object.hpp"

#include <pybind11/stl.h>

#include <array>
#include <string>
#include <utility>
#include <vector>

namespace pydoca::bindings {

namespace py = pybind11;
using namespace py::literals;

namespace {

class DmaObject;

class DmaTaskObject final : public TaskObject {
 public:
  DmaTaskObject(py::object context, DmaMemcpyTask& slot) : TaskObject(std::move(context), slot) {}

  const py::object& src() const noexcept { return src_; }
  const py::object& dst() const noexcept { return dst_; }
  void set_src(py::object buf) { set(src_, std::move(buf), "set src"); }
  void set_dst(py::object buf) { set(dst_, std::move(buf), "set dst"); }

  /// Of a task that nobody else has.
  void prepare(py::object src, py::object dst) noexcept {
    src_ = std::move(src);
    dst_ = std::move(dst);
  }

  std::string describe() const override {
    return "dma memcpy" + (length_ != 0 ? " of " + std::to_string(length_) + " bytes" : "");
  }

  int traverse(visitproc visit, void* arg) const override {
    const int stop = visit_refs(std::array{src_, dst_}, visit, arg);
    return stop != 0 ? stop : TaskObject::traverse(visit, arg);
  }
  void clear() override {
    // In flight it is no garbage, and without a flight the engine does not use the bufs.
    forget_operands();
    TaskObject::clear();
  }

 protected:
  std::size_t kind() const noexcept override { return 0; }
  std::vector<const Buf*> lent_bufs() const override;
  void set_operands() override;
  void forget_operands() noexcept override {
    const py::object src = std::exchange(src_, py::none());
    const py::object dst = std::exchange(dst_, py::none());
  }

 private:
  void set(py::object& member, py::object buf, const char* what) {
    require_idle(what);
    static_cast<void>(element_of(buf));
    member = std::move(buf);
  }
  DmaMemcpyTask& memcpy_slot() const { return static_cast<DmaMemcpyTask&>(*slot()); }

  py::object src_ = py::none();
  py::object dst_ = py::none();
  std::uint64_t length_ = 0;
};

std::vector<const Buf*> DmaTaskObject::lent_bufs() const {
  std::vector<const Buf*> lists;
  for (const Buf* const list : {element_of(src_), element_of(dst_)}) {
    if (list != nullptr) lists.push_back(list);
  }
  return lists;
}

void DmaTaskObject::set_operands() {
  Buf* const src = element_of(src_);
  Buf* const dst = element_of(dst_);
  length_ = src != nullptr ? src->list_data_len() : 0;
  static_cast<void>(memcpy_slot().set_src(src));
  static_cast<void>(memcpy_slot().set_dst(dst));
}

class DmaObject final : public ContextObject {
 public:
  DmaObject(py::object engine, const py::object& device, std::uint32_t num_tasks, ContextOptions options)
      : ContextObject(std::move(engine), device, create(device, num_tasks), std::move(options)) {}

  /// self is Python's object for this.
  py::object memcpy(py::handle self, py::object src, py::object dst, py::object user_data, bool submit);

 private:
  static std::shared_ptr<Dma> create(const py::object& device, std::uint32_t num_tasks) {
    auto dma = Dma::create(to_device(device).get());
    dma->set_memcpy_conf(TaskObject::on_complete, TaskObject::on_complete, num_tasks);
    return dma;
  }
  py::object new_task(py::handle self);
  [[noreturn]] void refuse(Status status) const;
};

void DmaObject::refuse(Status status) const {
  if (status == Status::no_memory) {
    raise(status,
          "dma memcpy: every one of the context's tasks is taken; wait for one and drop or free() it, or give the "
          "context a larger num_tasks");
  }
  raise(status, "dma memcpy: the context is not running; start it first");
}

py::object DmaObject::memcpy(py::handle self, py::object src, py::object dst, py::object user_data, bool submit) {
  engine().require_thread("dma memcpy");
  static_cast<void>(element_of(src));
  static_cast<void>(element_of(dst));
  py::object object = take_spare(self, 0);
  if (!object) [[unlikely]] {
    object = new_task(self);
  }
  auto& task = object_of<DmaTaskObject>(object.ptr());
  task.prepare(std::move(src), std::move(dst));
  task.set_user_data(std::move(user_data));
  if (submit) task.submit(SubmitFlags::flush, true);
  return object;
}

py::object DmaObject::new_task(py::handle self) {
  DmaMemcpyTask* slot = nullptr;
  const Status status = allocate_slot([&] { return static_cast<Dma&>(context()).memcpy(nullptr, nullptr, 0, slot); });
  if (status != Status::success) [[unlikely]] {
    refuse(status);
  }
  return TaskObject::publish(std::make_unique<DmaTaskObject>(py::reinterpret_borrow<py::object>(self), *slot));
}

void bind_memcpy_task(py::module_& module) {
  py::classh<DmaTaskObject, TaskObject>(
      module, "DmaMemcpyTask",
      "Copies src's data, in list order, to dst's tailrooms; on success dst's data_len\n"
      "grows by the copied length. On failure part of dst may have been written.")
      .def_property("src", &DmaTaskObject::src, &DmaTaskObject::set_src,
                    "A Buf; None once the task is freed. Setting raises InUseError in flight.")
      .def_property("dst", &DmaTaskObject::dst, &DmaTaskObject::set_dst,
                    "The Buf that is filled; None once the task is freed. Setting raises InUseError in flight.");
}

template <typename Class>
void bind_dma_capabilities(Class& type) {
  type.def_static("is_supported", &Dma::is_supported, "info"_a, "Whether the device has a copy engine.")
      .def_static("max_buf_size", &Dma::max_buf_size, "info"_a, "Bytes per task.")
      .def_static("max_buf_list_len", &Dma::max_buf_list_len, "info"_a, "Elements of a list; 1: no lists.")
      .def_static("max_num_tasks", &Dma::max_num_tasks, "info"_a, "The largest num_tasks.");
}

}  // namespace

void bind_dma(py::module_& module) {
  bind_memcpy_task(module);
  py::classh<DmaObject, ContextObject> type(module, "Dma", "The copy engine of a device.");
  const auto create = [](py::object pe, const py::object& dev, const py::object& num_tasks, py::object on_completion,
                         py::object on_error, py::object on_state_changed, py::object user_data) {
    return std::make_unique<DmaObject>(std::move(pe), dev, to_u32(num_tasks, "num_tasks"),
                                       ContextOptions{std::move(on_completion), std::move(on_error),
                                                      std::move(on_state_changed), std::move(user_data)});
  };
  type.def(py::init(create), "pe"_a, "dev"_a, py::kw_only(), "num_tasks"_a = 32, "on_completion"_a = py::none(),
           "on_error"_a = py::none(), "on_state_changed"_a = py::none(), "user_data"_a = py::none())
      .def(
          "memcpy",
          [](const py::object& self, py::object src, py::object dst, py::object user_data, bool submit) {
            return object_of<DmaObject>(self.ptr())
                .memcpy(self, std::move(src), std::move(dst), std::move(user_data), submit);
          },
          "src"_a, "dst"_a, py::kw_only(), "user_data"_a = py::none(), "submit"_a = true,
          "Takes a task, and submits it unless submit is false. Raises NoMemoryError when all num_tasks are taken,\n"
          "BadStateError unless the context runs, InvalidValueError for bufs that cannot be copied, AgainError when "
          "the\n"
          "queue is full.");
  bind_dma_capabilities(type);
}

}  // namespace pydoca::bindings
