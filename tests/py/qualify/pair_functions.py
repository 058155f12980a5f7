"""Functions that processes of a pair run."""

import os
import time


def identity() -> tuple[int, str | None]:
    return os.getpid(), os.environ.get("PYDOCA_SIDE")


async def name_of(device: str) -> str:
    import pydoca

    with pydoca.open_device(device) as opened:
        return opened.name


def fail(text: str) -> None:
    raise ValueError(text)


def end(code: int) -> None:
    print("last words", flush=True)
    os._exit(code)


def wait_forever() -> None:
    while True:
        time.sleep(0.1)


def unpicklable() -> object:
    return lambda: None


async def serve(host: str, dpu: str, representor: str, name: str) -> bytes:
    import pydoca
    from pydoca import comch

    device = pydoca.open_device(dpu)
    async with (
        pydoca.ProgressEngine() as pe,
        comch.Server(pe, device, device.open_representor(representor), name) as server,
    ):
        link = await server.accept()
        message = bytes(await link.recv())
        await link.send(message[::-1])
    return message


async def ask(host: str, dpu: str, representor: str, name: str) -> bytes:
    import pydoca
    from pydoca import comch

    device = pydoca.open_device(host)
    async with pydoca.ProgressEngine() as pe, comch.Client(pe, device, name) as link:
        await link.send(b"abc")
        return bytes(await link.recv())
