import { spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { createMetrics } from '../../src/telemetry/metrics.ts';
import { tempDir } from '../support/files/temp-dir.ts';
import { findPromtool } from './debian-tools.ts';

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly labels: { readonly severity: string };
  readonly annotations: { readonly summary: string; readonly description: string };
}

interface Panel {
  readonly title: string;
  readonly description: string;
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly targets: readonly { readonly expr: string }[];
}

const root = join(import.meta.dirname, '../..');
const folder = join(root, 'config/monitoring');
const read = (file: string) => readFileSync(join(folder, file), 'utf8');
const rules: readonly Rule[] = parse(read('alerts.yaml')).groups.flatMap(
  (group: { rules: Rule[] }) => group.rules,
);
const dashboard = JSON.parse(read('grafana/dashboards/leadsync.json'));
const panels: readonly Panel[] = dashboard.panels;
const shown = panels.flatMap((panel) => panel.targets.map(({ expr }) => expr));
const variables: readonly string[] = dashboard.templating.list.flatMap(
  (one: { definition?: string }) => one.definition ?? [],
);
const { registry } = createMetrics({
  version: '1.2.3',
  now: () => new Date(0),
  sources: ['main'],
  sinks: ['crm'],
  backlog: async () => [],
  disk: async () => ({ freeBytes: 2_000, ledgerBytes: 100 }),
  tokenExpiresAt: () => undefined,
  pollDueAt: async () => undefined,
  exports: ['nightly'],
  backups: ['daily'],
  destinations: ['ops'],
  exportRuns: async () => ({ madeAt: undefined, dueAt: undefined, bytes: undefined, failures: 0 }),
});

/** The metrics that leadsync shows, each with its labels. */
async function exposed(): Promise<Map<string, Set<string>>> {
  const series = (await registry.getMetricsAsJSON()).flatMap(({ name, values }) =>
    values.map((value) => ({
      name: 'metricName' in value ? String(value.metricName) : name,
      labels: Object.keys(value.labels),
    })),
  );
  const labels = new Map<string, Set<string>>();
  for (const one of series) labels.set(one.name, new Set([...(labels.get(one.name) ?? []), ...one.labels]));
  return labels;
}

/** What Prometheus itself puts on every series. */
const OF_THE_TARGET = ['job', 'instance', 'namespace'];

/** The metrics and labels in an expression that leadsync does not show. */
async function unknownIn(expressions: readonly string[]): Promise<string[]> {
  const known = await exposed();
  return expressions.flatMap((expression) => {
    const named = expression.matchAll(/\b((?:leadsync|process|nodejs)_\w+)(?:\{([^}]*)\})?/g);
    return [...named].flatMap(([, name = '', selector = '']) => {
      const labels = known.get(name);
      if (!labels) return [name];
      const selected = [...selector.matchAll(/(\w+)\s*(?:=~|!~|!=|=)/g)].map((match) => match[1] ?? '');
      return selected
        .filter((label) => !labels.has(label) && !OF_THE_TARGET.includes(label))
        .map((label) => `${name}{${label}}`);
    });
  });
}

describe('config/monitoring', () => {
  test('alerts name metrics that leadsync shows', async () => {
    expect(rules.length).toBeGreaterThan(10);
    expect(await unknownIn(rules.map(({ expr }) => expr))).toEqual([]);
  });

  test('the dashboard names metrics and labels that leadsync shows', async () => {
    expect(shown.length).toBeGreaterThan(15);
    expect(await unknownIn([...shown, ...variables])).toEqual([]);
    expect(
      await unknownIn(['leadsync_gone > 0', 'leadsync_process_gone', 'leadsync_sink_held{source="a"}']),
    ).toEqual(['leadsync_gone', 'leadsync_process_gone', 'leadsync_sink_held{source}']);
  });

  test('every alert says what is wrong and which command comes next', () => {
    const commands = rules.flatMap(({ annotations: { description } }) =>
      [...description.matchAll(/`leadsync ([a-z-]+)/g)].map((match) => match[1] ?? ''),
    );
    const file = (command: string) => join(root, `src/cli/commands/${command}.ts`);
    expect(new Set(commands).size).toBeGreaterThan(5);
    expect(commands.filter((command) => !existsSync(file(command)))).toEqual([]);
    for (const { labels, annotations } of rules) {
      expect(['critical', 'warning']).toContain(labels.severity);
      expect(annotations.summary).not.toBe('');
    }
  });

  test.each(['leadsync', 'speed-to-lead'])(
    'the panels of %s have words of their own and do not cover each other',
    (name) => {
      const panels: readonly Panel[] = JSON.parse(read(`grafana/dashboards/${name}.json`)).panels;
      const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
        Array.from({ length: w * h }, (_, n) => `${x + (n % w)},${y + Math.floor(n / w)}`),
      );
      expect(new Set(cells).size).toBe(cells.length);
      expect(Math.max(...panels.map(({ gridPos: { x, w } }) => x + w))).toBe(24);
      expect(panels.filter(({ title, description }) => !title || !description)).toEqual([]);
    },
  );
});

describe('promtool', () => {
  let promtool: string;
  // It may have to be fetched first.
  beforeAll(() => {
    promtool = findPromtool();
  });

  /** Gives what it complains about; empty: nothing. */
  function complaints(args: readonly string[], input?: string): string {
    const { status, stdout, stderr } = spawnSync(promtool, args, { encoding: 'utf8', input });
    return status === 0 ? '' : `${stdout}${stderr}` || `ended with ${status}`;
  }

  test('finds nothing wrong with the configuration and the rules', () => {
    const tried = tempDir();
    const config = readFileSync(join(folder, 'prometheus.yaml'), 'utf8');
    const [, token = ''] = /credentials_file: (\S+)/.exec(config) ?? [];
    writeFileSync(join(tried, 'token'), 'what admin.token is');
    writeFileSync(join(tried, 'prometheus.yaml'), config.replace(token, join(tried, 'token')));
    copyFileSync(join(folder, 'alerts.yaml'), join(tried, 'alerts.yaml'));
    expect(complaints(['check', 'config', join(tried, 'prometheus.yaml')])).toBe('');
    expect(complaints(['check', 'rules', '--lint-fatal', join(folder, 'alerts.yaml')])).toBe('');
  });

  test('finds nothing wrong with the metrics as leadsync shows them', async () => {
    expect(complaints(['check', 'metrics'], await registry.metrics())).toBe('');
  });

  test('reads every expression of the dashboard', async () => {
    const record = (expr: string, n: number) => ({
      record: `panel:${n}`,
      expr: expr.replaceAll('$__rate_interval', '1m'),
    });
    const file = join(tempDir(), 'panels.yaml');
    writeFileSync(file, stringify({ groups: [{ name: 'panels', rules: shown.map(record) }] }));
    expect(complaints(['check', 'rules', file])).toBe('');
  });

  test('sees every alert begin when it should, and not before', () => {
    const files = ['alerts', 'alerts-of-a-day'].map((name) => join(import.meta.dirname, `${name}.test.yaml`));
    expect(complaints(['test', 'rules', ...files])).toBe('');
    const text = files.map((file) => readFileSync(file, 'utf8')).join('');
    const seen = text.matchAll(/ALERTS\{alertname="(\w+)"/g);
    const names = new Set([...seen].map((match) => match[1] ?? ''));
    expect(rules.map(({ alert }) => alert).filter((alert) => !names.has(alert))).toEqual([]);
  });
});
