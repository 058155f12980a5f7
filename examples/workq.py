"""The flows of the DOCA 2.0 to 2.2 guides on a work queue: one polls, one waits for events, in one a job fails."""

import argparse
import select

import pydoca
from pydoca import workq

DEPTH = 4


class Sample:
    """The objects that the guides' samples call core objects."""

    def __init__(self, text: bytes) -> None:
        self.dev = pydoca.open_device("03:00.0")
        self.src_mmap = self.dev.mmap(text)
        self.dst_mmap = self.dev.mmap(pydoca.alloc(len(text)))
        self.buf_inv = pydoca.BufInventory(2)
        self.src_buf = self.buf_inv.get_by_data(self.src_mmap)
        self.dst_buf = self.buf_inv.get_by_addr(self.dst_mmap)
        self.dma = pydoca.Dma(None, self.dev)  # doca_dma_create, doca_ctx_dev_add

    def job(self, user_data: int) -> workq.DmaMemcpyJob:
        return workq.DmaMemcpyJob(self.dma, self.dst_buf, self.src_buf, user_data)

    def copied(self) -> str:
        return bytes(self.dst_mmap).decode()


def polling(sample: Sample) -> None:
    with workq.WorkQueue(DEPTH) as queue:  # doca_workq_create
        queue.add(sample.dma)  # doca_ctx_start, doca_ctx_workq_add
        queue.submit(sample.job(user_data=1))  # doca_workq_submit
        while True:
            try:
                event = queue.progress_retrieve()  # doca_workq_progress_retrieve
                break
            except pydoca.AgainError:  # not yet
                continue
        print(f"polling: job {event.user_data} ended with {event.result.name}: {sample.copied()}")
        queue.remove(sample.dma)  # doca_ctx_workq_rm, doca_ctx_stop


def event_driven(sample: Sample) -> None:
    with workq.WorkQueue(DEPTH) as queue, select.epoll() as epoll:
        queue.event_driven = True  # doca_workq_set_event_driven_enable
        queue.add(sample.dma)
        epoll.register(queue.event_handle, select.EPOLLIN)  # doca_workq_get_event_handle
        queue.submit(sample.job(user_data=2))
        while True:
            queue.event_handle_arm()  # doca_workq_event_handle_arm, before every wait
            epoll.poll(timeout=10)
            queue.event_handle_clear()  # doca_workq_event_handle_clear, after it
            try:
                event = queue.progress_retrieve()
                break
            except pydoca.AgainError:
                continue
        print(f"event-driven: job {event.user_data} ended with {event.result.name}: {sample.copied()}")
        queue.remove(sample.dma)


def failing(sample: Sample) -> None:
    read_only = sample.dev.mmap(bytearray(len(sample.src_buf)), access="local_read_only")
    with workq.WorkQueue(DEPTH) as queue, pydoca.BufInventory(1) as buf_inv:
        queue.add(sample.dma)
        queue.submit(workq.DmaMemcpyJob(sample.dma, buf_inv.get_by_addr(read_only), sample.src_buf, user_data=3))
        while True:
            try:
                queue.progress_retrieve()
            except pydoca.AgainError:
                continue
            except workq.JobFailedError as failure:  # DOCA_ERROR_IO_FAILED: the event is valid
                event = failure.event
                break
        print(f"failing: job {event.user_data} ended with {event.result.name}")
        queue.remove(sample.dma)  # a job that failed has stopped its context: remove it ...
        queue.add(sample.dma)  # ... and it starts again


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__).parse_args()
    for flow in (polling, event_driven, failing):
        flow(Sample(b"This is a sample piece of text"))
