import { copyFileSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { DEFAULT_RETRY } from '../../src/config/options/sink-options.ts';
import { judgeBy } from '../../src/delivery/judge.ts';
import { openLedger } from '../../src/ledger/sqlite-ledger.ts';
import { processesOf } from '../../src/operations/opening/processes.ts';
import { recoverLedger } from '../../src/operations/recover.ts';
import { aUsedLedger, type UsedLedger, withLedger } from '../ledger/recovery/a-used-ledger.ts';
import { PageMap } from '../ledger/recovery/damage.ts';
import { tempDir } from '../support/files/temp-dir.ts';

interface Damaged extends Pick<UsedLedger, 'clock' | 'file'> {
  readonly dataDir: string;
}

/** A data directory with a ledger that has lost a page of leads. */
async function aDamagedLedger(): Promise<Damaged> {
  const { file: used, clock } = await aUsedLedger();
  const dataDir = tempDir();
  const file = join(dataDir, 'ledger.db');
  copyFileSync(used, file);
  const map = new PageMap(file);
  map.overwrite([map.of('_versions', 'leaf')[0]?.pageno ?? 0]);
  return { dataDir, file, clock };
}

const ledgers = ({ dataDir }: Damaged) =>
  readdirSync(dataDir).filter((name) => name.includes('ledger.db') && !/-(wal|shm)$/.test(name));

test('Ctrl-C while rows are copied stops a recovery immediately: the damaged ledger stays as it is, and no file is left beside it', async () => {
  const damaged = await aDamagedLedger();
  const before = readFileSync(damaged.file);
  const stop = new AbortController();
  const onCopied = () => void setImmediate(() => stop.abort('SIGINT')); // as a signal: between two turns of the event loop
  const parts = { clock: damaged.clock, signal: stop.signal, onCopied };
  await expect(recoverLedger(damaged, parts, true)).rejects.toBe('SIGINT');
  expect(ledgers(damaged)).toEqual(['ledger.db']);
  expect(readFileSync(damaged.file).equals(before)).toBe(true);
  const again = { clock: damaged.clock, signal: new AbortController().signal };
  expect(await recoverLedger(damaged, again, true)).toMatchObject({ aside: expect.any(String) });
});

const meanwhile: readonly (readonly [string, (damaged: Damaged) => void, object])[] = [
  [
    'another process writes to the damaged ledger',
    ({ file }) => withLedger(file, (db) => db.exec("UPDATE _sinks SET health = '{}' WHERE sink = 'crm'")),
    { code: 'busy', hint: expect.stringContaining('Run the command again') },
  ],
  [
    'a worker starts',
    ({ dataDir }) => {
      const lock = processesOf(dataDir).join('aworker');
      onTestFinished(async () => (await lock).release());
    },
    { name: 'DataDirInUse' },
  ],
];

test.each(meanwhile)('a recovery replaces nothing if, while it copies rows, %s', async (_, act, refusal) => {
  const damaged = await aDamagedLedger();
  let once = () => act(damaged);
  const onCopied = () => {
    once();
    once = () => undefined;
  };
  const parts = { clock: damaged.clock, signal: new AbortController().signal, onCopied };
  await expect(recoverLedger(damaged, parts, true)).rejects.toMatchObject(refusal);
  expect(ledgers(damaged)).toEqual(['ledger.db']);
});

test('the start removes what killed processes left beside the ledger, and nothing else', async () => {
  const damaged = await aDamagedLedger();
  const { dataDir, file, clock } = damaged;
  const kept = [
    '.ledger.db.mark.swp',
    '.other.db.mark.0123456789abcdef.tmp',
    'ledger.db.damaged-20261120T100000.000Z',
  ];
  const left = ['ledger.db.recovered', 'ledger.db.recovered-journal', '.ledger.db.mark.0123456789abcdef.tmp'];
  for (const name of [...kept, ...left]) writeFileSync(join(dataDir, name), 'Zaphod');
  const random = () => 0.5;
  const judge = judgeBy(() => DEFAULT_RETRY, random);
  const open = (create: boolean) => openLedger({ file, clock, random, judge, create }).close();
  await open(false);
  expect(ledgers(damaged)).toEqual(expect.arrayContaining(left));
  await open(true);
  expect(ledgers(damaged).sort()).toEqual(
    ['ledger.db', ...kept].filter((name) => name.includes('ledger.db')).sort(),
  );
  expect(readdirSync(dataDir)).toEqual(expect.arrayContaining(kept));
});
