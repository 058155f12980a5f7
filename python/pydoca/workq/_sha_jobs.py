"""The jobs of SHA."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from pydoca._core import Buf, Sha, ShaPartialHashTask, Task
from pydoca._errors import InvalidValueError
from pydoca.workq._events import Callbacks, JobType, Library

_Algorithm: TypeAlias = Literal["sha1", "sha256", "sha512"]

_TYPES = {"sha1": JobType.SHA1, "sha256": JobType.SHA256, "sha512": JobType.SHA512}


@dataclass
class ShaJob:
    """Hashes req_buf's data by algorithm and appends the digest to resp_buf (struct doca_sha_job). ctx: a Sha that was
    added to the queue; user_data: any object, which the event will have."""

    ctx: Sha
    resp_buf: Buf
    req_buf: Buf
    algorithm: _Algorithm = "sha256"
    user_data: Any = None

    def _filled(self) -> Buf | None:
        return self.resp_buf

    def _make_task(self, submit: bool = True) -> Task:
        key = self.ctx, _TYPES.get(self.algorithm), self.user_data  # hash() refuses another one
        return self.ctx.hash(self.req_buf, self.resp_buf, self.algorithm, user_data=key, submit=submit)


@dataclass
class ShaPartialJob:
    """Hashes a piece of a message (struct doca_sha_partial_job). ctx: a Sha that was added to the queue; session: a
    task of ctx.partial_hash(None, None, submit=False), for one message at a time: reset() begins another, free() ends
    the session. resp_buf and algorithm stay the same for all pieces; the last one, which is_final marks and which is
    not the first, appends the digest. user_data: any object, which the event will have."""

    ctx: Sha
    resp_buf: Buf
    req_buf: Buf
    session: ShaPartialHashTask
    algorithm: _Algorithm = "sha256"
    is_final: bool = False
    user_data: Any = None

    def _filled(self) -> Buf | None:
        return self.resp_buf

    def _make_task(self, submit: bool = True) -> Task:
        session = self.session
        if session.context is not self.ctx:
            raise InvalidValueError(f"a piece of a message: its session is of {session.context!r}, not of {self.ctx!r}")
        session.src = self.req_buf
        if session.dst is not self.resp_buf:  # a message that has begun keeps it, and refuses its setter
            session.dst = self.resp_buf
        if session.algorithm != self.algorithm:
            session.algorithm = self.algorithm
        if self.is_final:
            session.set_is_final_buf()
        session.user_data = self.ctx, _TYPES[self.algorithm], self.user_data
        if submit:
            session.submit()
        return session


def _configure(sha: Sha, depth: int, callbacks: Callbacks) -> None:
    count = min(depth, Sha.max_num_tasks(sha.device.info))
    sha.set_hash_conf(callbacks.completed, callbacks.failed, count)
    sha.set_partial_hash_conf(callbacks.completed, callbacks.failed, count)


SHA = Library(Sha, _configure)
