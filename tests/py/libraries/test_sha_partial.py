"""Messages that a SHA engine hashes piece by piece, beside hashlib's digests."""

import asyncio
import hashlib
import itertools
import random

import pytest

import pydoca
from libraries.test_sha import ALGORITHMS, ShaRig, sha_rig

__all__ = ["sha_rig"]  # a fixture


class Message:
    """A message in memory, its task, and the buf that gets its digest."""

    def __init__(self, rig: ShaRig, data: bytes, algorithm: str = "sha256"):
        self.rig, self.data, self.algorithm = rig, data, algorithm
        self.map = rig.device.mmap(data)
        self.dst, self.memory = rig.target(200)
        self.task = rig.sha.partial_hash(None, self.dst, algorithm, submit=False)

    def piece(self, begin, end):
        return self.rig.inventory.get_by_data(self.map, self.map.addr + begin, end - begin)

    def run(self, begin, end, *, final=False):
        self.task.src = self.piece(begin, end)
        if final:
            self.task.set_is_final_buf()
        self.task.submit()
        self.task.wait(20)

    def digest(self):
        return bytes(self.memory)[: self.dst.data_len].hex()


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_digests_are_those_of_hashlib(sha_rig, algorithm):
    randomness = random.Random(algorithm)
    block = pydoca.Sha.partial_hash_block_size(sha_rig.device.info, algorithm)
    for _ in range(30):
        ends = [0]
        for _ in range(randomness.randrange(1, 5)):
            ends.append(ends[-1] + block * randomness.randrange(1, 1000))
        message = Message(sha_rig, randomness.randbytes(ends[-1] + randomness.randrange(1, 500)), algorithm)
        for begin, end in itertools.pairwise(ends):
            message.run(begin, end)
            assert (message.task.is_final, message.task.has_result, message.dst.data_len) == (False, False, 0)
        message.run(ends[-1], len(message.data), final=True)
        assert (message.task.is_final, message.task.has_result) == (True, True)
        assert message.digest() == hashlib.new(algorithm, message.data).hexdigest()


def test_pieces_are_awaited(sha_rig):
    async def hash_it():
        async with sha_rig.pe:
            message = Message(sha_rig, bytes(300))
            task = sha_rig.sha.partial_hash(message.piece(0, 128), message.dst)
            assert isinstance(task, pydoca.ShaPartialHashTask)
            await task
            task.src = message.piece(128, 300)
            task.set_is_final_buf()
            task.submit()
            await task
            assert message.digest() == hashlib.sha256(bytes(300)).hexdigest()

    asyncio.run(hash_it())


def test_reset_begins_another_message(sha_rig):
    message = Message(sha_rig, b"a" * 130)
    message.run(0, 64)
    message.task.reset()
    message.task.algorithm = "sha1"
    message.run(64, 128)
    message.run(128, 130, final=True)
    first = hashlib.sha1(b"a" * 66).hexdigest()
    assert message.digest() == first
    message.task.reset()
    assert (message.task.is_final, message.task.has_result) == (False, False)
    message.run(0, 64)
    message.run(64, 65, final=True)
    assert message.digest() == first + hashlib.sha1(b"a" * 65).hexdigest()


def test_operands_are_fixed_while_a_message_has_begun(sha_rig):
    message = Message(sha_rig, bytes(200))
    message.task.dst = message.dst
    message.run(0, 64)
    for name, value in {"dst": message.dst, "algorithm": "sha1"}.items():
        with pytest.raises(pydoca.BadStateError, match=rf"set {name} of .*: its message has begun; reset\(\) begins"):
            setattr(message.task, name, value)
    message.run(64, 65, final=True)
    with pytest.raises(pydoca.BadStateError, match=r"the message has ended; reset\(\) begins another"):
        message.task.set_is_final_buf()
    with pytest.raises(pydoca.InvalidValueError, match="its digest is in dst; reset the task to begin"):
        message.task.try_submit()


def test_a_message_of_one_piece_is_for_hash(sha_rig):
    message = Message(sha_rig, b"abc")
    with pytest.raises(pydoca.BadStateError, match=r"no piece is done; hash\(\) takes a message of one piece"):
        message.task.set_is_final_buf()


def test_a_piece_that_is_not_whole_blocks_is_refused_and_nothing_is_lost(sha_rig):
    message = Message(sha_rig, bytes(200), "sha512")
    message.run(0, 128)
    message.task.src = message.piece(128, 192)
    with pytest.raises(pydoca.InvalidValueError, match="has 64 bytes of data; every piece but the last"):
        message.task.try_submit()
    message.task.set_is_final_buf()
    message.task.submit()
    message.task.wait(20)
    assert message.digest() == hashlib.sha512(bytes(192)).hexdigest()


def test_a_task_that_was_dropped_leaves_no_message_behind(sha_rig):
    for _ in range(3):
        message = Message(sha_rig, bytes(200))
        message.run(0, 64)
        del message.task
    message = Message(sha_rig, b"x" * 65)
    message.run(0, 64)
    message.run(64, 65, final=True)
    assert message.digest() == hashlib.sha256(b"x" * 65).hexdigest()


def test_the_two_kinds_have_their_own_numbers_and_callbacks(sha_rig):
    ended = []
    sha = pydoca.Sha(None, sha_rig.device)
    sha.set_hash_conf(num_tasks=3)
    sha.set_partial_hash_conf(lambda task, *_: ended.append(task), num_tasks=1)
    assert (sha.num_tasks, sha.num_partial_hash_tasks) == (3, 1)
    sha_rig.pe.connect(sha)
    src, (dst, _) = sha_rig.source(bytes(64)), sha_rig.target()
    with sha:
        sha.hash(src, dst).wait(20)
        assert ended == []
        task = sha.partial_hash(src, dst)
        task.wait(20)
        assert ended == [task]
        with pytest.raises(pydoca.NoMemoryError, match="partial_hash: every one of the context's 1 tasks is taken"):
            sha.partial_hash(src, dst)


def test_a_graph_has_a_piece_as_its_node(sha_rig):
    message = Message(sha_rig, bytes(100))
    message.run(0, 64)
    graph = pydoca.Graph(sha_rig.pe)
    node = graph.node(sha_rig.sha)
    message.task.src = message.piece(64, 100)
    message.task.set_is_final_buf()
    with graph:
        graph.run({node: message.task}).wait(20)
    assert message.digest() == hashlib.sha256(bytes(100)).hexdigest()
