import type { Safeguard } from './safeguard.ts';

/** What `leadsync recover` rests on. */
export const recoverySafeguards: readonly Safeguard[] = [
  {
    name: 'a recovered text matches its hash',
    without: 'a text with wrong bytes is taken for what the service listed',
    file: 'src/ledger/recovery/sound-row.ts',
    text: "if (hashOf(raw) !== row['hash']) return undefined;",
    instead: '',
    tests: ['test/ledger/recovery'],
  },
  {
    name: 'a recovered ledger owes again what nobody knows of',
    without: 'a lead whose delivery was lost to damage never arrives',
    file: 'src/ledger/recovery/build.ts',
    text: 'const deliveriesRepeated = oweAgain(',
    instead: 'const deliveriesRepeated = ((..._: unknown[]) => 0)(',
    tests: ['test/ledger/recovery'],
  },
  {
    name: 'recovered deliveries are restored from their index',
    without: 'every delivery on a damaged page is made a second time',
    file: 'src/ledger/recovery/mend-deliveries.ts',
    text: 'WHERE s.delivery_no > 0 AND s.replay >= -1',
    instead: 'WHERE 0 AND s.replay >= -1',
    tests: ['test/ledger/recovery'],
  },
  {
    name: 'a text that is back is no change',
    without: 'every lead whose text was lost to damage goes out again as an update',
    file: 'src/ledger/recording.ts',
    text: 'if (last.hash === hash) {',
    instead: 'if (last === undefined) {',
    tests: ['test/ledger/recovery'],
  },
  {
    name: 'erasures are restored from their index',
    without: 'a person who was erased comes back with a changed lead',
    file: 'src/ledger/recovery/mend-leads.ts',
    text: 'SELECT erased_no, source, id FROM said_erased UNION SELECT erased_no, source, id FROM said_leads WHERE erased_no IS NOT NULL',
    instead: 'SELECT erased_no, source, id FROM said_erased WHERE 0',
    tests: ['test/ledger/recovery'],
  },
  {
    name: 'a lead without its text is sent to nobody',
    without: 'retry sends a receiver an empty lead',
    file: 'src/ledger/amending.ts',
    text: "(d.event = 'erased' OR v.raw <> json_object('id', v.id))",
    instead: '1',
    tests: ['test/ledger/recovery'],
  },
  {
    name: 'the log is emptied before a recovered ledger takes its place',
    without: 'the log of the damaged ledger damages the recovered one',
    file: 'src/ledger/recovery/exchange.ts',
    text: '    emptyLog(file);',
    instead: '    void emptyLog;',
    tests: ['test/cli/recover.test.ts'],
  },
  {
    name: 'recover waits for workers to end',
    without: 'a worker settles deliveries in the damaged ledger that the recovered one does not know of',
    file: 'src/daemon/recover.ts',
    text: 'if (hasLivingProcess(dataDir))',
    instead: 'if (hasLivingProcess === undefined)',
    tests: ['test/cli/recover.test.ts'],
  },
];
