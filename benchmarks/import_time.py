"""The time that `import pydoca` adds to the start of an interpreter: at most 50 ms, in medians of interleaved runs."""

import statistics
import subprocess
import sys
import time

from print_report import Figure, arguments_of, print_report

TARGET_MS = 50.0


def start_ms(code: str) -> float:
    begin = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True)
    return (time.perf_counter() - begin) * 1e3


def main() -> int:
    arguments = arguments_of(__doc__, repetitions=15).parse_args()
    start_ms("import pydoca")  # writes the compiled files and loads the pages into memory
    pairs = [(start_ms("pass"), start_ms("import pydoca")) for _ in range(arguments.repetitions)]
    figure = Figure(
        "import pydoca, above a bare interpreter",
        "ms",
        value=statistics.median(imported for _, imported in pairs),
        floor=statistics.median(bare for bare, _ in pairs),
        score=statistics.median(imported - bare for bare, imported in pairs),
        compared="difference",
        target=TARGET_MS,
    )
    return print_report([figure], arguments)


if __name__ == "__main__":
    sys.exit(main())
