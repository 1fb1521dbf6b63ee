"""Runs an asyncio HTTP service under a bounded keep-alive load and records the service's timers.

    TWB_TRACE=out.tt.csv python3 datasets/capture/asyncio_load.py [--seconds 30] [--requests 4000]
                                [--clients 64] [--think 0.7] [--tail 11] [--seed 1]

Two processes, so that only the timers of the service are in the trace:

    this process (http_load.py)                    the service (under asyncio_timers.py)
      clients: think times, pauses      --->         streams: idle time-outs, sessions, cache, beats
      upstream: delays                  <---         one connection a call: deadlines, retries

Everything is on 127.0.0.1 with ports the system chooses; the run ends by itself.
"""

import argparse
import asyncio
import os
import random
import sys

import http_load

IDLE = 5.0  # of a connection between two requests
DEADLINE = 0.5  # of a request for its upstream calls
ATTEMPTS = 3
POOL = 16  # upstream calls at once
POOL_WAIT = 0.25
SESSION = 8.0
CACHE = 3.0
FLUSH = 0.1
BEAT = 1.0
POLL = 2.0
GRACE = 10.0  # for the service to end

SOURCE = 'recorded: asyncio HTTP service with keep-alive, upstream deadlines and sessions, under asyncio_load.py'


# ---- the service: runs under the recorder --------------------------------------------------------------


class Service:
    """Every request moves its session; items come from upstream, pages from a cache."""

    def __init__(self, upstream):
        self.upstream = upstream
        self.pool = asyncio.Semaphore(POOL)
        self.sessions = {}
        self.cache = {}
        self.flush = None
        self.news = asyncio.Event()  # never comes: each poll runs into its time-out, or its client leaves
        self.draw = random.Random(7)

    async def serve(self, reader, writer):
        try:
            while True:
                async with asyncio.timeout(IDLE):
                    head = await http_load.read_head(reader)
                if not head:
                    return
                await self.handle(head, writer)
        except (TimeoutError, ConnectionError):
            pass
        finally:
            writer.close()

    async def handle(self, head, writer):
        path = head[0].split()[1]
        client = next((text for text in head if text.startswith('X-Client:')), '')
        self.session(client)
        self.log()
        if path == '/poll':
            await self.poll(writer)
        elif path.startswith('/page/'):
            await http_load.answer(writer, '200 OK', self.page(path))
        else:
            await self.item(path, writer)

    def session(self, client):
        """A session lives until its client has been quiet: asyncio has no re-arm, so cancel and start."""
        loop = asyncio.get_running_loop()
        if client in self.sessions:
            self.sessions[client].cancel()
        self.sessions[client] = loop.call_later(SESSION, self.sessions.pop, client)

    def page(self, path):
        if path not in self.cache:
            self.cache[path] = f'{path}\n'.encode() * 20
            asyncio.get_running_loop().call_later(CACHE, self.cache.pop, path)
        return self.cache[path]

    def log(self):
        """Log lines are written together, at most every FLUSH."""
        if self.flush is None:
            self.flush = asyncio.get_running_loop().call_later(FLUSH, self.flushed)

    def flushed(self):
        self.flush = None

    async def poll(self, writer):
        try:
            await asyncio.wait_for(self.news.wait(), POLL)
        except TimeoutError:
            await http_load.answer(writer, '204 No Content', b'')

    async def item(self, path, writer):
        try:
            async with asyncio.timeout(DEADLINE):
                status, body = await self.retried(path)
        except (TimeoutError, OSError):
            status, body = '504 Gateway Timeout', b'upstream took too long\n'
        await http_load.answer(writer, status, body)

    async def retried(self, path):
        for attempt in range(1, ATTEMPTS + 1):
            await asyncio.wait_for(self.pool.acquire(), POOL_WAIT)
            try:
                status, body = await self.call(path)
            finally:
                self.pool.release()
            if status != '503' or attempt == ATTEMPTS:
                return status + ' Upstream', body
            await asyncio.sleep(0.02 * 2**attempt * self.draw.uniform(0.8, 1.2))

    async def call(self, path):
        reader, writer = await asyncio.open_connection(http_load.LOOPBACK, self.upstream)
        try:
            writer.write(f'GET {path} HTTP/1.1\r\nHost: upstream\r\n\r\n'.encode())
            head = await http_load.read_head(reader)
            if not head:
                raise ConnectionResetError
            return head[0].split()[1], await reader.readexactly(http_load.content_length(head))
        finally:
            writer.close()

    async def beat(self):
        while True:
            await asyncio.sleep(BEAT)


async def serve(upstream):
    service = Service(upstream)
    server = await asyncio.start_server(service.serve, http_load.LOOPBACK, 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    beat = asyncio.create_task(service.beat())
    # The other process closes this pipe when the load is over, or when it dies.
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.buffer.read)
    beat.cancel()
    server.close()


# ---- the load: runs in this process, unrecorded ----------------------------------------------------------


async def start_service(upstream):
    folder = os.path.dirname(os.path.abspath(__file__))
    env = {'TWB_TRACE_SOURCE': SOURCE, 'TWB_TRACE_LICENCE': 'MIT OR Apache-2.0', **os.environ}
    words = [os.path.join(folder, 'asyncio_timers.py'), os.path.abspath(__file__), '--serve', str(upstream)]
    service = await asyncio.create_subprocess_exec(
        sys.executable, *words, env=env, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE)
    port = await service.stdout.readline()
    if not port:
        sys.stderr.write('asyncio_load.py: the service ended before it listened; its reason is above\n')
        sys.exit(2 if await service.wait() == 2 else 1)
    return service, int(port)


async def ended(service):
    """Asks the service to end, and makes it end."""
    service.stdin.close()
    try:
        async with asyncio.timeout(GRACE):
            return await service.wait()
    except TimeoutError:
        service.terminate()
        return await service.wait()


async def load(values):
    upstream = await http_load.Upstream(values.seed).start()
    service, values.port = await start_service(upstream)
    clients = http_load.Load(values)
    try:
        await clients.run()
    finally:
        code = await ended(service)
    sys.stderr.write(f'asyncio_load.py: answers by status {dict(sorted(clients.statuses.items()))}\n')
    if code:
        sys.stderr.write(f'asyncio_load.py: the service ended with {code}; do not use the trace\n')
        sys.exit(1)


if __name__ == '__main__':
    if sys.argv[1:2] == ['--serve']:
        asyncio.run(serve(int(sys.argv[2])))
    else:
        parser = argparse.ArgumentParser(description='Records an asyncio HTTP service under a bounded load.')
        asyncio.run(load(http_load.options(parser).parse_args()))
