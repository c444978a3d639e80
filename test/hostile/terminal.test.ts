import { spawnSync } from 'node:child_process';
import { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { runCommandLine } from '../../src/cli/run-command-line.ts';
import { aLead } from '../support/scene/a-lead.ts';
import { aScene } from '../support/scene/a-scene.ts';
import type { Scene } from '../support/scene/scene.ts';
import { until } from '../support/time/until.ts';
import { naughtyStrings, withOrWithout } from './corpora.ts';
import { type HostileLead, hostileLead } from './hostile-lead.ts';
import { hostileStrings } from './own-strings.ts';
import { expectLogLines, expectPlain, wouldBeObeyed } from './plain-output.ts';
import { readLedger } from './read-ledger.ts';

const CORPUS = withOrWithout(naughtyStrings, 'the Big List of Naughty Strings');
const PROGRAM = fileURLToPath(new URL('../../bin/leadsync.js', import.meta.url));
/** Everything that could be obeyed, in texts that are short enough for an answer to hold them twice. */
const TEXTS = joined(hostileStrings.filter(wouldBeObeyed), 400);
/** Hostile leads have even ids; between each two is a plain one, so that refusals are the leads' fault. */
const LEADS: readonly HostileLead[] = TEXTS.map((text, at) => hostileLead(2 * at + 2, text));

const script = spawnSync('script', ['-qec', 'true', '/dev/null']);
const hasTerminal = script.status === 0;
if (!hasTerminal)
  process.stderr.write('There is no `script` to make a terminal: tables are seen through pipes alone.\n');

describe.each(['json', 'pretty'] as const)('with a log in %s', (format) => {
  test(`whatever leads say, and destinations say back, nothing that leadsync prints is obeyed by a terminal ${CORPUS}`, async () => {
    const scene = await refusingScene(format);
    const daemon = await scene.start();
    await until('every lead was attempted', () => isSettled(scene), 60_000);
    // Their unknown fields have other names now: which fields have changed is told by name.
    for (const { raw } of LEADS) scene.stub.removeRaw(raw);
    for (const [at, { id }] of LEADS.entries())
      scene.stub.addRaw(hostileLead(id, LEADS.at(at - 1)?.text ?? '').raw);
    await until('the changes are known', () => changesIn(scene) === LEADS.length, 20_000);
    await daemon.kill();
    expect(daemon.stdout).toBe('');
    expectPlain(daemon.stderr, 'the log');
    if (format === 'json') expectLogLines(daemon.stderr);
    if (format === 'pretty') return; // what commands print is the same
    await expectPlainTables(scene);
    if (hasTerminal) expectPlainTerminal(scene);
  });
});

/** Where each word is put. */
const PLACES: Readonly<Record<string, (word: string) => readonly string[]>> = {
  'a lead': (word) => ['trace', word],
  'a command': (word) => [word],
  'an option': (word) => ['status', `--${word}`],
  'one word too many': (word) => ['status', word],
  'a sink': (word) => ['pause', word],
  'a sink to filter by': (word) => ['deliveries', '--sink', word],
  'a source': (word) => ['deliveries', '--source', word],
  'a state': (word) => ['deliveries', '--state', word],
  'a time': (word) => ['deliveries', '--since', word],
  'a number': (word) => ['deliveries', '--limit', word],
  'a delivery': (word) => ['deliveries', '--before', word],
  'a sink to test': (word) => ['test-sink', word],
  'a sink to preview': (word) => ['preview', '--lead', '1', '--sink', word],
  'a source to follow': (word) => ['tail', '--source', word],
  'a thing to show': (word) => ['config', word],
  'a delivery to retry': (word) => ['retry', word],
  'a command to be helped with': (word) => ['help', word],
  'a configuration': (word) => ['validate', '--config', word],
};

test('a hostile word in any place of a command line is shown, and not obeyed', async () => {
  const scene = await aScene('in-process');
  await scene.run('sync');
  for (const [what, place] of Object.entries(PLACES)) {
    for (const word of TEXTS) {
      const { stdout, stderr } = await printedBy(['--config', scene.configFile, ...place(word)]);
      expect(stdout + stderr, what).not.toBe('');
      expectPlain(stdout + stderr, `leadsync with a hostile word as ${what}`);
    }
  }
});

/** Every hostile lead is refused by the webhook and by the database; both say why in the lead's own words. */
async function refusingScene(format: string): Promise<Scene> {
  const scene = await aScene('in-process', {
    config: { log: { format, level: 'trace' } },
    sinks: {
      crm: { concurrency: 1, events: ['created', 'updated'] },
      warehouse: { batch: { max: 4 } },
    },
  });
  const texts = new Map(LEADS.map(({ id, text }) => [String(id), text]));
  scene.receiver.answerAlways(({ body }, res) => {
    const text = texts.get(/"id":(\d+)/.exec(body.toString())?.[1] ?? '');
    res.writeHead(text === undefined ? 204 : 422).end(text);
  });
  scene.stub.addRaw(aLead({ id: 1 }));
  expect((await scene.run('sync')).code).toBe(0);
  await scene.query(`
    CREATE FUNCTION ${scene.schema}.refuse() RETURNS trigger LANGUAGE plpgsql AS
      'BEGIN IF NEW.id % 2 = 0 THEN RAISE EXCEPTION USING MESSAGE = NEW.client_name, DETAIL = NEW.client_name; END IF; RETURN NEW; END';
    CREATE TRIGGER refuse BEFORE INSERT ON ${scene.schema}.leads FOR EACH ROW EXECUTE FUNCTION ${scene.schema}.refuse();`);
  for (const { id, raw } of LEADS) {
    scene.stub.addRaw(raw);
    scene.stub.addRaw(aLead({ id: id + 1 }));
  }
  return scene;
}

/** As many are dead as there are hostile leads, at both sinks that refuse them. */
function isSettled(scene: Scene): boolean {
  const states = "SELECT state FROM deliveries WHERE sink <> 'drop' AND state IN ('pending', 'dead')";
  const rows = readLedger(scene, states).flat();
  return rows.length === 2 * LEADS.length && rows.every((state) => state === 'dead');
}

/** How many leads have changed, as the ledger knows. */
function changesIn(scene: Scene): number {
  return readLedger(scene, 'SELECT 1 FROM lead_versions WHERE version = 2').length;
}

async function expectPlainTables({ configFile }: Scene): Promise<void> {
  const plain = async (command: string) => {
    const { stdout, stderr, code } = await printedBy(['-c', configFile, ...command.split(' ')]);
    expect(code, stderr).toBe(0);
    expectPlain(stdout + stderr, `leadsync ${command}`);
    return stdout;
  };
  for (const command of ['status', 'deliveries --state dead --limit 5000']) {
    expect(await plain(command)).toContain('crm');
    JSON.parse(await plain(`${command} --json`));
  }
  expect(await plain('top --once')).toContain('crm');
  for (const { id, text } of LEADS) {
    for (const sink of ['crm', 'drop', 'warehouse'])
      expect(await plain(`preview --sink ${sink} --lead ${id}`)).toContain(String(id));
    expect(await plain(`trace ${id} --show-data`)).toContain('refused');
    expectAnswers(JSON.parse(await plain(`trace ${id} --show-data --json`)), text);
  }
}

/** As JSON, what a destination has said is there to the letter; of a database's words, as far as it has them. */
function expectAnswers({ events }: { events: { answer: string | null }[] }, text: string): void {
  const answers = events.map(({ answer }) => answer);
  const said = text.toWellFormed();
  expect(answers).toContain(said);
  if (!text.includes('\0')) expect(answers).toContain(`${said}\n${said}`);
}

/** At a terminal of 100 columns, where the lines are folded. */
function expectPlainTerminal(scene: Scene): void {
  const commands = [
    'status',
    'deliveries --limit 5000',
    ...LEADS.slice(0, 3).map(({ id }) => `trace ${id} --show-data`),
  ];
  const all = commands.map(
    (command) => `'${process.execPath}' '${PROGRAM}' ${command} -c '${scene.configFile}'`,
  );
  const { status, stdout } = spawnSync(
    'script',
    ['-qec', `stty cols 100 -onlcr; ${all.join(' && ')}`, '/dev/null'],
    {
      encoding: 'utf8',
      env: { ...process.env, NO_COLOR: '1' },
      maxBuffer: 2 ** 28,
    },
  );
  expect(status, stdout).toBe(0);
  expect(stdout).toContain('refused the lead');
  expectPlain(stdout, 'the terminal');
}

/** Texts joined into longer ones of at most so many bytes, where each alone is not longer. */
function joined(texts: readonly string[], bytes: number): string[] {
  const whole: string[] = [];
  for (const text of texts) {
    const longer = `${whole.at(-1) ?? ''}|${text}`;
    if (whole.length > 0 && Buffer.byteLength(longer) <= bytes) whole[whole.length - 1] = longer;
    else whole.push(text);
  }
  return whole;
}

/** What a command prints, run in this process. */
async function printedBy(args: readonly string[]) {
  const printed = { stdout: '', stderr: '' };
  const stream = (name: keyof typeof printed) => ({
    write: (text: string) => {
      printed[name] += text;
    },
  });
  const streams = { stdout: stream('stdout'), stderr: stream('stderr'), stdin: Readable.from(['']), env: {} };
  return { code: await runCommandLine(args, streams), ...printed };
}
