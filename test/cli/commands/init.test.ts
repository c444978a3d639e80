import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { SmallDisk } from '../../support/files/small-disk.ts';
import { tempDir } from '../../support/files/temp-dir.ts';
import { Install } from '../an-install.ts';

describe('leadsync init', () => {
  test('writes a configuration that is valid once its variables are set, and prints the next steps', async () => {
    const install = new Install();
    const file = join(tempDir(), 'fresh.yaml');
    const { code, stderr, stdout } = await install.run(['init', file]);
    expect({ code, stdout }).toEqual({ code: 0, stdout: '' });
    expect(stderr).toContain(`leadsync validate -c ${file}`);
    expect(readFileSync(file, 'utf8')).toMatch(
      /^# yaml-language-server: \$schema=\.\/leadsync\.schema\.json$/m,
    );
    expect(stderr).toContain('`leadsync schema > leadsync.schema.json`');
    const env = { LEADS_CLIENT_ID: 'id', LEADS_CLIENT_SECRET: 'secret' };
    const validated = await install.run(['validate', '-c', file], { env });
    expect(validated).toEqual({ code: 0, stdout: `${file} is valid: 1 source, 1 sink.\n`, stderr: '' });
  });

  test('never overwrites a file', async () => {
    const install = new Install();
    const before = readFileSync(install.configFile, 'utf8');
    const { code, stderr } = await install.run(['init']);
    expect(code).toBe(1);
    expect(stderr).toContain('already exists and was not changed');
    expect(readFileSync(install.configFile, 'utf8')).toBe(before);
  });

  test('prints why it cannot write', async () => {
    const file = join(tempDir(), 'no', 'such', 'folder.yaml');
    const { code, stderr } = await new Install().run(['init', file]);
    expect(code).toBe(1);
    expect(stderr).toContain(`${file} cannot be written (ENOENT).\nCreate its parent folder.`);
  });

  test('leaves no partial file on a full disk', async (context) => {
    const install = new Install();
    const disk = new SmallDisk(join(install.folder, 'small'), 4);
    onTestFinished(() => disk.close());
    if (!disk.own)
      context.skip('needs a file system of its own, which this machine does not let the tests mount');
    disk.fill();
    const file = join(install.folder, 'small', 'new.yaml');
    const { code, stderr } = await install.run(['init', file]);
    expect(code).toBe(1);
    expect(stderr).toMatch(
      /new\.yaml is on a full disk \(ENOSPC\)\.\nFree space.* No partial file was left\.\n$/,
    );
    expect(existsSync(file)).toBe(false);
  });
});
