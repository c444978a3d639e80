import type { Safeguard } from './safeguard.ts';

const simulation = ['test/simulation/machines/machines.test.ts'];
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
];
