import { readFileSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { isOwing } from '../support/scene/is-owing.ts';
import { lastOfEach } from '../support/scene/scene.ts';
import { until } from '../support/time/until.ts';
import { aServerScene, type Machine, type ServerScene } from './server-ledger.ts';

const page = readFileSync(new URL('../../docs/several-machines.md', import.meta.url), 'utf8');
const ON_TIME_MS = 60_000;

interface Line {
  readonly command: string;
  readonly machine: string;
}

/** Returns the commands in a section of the page, each with the machine that its comment names. */
function linesOf(section: string): Line[] {
  const text = page.split(/^## /m).find((part) => part.startsWith(`${section}\n`)) ?? '';
  return [...text.matchAll(/^ *```sh\n([^`]+?) *```/gm)].flatMap(([, block = '']) =>
    block
      .split('\n')
      .map((line) => /^ *(.+?) +# on (\S+)$/.exec(line))
      .flatMap((found) => (found ? [{ command: found[1] ?? '', machine: found[2] ?? '' }] : [])),
  );
}

/** Changes the configuration of a machine. */
function edit(machine: Machine | undefined, change: (config: Record<string, unknown>) => void): void {
  if (!machine) throw new Error('no such machine');
  const config = parse(readFileSync(machine.configFile, 'utf8'));
  change(config);
  writeFileSync(machine.configFile, stringify(config));
}

/** The machines of the page, by their names on it, and what runs its lines there. */
async function theMachines(scene: ServerScene) {
  const machines = new Map([
    ['a-1', await scene.onAnotherMachine()],
    ['b-2', await scene.onAnotherMachine()],
  ]);
  const supervisor: Record<string, (machine: Machine) => Promise<unknown>> = {
    'sudo systemctl start leadsync': async (machine) => {
      machine.start('run');
      await until('it is ready', () => isReady(machine), ON_TIME_MS);
    },
    'sudo systemctl stop leadsync': async ({ running }) =>
      expect(await running?.kill('SIGTERM')).toEqual({ code: 0, signal: null }),
    'sudo systemctl kill --signal=SIGKILL leadsync': async ({ running }) => running?.kill('SIGKILL'),
  };
  /** Runs the lines of a section. Returns what the last one printed. */
  const follow = async (lines: readonly Line[]) => {
    let last = '';
    for (const { command, machine: name } of lines) {
      const machine = machines.get(name);
      if (!machine) throw new Error(`${name} is no machine of the page`);
      const supervise = supervisor[command];
      if (supervise) {
        await supervise(machine);
        continue;
      }
      const { code, stdout, stderr } = await machine.run(...command.replace(/^leadsync /, '').split(' '));
      expect({ command, code, stderr: code === 0 ? '' : stderr }).toEqual({ command, code: 0, stderr: '' });
      last = stdout;
    }
    return last;
  };
  return { a: machines.get('a-1'), b: machines.get('b-2'), follow };
}

async function isReady({ adminUrl }: Machine): Promise<boolean> {
  return (await fetch(`${adminUrl}/readyz`).catch(() => undefined))?.ok === true;
}

/** The state of each machine, as the lines of `leadsync status` show it. */
function statesIn(status: string): Record<string, string> {
  const rows = status.matchAll(/^(machine-\d) +run +(works|missing) /gm);
  return Object.fromEntries([...rows].map(([, name = '', state = '']) => [name, state]));
}

test('every block of commands stands in a section that this test follows', () => {
  const sections = page.match(/^## .+$/gm)?.map((line) => line.slice(3)) ?? [];
  const followed = sections.filter((section) => linesOf(section).length > 0);
  expect(followed).toEqual([
    'Move the ledger',
    'Add a machine',
    'Change the configuration',
    'Stop one, and start it again',
    'Lose one',
    'Upgrade one by one',
  ]);
  const all = [...page.matchAll(/```sh\n([^`]+?)```/g)].flatMap(([, block = '']) => block.trim().split('\n'));
  expect(followed.flatMap(linesOf)).toHaveLength(all.length);
});

test('leads from one machine to two by its commands, through a stop, a kill and an upgrade, and no lead is lost', async () => {
  const scene = await aServerScene('in-process', { stub: { leads: 40 } });
  const { a, b, follow } = await theMachines(scene);
  const arrived = async () =>
    Object.values(await scene.held()).every((leads) => lastOfEach(leads).size === scene.stub.shown);
  const whole = parse(readFileSync(String(a?.configFile), 'utf8'));
  edit(a, (config) => {
    delete config['ledger'];
    delete config['tokens'];
  });
  await follow([{ command: 'sudo systemctl start leadsync', machine: 'a-1' }]);
  await until('the first leads have arrived', arrived, ON_TIME_MS);

  const [stop, ...copyAndStart] = linesOf('Move the ledger');
  await follow(stop ? [stop] : []);
  const added = parse(/```yaml\n([^`]+)```/.exec(page)?.[1] ?? '');
  expect(Object.keys(added)).toEqual(['ledger', 'tokens']);
  edit(a, (config) => Object.assign(config, { ledger: whole.ledger, tokens: whole.tokens }));
  await follow(copyAndStart);

  const both = { 'machine-1': 'works', 'machine-2': 'works' };
  const added2 = await follow(linesOf('Add a machine'));
  expect(statesIn(added2)).toEqual(both);
  expect(new Set([...added2.matchAll(/ ([0-9a-f]{12}) /g)].map(([, print]) => print)).size).toBe(1);

  edit(a, (config) => Object.assign(config, { name: 'several' }));
  const differs = await b?.run('status');
  expect(differs?.stdout).not.toContain('Not all machines have the same configuration');
  expect(await follow(linesOf('Change the configuration'))).toMatch(
    /^machine-1 \(run\): applied\n(?: .*\n)+machine-2 \(run\): unchanged\n$/,
  );
  const apart = await b?.run('status');
  expect(apart?.stdout).toContain('Not all machines have the same configuration');
  edit(b, (config) => Object.assign(config, { sinks: 'none' }));
  const refused = await a?.run('reload', '--all');
  expect(refused).toMatchObject({
    code: 1,
    stdout: expect.stringMatching(
      /^machine-1 \(run\): unchanged\nmachine-2 \(run\): refused\n +\S+leadsync\.yaml:/,
    ),
  });
  edit(b, (config) => Object.assign(config, { name: 'several', sinks: whole.sinks }));
  expect((await a?.run('reload', '--all'))?.stdout).toMatch(/^machine-2 \(run\): applied$/m);

  scene.stub.addLeads(10);
  const [stopped, status, start] = linesOf('Stop one, and start it again');
  expect(statesIn(await follow([stopped, status].filter((line) => line !== undefined)))).toEqual({
    'machine-1': 'works',
  });
  await follow(start ? [start] : []);

  const [kill, seen] = linesOf('Lose one');
  await follow(kill ? [kill] : []);
  await until(
    'the killed one is missing',
    async () => statesIn(await follow(seen ? [seen] : []))['machine-2'] === 'missing',
    ON_TIME_MS,
  );
  const json = JSON.parse((await a?.run('status', '--json'))?.stdout ?? '');
  expect(json.machines).toHaveLength(2);
  expect(json.problems).toContainEqual(expect.objectContaining({ code: 'process_missing' }));
  await follow([{ command: 'sudo systemctl start leadsync', machine: 'b-2' }]);
  expect(statesIn((await a?.run('status'))?.stdout ?? '')).toEqual(both);

  scene.stub.addLeads(10);
  expect(statesIn(await follow(linesOf('Upgrade one by one')))).toEqual(both);
  await until('every lead has arrived', arrived, ON_TIME_MS);
  await until('everything is settled', async () => !(await isOwing(String(a?.adminUrl))), ON_TIME_MS);
  expect(await scene.store.contradictions()).toEqual([]);
});
