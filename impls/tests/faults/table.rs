//! The faults. A text is looked for as it stands in the sources, blanks and line ends included.

/// One deliberate fault.
pub(super) struct Fault {
    /// What is wrong with it.
    pub(super) name: &'static str,
    /// The structure that must be found out, as on the command line.
    pub(super) entry: &'static str,
    /// The file, under `src`.
    pub(super) file: &'static str,
    /// Texts, each found exactly once, and what stands there instead.
    pub(super) edits: &'static [(&'static str, &'static str)],
}

const fn fault(
    name: &'static str,
    entry: &'static str,
    file: &'static str,
    edits: &'static [(&'static str, &'static str)],
) -> Fault {
    Fault { name, entry, file, edits }
}

#[rustfmt::skip]
pub(super) const FAULTS: &[Fault] = &[

    // The round and the parts of the contract that all share.

    fault("advance before the handler", "array", "queue.rs", &[
        ("        let Some((expiry, item)) = batch.front() else { break Ended::Drained };\n        if clock() >= deadline {\n            break Ended::WindowClosed;\n        }\n",
         "        if batch.is_empty() {\n            break Ended::Drained;\n        }\n        if clock() >= deadline {\n            break Ended::WindowClosed;\n        }\n        let Some((expiry, mut gone)) = batch.advance() else { break Ended::Drained };\n        let item = &mut gone;\n"),
        ("        batch.advance();\n        done += 1;",
         "        done += 1;"),
    ]),
    fault("the window is open at its deadline", "list", "queue.rs", &[
        ("if clock() >= deadline {",
         "if clock() > deadline {"),
    ]),
    fault("the clock is read for an empty batch", "heap", "queue.rs", &[
        ("        let Some((expiry, item)) = batch.front() else { break Ended::Drained };\n        if clock() >= deadline {",
         "        let now = clock();\n        let Some((expiry, item)) = batch.front() else { break Ended::Drained };\n        if now >= deadline {"),
    ]),
    fault("a closed window outranks a failure", "wheel", "queue.rs", &[
        ("            Err(error) => break Ended::Failed(error),",
         "            Err(_) if clock() >= deadline => break Ended::WindowClosed,\n            Err(error) => break Ended::Failed(error),"),
    ]),
    fault("the timer of a handler that stopped leaves", "array", "queue.rs", &[
        ("            Ok(Flow::Stop) => break Ended::Stopped,",
         "            Ok(Flow::Stop) => {\n                batch.advance();\n                break Ended::Stopped;\n            }"),
    ]),
    fault("a batch of another queue is accepted", "heap", "queue.rs", &[
        ("assert!(self == batch, ",
         "assert!(self == batch || self != batch, "),
    ]),
    fault("a handle of another queue is accepted where a place is one", "array", "queue.rs", &[
        ("(handle.queue == self.queue).then_some(handle.place)",
         "Some(handle.place)"),
    ]),
    fault("arrivals are given twice", "list", "queue.rs", &[
        ("        self.next += 1;\n",
         "        self.next += arrival % 2;\n"),
    ]),
    fault("the oracle takes one more than its limit", "reference", "reference.rs", &[
        ("while timers.len() < limit",
         "while timers.len() <= limit"),
    ]),
    fault("the oracle rounds at the end of time", "reference:tick=7", "model.rs", &[
        ("if now == Tick::MAX { now } else { now / tick * tick }",
         "now / tick * tick"),
    ]),
    fault("the model forgets the order of arrival", "reference", "model.rs", &[
        ("(0..self.timers.len()).min_by_key(|&at| self.timers[at].0)",
         "(0..self.timers.len()).rev().min_by_key(|&at| self.timers[at].0.expiry)"),
    ]),

    // The chain, and the lists that are made of it.

    fault("no merge in the list", "list", "ordered_list.rs", &[
        ("                P::visited(self.timers.merge(rest));\n",
         "                self.timers.prepend_walking(rest);\n"),
    ]),
    fault("no merge in the known-tail list", "list-known-tail", "known_tail_list.rs", &[
        ("                P::visited(self.timers.merge(rest.into_fragment()));\n",
         "                self.timers.prepend(rest);\n"),
    ]),
    fault("no tie rule: a put-back in front of a tie merges", "list-known-tail", "known_tail_list.rs", &[
        ("Some(head) if head < last => {",
         "Some(head) if head.expiry <= last.expiry => {"),
    ]),
    fault("no tie rule: a put-back behind a tie goes in front", "list", "ordered_list.rs", &[
        ("Some(head) if head < last => {",
         "Some(head) if head.expiry < last.expiry => {"),
    ]),
    fault("no tie rule: a late arrival goes before its equals", "list", "link/chain.rs", &[
        ("if unsafe { node(next) }.place >= place {",
         "if unsafe { node(next) }.place.expiry >= place.expiry {"),
    ]),
    fault("`<` for `<=` in the list's take", "list", "ordered_list.rs", &[
        ("self.timers.count_while(limit, |place| place.expiry <= now)",
         "self.timers.count_while(limit, |place| place.expiry < now)"),
    ]),
    fault("`<` for `<=` in the known-tail list's take", "list-known-tail", "known_tail_list.rs", &[
        ("self.timers.mark_while(limit, |place| place.expiry <= now)",
         "self.timers.mark_while(limit, |place| place.expiry < now)"),
    ]),
    fault("no reset after a take that empties the queue", "list-known-tail", "link/chain.rs", &[
        ("        if rest.is_none() {\n            self.chain.last = None;\n        }\n",
         ""),
    ]),
    fault("tail not set after a put-back into an empty queue", "list", "link/chain.rs", &[
        ("        if self.run.head.is_none() {\n            self.last = Some(last);\n        }\n",
         ""),
    ]),
    fault("tail not moved by a node linked behind it", "list", "link/chain.rs", &[
        ("        if next.is_none() {\n            self.last = Some(fresh);\n        }\n",
         ""),
    ]),
    fault("cancel of the last without moving the end", "list-known-tail", "link/chain.rs", &[
        ("        if next.is_none() {\n            self.last = before;\n        }\n",
         ""),
    ]),
    fault("a batch that is emptied keeps its last node", "list-known-tail", "link/chain.rs", &[
        ("        if self.run.head.is_none() {\n            self.last = None;\n        }\n        first\n",
         "        first\n"),
    ]),
    fault("len not lowered by a cancel in a list", "list", "link/chain.rs", &[
        ("        self.run.len -= 1;\n",
         ""),
    ]),
    fault("len not lowered by a cut", "list-known-tail", "link/chain.rs", &[
        ("        self.chain.run.len -= self.len;\n",
         ""),
    ]),
    fault("len not raised by a put-back", "list", "link/chain.rs", &[
        ("        self.run.len += len;\n",
         ""),
    ]),
    fault("the list cuts one node too many", "list", "ordered_list.rs", &[
        ("self.timers.detach(due);",
         "self.timers.detach(due + usize::from(due > 0));"),
    ]),
    fault("the list cuts one node too few", "list", "ordered_list.rs", &[
        ("self.timers.detach(due);",
         "self.timers.detach(due - usize::from(due > 2));"),
    ]),
    fault("limit off by one in the chain", "list-known-tail", "link/chain.rs", &[
        ("        while len < limit\n",
         "        while len <= limit\n"),
    ]),
    fault("a merge starts each walk where the last one began", "list", "link/chain.rs", &[
        ("            before = Some(fresh);\n            passed += walked;\n",
         "            passed += walked;\n            if walked > 1 {\n                self.last = Some(fresh);\n            }\n"),
    ]),
    fault("a merge does not walk", "list-known-tail", "link/chain.rs", &[
        ("            (before, walked) = self.walk_before(before, place);\n            self.link(fresh, before);",
         "            (_, walked) = self.walk_before(before, place);\n            self.link(fresh, before);"),
    ]),
    fault("a look-up goes by expiry alone", "list", "link/chain.rs", &[
        ("found.filter(|(other, _)| *other == place)",
         "found.filter(|(other, _)| other.expiry == place.expiry)"),
    ]),
    fault("a cancel goes by expiry alone", "list-known-tail", "link/chain.rs", &[
        ("        if found_node.place != place {\n",
         "        if found_node.place.expiry != place.expiry {\n"),
    ]),
    fault("reschedule keeps the arrival in a list", "list", "ordered_list.rs", &[
        ("node.place = self.arrivals.place(expiry);",
         "node.place.expiry = expiry;"),
    ]),
    fault("latest of an emptied batch", "list", "ordered_list.rs", &[
        ("self.latest.filter(|_| self.timers.len() > 0).map(",
         "self.latest.map("),
    ]),
    fault("a put-back renews arrivals", "list-known-tail", "known_tail_list.rs", &[
        ("                self.timers.prepend(rest);\n",
         "                let mut rest = rest;\n                while let Some(mut node) = rest.pop_front() {\n                    node.place = self.arrivals.place(node.place.expiry);\n                    self.timers.insert(node);\n                }\n"),
    ]),
    fault("a dropped fragment leaks its nodes", "list", "link/fragment.rs", &[
        ("                while self.0.pop_front().is_some() {}\n",
         ""),
        ("        while rest.0.head.is_some() {\n            drop(rest.0.pop_front());\n        }\n",
         "        rest.0.head = None;\n"),
    ]),
    fault("a prepended fragment is still owned", "list", "link/fragment.rs", &[
        ("        self.head.take()\n",
         "        self.head\n"),
    ]),

    // The array.

    fault("no merge in the array", "array", "sorted_array.rs", &[
        ("                rest.make_contiguous().sort_by_key(|timer| timer.place);\n",
         ""),
    ]),
    fault("`<` for `<=` in the array's take", "array", "sorted_array.rs", &[
        ("self.before(|place| place.expiry <= now)",
         "self.before(|place| place.expiry < now)"),
    ]),
    fault("no tie rule: an early arrival goes before its equals", "array", "sorted_array.rs", &[
        ("            let at = self.before(|other| other < place);\n            P::moved(at.min(self.timers.len() - at));",
         "            let at = self.before(|other| other.expiry < place.expiry);\n            P::moved(at.min(self.timers.len() - at));"),
    ]),
    fault("no tie rule: the array puts back in front of an earlier tie", "array", "sorted_array.rs", &[
        ("Some(head) if last < head => {",
         "Some(head) if last.expiry <= head.expiry => {"),
    ]),
    fault("the array merges up to the first tie only", "array", "sorted_array.rs", &[
        ("self.before(|place| place < last)",
         "self.before(|place| place.expiry < last.expiry)"),
    ]),
    fault("the array appends whatever comes", "array", "sorted_array.rs", &[
        ("self.timers.back().is_none_or(|last| last.place.expiry <= expiry)",
         "self.timers.back().is_none_or(|_| true)"),
    ]),
    fault("limit off by one in the array", "array", "sorted_array.rs", &[
        ("self.cut(due.min(limit))",
         "self.cut(due.min(limit.saturating_add(1)))"),
    ]),
    fault("a stale handle reaches whoever stands there now", "array", "sorted_array.rs", &[
        ("(self.timers.get(at)?.place == place).then_some(at)",
         "self.timers.get(at).map(|_| at)"),
    ]),
    fault("what is put back stays at the rear", "array", "sorted_array.rs", &[
        ("        self.timers.rotate_right(count);\n",
         ""),
    ]),
    fault("the array cuts at the rear", "array", "sorted_array.rs", &[
        ("        self.timers.rotate_left(count);\n",
         ""),
    ]),
    fault("the array's next expiry is its last", "array", "sorted_array.rs", &[
        ("self.timers.front().map(|timer| timer.place.expiry)",
         "self.timers.back().map(|timer| timer.place.expiry)"),
    ]),
    fault("the array's requeue renews arrivals", "array", "sorted_array.rs", &[
        ("        let mut rest = batch.timers;\n",
         "        let mut rest = batch.timers;\n        rest.iter_mut().for_each(|timer| timer.place = self.arrivals.place(timer.place.expiry));\n"),
    ]),

    // The heap.

    fault("heap removal that only sifts down", "heap", "stable_heap.rs", &[
        ("            if at > 0 && self.heap[at].key() < removed.key() {\n                self.sift_up(at);\n            } else {\n                self.sift_down(at);\n            }\n",
         "            self.sift_down(at);\n"),
    ]),
    fault("heap removal that only sifts up", "heap:arity=2", "stable_heap.rs", &[
        ("            if at > 0 && self.heap[at].key() < removed.key() {\n                self.sift_up(at);\n            } else {\n                self.sift_down(at);\n            }\n",
         "            self.sift_up(at);\n"),
    ]),
    fault("no tie rule in the heap", "heap", "stable_heap.rs", &[
        ("(u128::from(self.place.expiry) << 64) | u128::from(self.place.arrival)",
         "u128::from(self.place.expiry) << 64"),
    ]),
    fault("reschedule that only sifts down", "heap", "stable_heap.rs", &[
        ("        if sooner {\n            self.sift_up(at)\n        } else {\n            self.sift_down(at)\n        }\n",
         "        let _ = sooner;\n        self.sift_down(at);\n"),
    ]),
    fault("reschedule keeps the arrival in the heap", "heap", "stable_heap.rs", &[
        ("        let place = self.arrivals.place(expiry);\n        let sooner",
         "        let place = Place { expiry, arrival: self.heap[at].place.arrival };\n        let sooner"),
    ]),
    fault("the heap's requeue renews arrivals", "heap", "stable_heap.rs", &[
        ("self.heap.push(Entry { place: timer.place, slot: timer.slot });",
         "let place = self.arrivals.place(timer.place.expiry);\n            self.heap.push(Entry { place, slot: timer.slot });"),
    ]),
    fault("`<` for `<=` in the heap's take", "heap", "stable_heap.rs", &[
        ("self.heap.first().is_some_and(|first| first.place.expiry <= now)",
         "self.heap.first().is_some_and(|first| first.place.expiry < now)"),
    ]),
    fault("`<` for `<=` in the heap's pass", "heap", "stable_heap.rs", &[
        ("|entry| entry.place.expiry <= now)",
         "|entry| entry.place.expiry < now)"),
    ]),
    fault("a pass gives the limit again", "heap", "stable_heap.rs", &[
        ("let room = limit - timers.len();",
         "let room = limit;"),
    ]),
    fault("a pass loses what is over the limit", "heap", "stable_heap.rs", &[
        ("            self.heap.extend(due.drain(room..));\n",
         "            due.truncate(room);\n"),
    ]),
    fault("a rebuild that leaves the root", "heap:arity=3", "stable_heap.rs", &[
        ("(0..=last_parent).rev()",
         "(1..=last_parent).rev()"),
    ]),
    fault("the first child is taken for the soonest", "heap:arity=8", "stable_heap.rs", &[
        ("let sooner = key < best;",
         "let sooner = false;"),
    ]),
    fault("the position of a taken timer is kept", "heap", "stable_heap.rs", &[
        ("        self.position[entry.slot as usize] = NO_SLOT;\n",
         ""),
    ]),
    fault("the heap says in front among ties", "heap", "stable_heap.rs", &[
        ("(Some(last), Some(head)) if last < head => Requeued::InFront,",
         "(Some(last), Some(head)) if last.expiry <= head.expiry => Requeued::InFront,"),
    ]),
    fault("a cancel leaks its slot", "heap", "stable_heap.rs", &[
        ("        self.slots.release(slot);\n",
         ""),
    ]),
    fault("a shrink does not move items", "heap", "stable_heap.rs", &[
        ("            self.items[to as usize] = self.items[from as usize].take();\n",
         ""),
    ]),

    // Slots, which the heap and the wheel use.

    fault("a stale handle reaches whoever has the slot now", "wheel", "slots.rs", &[
        ("arrival_in(*slot) == Some(handle.arrival);",
         "arrival_in(*slot).is_some();"),
    ]),
    fault("a handle of another queue is accepted where a slot is one", "heap", "slots.rs", &[
        ("        if handle.queue != arrivals.queue() {\n            return None;\n        }\n",
         ""),
    ]),
    fault("a dropped batch leaks slots", "heap", "slots.rs", &[
        ("        slots.extend(self.timers.iter().map(|timer| timer.slot));\n",
         ""),
    ]),
    fault("a dropped batch leaks the slots of what was dispatched", "wheel", "slots.rs", &[
        ("slots.extend(self.timers.iter().map(",
         "slots.extend(self.timers[self.at..].iter().map("),
    ]),
    fault("a put-back leaks the slots of what was dispatched", "wheel", "slots.rs", &[
        ("        self.free.extend(timers[..at].iter().map(|gone| gone.slot));\n",
         ""),
    ]),
    fault("a put-back frees the slots of what is left", "heap", "slots.rs", &[
        ("self.free.extend(timers[..at].iter().map(",
         "self.free.extend(timers.iter().map("),
    ]),
    fault("returned slots are never collected", "heap", "slots.rs", &[
        ("        returned.any.store(true, Ordering::Release);\n",
         ""),
    ]),
    fault("a shrink loses the handles of moved timers", "heap", "slots.rs", &[
        ("                self.moved.push((arrival, low));\n",
         ""),
    ]),
    fault("a shrink keeps the room of the list of returned slots", "heap", "slots.rs", &[
        ("        self.returned.slots.lock().unwrap_or_else(PoisonError::into_inner).shrink_to_fit();\n",
         ""),
    ]),
    fault("a shrink forgets moved timers that are out", "wheel", "slots.rs", &[
        ("arrival_in(slot).map_or_else(|| is_out(slot), |queued| queued == arrival)",
         "arrival_in(slot) == Some(arrival)"),
    ]),
    fault("latest is that of the first one left", "wheel", "slots.rs", &[
        ("self.timers[self.at..].last().map(",
         "self.timers[self.at..].first().map("),
    ]),
    fault("len of a batch counts what has left it", "heap", "slots.rs", &[
        ("        self.timers.len() - self.at\n",
         "        self.timers.len()\n"),
    ]),

    // The wheel.

    fault("a cascade that reverses a slot", "wheel", "wheel/mod.rs", &[
        ("let mut slot = self.levels.empty(spot).first;",
         "let mut slot = self.levels.empty(spot).last;"),
        ("(self.unit(node.place.expiry), node.after);",
         "(self.unit(node.place.expiry), node.before);"),
    ]),
    fault("no cascade", "wheel", "wheel/mod.rs", &[
        ("while let Some(spot) = self.levels.reached(clock) {",
         "while let Some(spot) = self.levels.reached(clock).filter(|spot| spot.level > 1) {"),
    ]),
    fault("bitmap bit not cleared", "wheel", "wheel/level.rs", &[
        ("if bucket.is_empty() {\n            level.occupied &= !bit\n        } else {\n            level.occupied |= bit\n        }",
         "if !bucket.is_empty() { level.occupied |= bit }"),
    ]),
    fault("bitmap bit not set", "wheel", "wheel/level.rs", &[
        ("if bucket.is_empty() {\n            level.occupied &= !bit\n        } else {\n            level.occupied |= bit\n        }",
         "if bucket.is_empty() { level.occupied &= !bit } else if spot.level < 3 { level.occupied |= bit }"),
    ]),
    fault("level bit not cleared", "wheel", "wheel/level.rs", &[
        ("if level.occupied == 0 {\n            self.occupied &= !level_bit\n        } else {\n            self.occupied |= level_bit\n        }",
         "if level.occupied != 0 { self.occupied |= level_bit }"),
    ]),
    fault("a slot is reached one level too late", "wheel", "wheel/level.rs", &[
        ("clock.trailing_zeros() >= level * BITS",
         "clock.trailing_zeros() > level * BITS"),
    ]),
    fault("next expiry is that of the last in its slot", "wheel", "wheel/mod.rs", &[
        ("visited.map(|slot| self.unit(self.nodes[slot as usize].place.expiry)).min()",
         "visited.map(|slot| self.unit(self.nodes[slot as usize].place.expiry)).last()"),
    ]),
    fault("next expiry is kept when its timer leaves", "wheel", "wheel/mod.rs", &[
        ("        if self.first_unit == Some(unit) {\n            self.first_unit = None;\n        }\n",
         ""),
    ]),
    fault("next expiry is kept when an earlier timer arrives", "wheel", "wheel/mod.rs", &[
        ("            Some(first) if unit < first => self.first_unit = Some(unit),\n",
         ""),
    ]),
    fault("the clock runs back", "wheel", "wheel/mod.rs", &[
        ("until >= self.clock && self.take_first_slot",
         "self.take_first_slot"),
    ]),
    fault("the clock runs ahead of a limit", "wheel", "wheel/mod.rs", &[
        ("        if self.levels.bucket(spot).is_empty() {\n            self.advance_clock",
         "        {\n            self.advance_clock"),
    ]),
    fault("next expiry wraps at the end of time", "wheel:tick=7", "wheel/mod.rs", &[
        ("Some(self.first_unit?.saturating_mul(self.tick))",
         "Some(self.first_unit?.wrapping_mul(self.tick))"),
    ]),
    fault("a take gives everything at the level boundary", "wheel", "wheel/mod.rs", &[
        ("        if spot.level > 0 {\n            self.advance_clock(start);",
         "        if spot.level > 1 {\n            self.advance_clock(start);"),
    ]),
    fault("a slot starts one unit late", "wheel", "wheel/level.rs", &[
        ("        above | u64::from(self.index) << below\n",
         "        (above | u64::from(self.index) << below) + u64::from(self.level == 2)\n"),
    ]),
    fault("a coarse tick is early", "wheel:tick=7", "wheel/mod.rs", &[
        ("if self.tick == 1 { expiry } else { expiry.div_ceil(self.tick) }",
         "expiry / self.tick"),
    ]),
    fault("a coarse tick rounds now up", "wheel:tick=7", "wheel/mod.rs", &[
        ("if now == Tick::MAX { self.unit(now) } else { now / self.tick }",
         "if now == Tick::MAX { self.unit(now) } else { now.div_ceil(self.tick) }"),
    ]),
    fault("a coarse tick leaves timers at the end of time", "wheel:tick=7", "wheel/mod.rs", &[
        ("if now == Tick::MAX { self.unit(now) } else { now / self.tick }",
         "now / self.tick"),
    ]),
    fault("a slot of a coarse tick is not sorted", "wheel:tick=7", "wheel/mod.rs", &[
        ("        due.sort_unstable();\n",
         ""),
    ]),
    fault("what a limit leaves of a slot is reversed", "wheel:tick=64", "wheel/mod.rs", &[
        ("self.overdue.extend(due.drain(room..));",
         "self.overdue.extend(due.drain(room..).rev());"),
    ]),
    fault("late arrivals are not sorted", "wheel", "wheel/mod.rs", &[
        ("if self.overdue.back().is_none_or(|last| *last < entry) {",
         "if self.overdue.back().is_none_or(|_| true) {"),
    ]),
    fault("no merge in the wheel's ring", "wheel", "wheel/mod.rs", &[
        ("            late.sort();\n",
         ""),
    ]),
    fault("the wheel merges nothing", "wheel", "wheel/mod.rs", &[
        ("self.put_back(rest, matches!(how, Requeued::Merged(_)));",
         "self.put_back(rest, false);"),
    ]),
    fault("stale entries of the ring are not counted", "wheel", "wheel/mod.rs", &[
        ("            self.stale += 1;\n            return;\n",
         "            return;\n"),
    ]),
    fault("a stale entry may lead the ring", "wheel", "wheel/mod.rs", &[
        ("        while self.overdue.front().is_some_and(|first| !is_live(&self.nodes, *first)) {",
         "        while self.overdue.len() > 3 && self.overdue.front().is_some_and(|first| !is_live(&self.nodes, *first)) {"),
    ]),
    fault("len not lowered by a take", "wheel", "wheel/mod.rs", &[
        ("        self.len -= timers.len();\n",
         ""),
    ]),
    fault("len not lowered by a cancel in the wheel", "wheel", "wheel/mod.rs", &[
        ("        self.len -= 1;\n",
         ""),
    ]),
    fault("the last of a bucket is unlinked without moving its end", "wheel", "wheel/bucket.rs", &[
        ("            None => self.last = before,\n",
         "            None => {}\n"),
    ]),
    fault("a put-back goes behind later arrivals of its bucket", "wheel", "wheel/bucket.rs", &[
        ("            && node.place.arrival > arrival\n",
         "            && node.place.arrival > arrival.saturating_add(1 << 20)\n"),
    ]),
    fault("a bucket that was cut keeps a link to what left", "wheel", "wheel/mod.rs", &[
        ("            Some(first) => first.before = NO_SLOT,\n",
         "            Some(_) => {}\n"),
    ]),
    fault("a shrink does not relink what it moved", "wheel", "wheel/bucket.rs", &[
        ("        self.join(nodes, before, to);\n        self.join(nodes, to, after);\n",
         "        let _ = (before, after);\n"),
    ]),
    fault("a shrink leaves the ring as it was", "wheel", "wheel/mod.rs", &[
        ("            self.overdue[at].slot = to;\n",
         ""),
    ]),
    fault("the wheel says in front among ties", "wheel", "wheel/mod.rs", &[
        ("            return place < first.place;\n",
         "            return place.expiry <= first.place.expiry;\n"),
    ]),
];
