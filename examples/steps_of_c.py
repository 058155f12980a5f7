"""A copy by the steps of a program in C: each line has the call of DOCA that it replaces."""

import argparse

import pydoca


def copy(data: bytes) -> bytes:
    copied: list[bytes] = []
    dev = pydoca.open_device("03:00.0")  # doca_devinfo_create_list, doca_dev_open
    source = dev.mmap(data)  # doca_mmap_create, doca_mmap_add_dev, doca_mmap_set_memrange, doca_mmap_start
    target = dev.mmap(pydoca.alloc(len(data)))
    inventory = pydoca.BufInventory(2)  # doca_buf_inventory_create, doca_buf_inventory_start
    pe = pydoca.ProgressEngine()  # doca_pe_create

    dma = pydoca.Dma(None, dev)  # doca_dma_create
    dma.on_state_changed = lambda user_data, context, previous, now: print(now.name)  # doca_ctx_set_state_changed_cb
    dma.set_memcpy_conf(  # doca_dma_task_memcpy_set_conf
        lambda task, task_user_data, context_user_data: copied.append(bytes(target)),
        lambda task, task_user_data, context_user_data: print(task.status),
        num_tasks=1,
    )
    pe.connect(dma)  # doca_pe_connect_ctx
    dma.start()  # doca_ctx_start

    src = inventory.get_by_data(source)  # doca_buf_inventory_buf_get_by_data
    dst = inventory.get_by_addr(target)  # doca_buf_inventory_buf_get_by_addr
    task = dma.memcpy(src, dst, submit=False)  # doca_dma_task_memcpy_alloc_init
    task.submit()  # doca_task_submit
    while not task.done:
        pe.progress()  # doca_pe_progress
    task.free()  # doca_task_free

    dma.stop()  # doca_ctx_stop
    while dma.state is not pydoca.ContextState.IDLE:  # doca_ctx_get_state
        pe.progress()
    for buf in (src, dst):
        buf.dec_refcount()  # doca_buf_dec_refcount
    for each in (dma, pe, inventory, source, target, dev):
        each.close()  # doca_dma_destroy, doca_pe_destroy, ..., doca_dev_close
    return copied[0]


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__).parse_args()
    print(copy(b"Hello from the source buffer").decode())
