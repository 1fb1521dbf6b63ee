// Runs a real Node HTTP service under a bounded keep-alive load and records the service's timers.
//
//   TWB_TRACE=out.tt.csv node datasets/capture/node-http-load.mjs
//
// Two processes, so that only the timers of the service are in the trace:
//
//   this process                                    the service (--require node-timers.cjs)
//     clients: plain sockets, think times    --->     node:http server, time-outs, sessions
//     upstream: node:http server, delays     <---     node:http client through a keep-alive agent
//
// Everything is on 127.0.0.1 with ports the system chooses. The run is bounded in requests
// (--requests) and in time (--seconds, then a quiet tail in which idle timers expire); it ends by
// itself, and a service that does not end is told to after a grace period.

import { fork } from 'node:child_process';
import http from 'node:http';
import net from 'node:net';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const LOOPBACK = '127.0.0.1';
const TAIL_MS = 11_000; // longer than any idle time of the service, so that those timers expire
const GRACE_MS = 10_000;

// ---- the service: everything below here up to `serve` runs under the recorder ------------------

const SERVICE = {
  keepAliveTimeout: 5_000, // Node's default; Node adds 1 s when it arms the socket
  headersTimeout: 20_000,
  requestTimeout: 30_000,
  connectionsCheckingInterval: 5_000,
};
const SOCKET_IDLE_MS = 10_000;
const DEADLINE_MS = 500; // a request's budget for its upstream calls
const ATTEMPTS = 3;
const SESSION_MS = 8_000;
const CACHE_MS = 3_000;
const FLUSH_MS = 100;
const BEAT_MS = 1_000;

/** Answers from upstream, within a deadline, with up to two retries after a back-off. */
function proxy(service, req, res) {
  let upstream;
  let backOff;
  let attempt = 0;
  const deadline = setTimeout(() => finish(504, 'upstream took too long'), DEADLINE_MS);

  function finish(status, body) {
    if (deadline.done) return;
    deadline.done = true;
    clearTimeout(deadline); // misses when the deadline itself ended the request
    if (backOff) clearTimeout(backOff); // misses when the retry was already sent
    upstream?.destroy();
    if (!res.destroyed) service.answer(res, status, body);
  }

  function ask() {
    attempt += 1;
    upstream = http.get({ host: LOOPBACK, port: service.upstreamPort, path: req.url, agent: service.agent }, (reply) => {
      const parts = [];
      reply.on('error', () => {}); // destroyed by finish
      reply.on('data', (part) => parts.push(part));
      reply.on('end', () => {
        if (reply.statusCode !== 503 || attempt === ATTEMPTS) {
          finish(reply.statusCode, Buffer.concat(parts));
        } else {
          backOff = setTimeout(ask, 20 * 2 ** attempt * (0.8 + 0.4 * Math.random()));
        }
      });
    });
    upstream.on('timeout', () => finish(504, 'upstream socket idle'));
    upstream.on('error', () => finish(502, 'upstream failed'));
  }

  res.on('close', () => { if (!res.writableEnded) finish(499, ''); }); // the client has gone
  ask();
}

/** A stream of beats on one connection, until the client leaves. */
function stream(service, req, res) {
  res.writeHead(200, { 'content-type': 'text/event-stream' });
  const beat = setInterval(() => res.write(': beat\n\n'), BEAT_MS);
  res.on('close', () => clearInterval(beat));
}

/** Holds the request until its wait is over; the client may leave before that. */
function poll(service, req, res) {
  const wait = setTimeout(() => service.answer(res, 204, ''), 2_000);
  res.on('close', () => { if (!res.writableEnded) clearTimeout(wait); });
}

class Service {
  constructor(upstreamPort) {
    this.upstreamPort = upstreamPort;
    this.agent = new http.Agent({ keepAlive: true, maxSockets: 64, maxFreeSockets: 16, timeout: 4_000 });
    this.sessions = new Map();
    this.cache = new Map();
    this.flush = null;
    this.served = 0;
    this.report = setInterval(() => { this.served = 0; }, 1_000);
    this.server = http.createServer(SERVICE, (req, res) => this.handle(req, res));
    this.server.setTimeout(SOCKET_IDLE_MS, (socket) => socket.destroy());
  }

  handle(req, res) {
    this.session(req.headers['x-client'] ?? 'none');
    this.log();
    if (req.url.startsWith('/item/')) proxy(this, req, res);
    else if (req.url.startsWith('/page/')) this.page(req, res);
    else if (req.url === '/events') stream(this, req, res);
    else poll(this, req, res);
  }

  answer(res, status, body) {
    this.served += 1;
    res.writeHead(status, { 'content-length': Buffer.byteLength(body) });
    res.end(body);
  }

  /** A session lives until its client has been quiet for SESSION_MS: every request moves it. */
  session(client) {
    const timer = this.sessions.get(client);
    if (timer) timer.refresh();
    else this.sessions.set(client, setTimeout(() => this.sessions.delete(client), SESSION_MS));
  }

  /** A cached page is dropped CACHE_MS after it was made, used or not. */
  page(req, res) {
    if (!this.cache.has(req.url)) {
      const timer = setTimeout(() => this.cache.delete(req.url), CACHE_MS);
      this.cache.set(req.url, { body: `page ${req.url}\n`.repeat(20), timer });
    }
    this.answer(res, 200, this.cache.get(req.url).body);
  }

  /** Log lines are written together, at most every FLUSH_MS. */
  log() {
    this.flush ??= setTimeout(() => { this.flush = null; }, FLUSH_MS);
  }

  close() {
    clearInterval(this.report);
    clearTimeout(this.flush);
    for (const timer of this.sessions.values()) clearTimeout(timer);
    for (const { timer } of this.cache.values()) clearTimeout(timer);
    this.server.close();
    this.server.closeAllConnections();
    this.agent.destroy();
  }
}

function serve(upstreamPort) {
  const service = new Service(upstreamPort);
  service.server.listen(0, LOOPBACK, () => process.send({ port: service.server.address().port }));
  process.on('disconnect', () => service.close());
}

// ---- the load: runs in this process, unrecorded ------------------------------------------------

/** Mulberry32: the plan of each client is fixed by --seed, the times are what the machine gives. */
function random(seed) {
  return () => {
    seed = (seed + 0x6d2b79f5) | 0;
    let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

const sleep = (ms) => new Promise((resolve) => { setTimeout(resolve, ms); });
const exponential = (draw, mean) => -Math.log(1 - draw()) * mean;

/** Delays are log-normal about 25 ms; 2 % are refused, 2 % take longer than the deadline. */
function upstreamServer(seed) {
  const draw = random(seed);
  const normal = () => Math.sqrt(-2 * Math.log(1 - draw())) * Math.cos(2 * Math.PI * draw());
  return http.createServer((req, res) => {
    const fate = draw();
    const delay = fate < 0.02 ? 1 : fate < 0.04 ? 700 + 800 * draw() : 25 * Math.exp(0.9 * normal());
    setTimeout(() => {
      if (res.destroyed) return;
      res.statusCode = fate < 0.02 ? 503 : 200;
      res.end(`item ${req.url}\n`.repeat(10));
    }, delay);
  });
}

/** One connection that asks and waits for the whole answer; it notices when the server closes it. */
class Connection {
  constructor(port) {
    this.open = true;
    this.got = '';
    this.waiting = null;
    this.socket = net.connect({ host: LOOPBACK, port, noDelay: true });
    this.socket.setEncoding('latin1');
    this.socket.on('data', (text) => { this.got += text; this.#settle(); });
    this.socket.on('error', () => {});
    this.socket.on('close', () => { this.open = false; this.waiting?.(0); });
  }

  #settle() {
    const end = this.got.indexOf('\r\n\r\n');
    if (end < 0 || !this.waiting) return;
    const length = /content-length: (\d+)/i.exec(this.got.slice(0, end))?.[1];
    const whole = end + 4 + Number(length ?? 0);
    if (length === undefined || this.got.length < whole) return; // a stream, or not all of it yet
    const status = Number(this.got.slice(9, 12));
    this.got = this.got.slice(whole);
    this.waiting(status);
  }

  /** Resolves with the status, or with 0 if the connection ended or `ms` passed first. */
  ask(path, client, ms) {
    return new Promise((resolve) => {
      const stop = setTimeout(() => this.waiting(0), ms);
      this.waiting = (status) => { clearTimeout(stop); this.waiting = null; resolve(status); };
      this.socket.write(`GET ${path} HTTP/1.1\r\nHost: service\r\nX-Client: ${client}\r\n\r\n`);
    });
  }
}

/** Asks, thinks, asks again; now and then stays away for longer than any keep-alive. */
async function browse(load, client) {
  const draw = random(load.seed * 1000 + client);
  await sleep(draw() * load.think * 2);
  let connection = null;
  while (load.more()) {
    if (!connection?.open) connection = new Connection(load.port);
    const kind = draw();
    if (kind < 0.01) {
      load.count(await connection.ask('/poll', client, draw() < 0.5 ? 600 : 5_000));
      connection.socket.destroy(); // half of the polls are left before they are answered
    } else if (kind < 0.02) {
      load.count(await connection.ask(`/item/${client}`, client, 8)); // leaves while being served
      connection.socket.destroy();
    } else {
      const path = kind < 0.75 ? `/item/${Math.floor(draw() * 1000)}` : `/page/${Math.floor(draw() * 40)}`;
      load.count(await connection.ask(path, client, 5_000));
    }
    await sleep(draw() < 0.02 ? 7_000 + 4_000 * draw() : exponential(draw, load.think));
  }
  while (connection?.open && !load.ended()) await sleep(200);
  connection?.socket.destroy();
}

/** Listens to a stream of beats for some seconds, leaves, and comes back. */
async function listen(load, client) {
  const draw = random(load.seed * 1000 + client);
  while (load.more()) {
    const connection = new Connection(load.port);
    await connection.ask('/events', client, 3_000 + 5_000 * draw());
    load.count(0);
    connection.socket.destroy();
    await sleep(500 + 1_500 * draw());
  }
}

/** Connects and says nothing until the server gives up. */
async function silent(load) {
  while (load.more()) {
    const connection = new Connection(load.port);
    while (connection.open && !load.ended()) await sleep(200);
    connection.socket.destroy();
    await sleep(300);
  }
}

class Load {
  constructor(values, port) {
    this.port = port;
    this.seed = Number(values.seed);
    this.think = Number(values.think);
    this.left = Number(values.requests);
    this.until = performance.now() + Number(values.seconds) * 1000;
    this.statuses = {};
  }

  more() { return this.left > 0 && performance.now() < this.until; }
  ended() { return performance.now() > this.until + TAIL_MS; }
  count(status) {
    this.left -= 1;
    const name = status || 'left';
    this.statuses[name] = (this.statuses[name] ?? 0) + 1;
  }
}

function startService(upstreamPort) {
  const recorder = fileURLToPath(new URL('./node-timers.cjs', import.meta.url));
  const env = {
    TWB_TRACE_SOURCE: 'recorded: node:http service with keep-alive, upstream deadlines and sessions, under node-http-load.mjs',
    TWB_TRACE_LICENCE: 'MIT OR Apache-2.0',
    ...process.env,
  };
  const service = fork(fileURLToPath(import.meta.url), ['--serve', String(upstreamPort)], { execArgv: ['--require', recorder], env });
  const ended = new Promise((resolve) => {
    service.once('exit', (code, signal) => resolve(signal ? `signal ${signal}` : code));
  });
  const port = new Promise((resolve) => { service.once('message', (message) => resolve(message.port)); });
  return { service, ended, port };
}

async function main(values) {
  const upstream = upstreamServer(Number(values.seed));
  await new Promise((resolve) => { upstream.listen(0, LOOPBACK, resolve); });
  const { service, ended, port } = startService(upstream.address().port);
  const first = await Promise.race([port.then((number) => ({ number })), ended.then((code) => ({ code }))]);
  if (first.number === undefined) {
    process.stderr.write(`node-http-load.mjs: the service ended before it listened (${first.code}); its reason is above\n`);
    process.exit(1);
  }
  const load = new Load(values, first.number);
  const clients = Number(values.clients);
  const jobs = Array.from({ length: clients }, (_, n) => browse(load, n));
  for (let n = 0; n < 4; n++) jobs.push(listen(load, clients + n), silent(load));
  const died = ended.then((code) => { if (!load.ended()) load.until = -Infinity; return code; });
  await Promise.all(jobs);
  while (!load.ended()) await sleep(200); // sessions have no connection to wait for
  if (service.connected) service.disconnect();
  const stop = setTimeout(() => service.kill('SIGTERM'), GRACE_MS);
  const code = await died;
  clearTimeout(stop);
  upstream.close();
  upstream.closeAllConnections();
  process.stderr.write(`node-http-load.mjs: answers by status ${JSON.stringify(load.statuses)}\n`);
  if (code !== 0) process.stderr.write(`node-http-load.mjs: the service ended with ${code}; do not use the trace\n`);
  process.exit(code === 0 ? 0 : 1);
}

// ---- command line --------------------------------------------------------------------------------

const USAGE = `usage: TWB_TRACE=FILE.tt.csv node datasets/capture/node-http-load.mjs [--seconds 30] [--requests 4000]
           [--clients 64] [--think 700] [--seed 1]
`;

function usage(what, mend) {
  process.stderr.write(`node-http-load.mjs: ${what}\n    ${mend}\n${USAGE}`);
  process.exit(2);
}

function parse() {
  const texts = { seconds: '30', requests: '4000', clients: '64', think: '700', seed: '1' };
  const most = { seconds: 600, requests: 1_000_000, clients: 900, think: 60_000, seed: 2 ** 31 };
  const flags = Object.fromEntries(Object.entries(texts).map(([name, value]) => [name, { type: 'string', default: value }]));
  let values;
  try {
    ({ values } = parseArgs({ options: flags }));
  } catch (error) {
    usage(error.message, 'the options are below');
  }
  for (const [name, limit] of Object.entries(most)) {
    const number = Number(values[name]);
    if (!Number.isInteger(number) || number < 1 || number > limit) {
      usage(`--${name} is \`${values[name]}\``, `it takes a whole number from 1 to ${limit}`);
    }
  }
  if (!process.env.TWB_TRACE) usage('TWB_TRACE is not set, so the service has no file to record to', 'set TWB_TRACE=FILE.tt.csv');
  return values;
}

if (process.argv[2] === '--serve') serve(Number(process.argv[3]));
else await main(parse());
