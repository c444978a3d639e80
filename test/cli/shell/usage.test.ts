import { execFileSync, spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, onTestFinished, test } from 'vitest';
import { runLeadsync } from '../../support/program/leadsync.ts';
import { Install } from '../an-install.ts';

const COMMANDS =
  'init validate config plan check test-sink login schema run reload sync worker healthcheck status top tail trace deliveries preview retry replay pause resume forget moved support-bundle version help completion man'.split(
    ' ',
  );

/** Options without which a command is not looked at any further. */
const REQUIRED: Readonly<Record<string, readonly string[]>> = {
  replay: ['--sink', 'crm'],
  preview: ['--sink', 'crm', '--lead', '42'],
  completion: ['bash'],
};

describe('the command line', () => {
  test('lists every command of the contract', async () => {
    const { code, stdout } = await new Install().run(['--help']);
    expect(code).toBe(0);
    for (const command of COMMANDS) expect(stdout).toMatch(new RegExp(`^  ${command}\\b`, 'm'));
  });

  test.each(COMMANDS)('%s accepts the arguments in the list of commands', async (command) => {
    const list = (await new Install().run(['--help'])).stdout;
    const listed = new RegExp(`^ {2}${command}((?: [<[]\\S+)*)`, 'm').exec(list)?.[1];
    const { stdout } = await new Install().run([command, '--help']);
    const used = new RegExp(`^Usage: leadsync ${command}(?: \\[options])?(.*)$`, 'm').exec(stdout)?.[1];
    expect(used).toBe(listed);
  });

  test.each(COMMANDS)('%s --help begins with examples, and documents -c', async (command) => {
    const { code, stdout } = await new Install().run([command, '--help']);
    expect(code).toBe(0);
    expect(stdout).toMatch(new RegExp(`^Examples:\n  \\$ leadsync ${command}\\b`));
    expect(stdout).toContain('-c, --config <file>');
  });

  test.each(COMMANDS)('%s --help fits into 80 columns', async (command) => {
    const { stdout } = await new Install().run([command, '--help']);
    // An example is to be copied, so its line is never divided.
    const lines = stdout.split('\n').filter((line) => !line.startsWith('  $ '));
    // Nor is a single word, such as the path of this installation.
    const foldable = lines.filter((line) => line.trim().includes(' '));
    expect(foldable.filter((line) => line.length > 80)).toEqual([]);
  });

  test.each(COMMANDS)('%s rejects an unknown option as wrong usage', async (command) => {
    const { code, stdout, stderr } = await new Install().run([
      command,
      ...(REQUIRED[command] ?? []),
      '--nonsense',
    ]);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain("unknown option '--nonsense'");
    expect(stderr).toContain(`leadsync ${command} --help`);
  });

  test('suggests the nearest command for one that does not exist', async () => {
    const { code, stderr } = await new Install().run(['statsu']);
    expect(code).toBe(2);
    expect(stderr).toContain('Did you mean status?');
  });

  test('help prints the help of a command, and lists the commands for one that does not exist', async () => {
    const install = new Install();
    expect(await install.run(['help', 'status'])).toEqual(await install.run(['status', '--help']));
    expect(await install.run(['help'])).toEqual(await install.run(['--help']));
    const { code, stderr, stdout } = await install.run(['help', 'status2']);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain('There is no command "status2": did you mean "status"?\nThe commands are: ');
  });

  test('the help documents the variable that names the configuration', async () => {
    expect((await new Install().run(['--help'])).stdout).toMatch(/LEADSYNC_CONFIG/);
  });

  test('prints its usage if there is no command', async () => {
    const { code, stdout, stderr } = await new Install().run([]);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain('Usage: leadsync');
  });

  test('prints its version', async () => {
    expect((await new Install().run(['--version'])).stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
  });

  test('run --no-deliver fails without a queue, because no process would deliver', async () => {
    const { code, stderr } = await new Install().run(['run', '--no-deliver']);
    expect(code).toBe(78);
    expect(stderr).toContain('Set queue.redis_url');
  });

  test('a worker fails without a queue', async () => {
    const { code, stderr } = await new Install().run(['worker']);
    expect(code).toBe(78);
    expect(stderr).toContain('Set queue.redis_url');
  });
});

describe('the program', () => {
  test('exits with the code of the command, and prints no stack trace', async () => {
    const install = new Install();
    const { code, stdout, stderr } = await runLeadsync(['status', '-c', install.configFile]);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toContain('There is no ledger at');
    expect(stderr).not.toMatch(/^ {4}at /m);
  });

  test('says so, and exits with 1, if its output cannot be written', async () => {
    const readOnly = openSync(new Install().configFile, 'r');
    onTestFinished(() => closeSync(readOnly));
    const program = fileURLToPath(new URL('../../../bin/leadsync.js', import.meta.url));
    const child = spawn(process.execPath, [program, 'schema'], { stdio: ['ignore', readOnly, 'pipe'] });
    let stderr = '';
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      stderr += text;
    });
    const code = await new Promise((resolve) => child.once('close', resolve));
    expect(stderr).toBe('The output cannot be written (EBADF): check the free space of its destination.\n');
    expect(code).toBe(1);
  });

  test('waits for a slow reader', () => {
    const program = fileURLToPath(new URL('../../../bin/leadsync.js', import.meta.url));
    // More than a pipe holds, to a reader that begins when all the rest is long done.
    const command = '"$0" "$1" schema | { sleep 3; cat; }';
    const read = execFileSync('sh', ['-c', command, process.execPath, program], { encoding: 'utf8' });
    expect(read.length).toBeGreaterThan(65_536);
    expect(JSON.parse(read)).toHaveProperty('properties.sinks');
  });

  test('ends quietly if its reader closes the pipe', async () => {
    const install = new Install();
    await install.listed(...Array.from({ length: 2_000 }, (_, i) => i + 1));
    const program = fileURLToPath(new URL('../../../bin/leadsync.js', import.meta.url));
    const args = [program, 'deliveries', '--limit', '100000', '-c', install.configFile];
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] });
    let stderr = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      stderr += text;
    });
    child.stdout.once('data', () => child.stdout.destroy());
    const code = await new Promise((resolve) => child.once('close', resolve));
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  });
});
