"""Exports the counters of a progress engine and of its contexts over HTTP, in the text format of Prometheus."""

import argparse
import asyncio
import http.server
import threading

import pydoca

TASKS = ("submitted", "completed", "failed", "cancelled")


def metrics(pe: pydoca.ProgressEngine, contexts: dict[str, pydoca.Context]) -> str:
    """One line for each counter. The counters only grow, as Prometheus expects of names that end in _total."""
    engine = pe.stats()
    lines = [f"pydoca_engine_{name}_total {value}" for name, value in engine._asdict().items() if name not in TASKS]
    for label, context in contexts.items():
        stats = context.stats()
        lines += [f'pydoca_tasks_total{{context="{label}",outcome="{name}"}} {getattr(stats, name)}' for name in TASKS]
        lines.append(f'pydoca_tasks_in_flight{{context="{label}"}} {context.num_inflight_tasks}')
    return "\n".join([*lines, ""])


def serve(pe: pydoca.ProgressEngine, contexts: dict[str, pydoca.Context], port: int) -> http.server.HTTPServer:
    """Answers GET /metrics on the loopback interface, from a thread of its own; counters may be read in any thread."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            found = self.path == "/metrics"
            body = metrics(pe, contexts).encode() if found else b""
            self.send_response(200 if found else 404)
            self.send_header("Content-Type", "text/plain; version=0.0.4")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


async def copy(rounds: int, port: int, seconds: float) -> None:
    """Copies rounds times, then keeps the numbers there for a while."""
    data = pydoca.alloc(4096)
    with pydoca.open_device("03:00.0") as dev, dev.mmap(data) as src, dev.mmap(pydoca.alloc(4096)) as dst:
        async with pydoca.ProgressEngine() as pe, pydoca.Dma(pe, dev, num_tasks=1) as dma:
            with pydoca.BufInventory(2) as inv, serve(pe, {"dma": dma}, port) as server:
                source, target = inv.get_by_data(src), inv.get_by_addr(dst)
                for _ in range(rounds):
                    target.reset_data_len()
                    await dma.memcpy(source, target)
                print(f"http://127.0.0.1:{server.server_port}/metrics", flush=True)
                await asyncio.sleep(seconds)
                server.shutdown()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=1000, help="copies to make (default: %(default)s)")
    parser.add_argument("--port", type=int, default=0, help="port to listen on (default: a free one)")
    parser.add_argument("--seconds", type=float, default=60, help="how long to answer (default: %(default)s)")
    arguments = parser.parse_args()
    asyncio.run(copy(arguments.rounds, arguments.port, arguments.seconds))
