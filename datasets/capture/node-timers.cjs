// Records every timer of a Node process in the neutral trace format (`.tt.csv`).
//
//   TWB_TRACE=out.tt.csv node --require ./datasets/capture/node-timers.cjs your-server.js
//
// How it sees them. Every timer of Node 20, the program's own and those of net and http, is an
// object of one class, `Timeout`, and lib/timers.js and lib/internal/timers.js keep its state in
// plain properties that they assign and read at fixed places:
//
//   insert()         assigns `_idleStart`         the timer is linked in       S, or R if armed
//   unenroll()       assigns `_destroyed = true`  the timer is unlinked        C if armed
//   clearTimeout()   assigns `_onTimeout = null`  before unenroll()            N if not armed
//   listOnTimeout()  reads `_timerArgs`           unlinked, about to be called E
//
// The script puts accessors for these four on `Timeout.prototype`. The constructor assigns
// (it has no class fields), so an accessor is reached for every timer, at the moment the operation
// happens, whoever asked for it. async_hooks is not used: its `destroy` comes late and in batches,
// it has no event for refresh(), and switching it on changes what the program spends.
//
// A second clearTimeout() of one timer touches none of the four; the public ways to ask for it
// (clearTimeout, clearInterval, close, Symbol.dispose) are wrapped for that case alone.
//
// See README.md beside this file for the options and for what cannot be seen.

'use strict';

const fs = require('node:fs');
const timers = require('node:timers');
const { isMainThread } = require('node:worker_threads');

const IMPORTER = 'node-timers.cjs 1';
const TESTED_MAJOR = 20;
const MS = 1_000_000;
const OPS = { S: 0, R: 1, C: 2, N: 3, E: 4, G: 5 };
const LETTERS = Object.keys(OPS);

function refuse(what, mend) {
  fs.writeSync(2, `node-timers.cjs: ${what}\n    ${mend}\n`);
  process.exit(2);
}

// ---- options ---------------------------------------------------------------------------------

function options() {
  const env = process.env;
  const file = env.TWB_TRACE;
  if (!file) {
    refuse('TWB_TRACE is not set, so there is no file to record to',
      'set TWB_TRACE=FILE.tt.csv, or TWB_TRACE=off to run without recording');
  }
  const rows = Number(env.TWB_TRACE_ROWS ?? 2_000_000);
  if (!Number.isSafeInteger(rows) || rows < 1) {
    refuse(`TWB_TRACE_ROWS is \`${env.TWB_TRACE_ROWS}\`, not a whole number of at least 1`,
      'set it to the most rows to keep in memory (about 33 bytes each), or leave it out for 2000000');
  }
  const major = Number(process.versions.node.split('.')[0]);
  if (major !== TESTED_MAJOR && env.TWB_TRACE_UNTESTED !== '1') {
    refuse(`Node ${process.versions.node} is untested: the properties of Timeout are not a public interface`,
      `use Node ${TESTED_MAJOR}, or set TWB_TRACE_UNTESTED=1 and compare the trace with a program whose timers you know`);
  }
  const line = (text) => String(text).replace(/[\r\n]+/g, ' ').trim();
  return {
    file,
    rows,
    untested: major !== TESTED_MAJOR,
    source: line(env.TWB_TRACE_SOURCE ?? 'recorded: one Node process, not described (TWB_TRACE_SOURCE was not set)'),
    licence: line(env.TWB_TRACE_LICENCE ?? 'not stated (TWB_TRACE_LICENCE was not set)'),
  };
}

/** Takes the file at once, so that a name already in use is refused before the program runs. */
function create(file) {
  try {
    return fs.openSync(file, 'wx', 0o644);
  } catch (error) {
    if (error.code === 'EEXIST') {
      refuse(`${file}: the file exists, and a recorded trace is never written over`,
        'choose another name in TWB_TRACE, or move the old file away');
    }
    return refuse(`${file}: cannot be created (${error.code})`,
      'TWB_TRACE must name a new file in a folder that exists and may be written to');
  }
}

// ---- rows in memory --------------------------------------------------------------------------

/** One row is five numbers in five columns; nothing is turned into text before the end. */
class Rows {
  constructor(most) {
    this.most = most;
    this.clear();
  }

  clear() {
    this.len = 0;
    this.lost = 0;
    this.counts = LETTERS.map(() => 0);
    this.#room(Math.min(1 << 16, this.most), false);
  }

  #room(size, keep) {
    const grown = (Type, old) => {
      const column = new Type(size);
      if (keep) column.set(old);
      return column;
    };
    this.time = grown(Float64Array, this.time);
    this.due = grown(Float64Array, this.due);
    this.id = grown(Float64Array, this.id);
    this.ctx = grown(Int32Array, this.ctx);
    this.op = grown(Uint8Array, this.op);
  }

  push(time, op, id, due, ctx) {
    if (this.len === this.most) {
      this.lost += 1;
      return;
    }
    if (this.len === this.op.length) this.#room(Math.min(this.len * 2, this.most), true);
    const row = this.len++;
    this.time[row] = time;
    this.due[row] = due;
    this.id[row] = id;
    this.ctx[row] = ctx;
    this.op[row] = op;
    this.counts[op] += 1;
  }
}

// ---- classes of timers -----------------------------------------------------------------------

const classes = [];
const classOf = new Map();

/** Delays that vary (back-off with jitter, the rest of a second) share one class an octave. */
function delayName(ms) {
  if (ms < 10 || ms % 50 === 0) return `${ms}ms`;
  const low = 2 ** Math.floor(Math.log2(ms));
  return `${low}-${2 * low - 1}ms`;
}

/** Only names that Node itself gives are looked at; no name of the program enters the trace. */
function kind(timer) {
  const name = timer._onTimeout?.name;
  if (timer._repeat !== null) return name === 'bound checkConnections' ? 'http-check' : 'interval';
  if (timer.hasRef()) return 'timeout';
  if (name === 'resetCache') return 'http-date';
  return name === 'bound ' || name === 'bound _onTimeout' ? 'socket' : 'internal';
}

function classify(timer, ms) {
  const name = kind(timer) + delayName(ms);
  let index = classOf.get(name);
  if (index === undefined) {
    index = classes.push(name) - 1;
    classOf.set(name, index);
  }
  return index;
}

// ---- accessors -------------------------------------------------------------------------------

const kStart = Symbol('twb start');
const kDestroyed = Symbol('twb destroyed');
const kCallback = Symbol('twb callback');
const kArgs = Symbol('twb args');
const kId = Symbol('twb id');
const kArmed = Symbol('twb armed');
const kDue = Symbol('twb due');
const kCtx = Symbol('twb ctx');

/** The clock of the trace: ns since `origin`, which is a whole ms of libuv's clock. */
const clock = { originNs: 0n, originMs: 0, libuvMs: 0 };
const state = { rows: null, nextId: 0, armed: 0, armedMax: 0 };

function now() {
  return Number(process.hrtime.bigint() - clock.originNs);
}

function armed(timer, start) {
  const ms = Math.trunc(timer._idleTimeout);
  const due = (start + clock.libuvMs + ms - clock.originMs) * MS;
  const time = now();
  if (timer[kId] === undefined) {
    timer[kId] = state.nextId++;
    timer[kCtx] = classify(timer, ms);
    timer[kArmed] = false;
  }
  state.rows.push(time, timer[kArmed] ? OPS.R : OPS.S, timer[kId], due, timer[kCtx]);
  if (!timer[kArmed]) {
    timer[kArmed] = true;
    state.armed += 1;
    state.armedMax = Math.max(state.armedMax, state.armed);
  }
  timer[kDue] = due;
}

function unarmed(timer, op) {
  timer[kArmed] = false;
  state.armed -= 1;
  state.rows.push(now(), op, timer[kId], timer[kDue], timer[kCtx]);
}

function missed(timer) {
  state.rows.push(now(), OPS.N, timer[kId], 0, timer[kCtx]);
}

function hook(Timeout) {
  const accessor = (name, get, set) => {
    Object.defineProperty(Timeout.prototype, name, { configurable: true, enumerable: false, get, set });
  };
  accessor('_idleStart', function() { return this[kStart]; }, function(start) {
    this[kStart] = start;
    if (start !== null) armed(this, start);
  });
  accessor('_destroyed', function() { return this[kDestroyed]; }, function(destroyed) {
    this[kDestroyed] = destroyed;
    if (destroyed && this[kArmed]) unarmed(this, OPS.C);
  });
  accessor('_onTimeout', function() { return this[kCallback]; }, function(callback) {
    this[kCallback] = callback;
    if (callback === null && this[kArmed] === false) missed(this);
  });
  accessor('_timerArgs', function() {
    // Unlinked and still armed here: only listOnTimeout() reads the arguments in that state.
    if (this[kArmed] && this._idleNext === null) unarmed(this, OPS.E);
    return this[kArgs];
  }, function(args) { this[kArgs] = args; });

  const wrap = (owner, name) => {
    const inner = owner[name];
    const outer = { [inner.name](...args) {
      const timer = owner === Timeout.prototype ? this : args[0];
      if (timer instanceof Timeout && timer[kCallback] === null && timer[kId] !== undefined) missed(timer);
      return Reflect.apply(inner, this, args);
    } }[inner.name];
    Object.defineProperty(outer, 'length', { value: inner.length, configurable: true });
    Object.defineProperty(owner, name, { ...Object.getOwnPropertyDescriptor(owner, name), value: outer });
    return outer;
  };
  wrap(Timeout.prototype, 'close');
  if (Symbol.dispose && Timeout.prototype[Symbol.dispose]) wrap(Timeout.prototype, Symbol.dispose);
  globalThis.clearTimeout = wrap(timers, 'clearTimeout');
  globalThis.clearInterval = wrap(timers, 'clearInterval');
  require('node:module').syncBuiltinESMExports();
}

/**
 * Finds what libuv's clock reads at a known hrtime: Node counts whole ms since the loop was made.
 * The least difference of many samples is taken, so that a coarse clock that lags puts due times
 * early and never late.
 */
function findClock(timer) {
  let libuvMs = Infinity;
  for (let sample = 0; sample < 200; sample++) {
    const before = process.hrtime.bigint() / BigInt(MS);
    timer.refresh();
    const after = process.hrtime.bigint() / BigInt(MS);
    if (before === after) libuvMs = Math.min(libuvMs, Number(before) - timer._idleStart);
  }
  return libuvMs;
}

/** One timer is started, moved, cancelled, and cancelled again; the rows must be S R C N N. */
function selfCheck(Timeout) {
  const probe = setTimeout(() => {}, 1000);
  probe.refresh();
  clearTimeout(probe);
  clearTimeout(probe);
  probe.close();
  const seen = Array.from(state.rows.op.subarray(0, state.rows.len), (op) => LETTERS[op]).join('');
  if (!(probe instanceof Timeout) || seen !== 'SRCNN') {
    refuse(`the self-check saw \`${seen}\` where \`SRCNN\` was done, on Node ${process.versions.node}`,
      'the inside of lib/internal/timers.js has changed: mend the accessors in this script');
  }
}

// ---- output ----------------------------------------------------------------------------------

function header(config) {
  const { rows } = state;
  const lines = [
    'timer-trace: 1',
    `source: ${config.source}`,
    `clock: CLOCK_MONOTONIC (process.hrtime), 0 = the ms of libuv's clock in which recording began`,
    `due-granularity-ns: ${MS}`,
    'start-state: empty',
    `lost: ${rows.lost}`,
    `importer: ${IMPORTER}`,
    `options: rows=${config.rows}${config.untested ? ' untested=1' : ''}`,
    `runtime: node ${process.versions.node}, libuv ${process.versions.uv}`,
    'fidelity: recorded',
    `licence: ${config.licence}`,
    `armed-max: ${state.armedMax}`,
    `armed-at-end: ${state.armed}`,
  ];
  LETTERS.forEach((letter, op) => {
    if (rows.counts[op] > 0) lines.push(`count-${letter}: ${rows.counts[op]}`);
  });
  return lines.map((line) => `# ${line}\n`).join('');
}

function rowText(row) {
  const { rows } = state;
  const op = rows.op[row];
  const time = rows.time[row];
  if (op === OPS.G) return `${time},G,,,0,0,,,${rows.lost}\n`;
  const arm = op === OPS.S || op === OPS.R;
  const due = arm ? rows.due[row] : '';
  const ctx = arm ? classes[rows.ctx[row]] : '';
  const aux = op === OPS.E ? time - rows.due[row] : '';
  return `${time},${LETTERS[op]},${rows.id[row]},${due},0,0,${ctx},,${aux}\n`;
}

function writeAll(fd, text) {
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length;) at += fs.writeSync(fd, bytes, at);
}

function write(fd, config) {
  const { rows } = state;
  if (rows.lost > 0) {
    rows.most += 1;
    rows.push(rows.time[rows.len - 1], OPS.G, 0, 0, 0);
  }
  try {
    writeAll(fd, header(config) + 'time_ns,op,timer_id,due_ns,period_ns,slack_ns,ctx,cpu,aux\n');
    for (let row = 0; row < rows.len;) {
      let text = '';
      for (const end = Math.min(row + 4096, rows.len); row < end; row++) text += rowText(row);
      writeAll(fd, text);
    }
    fs.closeSync(fd);
  } catch (error) {
    fs.writeSync(2, `node-timers.cjs: ${config.file}: writing stopped (${error.code}), the trace is cut short\n` +
      '    delete the file, make room, and record again\n');
    process.exitCode = 1;
    return;
  }
  fs.writeSync(2, `node-timers.cjs: ${rows.len} rows written to ${config.file}, ${rows.lost} lost\n`);
}

// ---- start -----------------------------------------------------------------------------------

function start() {
  const config = options();
  const fd = create(config.file);
  // A child process inherits the preload and the environment; it must not ask for the same file.
  process.env.TWB_TRACE = 'off';
  const failed = () => { try { fs.closeSync(fd); fs.unlinkSync(config.file); } catch { /* already gone */ } };
  process.once('exit', failed);

  const first = setTimeout(() => {}, 1000);
  const Timeout = first.constructor;
  clearTimeout(first);
  state.rows = new Rows(Math.max(config.rows, 4096));
  hook(Timeout);
  selfCheck(Timeout);
  const probe = setTimeout(() => {}, 1000);
  clock.libuvMs = findClock(probe);
  clearTimeout(probe);
  if (!Number.isFinite(clock.libuvMs)) {
    refuse('libuv\'s clock could not be matched with process.hrtime in 200 tries',
      'the machine is too busy to read two clocks within one ms: record when it is quieter');
  }
  const originMs = process.hrtime.bigint() / BigInt(MS);
  clock.originMs = Number(originMs);
  clock.originNs = originMs * BigInt(MS);
  Object.assign(state, { rows: new Rows(config.rows), nextId: 0, armed: 0, armedMax: 0 });
  classes.length = 0;
  classOf.clear();

  process.off('exit', failed);
  process.once('exit', () => write(fd, config));
  for (const [signal, number] of [['SIGINT', 2], ['SIGTERM', 15]]) {
    // A program with a handler of its own decides for itself; its exit writes the trace.
    process.on(signal, () => { if (process.listenerCount(signal) === 1) process.exit(128 + number); });
  }
}

if (isMainThread && process.env.TWB_TRACE !== 'off') start();
