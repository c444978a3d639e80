import type { Safeguard } from './safeguard.ts';

const simulation = ['test/simulation/machines/machines.test.ts'];
const severalMachines = ['test/ledger-postgres/several-machines.test.ts'];
const overPostgres = ['test/ledger-postgres/machines.test.ts'];

/** What it rests on that one process at a time does the work of a duty. */
export const dutySafeguards: readonly Safeguard[] = [
  {
    name: 'a process trusts a lease from before it sent the beat',
    without: 'a process that stood still believes in a lease that the ledger has given to another one',
    file: 'src/daemon/joints/leased-duties.ts',
    text: 'if (beat) this.#apply(beat, sinceSent);',
    instead: 'if (beat) this.#apply(beat, new Stopwatch(clock));',
    tests: simulation,
  },
  {
    name: 'a process takes a duty only after its own clock has seen no change of the lease',
    without: 'a clock of the server that is set ahead lets two processes do the same work',
    file: 'src/ledger/rules/machines/choose-duties.ts',
    text: 'leftMs <= 0 && (seenMs === undefined || seenMs >= unchangedMs)',
    instead: 'leftMs <= 0',
    tests: simulation,
  },
  {
    name: 'a lease that has not changed for its whole length has ended',
    without: 'after a clock of the server was set back, the duty of a dead process is not taken for as long',
    file: 'src/ledger/rules/machines/choose-duties.ts',
    text: 'return isOver || ownMs >= 0 ?',
    instead: 'return isOver ?',
    tests: simulation,
  },
  {
    name: 'a process that takes a duty takes it as it has read it',
    without: 'a process takes a duty that its holder has renewed in between',
    file: 'src/ledger-postgres/machines/machines-sql.ts',
    text: 'AND d.token = g.token AND d.renewals = g.renewals',
    instead: '',
    tests: overPostgres,
  },
  {
    name: 'a process that has lost the duty of a source begins no poll',
    without: 'a process that stood still ends the poll of the one that polls the source now',
    file: 'src/ledger-postgres/recording/polls.ts',
    text: 'if (duty !== undefined) await requireDuty(tx, source, duty);',
    instead: '',
    tests: overPostgres,
  },
  {
    name: 'an attempt sends only while other processes can see that its process is alive',
    without: 'a process that stood still sends leads that another one has begun to send',
    file: 'src/daemon/joints/attempt-lease.ts',
    text: ' && this.#isAliveSince(this.#sinceLease)',
    instead: '',
    tests: ['test/daemon/joints/attempt-lease.test.ts'],
  },
  {
    name: 'a beat does not bring back the leases from before a silence',
    without: 'a process that stood still sends leads that another one has begun to send',
    file: 'src/daemon/joints/signs-of-life.ts',
    text: 'return this.isAlive() && since.elapsedMs() <= (this.#sinceAlive?.elapsedMs() ?? 0);',
    instead: 'return this.isAlive();',
    tests: ['test/daemon/joints/attempt-lease.test.ts'],
  },
  {
    name: 'a process that the others may take for dead claims nothing',
    without: 'after an outage of the ledger, a process claims batches that it may not send, again and again',
    file: 'src/daemon/joints/dispatch.ts',
    text: ' && isAlive()',
    instead: '',
    tests: ['test/daemon/joints/dispatching.test.ts'],
  },
  {
    name: 'a process is dead only if this machine has seen no beat of it, either',
    without: "a clock of the server that is set ahead makes every process end the others' leases",
    file: 'src/daemon/joints/other-processes.ts',
    text: ' && unseenMs >= unchangedMs',
    instead: '',
    tests: ['test/daemon/joints/other-processes.test.ts'],
  },
  {
    name: 'the leases of a process that has come back are not reclaimed',
    without: 'leads that it has just claimed are delivered twice',
    file: 'src/ledger-postgres/delivering/settling-sql.ts',
    text: ' AND NOT EXISTS (SELECT 1 FROM _processes p WHERE p.holder = $1)',
    instead: '',
    tests: severalMachines,
  },
  {
    name: 'a process that has come back is not removed',
    without: 'its duties move to another process while it works',
    file: 'src/ledger-postgres/machines/machines-sql.ts',
    text: ' AND seen_at = coalesce($2::bigint, seen_at)',
    instead: ' AND coalesce($2::bigint, 0) >= 0',
    tests: overPostgres,
  },
  {
    name: 'a machine with an old configuration retires no sink of another one',
    without: 'the sink is owed nothing from then on',
    file: 'src/ledger-postgres/control/declaring.ts',
    text: ' && !others.sinks.has(row.name)',
    instead: '',
    tests: severalMachines,
  },
  {
    name: 'each process counts only its own attempts against the concurrency of a sink',
    without: 'without Redis, a second machine delivers nothing while the first one is busy',
    file: 'src/ledger-postgres/delivering/claiming-sql.ts',
    text: ' AND ($3::text IS NULL OR holder = $3)',
    instead: ' AND ($3::text IS NULL OR true)',
    tests: severalMachines,
  },
];
