#include "pydoca/callback.hpp"

#include "pydoca/graph.hpp"
#include "pydoca/task.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <type_traits>
#include <vector>

namespace pydoca {
namespace {

struct Base {
  virtual ~Base() = default;
};
struct Object : Base {
  int value = 3;
};
enum class Answer : std::uint8_t { no, yes };

using OfObject = Callback<void(Base&, std::uint64_t, std::uint64_t), Object>;

/// Calls it as the engine does.
void call(OfObject callback, Object& object, std::uint64_t own, std::uint64_t owners) {
  const OfObject::Raw function = callback;
  function(object, own, owners);
}

void add(Object& object, int* sum) noexcept { *sum += object.value; }
void add_number(Base&, std::uint64_t number, std::uint64_t sum) noexcept {
  *std::bit_cast<int*>(sum) += static_cast<int>(number);
}

TEST(Callback, HasTheTypesOfTheFunction) {
  Object object;
  int sum = 0;
  call(calls<add>, object, as_user_data(&sum), 0);
  EXPECT_EQ(sum, 3);
}

TEST(Callback, HasTheTypesOfTheLambda) {
  Object object;
  int sum = 0;
  const int more = 4;
  call([](const Object& given, int* to, const int* summand) noexcept { *to += given.value + *summand; }, object,
       as_user_data(&sum), as_user_data(&more));
  EXPECT_EQ(sum, 7);
}

TEST(Callback, TakesNumbersAndEnumerators) {
  Object object;
  int sum = 0;
  call([](Object&, Answer answer, int* to) noexcept { *to += answer == Answer::yes ? 1 : 0; }, object,
       static_cast<std::uint64_t>(Answer::yes), as_user_data(&sum));
  call(add_number, object, 20, as_user_data(&sum));
  EXPECT_EQ(sum, 21);
}

TEST(Callback, MayLeaveOutTheLastParameters) {
  Object object;
  call([](Object& given) noexcept { given.value = 8; }, object, 1, 2);
  EXPECT_EQ(object.value, 8);
}

TEST(Callback, ReturnsWhatTheFunctionReturns) {
  const GraphNode::User step = [](Answer* answer) noexcept {
    return *answer == Answer::yes ? Status::success : Status::unexpected;
  };
  Answer answer = Answer::yes;
  EXPECT_EQ(step(as_user_data(&answer)), Status::success);
  answer = Answer::no;
  EXPECT_EQ(step(as_user_data(&answer)), Status::unexpected);
}

TEST(Callback, MayBeEmpty) {
  const OfObject none = nullptr;
  EXPECT_EQ(static_cast<OfObject::Raw>(none), nullptr);
  EXPECT_EQ(static_cast<OfObject::Raw>(OfObject()), nullptr);
}

// A pointer to a function cannot keep its types, and a callback that may throw would end the program.
static_assert(!std::is_constructible_v<OfObject, void (*)(Object&, int*) noexcept>);
static_assert(!std::is_constructible_v<OfObject, void (*)(Base&, std::uint64_t, std::uint64_t)>);
static_assert(!std::is_constructible_v<TaskCallback<Task>, void (*)(Task&, std::uint64_t, std::uint64_t)>);
// User data keep all of their bits; a free callback has the length beside the address, not as user data.
static_assert(detail::is_user_data<Answer> && detail::is_user_data<std::int64_t> && detail::is_user_data<int*>);
static_assert(!detail::is_user_data<std::uint32_t> && !detail::is_user_data<bool> && !detail::is_user_data<double>);
static_assert(!detail::is_user_data<std::vector<int>> && !detail::is_user_data<Object&>);
static_assert(sizeof(OfObject) == sizeof(void*) && std::is_trivially_copyable_v<OfObject>);

}  // namespace
}  // namespace pydoca
