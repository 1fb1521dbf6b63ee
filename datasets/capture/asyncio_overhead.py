"""What recording costs an asyncio timer: run it plain, and under asyncio_timers.py. Takes about a second.

    python3 datasets/capture/asyncio_overhead.py
    TWB_TRACE=/tmp/overhead.tt.csv python3 datasets/capture/asyncio_timers.py datasets/capture/asyncio_overhead.py
"""

import asyncio
import time

ROUND = 2_000  # short, so that most rounds are not interrupted
ROUNDS = 51


def started_and_cancelled(loop):
    begin = time.thread_time_ns()
    for _ in range(ROUND):
        loop.call_later(1000, print).cancel()
    return (time.thread_time_ns() - begin) / ROUND


async def started_and_expired(loop):
    begin = time.thread_time_ns()
    for _ in range(ROUND):
        loop.call_later(0, int)
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    return (time.thread_time_ns() - begin) / ROUND


async def main():
    loop = asyncio.get_running_loop()
    cancelled, expired = [], []
    for _ in range(ROUNDS):
        cancelled.append(started_and_cancelled(loop))
        await asyncio.sleep(0.001)  # asyncio sweeps what was cancelled
        expired.append(await started_and_expired(loop))
    print(f'start and cancel {sorted(cancelled)[ROUNDS // 2]:.0f} ns, start and expire {sorted(expired)[ROUNDS // 2]:.0f} ns'
          f' (median of {ROUNDS} rounds of {ROUND})')


asyncio.run(main())
