import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { loadConfig } from '../src/config/load-config.ts';
import { Secret } from '../src/platform/options/secret.ts';
import { sinkTypes } from '../src/sinks/registry.ts';

const root = join(import.meta.dirname, '..');
const read = (file: string) => readFileSync(join(root, file), 'utf8');
const dockerfile = read('Dockerfile');
const compose = read('compose.yaml');
const services: Record<string, Record<string, unknown>> = parse(compose).services;

/** The variables of config/container.yaml. */
const examples = {
  LEADS_BASE_URL: 'https://leads.example.com',
  LEADS_CLIENT_ID: 'id',
  LEADSYNC_ADMIN_TOKEN: 'a-token-of-some-length',
  LEADS_CLIENT_SECRET: 'secret',
  DATABASE_URL: 'postgres://leadsync:pw@postgres:5432/leadsync',
  REDIS_URL: 'redis://redis:6379',
};

/** What a YAML file takes from the environment, without what its comments mention. */
function variablesOf(yaml: string): Set<string> {
  const values = yaml.replace(/^\s*#.*$/gm, '');
  return new Set([...values.matchAll(/\$\{(\w+)/g)].map((match) => match[1] ?? ''));
}

describe('the image', () => {
  test('is made of files that are there, and that the build context has', () => {
    const copied = [...dockerfile.matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(
      (match) => match[1]?.split(' ') ?? [],
    );
    const context = read('.dockerignore').split('\n');
    expect(copied.length).toBeGreaterThan(5);
    expect(copied.filter((file) => !existsSync(join(root, file)))).toEqual([]);
    expect(copied.filter((file) => !context.includes(`!${file}`))).toEqual([]);
  });

  test('starts on the Node that the package asks for', () => {
    const wanted = /(\d+)/.exec(JSON.parse(read('package.json')).engines.node)?.[1];
    const bases = [...dockerfile.matchAll(/^FROM .*node:(\d+)-/gm)].map((match) => match[1]);
    expect(bases).toEqual(bases.map(() => wanted));
    expect(bases).not.toEqual([]);
  });

  test('states its version and the commit that it was built from', () => {
    const label = (name: string) => dockerfile.match(`image\\.${name}="([^"]+)"`)?.[1];
    expect(label('version')).toBe(JSON.parse(read('package.json')).version);
    expect(dockerfile).toMatch(new RegExp(`^FROM ${label('base\\.name')}$`, 'm'));
  });

  test('runs as a user that is not root, by number, and without a shell in between', () => {
    expect(dockerfile).toMatch(/^USER [1-9]\d*:[1-9]\d*$/m);
    for (const line of dockerfile.match(/^(HEALTHCHECK|ENTRYPOINT|CMD) .*$/gm) ?? [])
      expect(line).toMatch(/\["/);
  });

  test('links the command to a file that says how to run it', () => {
    expect(read('bin/leadsync.js')).toMatch(/^#!\/usr\/bin\/env -S node --max-semi-space-size=8\n/);
    expect(statSync(join(root, 'bin/leadsync.js')).mode & 0o111).toBe(0o111);
  });
});

describe('compose.yaml', () => {
  const leadsync = services['leadsync'] ?? {};

  test('gives leadsync no right that it does not need', () => {
    expect(leadsync).toMatchObject({
      read_only: true,
      cap_drop: ['ALL'],
      security_opt: ['no-new-privileges:true'],
    });
    expect(leadsync['ports']).toEqual([expect.stringMatching(/^127\.0\.0\.1:/)]);
  });

  test('runs a Redis that keeps the queue: on disk, and never thinned out', () => {
    const command = String(services['redis']?.['command']).replaceAll(',', ' ');
    expect(command).toContain('--appendonly yes');
    expect(command).toContain('--maxmemory-policy noeviction');
  });

  test('watches leadsync on request: pinned, on loopback, from files that are there', () => {
    for (const name of ['prometheus', 'grafana']) {
      const service = services[name] ?? {};
      expect(service).toMatchObject({ profiles: ['monitoring'], read_only: true, cap_drop: ['ALL'] });
      expect(service['image']).toMatch(/:v?\d+\.\d+\.\d+$/);
      expect(service['ports']).toEqual([expect.stringMatching(/^127\.0\.0\.1:/)]);
      const mounts = (service['volumes'] as readonly (string | { source: string })[]).filter(
        (volume) => typeof volume !== 'string',
      );
      expect(mounts.filter(({ source }) => !existsSync(join(root, source)))).toEqual([]);
      expect(mounts).toHaveLength(2);
    }
  });

  test('lets Prometheus find its targets, and Grafana its data', () => {
    const [job] = parse(read('config/monitoring/prometheus.yaml')).scrape_configs;
    const { port } =
      loadConfig(join(root, 'config/container.yaml'), { sinkTypes, env: examples }).admin ?? {};
    expect(job.static_configs).toEqual([{ targets: [`leadsync:${port}`] }]);
    const provisioning = 'config/monitoring/grafana/provisioning';
    const [source] = parse(read(`${provisioning}/datasources/leadsync.yaml`)).datasources;
    expect(source.url).toBe('http://prometheus:9090');
    const [provider] = parse(read(`${provisioning}/dashboards/leadsync.yaml`)).providers;
    expect(services['grafana']?.['volumes']).toContainEqual(
      expect.objectContaining({
        source: './config/monitoring/grafana/dashboards',
        target: provider.options.path,
      }),
    );
  });

  test('says in its first lines which variables it takes', () => {
    const header = compose.slice(0, compose.indexOf('\nservices:'));
    const unsaid = [...variablesOf(compose)].filter((name) => !header.includes(` ${name} `));
    expect(unsaid).toEqual([]);
  });

  test('hands leadsync every variable of its configuration, and that one is right', () => {
    const handed = Object.keys(leadsync['environment'] as object);
    const config = read('config/container.yaml');
    expect(handed.sort()).toEqual([...variablesOf(config)].sort());
    const loaded = loadConfig(join(root, 'config/container.yaml'), { sinkTypes, env: examples });
    expect(loaded.dataDir).toBe('/data');
    expect(loaded.admin).toEqual({ host: '0.0.0.0', port: 9464 });
    expect(loaded.queue.redis).toMatchObject({ kind: 'server', url: new Secret('redis://redis:6379') });
  });
});
