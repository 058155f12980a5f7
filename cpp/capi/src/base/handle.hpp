/// The objects that C programs hold by pointers. An object begins with a tag that tells its kind while it is alive.
/// Its memory is never returned to the system, so that a call with the pointer to a destroyed object finds the tag
/// dead.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string_view>

namespace pydoca::capi {

/// The name of a kind of objects, as messages have it: "open device". Kinds have different names.
struct Noun {
  template <std::size_t size>
  consteval Noun(const char (&literal)[size]) {
    static_assert(size <= sizeof(text), "a shorter name, please");
    std::copy_n(literal, size, text);
  }
  char text[40] = {};
};

using Tag = std::uint32_t;
inline constexpr Tag dead = 0;
// The upper half keeps memory of another origin from being taken for an object.
inline constexpr Tag magic = 0xD0CA'0000;
inline constexpr Tag context_bit = 0x8000;

/// The tag of living objects of that name.
consteval Tag tag_of(const Noun& noun, bool is_context) {
  Tag hash = 2166136261;  // FNV-1a
  for (const char letter : noun.text) {
    hash = (hash ^ static_cast<unsigned char>(letter)) * 16777619;
  }
  return magic | (is_context ? context_bit : 0) | ((hash >> 16U) & 0x7FFFU);
}

/// The beginning of every object. Copying and assigning leave it as it is, as it belongs to the memory.
class Head {
 public:
  Head() noexcept = default;
  Head(const Head&) noexcept {}
  Head& operator=(const Head&) noexcept { return *this; }  // NOLINT(bugprone-unhandled-self-assignment)
  ~Head() = default;

  /// Only misuse reads it while another thread changes it. An atomic tag would cost each call an instruction.
  Tag tag() const noexcept { return tag_; }

 private:
  template <class Object>
  friend class Slab;

  Tag tag_ = dead;
  Head* next_ = nullptr;  ///< the next one that is dead
};

inline constinit Head nobody;

/// The base of the objects of one kind, other than contexts.
template <Noun name>
class Handle : public Head {
 public:
  static constexpr Tag living = tag_of(name, false);
  static constexpr std::string_view noun() noexcept { return name.text; }
  bool is_alive() const noexcept { return tag() == living; }
};

/// The base of the objects of one kind that belong to another object. A function that gets both looks at the part only:
/// its owner lives as long as it does. In a dead part, and where an object of another kind has other things, there is
/// no object's address.
template <Noun name>
class Part : public Handle<name> {
 public:
  bool is_of(const Head* owner) const noexcept { return owner_ == owner; }
  /// Undefined before set_owner().
  Head* owner() const noexcept { return owner_; }
  void set_owner(Head& owner) noexcept { owner_ = &owner; }

 private:
  Head* owner_ = &nobody;  ///< never null, as a program may give NULL for the owner
};

template <class Object, class Owner>
concept PartOf = requires(const Object& part, const Owner* owner) { part.is_of(owner); };

/// Makes and ends the objects of one type, which can be made without memory. Any thread may call it.
template <class Object>
class Slab {
 public:
  /// An object as its constructor makes it, alive from now on. Throws std::bad_alloc.
  static Object* make() {
    Slab& slab = instance();
    const std::lock_guard lock(slab.mutex_);
    if (slab.oldest_ == nullptr) {
      slab.grow();
    }
    Head* const head = slab.oldest_;
    slab.oldest_ = head->next_;
    head->tag_ = Object::living;
    return static_cast<Object*>(head);
  }

  /// Kills the object, and lets go of what it holds. Its memory serves again after that of all that died before.
  static void end(Object& object) noexcept {
    static_cast<Head&>(object).tag_ = dead;
    object = Object{};
    Slab& slab = instance();
    const std::lock_guard lock(slab.mutex_);
    slab.put_back(object);
  }

 private:
  static constexpr std::size_t objects_at_once = 16;

  struct Block {
    Block* next;
    Object objects[objects_at_once];
  };

  /// It outlives the destructors of the program, in which C code may still end objects.
  static Slab& instance() {
    static Slab* const slab = new Slab;
    return *slab;
  }
  void grow() {
    blocks_ = new Block{blocks_, {}};
    for (Object& object : blocks_->objects) {
      put_back(object);
    }
  }
  void put_back(Head& head) noexcept {
    head.next_ = nullptr;
    (oldest_ == nullptr ? oldest_ : newest_->next_) = &head;
    newest_ = &head;
  }

  std::mutex mutex_;
  Head* oldest_ = nullptr;
  Head* newest_ = nullptr;
  Block* blocks_ = nullptr;  ///< valgrind calls what has pointers only to its middle possibly lost
};

struct EndObject {
  template <class Object>
  void operator()(Object* object) const noexcept {
    Slab<Object>::end(*object);
  }
};
/// An object that belongs to another one.
template <class Object>
using Owned = std::unique_ptr<Object, EndObject>;

}  // namespace pydoca::capi
