"""Turns what libuv-timers.bt prints into the neutral trace format; libuv-timers.sh runs it.

    python3 libuv_timers.py --out FILE.tt.csv --symbols NM --base ADDRESS ... < LINES

NM is what `nm PROGRAM` prints: it tells which function an address is in.

    line                         the timer is   row
    S                            not armed      S
    S                            armed          R (uv_timer_start stops it first: that T is passed over)
    T from uv__run_timers        armed          E
    T from uv_timer_start, _again               none: an S follows
    T from uv_close              armed          C
    T from elsewhere             armed, or not  C, or N

A handle's address is a timer until it is reused, which cannot be seen and makes no difference to a queue. Where the
program ran before (`--attached`), a timer that expires without a start was armed before (P).
"""

import argparse
import bisect
import collections
import re
import sys

IMPORTER = 'libuv_timers.py 1'
MS = 1_000_000
LETTERS = 'SRCNEGP'


def refuse(what, mend):
    sys.stderr.write(f'libuv_timers.py: {what}\n    {mend}\n')
    sys.exit(2)


class Symbols:
    """Functions by address."""

    def __init__(self, path, base):
        found = []
        with open(path, encoding='latin-1') as lines:
            for words in map(str.split, lines):
                if len(words) == 3 and words[1] in 'tTwWiu':
                    found.append((int(words[0], 16) + base, words[2]))
        found.sort()
        self.starts = [start for start, _ in found]
        self.names = [name for _, name in found]

    def function(self, address):
        """The function that an address lies in; nothing below the first."""
        at = bisect.bisect_right(self.starts, address) - 1
        return self.names[at] if at >= 0 else ''


class Classes:
    """Names of callbacks: those of Node and libuv stay, a program's own become numbers."""

    MANGLED = re.compile(r'_ZZ?N(?=4node)')

    def __init__(self):
        self.numbers = {}

    def of(self, name):
        if self.MANGLED.match(name):
            return '::'.join(words(name[self.MANGLED.match(name).end():]))
        if name.startswith(('uv_', 'ares_')):
            return name
        return 'callback-' + str(self.numbers.setdefault(name, len(self.numbers)))


def words(mangled):
    """`node`, `Environment`, `RunTimers` of `4node11Environment9RunTimersE...`: a length before each."""
    found = []
    while length := re.match(r'\d+', mangled):
        begin, end = length.end(), length.end() + int(length.group())
        found.append(mangled[begin:end])
        mangled = mangled[end:]
    return found


class Timers:
    """What is armed, and the rows so far."""

    def __init__(self, symbols, boot_offset, attached):
        self.symbols = symbols
        self.boot_offset = boot_offset
        self.attached = attached
        self.origin = None
        self.due = {}
        self.ids = {}
        self.rows = []
        self.classes = Classes()
        self.most = 0

    def line(self, text):
        kind, time, handle, *more = text.split()
        time = int(time) - self.boot_offset
        if self.origin is None:
            self.origin = time
        name = self.symbols.function(int(more[-1], 16))
        if kind == 'S':
            self.start(time, handle, int(more[0]), name)
        else:
            self.stop(time, handle, name)

    def row(self, time, letter, handle, due='', period=0, name='', aux=''):
        timer = self.ids.setdefault(handle, len(self.ids))
        self.rows.append((time - self.origin, letter, timer, due, period, name, aux))

    def start(self, time, handle, due_ms, callback):
        # libuv's clock is CLOCK_MONOTONIC in whole ms, so due times are on it already. A repeating timer is
        # started again by uv__run_timers at each expiry, which is an S of its own: the period stays 0.
        due = due_ms * MS - self.origin
        if not -10**9 <= due_ms * MS - time <= 2**62:
            refuse(f'a timer is due {(due_ms * MS - time) / 1e9:.0f} s from its start, so `timeout` is not where it was looked for',
                   'this libuv lays uv_timer_t out in another way: mend the offset 128 in libuv-timers.bt')
        self.row(time, 'R' if handle in self.due else 'S', handle, due, 0, self.classes.of(callback))
        self.due[handle] = due
        self.most = max(self.most, len(self.due))

    def stop(self, time, handle, caller):
        if caller in ('uv_timer_start', 'uv_timer_again'):
            return
        due = self.due.pop(handle, None)
        if caller == 'uv__run_timers':
            if self.attached and handle not in self.ids:
                self.row(time, 'P', handle)
                self.row(time, 'E', handle)
            if due is not None:
                self.row(time, 'E', handle, aux=time - self.origin - due)
        elif due is not None:
            self.row(time, 'C', handle)
        elif handle in self.ids and caller not in ('uv_close', 'uv__timer_close'):
            self.row(time, 'N', handle)


def write(options, timers):
    rows = timers.rows
    counts = collections.Counter(row[1] for row in rows)
    if options.lost:
        rows.append((rows[-1][0], 'G', '', '', 0, '', options.lost))
        counts['G'] = 1
    pairs = [
        ('timer-trace', 1),
        ('source', options.source),
        ('clock', 'CLOCK_MONOTONIC, 0 = the first operation'),
        ('due-granularity-ns', MS),
        ('start-state', 'unknown' if options.attached else 'empty'),
        ('lost', options.lost),
        ('importer', IMPORTER),
        ('options', 'libuv-timers.bt'),
        ('fidelity', 'recorded'),
        ('licence', options.licence),
        ('armed-max', timers.most),
        ('armed-at-end', len(timers.due)),
    ]
    pairs += [(f'count-{letter}', counts[letter]) for letter in LETTERS if counts[letter]]
    try:
        with open(options.out, 'x', encoding='utf-8', newline='\n') as into:
            into.writelines(f'# {key}: {" ".join(str(value).split())}\n' for key, value in pairs)
            into.write('time_ns,op,timer_id,due_ns,period_ns,slack_ns,ctx,cpu,aux\n')
            into.writelines('{},{},{},{},{},0,{},,{}\n'.format(*row) for row in rows)
    except FileExistsError:
        refuse(f'{options.out}: the file exists, and a recorded trace is never written over', 'choose another name')
    except OSError as error:
        refuse(f'{options.out}: {error.strerror}', 'name a new file in a folder that may be written to')
    sys.stderr.write(f'libuv_timers.py: {len(rows)} rows written to {options.out}, {options.lost} lost\n')


def main():
    parser = argparse.ArgumentParser(description='Turns the lines of libuv-timers.bt into a trace.')
    parser.add_argument('--out', required=True)
    parser.add_argument('--symbols', required=True, help='file with the output of `nm PROGRAM`')
    parser.add_argument('--base', type=lambda text: int(text, 16), default=0, help='where the program was loaded, if it can be anywhere')
    parser.add_argument('--lost', type=int, default=0, help='events that bpftrace says it lost')
    parser.add_argument('--boot-offset', type=int, default=0, help='ns by which the lines\' clock is ahead of CLOCK_MONOTONIC')
    parser.add_argument('--attached', action='store_true', help='the program ran before it was recorded')
    parser.add_argument('--source', default='recorded: one libuv program, not described (TWB_TRACE_SOURCE was not set)')
    parser.add_argument('--licence', default='not stated (TWB_TRACE_LICENCE was not set)')
    options = parser.parse_args()
    timers = Timers(Symbols(options.symbols, options.base), options.boot_offset, options.attached)
    lines = (line for line in sys.stdin if re.match(r'S \d+ [0-9a-f]+ \d+ \d+ [0-9a-f]+$|T \d+ [0-9a-f]+ [0-9a-f]+$', line))
    # bpftrace prints what several processors saw in no strict order.
    for line in sorted(lines, key=lambda line: int(line.split(' ', 2)[1])):
        timers.line(line)
    if not timers.rows:
        sys.stderr.write('libuv_timers.py: no timer was seen\n    record a program that has timers, and for longer\n')
        sys.exit(1)
    write(options, timers)


if __name__ == '__main__':
    main()
