/// Messages that are hashed piece by piece.
#include "library/sha/sha_fixture.hpp"

#include <array>
#include <random>
#include <vector>

namespace pydoca {
namespace {

class PartialHashTest : public ShaTest {
 public:
  void SetUp() override {
    ShaTest::SetUp();
    rig.free_tasks = false;
  }
  void TearDown() override {
    for (Task* const task : tasks) {
      EXPECT_EQ(task->free(), Status::success);
    }
    ShaTest::TearDown();
  }

  ShaPartialHashTask& begin(Buf* src, Buf* dst, ShaAlgorithm algorithm = ShaAlgorithm::sha256) {
    ShaPartialHashTask& task = rig.partial_task(src, dst, algorithm);
    tasks.push_back(&task);
    return task;
  }
  /// Submits the task and awaits its completion.
  Status run(Task& task) {
    if (const Status status = task.try_submit(); status != Status::success) {
      return status;
    }
    rig.progress_until(rig.completions.size() + 1);
    return task.status();
  }
  Status run_piece(ShaPartialHashTask& task, Buf* src, bool is_final = false) {
    EXPECT_EQ(task.set_src(src), Status::success);
    if (is_final) {
      EXPECT_EQ(task.set_is_final_buf(), Status::success);
    }
    return run(task);
  }
  /// The hash of size bytes from the beginning of the memory, by a task of the other kind.
  std::string whole(std::size_t size, ShaAlgorithm algorithm) {
    ShaHashTask& task = rig.task(source(0, size), target(digest_offset), algorithm);
    EXPECT_EQ(run(task), Status::success);
    EXPECT_EQ(task.free(), Status::success);
    return hex(digest_offset, digest_size(algorithm));
  }
  std::string hex(std::size_t offset, std::size_t size) const {
    return to_hex(std::span(dst_memory.bytes).subspan(offset, size));
  }

  static constexpr std::size_t digest_offset = 2048;
  std::vector<Task*> tasks;
};

TEST_F(PartialHashTest, ADigestComesWithTheLastPieceAlone) {
  Buf* const dst = target();
  ShaPartialHashTask& task = begin(source(0, 64), dst);
  EXPECT_FALSE(task.has_begun());
  EXPECT_EQ(run(task), Status::success);
  EXPECT_TRUE(task.has_begun());
  EXPECT_FALSE(task.is_final());
  EXPECT_FALSE(task.has_result());
  EXPECT_EQ(dst->data_len(), 0U);
  EXPECT_EQ(run_piece(task, source(64, 5), true), Status::success);
  EXPECT_TRUE(task.is_final());
  EXPECT_TRUE(task.has_result());
  EXPECT_EQ(dst->data_len(), 32U);
  EXPECT_EQ(hex(0, 32), whole(69, ShaAlgorithm::sha256));
}

TEST_F(PartialHashTest, ADigestIsThatOfAllPiecesTogether) {
  std::mt19937 random(3);  // NOLINT(bugprone-random-generator-seed): each run must be the same
  for (const ShaAlgorithm algorithm : {ShaAlgorithm::sha1, ShaAlgorithm::sha256, ShaAlgorithm::sha512}) {
    for (int round = 0; round < 20; ++round) {
      Buf* const dst = target();
      ShaPartialHashTask& task = begin(nullptr, dst, algorithm);
      std::size_t size = 0;
      for (std::size_t pieces = 1 + random() % 6; pieces > 0; --pieces) {
        // Up to 8 KiB are hashed where they are submitted, more by a worker.
        const std::size_t len = block_size(algorithm) * (1 + random() % (round % 2 == 0 ? 60 : 2000));
        ASSERT_EQ(run_piece(task, source(size, len)), Status::success);
        size += len;
      }
      const std::size_t rest = 1 + random() % 300;
      ASSERT_EQ(run_piece(task, source(size, rest), true), Status::success);
      EXPECT_EQ(hex(0, digest_size(algorithm)), whole(size + rest, algorithm));
      free_held();
    }
  }
}

TEST_F(PartialHashTest, APieceMayBeAList) {
  Buf* const list = source(0, 30);
  EXPECT_EQ(list->chain(*bufs.by_data(src_memory, 30, 34)), Status::success);
  ShaPartialHashTask& task = begin(list, target());
  EXPECT_EQ(run(task), Status::success);
  EXPECT_EQ(run_piece(task, source(64, 1), true), Status::success);
  EXPECT_EQ(hex(0, 32), whole(65, ShaAlgorithm::sha256));
}

TEST_F(PartialHashTest, MessagesDoNotMix) {
  std::vector<ShaPartialHashTask*> messages;
  for (std::size_t i = 0; i < 8; ++i) {
    messages.push_back(&begin(source(0, 20'480), target(i * 64)));
    EXPECT_EQ(messages.back()->submit(), Status::success);
  }
  rig.progress_until(8);
  for (std::size_t i = 0; i < 8; ++i) {
    EXPECT_EQ(messages[i]->set_src(source(20'480, 1 + 100 * i)), Status::success);
    EXPECT_EQ(messages[i]->set_is_final_buf(), Status::success);
    EXPECT_EQ(messages[i]->submit(), Status::success);
  }
  rig.progress_until(16);
  for (std::size_t i = 0; i < 8; ++i) {
    EXPECT_EQ(hex(i * 64, 32), whole(20'481 + 100 * i, ShaAlgorithm::sha256)) << i;
  }
}

TEST_F(PartialHashTest, ResetBeginsAnotherMessage) {
  Buf* const dst = target(0, 200);
  ShaPartialHashTask& task = begin(source(0, 640), dst);
  EXPECT_EQ(run(task), Status::success);
  EXPECT_EQ(task.reset(), Status::success);
  EXPECT_FALSE(task.has_begun());
  EXPECT_EQ(task.set_algorithm(ShaAlgorithm::sha512), Status::success);
  EXPECT_EQ(run_piece(task, source(0, 128)), Status::success);
  EXPECT_EQ(run_piece(task, source(128, 2), true), Status::success);
  EXPECT_EQ(hex(0, 64), whole(130, ShaAlgorithm::sha512));
  EXPECT_EQ(task.reset(), Status::success);
  EXPECT_FALSE(task.is_final());
  EXPECT_FALSE(task.has_result());
  EXPECT_EQ(run_piece(task, source(0, 128)), Status::success);
  EXPECT_EQ(run_piece(task, hold(bufs.by_addr(src_memory, 128, 1)), true), Status::success);
  EXPECT_EQ(dst->data_len(), 128U) << "digests are appended";
  EXPECT_EQ(hex(64, 64), whole(128, ShaAlgorithm::sha512));
}

TEST_F(PartialHashTest, ATaskThatIsFreedForgetsItsMessage) {
  ShaPartialHashTask& task = rig.partial_task(source(0, 640), target());
  EXPECT_EQ(run(task), Status::success);
  EXPECT_EQ(task.free(), Status::success);
  ShaPartialHashTask& next = begin(source(0, 64), target());
  EXPECT_EQ(&next, &task) << "the pool gives the task that was put back last";
  EXPECT_FALSE(next.has_begun());
  EXPECT_EQ(run(next), Status::success);
  EXPECT_EQ(run_piece(next, source(64, 1), true), Status::success);
  EXPECT_EQ(hex(0, 32), whole(65, ShaAlgorithm::sha256));
}

TEST_F(PartialHashTest, SettersKeepToTheStateOfTheMessage) {
  ShaPartialHashTask& task = begin(source(0, 64), target());
  EXPECT_EQ(task.set_is_final_buf(), Status::bad_state) << "a message of one piece is a hash task's";
  EXPECT_EQ(task.set_dst(target(64)), Status::success);
  EXPECT_EQ(task.submit(), Status::success);
  EXPECT_EQ(task.set_dst(nullptr), Status::in_use);
  EXPECT_EQ(task.set_algorithm(ShaAlgorithm::sha1), Status::in_use);
  EXPECT_EQ(task.set_is_final_buf(), Status::in_use);
  EXPECT_EQ(task.reset(), Status::in_use);
  rig.progress_until(1);
  EXPECT_EQ(task.set_dst(nullptr), Status::bad_state);
  EXPECT_EQ(task.set_algorithm(ShaAlgorithm::sha1), Status::bad_state);
  EXPECT_EQ(run_piece(task, source(64, 1), true), Status::success);
  EXPECT_EQ(task.set_is_final_buf(), Status::bad_state);
  EXPECT_EQ(task.set_dst(nullptr), Status::bad_state);
  EXPECT_EQ(task.reset(), Status::success);
  EXPECT_EQ(task.set_algorithm(ShaAlgorithm::sha1), Status::success);
}

TEST_F(PartialHashTest, EveryPieceButTheLastIsAMultipleOfABlock) {
  ShaPartialHashTask& task = begin(source(0, 100), target());
  EXPECT_EQ(task.try_submit(), Status::invalid_value);
  const std::string reason =
      "src has 100 bytes of data; every piece but the last has a multiple of 64 with sha256; mark the last as the "
      "final one";
  EXPECT_EQ(task.explain(Status::invalid_value), reason);
  rig.free_tasks = true;
  tasks.clear();
  rig.expect_refused(task, reason.c_str(), false);
}

TEST_F(PartialHashTest, AMessageThatHasEndedTakesNoPiece) {
  ShaPartialHashTask& task = begin(source(0, 64), target(0, 200));
  EXPECT_EQ(run(task), Status::success);
  EXPECT_EQ(run_piece(task, source(64, 1), true), Status::success);
  rig.free_tasks = true;
  tasks.clear();
  rig.completions.clear();
  rig.expect_refused(task, "the message has ended, and its digest is in dst; reset the task to begin another", false);
}

TEST_F(PartialHashTest, AContextThatStartsAgainBeginsAnew) {
  ShaPartialHashTask& task = rig.partial_task(source(0, 64), target());
  EXPECT_EQ(run(task), Status::success);
  EXPECT_EQ(rig.sha->stop(), Status::in_progress);
  EXPECT_EQ(task.free(), Status::success);
  rig.progress_until_idle();
  EXPECT_EQ(rig.sha->start(), Status::success);
  ShaPartialHashTask& next = begin(source(0, 64), target());
  EXPECT_EQ(run(next), Status::success);
  EXPECT_EQ(run_piece(next, source(64, 1), true), Status::success);
  EXPECT_EQ(hex(0, 32), whole(65, ShaAlgorithm::sha256));
}

TEST_F(PartialHashTest, AFreedTaskTellsOfItsMessageUntilItIsTaken) {
  Buf* const dst = target();
  ShaPartialHashTask& task = rig.partial_task(source(0, 64), dst, ShaAlgorithm::sha512);
  EXPECT_EQ(run_piece(task, source(0, 128)), Status::success);
  EXPECT_EQ(run_piece(task, source(128, 1), true), Status::success);
  EXPECT_EQ(task.free(), Status::success);
  EXPECT_TRUE(task.has_begun());
  EXPECT_TRUE(task.is_final());
  EXPECT_TRUE(task.has_result());
  EXPECT_EQ(task.dst(), dst);
  EXPECT_EQ(task.algorithm(), ShaAlgorithm::sha512);
  ShaPartialHashTask& next = begin(source(0, 64), target());
  ASSERT_EQ(&next, &task);
  EXPECT_FALSE(next.has_begun());
  EXPECT_FALSE(next.is_final());
  EXPECT_FALSE(next.has_result());
}

TEST(PartialHash, NeedsOneOfTheTwoConfs) {
  const auto sha = Sha::create(open_bluefield2());
  const auto pe = ProgressEngine::create();
  const auto callback = [](Task&, std::uint64_t, std::uint64_t) noexcept {};
  pe->connect(sha);
  sha->set_partial_hash_conf(callback, callback, 2);
  EXPECT_EQ(sha->num_partial_hash_tasks(), 2U);
  EXPECT_EQ(sha->num_tasks(), 0U);
  EXPECT_EQ(sha->start(), Status::success);
  std::array<ShaPartialHashTask*, 3> tasks{};
  EXPECT_EQ(sha->partial_hash(nullptr, nullptr, ShaAlgorithm::sha1, 0, tasks[0]), Status::success);
  EXPECT_EQ(sha->partial_hash(nullptr, nullptr, ShaAlgorithm::sha1, 0, tasks[1]), Status::success);
  EXPECT_EQ(sha->partial_hash(nullptr, nullptr, ShaAlgorithm::sha1, 0, tasks[2]), Status::no_memory);
  EXPECT_EQ(sha->partial_hash(nullptr, nullptr, static_cast<ShaAlgorithm>(3), 0, tasks[2]), Status::invalid_value);
  ShaHashTask* whole = nullptr;
  EXPECT_EQ(sha->hash(nullptr, nullptr, ShaAlgorithm::sha1, 0, whole), Status::no_memory);
  EXPECT_EQ(tasks[0]->free(), Status::success);
  EXPECT_EQ(tasks[1]->free(), Status::success);
  EXPECT_EQ(sha->stop(), Status::success);
}

TEST(PartialHash, TellsItsBlocks) {
  const DeviceInfo info = open_bluefield2()->info();
  EXPECT_EQ(Sha::partial_hash_block_size(info, ShaAlgorithm::sha1), 64U);
  EXPECT_EQ(Sha::partial_hash_block_size(info, ShaAlgorithm::sha256), 64U);
  EXPECT_EQ(Sha::partial_hash_block_size(info, ShaAlgorithm::sha512), 128U);
}

}  // namespace
}  // namespace pydoca
