import { spawn, spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { tempDir } from '../support/files/temp-dir.ts';
import { until } from '../support/time/until.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** Starts the demo as `npm run demo` does, in a folder of its own, because the demo may be running in this checkout. */
async function aDemo() {
  const folder = tempDir();
  const demo = spawn(process.execPath, ['scripts/bootstrap.mjs', 'scripts/demo.ts', '--leads', '3'], {
    cwd: ROOT,
    env: { ...process.env, DEMO_DIR: folder },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const ended = new Promise((resolve) => demo.once('close', resolve));
  onTestFinished(async () => {
    demo.kill();
    await ended;
  });
  let output = '';
  const note = (text: Buffer) => {
    output += text;
  };
  demo.stdout.on('data', note);
  demo.stderr.on('data', note);
  await until('the first lead has arrived', () => /^ {2}webhook {2}lead/m.test(output));
  return {
    output: () => output,
    /** As it is typed in another terminal, which knows nothing of the demo but its folder. */
    inAnotherTerminal: (...words: string[]) => {
      const { LEADSYNC_COMMAND: _, ...own } = process.env;
      const args = ['scripts/bootstrap.mjs', 'bin/leadsync.js', ...words, '-c', 'config/demo.yaml'];
      const env = { ...own, DEMO_DIR: folder };
      const { status, stdout, stderr } = spawnSync(process.execPath, args, {
        cwd: ROOT,
        env,
        encoding: 'utf8',
      });
      return { code: status, said: `${stdout}${stderr}` };
    },
    end: async () => {
      demo.kill('SIGINT');
      await ended;
    },
  };
}

test('a second terminal reaches the leadsync of the demo, and `status` afterwards prints how to start it again', async () => {
  const demo = await aDemo();
  const check = demo.inAnotherTerminal('check');
  expect(check.said).not.toContain('FAILED');
  expect(check.code).toBe(0);
  expect(demo.inAnotherTerminal('test-sink', 'crm').said).toMatch(/^ok/);
  await until('the demo shows the test event', () => demo.output().includes('a test event'));
  expect(demo.inAnotherTerminal('status').said).toContain('Nothing needs attention.');

  await demo.end();
  expect(demo.output()).toContain('Every lead arrived exactly once, both ways.');
  const after = demo.inAnotherTerminal('status').said;
  expect(after).toContain('`npm run demo` starts');
  expect(after).not.toMatch(/leadsync (-- )?run/);
});
