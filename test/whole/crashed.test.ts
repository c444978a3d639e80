import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { tempDir } from '../support/files/temp-dir.ts';
import { aScene } from '../support/scene/a-scene.ts';
import { until } from '../support/time/until.ts';

const CRASHES = {
  'an error without a handler': "throw new TypeError('canary@example.com')",
  'a rejection without a handler': "void Promise.reject(new TypeError('canary@example.com'))",
  'a rejection with a text': "void Promise.reject('canary@example.com')",
};

test.each(Object.entries(CRASHES))(
  '%s ends the daemon with one line in the log, which quotes nothing',
  async (_, code) => {
    const scene = await aScene('in-process', { stub: { leads: 3 } });
    const crash = join(tempDir(), 'crash.mjs');
    writeFileSync(crash, `process.on('SIGUSR2', () => { ${code}; });`);
    const daemon = await scene.start({ env: { NODE_OPTIONS: `--import=${crash}` } });
    await until('all are delivered', () => scene.complete());
    expect(await daemon.kill('SIGUSR2')).toEqual({ code: 1, signal: null });
    const last = daemon.log.at(-1);
    expect(last).toMatchObject({
      level: 'fatal',
      event: 'crashed',
      msg: expect.stringContaining('please report it'),
    });
    expect(daemon.stderr.trimEnd().split('\n')).toHaveLength(daemon.log.length);
    expect(daemon.stderr).not.toContain('canary');
    scene.stub.addLeads(2);
    await scene.start();
    await until('the next one delivers the others', () => scene.complete());
  },
);
