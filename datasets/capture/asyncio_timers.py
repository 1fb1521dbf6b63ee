"""Records every timer of an asyncio program in the neutral trace format (`.tt.csv`).

    TWB_TRACE=out.tt.csv python3 datasets/capture/asyncio_timers.py your_service.py [ARGUMENT...]
    TWB_TRACE=out.tt.csv python3 datasets/capture/asyncio_timers.py -m your.module [ARGUMENT...]

How it sees them. Every timer of asyncio (call_later, call_at, sleep, timeout, wait_for) is an object of
one class, `asyncio.events.TimerHandle`, and lib/asyncio/base_events.py keeps its state in plain attributes
that it assigns at fixed places:

    call_at()    assigns `_scheduled = True`   pushed on the heap            S
    cancel()     is called                     armed: C, else                N
    _run_once()  assigns `_scheduled = False`  popped: due, if not cancelled E

The script puts a subclass with accessors for these in the place of the class. See README.md beside this
file for the variables and for what cannot be seen.
"""

import asyncio
import atexit
import itertools
import os
import runpy
import signal
import struct
import sys
import time

IMPORTER = 'asyncio_timers.py 1'
TESTED = ((3, 11), (3, 12), (3, 13))
LETTERS = 'SCNE'
S, C, N, E = range(4)
MS = 1_000_000
ROW = struct.Struct('<qqqHHB')  # time, due, timer, class, loop, operation

USAGE = 'usage: TWB_TRACE=FILE.tt.csv python3 asyncio_timers.py (SCRIPT | -m MODULE) [ARGUMENT...]'


def refuse(what, mend):
    sys.stderr.write(f'asyncio_timers.py: {what}\n    {mend}\n')
    sys.exit(2)


# ---- options ------------------------------------------------------------------------------------


class Config:
    """What the environment asks for."""

    def __init__(self, env):
        self.file = env.get('TWB_TRACE')
        if not self.file:
            refuse('TWB_TRACE is not set, so there is no file to record to',
                   'set TWB_TRACE=FILE.tt.csv, or TWB_TRACE=off to run without recording')
        rows = env.get('TWB_TRACE_ROWS', '2000000')
        if not rows.isascii() or not rows.isdigit() or int(rows) < 1:
            refuse(f'TWB_TRACE_ROWS is `{rows}`, not a whole number of at least 1',
                   f'set it to the most rows to keep in memory ({ROW.size} bytes each), or leave it out for 2000000')
        self.rows = int(rows)
        self.untested = sys.version_info[:2] not in TESTED or sys.implementation.name != 'cpython'
        if self.untested and env.get('TWB_TRACE_UNTESTED') != '1':
            refuse(f'{runtime()} is untested: the attributes of TimerHandle are not a public interface',
                   'use CPython 3.11 to 3.13, or set TWB_TRACE_UNTESTED=1 and compare the trace with a program '
                   'whose timers you know')
        self.source = line(env.get('TWB_TRACE_SOURCE',
                                   'recorded: one asyncio program, not described (TWB_TRACE_SOURCE was not set)'))
        self.licence = line(env.get('TWB_TRACE_LICENCE', 'not stated (TWB_TRACE_LICENCE was not set)'))

    def create(self):
        """Takes the file at once, so that a name already in use is refused before the program runs."""
        try:
            return open(self.file, 'x', encoding='utf-8', newline='\n')
        except FileExistsError:
            refuse(f'{self.file}: the file exists, and a recorded trace is never written over',
                   'choose another name in TWB_TRACE, or move the old file away')
        except OSError as error:
            refuse(f'{self.file}: cannot be created ({error.strerror})',
                   'TWB_TRACE must name a new file in a folder that exists and may be written to')


def line(text):
    return ' '.join(text.split())


def runtime():
    return f'{sys.implementation.name} {sys.version_info.major}.{sys.version_info.minor}.{sys.version_info.micro}'


# ---- what is recorded -----------------------------------------------------------------------------


class Names:
    """Numbers for names, in order of appearance; beyond 65,535 all further ones share the last."""

    def __init__(self):
        self.index = {}

    def of(self, name):
        return self.index.setdefault(name, min(len(self.index), 0xFFFF))


class Recording:
    """Rows in memory. Nothing is turned into text before the end."""

    def __init__(self, most):
        self.most = most * ROW.size
        # The one call that grows it runs no Python code, so rows of several threads never mix.
        self.rows = bytearray()
        self.lost = 0
        self.ids = itertools.count()
        self.classes = Names()
        self.loops = Names()
        self.origin = time.monotonic_ns()

    def add(self, op, timer, at):
        if len(self.rows) >= self.most:
            self.lost += 1
            return
        self.rows.extend(ROW.pack(at - self.origin, timer._twb_due, timer._twb_id, timer._twb_class, timer._twb_loop, op))


RECORDING = None


def delay_name(ms):
    """Delays that vary (back-off with jitter) share one class an octave."""
    if ms < 10 or ms % 50 == 0:
        return f'{ms}ms'
    low = 1 << (ms.bit_length() - 1)
    return f'{low}-{2 * low - 1}ms'


KINDS = {
    '_set_result_unless_cancelled': 'sleep',
    'Timeout._on_timeout': 'timeout',
    '_release_waiter': 'wait_for',
}


def kind(callback):
    """Only names that asyncio itself gives are looked at; no name of the program enters the trace."""
    if not (getattr(callback, '__module__', None) or '').startswith('asyncio.'):
        return 'call_later'
    return KINDS.get(getattr(callback, '__qualname__', ''), 'internal')


BASE = asyncio.events.TimerHandle


class TimerHandle(BASE):
    """asyncio's timer with accessors; its name and behaviour are those of the class it stands for."""

    __slots__ = ('_twb_id', '_twb_due', '_twb_class', '_twb_loop', '_twb_armed')

    def __init__(self, when, callback, args, loop, context=None):
        self._twb_armed = None  # never armed yet
        super().__init__(when, callback, args, loop, context)

    @property
    def _scheduled(self):
        return BASE._scheduled.__get__(self)

    @_scheduled.setter
    def _scheduled(self, value):
        BASE._scheduled.__set__(self, value)
        if value:
            self._twb_arm()
        elif self._twb_armed:
            self._twb_armed = False
            RECORDING.add(E, self, time.monotonic_ns())

    def _twb_arm(self):
        recording, at = RECORDING, time.monotonic_ns()
        due = round(self._when * 1e9)
        # The caller's delay was counted from a little before now.
        ms = max(0, -((at - due) // MS))
        self._twb_id = next(recording.ids)
        self._twb_due = due - recording.origin
        self._twb_class = recording.classes.of(kind(self._callback) + ' ' + delay_name(ms))
        self._twb_loop = recording.loops.of(id(self._loop))
        self._twb_armed = True
        recording.add(S, self, at)

    def cancel(self):
        armed, self._twb_armed = self._twb_armed, False if self._twb_armed else self._twb_armed
        if armed is not None:
            RECORDING.add(C if armed else N, self, time.monotonic_ns())
        super().cancel()


TimerHandle.__name__ = TimerHandle.__qualname__ = BASE.__name__
TimerHandle.__module__ = BASE.__module__


def self_check():
    """One timer expires and is cancelled, one is cancelled twice; the rows must be S S C N E N."""
    async def probe():
        loop = asyncio.get_running_loop()
        fires = loop.create_future()
        first = loop.call_later(0.001, fires.set_result, None)
        second = loop.call_later(1000, print)
        second.cancel()
        second.cancel()
        await fires
        first.cancel()

    loop = asyncio.new_event_loop()
    try:
        loop.run_until_complete(probe())
    finally:
        loop.close()
    seen = ''.join(LETTERS[row[5]] for row in ROW.iter_unpack(RECORDING.rows))
    if seen != 'SSCNEN':
        refuse(f'the self-check saw `{seen}` where `SSCNEN` was done, on {runtime()}',
               'the inside of asyncio has changed: mend the accessors in this script')


# ---- output -----------------------------------------------------------------------------------------


def in_order(recording):
    """The rows by time. Those of one loop are in order already; loops of other threads are merged in."""
    rows = ROW.iter_unpack(recording.rows)
    return rows if len(recording.loops.index) < 2 else sorted(rows, key=lambda row: row[0])


def sums(recording):
    counts, armed, most = [0] * len(LETTERS), 0, 0
    for row in in_order(recording):
        counts[row[5]] += 1
        armed += (row[5] == S) - (row[5] in (C, E))
        most = max(most, armed)
    return counts, armed, most


def header(config, recording):
    counts, armed, most = sums(recording)
    pairs = [
        ('timer-trace', 1),
        ('source', config.source),
        ('clock', 'CLOCK_MONOTONIC (time.monotonic_ns), 0 = the moment in which recording began'),
        ('due-granularity-ns', 1),
        ('start-state', 'empty'),
        ('lost', recording.lost),
        ('importer', IMPORTER),
        ('options', f'rows={config.rows}' + (' untested=1' if config.untested else '')),
        ('runtime', runtime()),
        ('fidelity', 'recorded'),
        ('licence', config.licence),
        ('armed-max', most),
        ('armed-at-end', armed),
    ]
    pairs += [(f'count-{letter}', count) for letter, count in zip(LETTERS, counts) if count]
    if recording.lost:
        pairs.append(('count-G', 1))
    return ''.join(f'# {key}: {value}\n' for key, value in pairs)


def text(row, names):
    at, due, timer, name, loop, op = row
    if op == S:
        return f'{at},S,{timer},{due},0,0,{names[name]},{loop},\n'
    late = at - due if op == E else ''
    return f'{at},{LETTERS[op]},{timer},,0,0,,{loop},{late}\n'


def write(config, recording, into, process):
    if os.getpid() != process:
        return  # a forked child inherits the handler and must not write its parent's file
    names = [name for name, _ in sorted(recording.classes.index.items(), key=lambda pair: pair[1])]
    try:
        with into:
            into.write(header(config, recording))
            into.write('time_ns,op,timer_id,due_ns,period_ns,slack_ns,ctx,cpu,aux\n')
            for row in in_order(recording):
                into.write(text(row, names))
            if recording.lost:
                into.write(f'{row[0]},G,,,0,0,,,{recording.lost}\n')
    except OSError as error:
        sys.stderr.write(f'asyncio_timers.py: {config.file}: writing stopped ({error.strerror}), the trace is cut short\n'
                         '    delete the file, make room, and record again\n')
        return
    count = len(recording.rows) // ROW.size
    sys.stderr.write(f'asyncio_timers.py: {count} rows written to {config.file}, {recording.lost} lost\n')


# ---- start ------------------------------------------------------------------------------------------


def install(config):
    global RECORDING
    into = config.create()
    # A child process inherits the environment; it must not ask for the same file.
    os.environ['TWB_TRACE'] = 'off'
    try:
        RECORDING = Recording(1000)
        asyncio.events.TimerHandle = asyncio.TimerHandle = TimerHandle
        self_check()
    except SystemExit:
        into.close()
        os.unlink(config.file)
        raise
    RECORDING = Recording(config.rows)
    atexit.register(write, config, RECORDING, into, os.getpid())
    if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        # A program that installs a handler of its own decides for itself; its exit writes the trace.
        signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))


def main():
    program = sys.argv[1:]
    if not program or program[0] == '-m' and len(program) < 2:
        sys.stderr.write(f'asyncio_timers.py: no program is named\n    name the script or module to run\n{USAGE}\n')
        sys.exit(2)
    if program[0] != '-m' and not os.path.isfile(program[0]):
        refuse(f'{program[0]}: there is no such script', 'name a Python file, or a module with `-m`')
    if os.environ.get('TWB_TRACE') != 'off':
        install(Config(os.environ))
    if program[0] == '-m':
        sys.argv = program[1:]
        sys.path[0] = os.getcwd()
        runpy.run_module(program[1], run_name='__main__', alter_sys=True)
    else:
        sys.argv = program
        sys.path[0] = os.path.dirname(os.path.abspath(program[0]))
        runpy.run_path(program[0], run_name='__main__')


if __name__ == '__main__':
    main()
