"""The time that `import pydoca` adds to the start of an interpreter: at most 50 ms, in medians of interleaved runs."""

import argparse
import json
import statistics
import subprocess
import sys
import time

TARGET_MS = 50.0


def start_ms(code: str) -> float:
    begin = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True)
    return (time.perf_counter() - begin) * 1e3


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=15)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--check", action="store_true", help="exit with 1 when over the target")
    arguments = parser.parse_args()

    start_ms("import pydoca")  # writes the compiled files and loads the pages into memory
    pairs = [(start_ms("pass"), start_ms("import pydoca")) for _ in range(arguments.repetitions)]
    floor = statistics.median(bare for bare, _ in pairs)
    value = statistics.median(imported for _, imported in pairs)
    score = statistics.median(imported - bare for bare, imported in pairs)
    ok = score <= TARGET_MS
    if arguments.json:
        print(
            json.dumps(
                {
                    "name": "import pydoca, above a bare interpreter",
                    "unit": "ms",
                    "value": round(value, 2),
                    "floor": round(floor, 2),
                    "score": round(score, 2),
                    "rule": "<=",
                    "target": TARGET_MS,
                    "ok": ok,
                }
            )
        )
    else:
        verdict = "ok" if ok else "OVER"
        print(
            f"import pydoca, above a bare interpreter: {value:.1f} ms, floor {floor:.1f}, "
            f"{score:.1f} ms above, target <= {TARGET_MS:g} {verdict}"
        )
    return 1 if arguments.check and not ok else 0


if __name__ == "__main__":
    sys.exit(main())
