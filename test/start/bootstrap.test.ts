import { spawn, spawnSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { tempDir } from '../support/files/temp-dir.ts';
import { until } from '../support/time/until.ts';

/** Makes the Node that runs look like an older one, to what it runs. */
const asNode20 = [
  '--import',
  'data:text/javascript,Object.defineProperty(process,"versions",{value:{...process.versions,node:"20.1.0"}})',
];

const echo = `process.stdout.write(JSON.stringify({ args: process.argv.slice(2), script: process.argv[1] }));
process.exitCode = 7;`;

/** A checkout with a program in it, and one package that lies in the checkout itself. */
function aCheckout(program: string): string {
  const root = tempDir();
  const write = (name: string, content: object) => writeFileSync(join(root, name), JSON.stringify(content));
  const own = { name: 'checkout', version: '1.0.0', dependencies: { part: 'file:part' } };
  const part = { name: 'part', version: '1.0.0' };
  cpSync(new URL('../../scripts/bootstrap.mjs', import.meta.url), join(root, 'scripts/bootstrap.mjs'));
  mkdirSync(join(root, 'part'));
  write('part/package.json', part);
  write('package.json', { ...own, type: 'module' });
  const packages = { '': own, part, 'node_modules/part': { resolved: 'part', link: true } };
  write('package-lock.json', { name: 'checkout', version: '1.0.0', lockfileVersion: 3, packages });
  writeFileSync(join(root, 'program.js'), program);
  return root;
}

/** As npm leaves it behind, with the Node that runs this test as the installed one. */
function install(root: string): void {
  mkdirSync(join(root, 'node_modules/.bin'), { recursive: true });
  writeFileSync(join(root, 'node_modules/.package-lock.json'), '{}');
  symlinkSync(process.execPath, join(root, 'node_modules/.bin/node'));
}

function bootstrap(root: string, nodeArgs: string[], args: string[]) {
  return spawnSync(process.execPath, [...nodeArgs, 'scripts/bootstrap.mjs', ...args], {
    cwd: root,
    encoding: 'utf8',
  });
}

describe('a program started from a checkout', () => {
  it.each([
    ['on the pinned Node', []],
    ['on an older one', asNode20],
  ])(
    'gets its arguments, has standard output to itself, and its exit code is kept (%s)',
    (_what, nodeArgs) => {
      const root = aCheckout(echo);
      install(root);
      const run = bootstrap(root, nodeArgs, ['program.js', 'one', '--two', 'three four']);
      expect(run.stderr).toBe('');
      expect(JSON.parse(run.stdout)).toEqual({
        args: ['one', '--two', 'three four'],
        script: join(root, 'program.js'),
      });
      expect(run.status).toBe(7);
    },
  );

  it.each([
    ['on the pinned Node', []],
    ['on an older one', asNode20],
  ])('gets the stop signal of its starter, and has time to stop (%s)', async (_what, nodeArgs) => {
    const root = aCheckout(`
      process.on('SIGTERM', () => setTimeout(() => { console.log('stopped in order'); process.exit(3); }, 100));
      setInterval(() => {}, 1000);
      console.log('started');`);
    install(root);
    const run = spawn(process.execPath, [...nodeArgs, 'scripts/bootstrap.mjs', 'program.js'], {
      cwd: root,
    });
    let output = '';
    run.stdout.on('data', (text) => {
      output += text;
    });
    await until('the program has started', () => output.includes('started'));
    const ended = new Promise((resolve) => run.once('close', resolve));
    run.kill('SIGTERM');
    expect(await ended).toBe(3);
    expect(output).toContain('stopped in order');
  });

  it('ends by the signal that ended its program', async () => {
    const root = aCheckout(`process.kill(process.pid, 'SIGKILL'); setInterval(() => {}, 1000);`);
    install(root);
    expect(bootstrap(root, asNode20, ['program.js']).signal).toBe('SIGKILL');
  });

  it('resolves paths from the operator’s folder, even with `npm --prefix`, and names the command as it was typed', () => {
    const root = aCheckout(echo);
    install(root);
    mkdirSync(join(root, 'bin'));
    writeFileSync(
      join(root, 'bin/leadsync.js'),
      'process.stdout.write(JSON.stringify([process.cwd(), process.env.LEADSYNC_COMMAND]))',
    );
    const { LEADSYNC_COMMAND: _, ...env } = process.env;
    const own = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
    const scripts = { leadsync: 'node scripts/bootstrap.mjs bin/leadsync.js' };
    writeFileSync(join(root, 'package.json'), JSON.stringify({ ...own, scripts }));
    const asked = (cwd: string) =>
      JSON.parse(
        spawnSync('npm', ['--prefix', root, 'run', '-s', 'leadsync'], { cwd, env, encoding: 'utf8' }).stdout,
      );
    const elsewhere = realpathSync(tempDir());
    expect(asked(elsewhere)).toEqual([elsewhere, `npm --prefix ${root} run -s leadsync --`]);
    expect(asked(root)).toEqual([root, 'npm run -s leadsync --']);
  });

  it('installs its packages first, once, and again if the lock file has changed', () => {
    const root = aCheckout(echo);
    const first = bootstrap(root, [], ['program.js']);
    expect(first.stderr).toContain('Installing');
    expect(JSON.parse(first.stdout)).toMatchObject({ args: [] });
    expect(bootstrap(root, [], ['program.js']).stderr).toBe('');
    const lock = join(root, 'package-lock.json');
    writeFileSync(lock, `${readFileSync(lock, 'utf8')}\n`);
    const later = new Date(Date.now() + 60_000);
    utimesSync(lock, later, later);
    expect(bootstrap(root, [], ['program.js']).stderr).toContain('Installing');
    expect(bootstrap(root, [], ['program.js']).stderr).toBe('');
  });

  it('is not started if its packages cannot be installed, with the reason', () => {
    const root = aCheckout(echo);
    writeFileSync(join(root, 'package-lock.json'), '{"lockfileVersion":3,"packages":{}}');
    const run = bootstrap(root, [], ['program.js']);
    expect(run.status).toBe(1);
    expect(run.stdout).toBe('');
    expect(run.stderr).toContain('npm could not install the packages');
    expect(existsSync(join(root, 'node_modules/.installed-from'))).toBe(false);
  });

  it('never installs packages through a link, which would empty a folder of another program', () => {
    const root = aCheckout(echo);
    const elsewhere = tempDir();
    writeFileSync(join(elsewhere, 'theirs'), 'kept');
    symlinkSync(elsewhere, join(root, 'node_modules'));
    const run = bootstrap(root, [], ['program.js']);
    expect([run.status, run.stdout]).toEqual([1, '']);
    expect(run.stderr).toContain('node_modules is a link');
    expect(readFileSync(join(elsewhere, 'theirs'), 'utf8')).toBe('kept');
  });

  it('is not started by a Node that is too old and has no newer one beside it, with the next step', () => {
    const root = aCheckout(echo);
    mkdirSync(join(root, 'node_modules'));
    writeFileSync(join(root, 'node_modules/.package-lock.json'), '{}');
    const run = bootstrap(root, asNode20, ['program.js']);
    expect([run.status, run.stdout]).toEqual([1, '']);
    expect(run.stderr).toContain('ignore install scripts');
  });
});

describe('leadsync itself', () => {
  it('prints which Node it needs if an older one starts it, instead of a crash', () => {
    const bin = new URL('../../bin/leadsync.js', import.meta.url).pathname;
    const run = spawnSync(process.execPath, [...asNode20, bin, '--version'], { encoding: 'utf8' });
    expect([run.status, run.stdout]).toEqual([1, '']);
    expect(run.stderr).toContain('needs Node 24 or newer, and this is Node 20.1.0');
    expect(run.stderr).not.toMatch(/^\s+at /m);
  });
});
