import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { tempDir } from '../files/temp-dir.ts';
import { until } from '../time/until.ts';

const TOOL = JSON.stringify(join(import.meta.dirname, 'tool.ts'));

/** Starts a tool that opens A, then B, which takes a while; then the tool does `work`. */
function aTool(work: string): ChildProcess & { readonly written: { stdout: string; stderr: string } } {
  const program = `
    import { setTimeout as sleep } from 'node:timers/promises';
    import { runTool, ToolFailure } from ${TOOL};
    const say = (text) => process.stdout.write(text + ' ');
    await runTool(async (opened) => {
      await opened.add(() => say('A'), () => say('-A'));
      await opened.add(async () => { say('opening'); await sleep(200); say('B'); }, () => say('-B'));
      ${work}
    });`;
  const args = ['--input-type=module-typescript', '--eval', program];
  const tool = spawn(process.execPath, args, { cwd: tempDir(), stdio: ['ignore', 'pipe', 'pipe'] });
  onTestFinished(() => void tool.kill('SIGKILL'));
  const written = { stdout: '', stderr: '' };
  for (const stream of ['stdout', 'stderr'] as const)
    tool[stream].setEncoding('utf8').on('data', (text: string) => {
      written[stream] += text;
    });
  return Object.assign(tool, { written });
}

test.each([
  ['does its work', 'return 0;', 0, /^$/],
  ['finds a problem', 'return 1;', 1, /^$/],
  ['cannot continue', "throw new ToolFailure('No room.');", 1, /^No room\.\n$/],
  ['crashes', "throw new Error('A bug.');", 1, /^Error: A bug\.\n {4}at /],
])('a tool that %s closes everything that it opened, last first', async (_, work, exitCode, told) => {
  const tool = aTool(work);
  const [code] = await once(tool, 'close');
  expect(tool.written).toEqual({ stdout: 'A opening B -B -A ', stderr: expect.stringMatching(told) });
  expect(code).toBe(exitCode);
});

test.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)(
  '%s closes everything, including what is still opening, and prevents further opening',
  async (signal) => {
    const tool = aTool("await opened.add(() => say('C'), () => say('-C')); return 0;");
    await until('the tool is opening B', () => tool.written.stdout.includes('opening'));
    tool.kill(signal);
    const [code] = await once(tool, 'close');
    expect(tool.written).toEqual({ stdout: 'A opening B -B -A ', stderr: '' });
    expect(code).toBe(130);
  },
);

test('a tool reports what fails to close and closes the rest', async () => {
  const tool = aTool("await opened.add(() => 1, () => { throw new Error('It is stuck.'); }); return 0;");
  await once(tool, 'close');
  expect(tool.written).toEqual({
    stdout: 'A opening B -B -A ',
    stderr: expect.stringMatching(/^Error: It is stuck\./),
  });
});
