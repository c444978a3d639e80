import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { commitOf } from '../src/cli/shell/build-info.ts';
import { version } from '../src/platform/process/version.ts';
import { buildDebianPackage } from './release/debian-package.ts';
import { packImageContext } from './release/image-context.ts';
import { run } from './release/run.ts';
import { writeRuntime } from './release/runtime.ts';

/**
 * `npm run release [-- --out FOLDER]`: builds all files of a release into out/. Downloads packages from the npm registry and nothing
 * else. Needs git, tar and dpkg-deb. The same commit always results in the same files.
 */

const root = join(import.meta.dirname, '..');
const { values } = parseArgs({ options: { out: { type: 'string', default: join(root, 'out') } } });
const out = resolve(values.out);
const work = mkdtempSync(join(tmpdir(), 'leadsync-release-'));
const commit = commitOf(root);
const epoch = process.env['SOURCE_DATE_EPOCH'] ?? run('git', ['log', '-1', '--format=%ct'], root).trim();
process.env['SOURCE_DATE_EPOCH'] = epoch;

try {
  rmSync(out, { recursive: true, force: true });
  mkdirSync(out, { recursive: true });

  say('the npm package');
  run('npm', ['pack', '--loglevel=error', '--pack-destination', out], root);

  say('the packages that it needs');
  const program = installedProgram(join(out, `leadsync-${version}.tgz`));

  say('the SBOM');
  const sbom = run('npm', ['sbom', '--sbom-format=cyclonedx', '--sbom-type=application'], program);
  writeFileSync(join(out, `leadsync-${version}.cdx.json`), sbom);

  say('the Debian package');
  buildDebianPackage({ root, program, version, stage: folder('debian') }, out);

  say('the build context of the image');
  packImageContext(
    { root, commit, epoch, stage: folder('image') },
    join(out, `leadsync-${version}-image.tar.gz`),
  );

  writeFileSync(join(out, 'SHA256SUMS'), readdirSync(out).sort().map(sum).join(''));
  say(`${readdirSync(out).join(', ')} in ${out}, from commit ${commit}`);
} finally {
  rmSync(work, { recursive: true, force: true });
}

/** Unpacks the npm package, installs the packages that it needs, and returns the folder. */
function installedProgram(archive: string): string {
  const program = folder('leadsync'); // The SBOM contains the name of this folder.
  run('tar', ['-xzf', archive, '--strip-components=1', '-C', program], root);
  writeRuntime(program);
  run('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'], program);
  return program;
}

function folder(name: string): string {
  const path = join(work, name);
  mkdirSync(path, { mode: 0o755 });
  return path;
}

/** Returns the checksum of a file, as a line in the format of sha256sum. */
function sum(file: string): string {
  const digest = createHash('sha256')
    .update(readFileSync(join(out, file)))
    .digest('hex');
  return `${digest}  ${file}\n`;
}

function say(text: string): void {
  process.stderr.write(`release: ${text}\n`);
}
