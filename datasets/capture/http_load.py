"""A bounded HTTP load on the loopback interface, and an upstream for the service that is loaded.

    python3 datasets/capture/http_load.py --port PORT [--upstream PORT] [--seconds 30] [--clients 64]
                                          [--think 0.7] [--tail 11] [--seed 1] [--requests 4000]

Clients keep their connections: they ask, think, ask again; now and then they stay away for longer than any
keep-alive, leave while they are served, or connect and say nothing. The load ends by itself, and a tail
without requests follows, in which idle timers expire. `asyncio_load.py`, `nginx-debug.sh` and
`kernel-timers.sh` use it; a plan of each client is fixed by the seed, the times are what the machine gives.
"""

import argparse
import asyncio
import collections
import random
import sys
import time

LOOPBACK = '127.0.0.1'
SILENT = 4  # clients that connect and say nothing
LONGEST = 5.0  # seconds that a client waits for an answer


# ---- upstream ---------------------------------------------------------------------------------------


class Upstream:
    """Answers after a log-normal delay about 25 ms; 2 % are refused, 2 % take 0.7 to 1.5 s."""

    def __init__(self, seed):
        self.draw = random.Random(seed)

    async def start(self, port=0):
        self.server = await asyncio.start_server(self.serve, LOOPBACK, port)
        return self.server.sockets[0].getsockname()[1]

    async def serve(self, reader, writer):
        try:
            while await read_head(reader):
                fate = self.draw.random()
                delay = 0.001 if fate < 0.02 else self.draw.uniform(0.7, 1.5) if fate < 0.04 else \
                    0.025 * self.draw.lognormvariate(0, 0.9)
                await asyncio.sleep(delay)
                await answer(writer, '503 Busy' if fate < 0.02 else '200 OK', b'item\n' * 20)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()


async def read_head(reader):
    """The lines of a request or an answer up to the empty one; nothing if the other side has gone."""
    try:
        return (await reader.readuntil(b'\r\n\r\n')).decode('latin-1').split('\r\n')
    except asyncio.IncompleteReadError:
        return []


async def answer(writer, status, body):
    writer.write(f'HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\n\r\n'.encode() + body)
    await writer.drain()


def content_length(head):
    return next((int(text[15:]) for text in head if text.lower().startswith('content-length:')), 0)


# ---- clients ----------------------------------------------------------------------------------------


class Load:
    """What all clients share: when they end, and what they were answered."""

    def __init__(self, options):
        self.options = options
        self.until = time.monotonic() + options.seconds
        self.left = options.requests
        self.statuses = collections.Counter()

    def more(self):
        return self.left > 0 and time.monotonic() < self.until

    def count(self, status):
        self.left -= 1
        self.statuses[status] += 1

    async def run(self):
        silent = [asyncio.create_task(self.silent()) for _ in range(SILENT)]
        await asyncio.gather(*(self.browse(number) for number in range(self.options.clients)))
        await asyncio.sleep(self.options.tail)
        for task in silent:
            task.cancel()
        await asyncio.gather(*silent, return_exceptions=True)

    async def browse(self, number):
        draw = random.Random(self.options.seed * 1000 + number)
        await asyncio.sleep(draw.uniform(0, 2 * self.options.think))
        client = Client(self.options.port, number)
        while self.more():
            kind = draw.random()
            if kind < 0.02:
                await self.leave(client, draw)
            else:
                path = f'/item/{draw.randrange(1000)}' if kind < 0.75 else f'/page/{draw.randrange(40)}'
                self.count(await client.ask(path, LONGEST))
            away = draw.random() < 0.02
            await asyncio.sleep(draw.uniform(7, 11) if away else draw.expovariate(1 / self.options.think))
        # The connection stays open: the service's keep-alive ends it, or the end of the tail.

    async def leave(self, client, draw):
        """Asks and goes before the answer, or after a part of a long wait."""
        if draw.random() < 0.5:
            self.count(await client.ask('/poll', draw.choice((0.6, LONGEST))))
        else:
            self.count(await client.ask('/item/1', 0.008))
        client.close()

    async def silent(self):
        while self.more():
            try:
                reader, writer = await asyncio.open_connection(LOOPBACK, self.options.port)
                await reader.read(1)
                writer.close()
            except OSError:
                pass
            await asyncio.sleep(0.3)


class Client:
    """One connection, made anew when the service has closed it."""

    def __init__(self, port, number):
        self.port, self.number = port, number
        self.reader = self.writer = None

    def close(self):
        if self.writer:
            self.writer.close()
        self.reader = self.writer = None

    async def ask(self, path, longest):
        """The status of the answer, or a word for why there was none."""
        try:
            async with asyncio.timeout(longest):
                return await self.exchange(path)
        except TimeoutError:
            self.close()
            return 'left'
        except (OSError, asyncio.IncompleteReadError):
            self.close()
            return 'broken'

    async def exchange(self, path):
        if self.reader is None or self.reader.at_eof():
            self.close()
            self.reader, self.writer = await asyncio.open_connection(LOOPBACK, self.port)
        self.writer.write(f'GET {path} HTTP/1.1\r\nHost: service\r\nX-Client: {self.number}\r\n\r\n'.encode())
        head = await read_head(self.reader)
        if not head:
            self.close()
            return 'closed'
        await self.reader.readexactly(content_length(head))
        return head[0].split()[1]


# ---- command line -------------------------------------------------------------------------------------


def options(parser):
    """The options of a load, for this command and those that use it."""
    def within(kind, most):
        def number(text):
            value = kind(text)
            if not 0 < value <= most:
                raise argparse.ArgumentTypeError(f'`{text}` is not above 0 and at most {most}')
            return value
        number.__name__ = kind.__name__
        return number

    parser.add_argument('--seconds', type=within(float, 600), default=30.0, help='length of the load')
    parser.add_argument('--requests', type=within(int, 1_000_000), default=4000, help='most requests')
    parser.add_argument('--clients', type=within(int, 900), default=64, help='clients that browse')
    parser.add_argument('--think', type=within(float, 60), default=0.7, help='mean seconds between two requests')
    parser.add_argument('--tail', type=within(float, 120), default=11.0, help='seconds without requests at the end')
    parser.add_argument('--seed', type=within(int, 2**31), default=1)
    return parser


async def main(values):
    if values.upstream:
        await Upstream(values.seed).start(values.upstream)
    load = Load(values)
    await load.run()
    sys.stderr.write(f'http_load.py: answers by status {dict(sorted(load.statuses.items()))}\n')


if __name__ == '__main__':
    parser = options(argparse.ArgumentParser(description='A bounded HTTP load on the loopback interface.'))
    parser.add_argument('--port', type=int, required=True, help='of the service')
    parser.add_argument('--upstream', type=int, default=0, help='port to serve the upstream on')
    asyncio.run(main(parser.parse_args()))
