import { chmodSync, copyFileSync, cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { run } from './run.ts';

/** The parts of the Debian package. */
export interface DebianParts {
  readonly root: string;
  /** The folder of the unpacked npm package, with its node_modules. */
  readonly program: string;
  readonly version: string;
  /** An empty folder for temporary files. */
  readonly stage: string;
}

const ARCHITECTURES: Readonly<Partial<Record<NodeJS.Architecture, string>>> = {
  x64: 'amd64',
  arm64: 'arm64',
};
const MAINTAINER_SCRIPTS = ['postinst', 'prerm', 'postrm'];

/**
 * Builds the Debian package for the processor of this machine and returns its path. The package contains Node, because that of Debian is
 * too old. Needs dpkg-deb. @throws Error if the processor is not supported or dpkg-deb fails
 */
export function buildDebianPackage({ root, program, version, stage }: DebianParts, out: string): string {
  const architecture = ARCHITECTURES[process.arch];
  if (architecture === undefined) throw new Error(`There is no Debian package for ${process.arch}.`);
  const place = (file: string, mode = 0o644) => {
    const path = join(stage, file);
    mkdirSync(dirname(path), { recursive: true, mode: 0o755 });
    return { path, mode };
  };
  const write = (file: string, content: string | Buffer, mode?: number) => {
    const { path, mode: wanted } = place(file, mode);
    writeFileSync(path, content);
    chmodSync(path, wanted);
  };
  const copy = (from: string, file: string, mode?: number) => {
    const { path, mode: wanted } = place(file, mode);
    copyFileSync(from, path);
    chmodSync(path, wanted);
  };
  const deploy = join(root, 'deploy');
  cpSync(program, join(stage, 'usr/lib/leadsync'), { recursive: true, verbatimSymlinks: true });
  copy(process.execPath, 'usr/lib/leadsync/node', 0o755);
  copy(join(deploy, 'debian/leadsync'), 'usr/bin/leadsync', 0o755);
  copy(join(deploy, 'systemd/leadsync.service'), 'usr/lib/systemd/system/leadsync.service');
  copy(join(deploy, 'systemd/leadsync.sysusers'), 'usr/lib/sysusers.d/leadsync.conf');
  copy(join(deploy, 'systemd/leadsync.yaml'), 'etc/leadsync/leadsync.yaml');
  copy(join(program, 'dist/completions/leadsync'), 'usr/share/bash-completion/completions/leadsync');
  copy(join(program, 'dist/completions/_leadsync'), 'usr/share/zsh/vendor-completions/_leadsync');
  copy(join(program, 'dist/completions/leadsync.fish'), 'usr/share/fish/vendor_completions.d/leadsync.fish');
  write('usr/share/man/man1/leadsync.1.gz', gzipSync(readFileSync(join(program, 'dist/man/leadsync.1'))));
  write('usr/share/doc/leadsync/changelog.gz', gzipSync(readFileSync(join(root, 'CHANGELOG.md'))));
  copy(join(root, 'LICENSE'), 'usr/share/doc/leadsync/copyright');
  write('DEBIAN/conffiles', '/etc/leadsync/leadsync.yaml\n');
  for (const script of MAINTAINER_SCRIPTS) copy(join(deploy, 'debian', script), `DEBIAN/${script}`, 0o755);
  const kilobytes = run('du', ['-sk', '--exclude=DEBIAN', stage], root).split('\t')[0] ?? '';
  const control = readFileSync(join(deploy, 'debian/control'), 'utf8');
  write(
    'DEBIAN/control',
    control
      .replace('@VERSION@', version)
      .replace('@ARCHITECTURE@', architecture)
      .replace('@KILOBYTES@', kilobytes),
  );
  const file = join(out, `leadsync_${version}_${architecture}.deb`);
  run('dpkg-deb', ['--root-owner-group', '-Zxz', '-z2', '--build', stage, file], root);
  return file;
}
